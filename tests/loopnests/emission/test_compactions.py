"""What masks select moved together in one pass: where that is seen, and that results are NumPy's."""
import numpy as np
import pytest

import reactant
from reactant.loopnests.emission import compactions
from tests.oracle import assert_same

RANDOM = np.random.default_rng(5)


def positions(x, mask):
    return np.diff(np.flatnonzero(mask)).sum()


def values(x, mask):
    return np.cumsum(x[mask])[-3:].sum(), (x[mask][1:] - x[mask][:-1]).sum()


def by_number(x, mask):
    chosen = x[mask]
    return chosen[len(chosen) // 2], chosen[1:-1].sum()


def to_the_front(x, mask):
    out = np.full(len(x), 7, x.dtype)
    out[:mask.sum()] = x[mask]
    return out


def other_mask(x, mask):
    return (x[mask] * x[::-1][mask[::-1]][::-1]).sum()


def both(x, mask):
    other = mask & (x > np.array(0).astype(x.dtype))
    return x[mask].sum(), np.cumsum(x[other])[-1:].sum(), len(np.flatnonzero(other)[1:])


def over_rows(x, mask):
    return (np.stack([x, x + x], axis=1)[mask][1:]).sum()


FUNCTIONS = {f.__name__: f for f in (positions, values, by_number, to_the_front, other_mask, both, over_rows)}


@pytest.fixture
def written(monkeypatch):
    """The compactions that become one loop."""
    found, write = [], compactions.emit_compaction

    def noted(compiler, node, buffer):
        found.append(node)
        return write(compiler, node, buffer)
    monkeypatch.setattr(compactions, "emit_compaction", noted)
    return found


@pytest.mark.parametrize("name", FUNCTIONS)
def test_is_one_loop(name, written):
    x = 40 * RANDOM.random(500)
    mask = RANDOM.random(500) < 0.5
    assert_same(FUNCTIONS[name](x, mask), reactant.jit(FUNCTIONS[name], native="always")(x, mask), rtol=1e-11)
    assert written


@pytest.mark.sampled(16)
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "uint8", "complex128"])
@pytest.mark.parametrize("share", [0.0, 0.02, 0.5, 1.0])
@pytest.mark.parametrize("name", ["positions", "to_the_front", "other_mask", "over_rows"])
def test_dtypes(name, share, dtype):
    for n in (1, 2, 7, 100, 1001):
        x = (100 * RANDOM.random(n)).astype(dtype)
        if x.dtype.kind == "f":
            x[::5] = np.nan
        mask = RANDOM.random(n) < share
        assert_same(FUNCTIONS[name](x, mask), reactant.jit(FUNCTIONS[name], native="always")(x, mask), rtol=1e-11)


def descending(x, mask):
    """No compaction: counted from the end."""
    ranks = np.cumsum(mask[::-1])[::-1] - 1
    out = np.zeros(len(x) + 1)
    out[np.where(mask, ranks, len(x))] = x
    return out


def other_counts(x, mask):
    ranks = np.cumsum(~mask) - 1
    out = np.zeros(len(x) + 1)
    out[np.where(mask, ranks, len(x))] = x
    return out


@pytest.mark.parametrize("function", [descending, other_counts])
def test_is_not(function, written):
    x, mask = RANDOM.random(300), RANDOM.random(300) < 0.5
    assert_same(function(x, mask), reactant.jit(function, native="always")(x, mask))
    assert not written
