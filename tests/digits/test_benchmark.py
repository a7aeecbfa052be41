"""The benchmark runs, at its tiny size, and finds its line."""
from __future__ import annotations

import accuracy
import pytest


@pytest.mark.slow
def test_runs(capsys):
    accuracy.main(["--tiny"])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 5 and lines[2] == "1 of 1 lines found"
