"""Programs' files and what is made of them."""
from pathlib import Path

import pytest

import reactant
from reactant.cuda.building import sources

HERE = Path(__file__).parent


def test_bad_programs(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"There is no file '.*none\.cu'"):
        reactant.cuda.program(tmp_path / "none.cu")
    with pytest.raises(TypeError, match="takes a file"):
        reactant.cuda.program([])
    with pytest.raises(ValueError, match="lower is 'auto', 'tensor', 'native', not 'fast'"):
        reactant.cuda.program(HERE / "heat.cu", lower="fast")
    bad = tmp_path / "bad.cu"
    bad.write_text("int main() { return cudaNoSuchFunction(); }\n")
    with pytest.raises(reactant.ReactantError, match="cudaNoSuchFunction"):
        reactant.cuda.program(bad)


def test_command_lines(tmp_path):
    given = sources([HERE / "heat.cu"], "-lm -O1", {"N": 3, "DEBUG": None}, tmp_path)
    assert given.words == ["-DN=3", "-DDEBUG", f"-I{tmp_path}", "-O1", str(HERE / "heat.cu"), "-lm"]
    assert "-O3" not in given.command and "-O3" in sources(HERE / "heat.cu", (), ["A"], ()).command


def test_kernels_and_names(heat):
    built = heat._built
    assert built.name_of("_Z4stepPKdPdid") == "step" and built.name_of("plain") == "plain"
    assert built.kernel("_Z7missingv") == "its code was not found in the program's files"
    assert built.kernel("_Z4stepPKdPdid").name == "step"
