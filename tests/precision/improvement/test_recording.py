"""Expressions of modules, what is recorded of them, and forms in their place."""
import numpy as np

from reactant.improvement.programs import Program, profiles
from reactant.precision.improvement.recording import merged

X = np.linspace(0.5, 2.0, 100)


def loops(x, n):
    s = np.zeros_like(x)
    k = 0
    while k < n:
        s = np.sqrt(s + x * x) if s[0] < 1.5 else np.exp(-s)
        k += 1
    return s


def test_expressions_of_loops_and_branches():
    seen, (told,) = profiles(program := Program(loops, (X, np.int64(50)), {}), [Program(
        loops, (X, np.int64(50)), {}).arrays])
    texts = {str(each.key[0]): one for each, one in zip(seen, told, strict=True)}
    assert program.name == "loops" and "exp(-x0)" in texts
    root = next(text for text in texts if text.startswith("sqrt"))
    for text in ("exp(-x0)", root):
        recorded = texts[text]
        for values, low, high in zip(recorded.samples, recorded.low, recorded.high, strict=True):
            assert low <= values.min() and values.max() <= high and len(values) >= 32
    assert merged([None, texts[root], texts[root]]).samples[0].size == 2 * texts[root].samples[0].size
    assert all(each.line[0].endswith("test_recording.py") for each in seen)
