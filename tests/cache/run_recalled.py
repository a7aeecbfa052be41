"""In a process of its own: what a program out of the cache does besides being called. Prints what went otherwise."""
import sys
import warnings

import jax
import numpy as np

import reactant
from reactant.calling import recalled

warnings.simplefilter("ignore")
K = 2.0
X = np.arange(6.0)


def checked(x, i):
    if x[i.astype(np.int64)[0]] > 3:
        raise ValueError(f"more than {3}")
    return x[i.astype(np.int64)] * 2


def plain(x):
    return np.sin(x) * K + x[::-1]


def by_xla(x):
    return np.sin(x) * K + x[::-1]


def growing(x, n):
    out = []
    while n > 0:
        out.append(n)
        n = n - 1.0
    return np.array(out).sum() + x


def raised(work):
    try:
        work()
    except Exception as error:
        return type(error).__name__, str(error).splitlines()[0]
    return None


def fails():
    compiled = reactant.jit(checked)
    good, bad, outside = np.array([1.0]), np.array([4.0]), np.array([9.0])
    np.testing.assert_array_equal(compiled(X, good), checked(X, good))
    assert raised(lambda: compiled(X, bad)) == ("ValueError", "more than 3"), raised(lambda: compiled(X, bad))
    assert raised(lambda: compiled(X, outside))[0] == "IndexError", raised(lambda: compiled(X, outside))
    np.testing.assert_array_equal(compiled(X, good), checked(X, good))


def on_a_device():
    compiled = reactant.jit(plain)
    found = compiled(reactant.array(X))
    assert type(found).__name__ == "DeviceArray", type(found)
    np.testing.assert_allclose(np.asarray(found), plain(X))
    found = compiled(jax.numpy.asarray(X))
    assert isinstance(found, jax.Array), type(found)


def inside_jax():
    compiled = reactant.jit(plain)
    np.testing.assert_allclose(compiled(X), plain(X))
    with jax.enable_x64(True):
        x = jax.numpy.asarray(X)
        np.testing.assert_allclose(jax.jit(compiled)(x), plain(X))
        np.testing.assert_allclose(jax.grad(lambda y: compiled(y).sum())(x), np.cos(X) * K + 1)
        np.testing.assert_allclose(jax.vmap(compiled)(jax.numpy.stack([x, 2 * x])), [plain(X), plain(2 * X)])


def looked_at():
    compiled = reactant.jit(by_xla, native="never")
    np.testing.assert_allclose(compiled(X), plain(X))
    entry, = compiled._entries.values()
    assert "sine" in entry.lowered.as_text() and "HloModule" in entry.as_text()
    assert "sine" in reactant.code_hlo(compiled, X) and "sin" in str(reactant.explain(compiled, X))
    assert entry.cost_analysis()["flops"] > 0 and entry.lowered.operations()
    assert reactant.verify(compiled, X) is not None


def with_what_compiles():
    """Native code that comes out of the cache beside some that is made here."""
    def other(x):
        return np.exp(x) * 2 + np.sort(x)
    np.testing.assert_allclose(reactant.jit(plain)(X), plain(X))
    np.testing.assert_allclose(reactant.jit(other, cache=False)(X), other(X))
    np.testing.assert_allclose(reactant.jit(by_xla, native="never")(X), plain(X))
    np.testing.assert_allclose(reactant.jit(plain, cache=False)(X), plain(X))


def changed_here():
    """A global that changes after the program came out of the cache: as without a cache, the next signature sees it."""
    global K
    compiled = reactant.jit(plain)
    compiled(X)
    try:
        K = 5.0
        np.testing.assert_allclose(compiled(X[:5].copy()), plain(X[:5]))
        np.testing.assert_allclose(reactant.jit(plain)(X), plain(X))
    finally:
        K = 2.0
    np.testing.assert_allclose(reactant.jit(plain)(X), plain(X))


def with_more_room():
    compiled = reactant.jit(growing, list_capacity=4)
    for n in (3.0, 100.0, 3.0):
        np.testing.assert_allclose(compiled(X, n), growing(X, n))


def main():
    for work in (fails, on_a_device, inside_jax, looked_at, with_what_compiles, changed_here, with_more_room):
        before = dict(recalled.COUNTS)
        try:
            work()
        except Exception as error:
            import traceback
            traceback.print_exc(file=sys.stdout)
            print(f"{work.__name__}: {type(error).__name__}: {error}")
        made = {name: recalled.COUNTS[name] - count for name, count in before.items()}
        if sys.argv[1] == "again" and (made["missed"] or made["not cacheable"]):
            print(f"{work.__name__}: {made} {recalled.REASONS}")
    print("done")


if __name__ == "__main__":
    main()
