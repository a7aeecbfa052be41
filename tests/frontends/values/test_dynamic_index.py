"""Elements of lists and tuples that are no numbers, at places only known at run time."""
import numpy as np
import pytest

import reactant
from reactant.errors import ConcreteValueNeeded, ControlFlowError
from tests.frontends.agreement import agree

X = np.arange(5.0) + 1


def two_buffers(g, p):
    buffers = [g, np.zeros_like(g)]
    current = 0
    for _ in range(50):
        old, new = buffers[current], buffers[1 - current]
        new[1:-1] = old[1:-1] + 0.1 * (old[2:] - 2 * old[1:-1] + old[:-2])
        if new.max() < p:
            continue
        current = 1 - current
    return buffers[current].copy(), current


def while_of_buffers(g, p):
    buffers = (g, np.zeros_like(g))
    k = 0
    while True:
        a, b = buffers[k % 2], buffers[(k + 1) % 2]
        b[1:-1] = 0.5 * (a[2:] + a[:-2])
        k += 1
        if np.abs(b - a).max() < p or k > 50:
            break
    return buffers[k % 2], k


def stored(x, k):
    rows = [x * i for i in range(4)]
    rows[k] = x - 2
    rows[k - 1][0] = 7
    rows[2] += 1
    return rows


def written_in_loop(x, places):
    parts = [x * 1.0, x * 2.0, x + 3]
    for k in places:
        parts[k] += 1.0
        parts[k - 2][1] -= x[0]
        parts[k - 1] = parts[k] * 0.5
    return parts


def of_dicts(x, k):
    found = [{"m": float(i), "v": x * i} for i in range(3)][k]
    return found["m"], found["v"]


def last_three(x, p):
    kept, n = [x * 0] * 3, 0
    while x.max() > p:
        kept[n % 3] = x.copy()
        x = x * 0.7
        n += 1
    return kept, n


@pytest.mark.parametrize("program, cases", [
    (two_buffers, [(X, p) for p in (0.3, 3.0)]),
    (while_of_buffers, [(X, p) for p in (0.3, 1e-9)]),
    (stored, [(X, np.int64(k)) for k in (0, 3, -1, 4, -4)]),
    (written_in_loop, [(X, np.array(k)) for k in ([0, 1, 2, 0], [2, 2, 1, 1])]),
    (of_dicts, [(X, np.int64(k)) for k in (0, 2, -1, 3)]),
    (last_three, [(X, p) for p in (9.0, 0.5)]),
], ids=lambda x: getattr(x, "__name__", ""))
def test_as_python(program, cases):
    agree(program, cases)


def layers(x, w):
    weights = [w * (k + 1) for k in range(8)]
    for i in range(8):
        x = np.tanh(weights[i] @ x)
    return x


def test_known_places_stay_known():
    operations = reactant.jit(layers).lower(X, np.eye(5)).operations(optimized=False)
    assert "stablehlo.while" not in operations and "stablehlo.select" not in operations


def ragged(x, k):
    return [[x, x], [x]][k][0]


def test_different_elements_are_refused():
    with pytest.raises(ConcreteValueNeeded, match="A list index or a size must be known"):
        reactant.jit(ragged)(X, np.int64(0))


def of_different_lengths(x, k):
    w = [x[::-1], x[1:]][k]
    x[:] = 0
    return w


def written_through_one(x, k):
    w = [x[::-1], x[1:]][k]
    w[0] = 5
    return x


@pytest.mark.parametrize("program", [of_different_lengths, written_through_one])
def test_rows_of_different_lengths_are_copies_that_say_so(program):
    """The first gave what x had held before it was written."""
    with pytest.raises(ControlFlowError, match="is a copy in compiled code, and now it is written in place"):
        reactant.jit(program, sized_results=True)(X.copy(), np.int64(0))
