import sys

import numpy as np
import pytest

from reactant.__main__ import main

pytest.importorskip("skimage")


@pytest.mark.slow
@pytest.mark.parametrize(("arguments", "picture"), [
    (["--size", "24"], "denoised.png"),
    (["tv", "--size", "16", "--output", "elsewhere.png"], "elsewhere.png"),
])
def test_tv(tmp_path, monkeypatch, capsys, arguments, picture):
    from PIL import Image

    monkeypatch.chdir(tmp_path)
    assert main(["demo", "--repeats", "1", *arguments]) == 0
    printed = capsys.readouterr().out
    for row in ("plain NumPy", "compiled", "times faster", "compile time", "StableHLO operations before",
                "StableHLO operations after", "largest difference", picture):
        assert row in printed
    assert np.asarray(Image.open(tmp_path / picture)).std() > 10
    assert [file.name for file in tmp_path.iterdir()] == [picture]


@pytest.mark.slow
def test_tv_agrees_and_has_fewer_operations(tmp_path):
    from rich.console import Console

    from reactant.demos import tv

    comparison = tv.run(tmp_path / "picture.png", Console(quiet=True), repeats=1, size=20)
    assert comparison.difference < 1e-10
    assert comparison.operations_after < comparison.operations_before
    assert comparison.ratio == comparison.plain / comparison.compiled
    noisy = tv.noisy_photograph(20)
    assert np.abs(comparison.compiled_outcome.result - noisy).max() > 0.01


@pytest.mark.slow
def test_heat_is_a_loop_whatever_its_length(tmp_path):
    from rich.console import Console

    import reactant
    from reactant.demos import heat

    comparison = heat.run(tmp_path / "heat.png", Console(quiet=True), repeats=1, size=16, steps=2000)
    assert comparison.difference < 1e-9
    start = heat.script().plate_with_heaters(16)
    assert np.abs(comparison.compiled_outcome.arguments[0] - start).max() > 1.0  # the plate itself was advanced
    simulate = reactant.jit(heat.script().simulate)
    short, long = (simulate.lower(start.copy(), steps).operations() for steps in (50, 2000))
    assert short == long


@pytest.mark.parametrize(("arguments", "message"), [
    (["--repeats", "0"], "--repeats must be at least 1, not 0"),
    (["--size", "-3"], "--size must be at least 1, not -3"),
    (["--output", "/no/such/folder/picture.png"], "there is no folder '/no/such/folder'"),
    (["--output", "picture.foo"], "cannot write 'picture.foo': not the name of a picture, such as denoised.png"),
    (["--output", "."], "not the name of a picture"),
    (["heat", "--size", "2"], "--size must be at least 3, not 2"),
    (["ocean", "--size", "8"], "--size must be at least 16, not 8"),
])
def test_mistakes(capsys, arguments, message):
    assert main(["demo", *arguments]) == 2
    error = capsys.readouterr().err
    assert error.startswith("reactant demo: error: ") and message in error
    assert error.count("\n") == 1


def test_unknown_demo(capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["demo", "astronaut"])
    assert stopped.value.code == 2
    assert "invalid choice: 'astronaut'" in capsys.readouterr().err


@pytest.mark.parametrize("package", ["skimage", "PIL"])
def test_missing_package(monkeypatch, capsys, package):
    monkeypatch.delitem(sys.modules, "reactant.demos.tv", raising=False)
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    assert main(["demo"]) == 2
    assert f"the demo needs {package}" in capsys.readouterr().err


def test_the_ocean_is_found():
    pytest.importorskip("numba.cuda")
    from reactant.demos import ocean

    assert "kernels" in ocean.package().__doc__
