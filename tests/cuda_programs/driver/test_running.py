"""`reactant run app.cu`: compiled once, run with its arguments and exit status."""
import pytest

from reactant.cli import main
from reactant.cuda_programs.driver import command, running
from reactant.cuda_programs.driver.options import CommandLineError


def test_runs_and_compiles_again_only_where_something_changed(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "value.h").write_text("#define VALUE 3")
    (tmp_path / "app.cu").write_text(
        '#include "value.h"\n__global__ void k(int *x) { *x = VALUE; }\nint main(int n, char **a) { int *x; '
        'cudaMallocManaged(&x, 4); k<<<1, 1>>>(x); cudaDeviceSynchronize(); printf("%d %s\\n", *x, n > 1 ? a[1] : ""); '
        "return *x; }")
    compiled = []
    monkeypatch.setattr(command, "main", lambda words, real=command.main: compiled.append(1) or real(words))
    assert main(["run", "app.cu", "--", "one two"]) == 3 and main(["run", "app.cu"]) == 3
    assert capfd.readouterr().out == "3 one two\n3 \n" and len(compiled) == 1
    (tmp_path / "value.h").write_text("#define VALUE 4")
    assert main(["run", "app.cu"]) == 4 and len(compiled) == 2


@pytest.mark.parametrize("words", [["-c", "app.cu"], ["app.cu", "-o", "app"], ["-shared", "app.cu"]])
def test_only_executables_run(words):
    with pytest.raises(CommandLineError, match="makes an executable of its own"):
        running.main(words, [])
