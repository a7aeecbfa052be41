"""The versions of a program: which are in front, which is best, what is printed."""
import numpy as np
import pytest

import reactant
from reactant.errors import UnsupportedError
from reactant.improvement.front import Improvement, Version
from reactant.precision.improvement.recipe import Recipe


def version(name, bits, seconds):
    return Version(name, bits, bits - 3, seconds, 0 if name == "original" else 1, name, Recipe({}))


FOUND = Improvement("f", [version("original", 30.0, 2e-6), version("accurate", 52.0, 9e-6),
                          version("worse", 29.0, 3e-6), version("middle", 45.0, 4e-6), version("slow", 44.0, 8e-6)],
                    [], [], "real numbers")


def test_front():
    assert [each.name for each in FOUND.front] == ["original", "middle", "accurate"]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("bits, name", [(None, "accurate"), (20, "original"), (31, "middle"), (46, "accurate")])
def test_best(bits, name):
    assert FOUND.best(bits) == name


def test_more_bits_than_there_are():
    with pytest.raises(UnsupportedError, match="No version of 'f' has 60 right bits; the most are 52.0"):
        FOUND.best(60)


def test_table():
    lines = FOUND.table().splitlines()
    assert lines[0] == "f: bits are compared with real numbers" and len(lines) == 7
    assert [line.split()[1] for line in lines[2:] if line[0] == "*"] == ["original", "accurate", "middle"]
    assert lines[3].split() == ["*", "accurate", "52.0", "49.0", "9.0", "0.22", "1"]


def test_explained_by_line():
    found = reactant.improve(lambda x: np.log(1 - x), np.array([1e-9, 2e-12]))
    line, before, after = (each.strip() for each in found.explain().splitlines()[1:4])
    assert line.startswith("test_front.py:") and before == "log(1 - x0)" and after.startswith("-> ")


def test_plot(tmp_path):
    pytest.importorskip("matplotlib")
    FOUND.plot(tmp_path / "front.png")
    assert (tmp_path / "front.png").read_bytes()[:4] == b"\x89PNG"
