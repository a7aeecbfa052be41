"""The programs of the corpus and of the gradients by name, for `corpus.py`, `gradients.py` and the peer's process.

No reactant here: the peer's environment does not have it.
"""
import corpus_models  # noqa: F401 - declares programs
import corpus_programs
import gradient_programs
import jax
import jax.numpy as jnp
import micro_programs
import numpy as np

PROGRAMS = corpus_programs.PROGRAMS | gradient_programs.PROGRAMS
"""All programs by name: (function, make)."""
GRADIENTS = gradient_programs.PROGRAMS
"""Those whose first argument can be differentiated: a loss."""


def prepared(name, scale):
    """A function of arrays alone, and its arguments: whole numbers are closed over."""
    function, make = (PROGRAMS | micro_programs.PROGRAMS)[name]
    arguments = make(scale)
    static = {i: a for i, a in enumerate(arguments) if isinstance(a, int)}

    def call(*arrays):
        given = iter(arrays)
        return function(*(static[i] if i in static else next(given) for i in range(len(arguments))))
    call.__name__ = name
    return call, tuple(a for i, a in enumerate(arguments) if i not in static)


def differentiated(function, arrays):
    """The derivative, by JAX, of a weighted sum of the squares of a program's numbers, in all arguments of floats (the
    plain sum is always 1 where results are normalised). Raises `TypeError` where there is no float to differentiate."""
    def is_float(array):
        return jnp.issubdtype(jnp.result_type(array), jnp.floating)
    leaves, tree = jax.tree_util.tree_flatten(arrays)
    floats = [is_float(leaf) for leaf in leaves]
    results = jax.tree_util.tree_leaves(jax.eval_shape(function, *arrays))
    if not any(floats) or not any(jnp.issubdtype(each.dtype, jnp.inexact) for each in results):
        raise TypeError("no floats")

    def loss(given, leaves):
        given = iter(given)
        each = [next(given) if own else leaf for own, leaf in zip(floats, leaves, strict=True)]
        found = jax.tree_util.tree_leaves(function(*jax.tree_util.tree_unflatten(tree, each)))
        return sum(jnp.sum(jnp.cos(np.arange(f.size)).reshape(f.shape) * jnp.abs(f) ** 2) for f in found
                   if jnp.issubdtype(f.dtype, jnp.inexact))

    def derivative(*given):
        leaves = jax.tree_util.tree_leaves(given)
        return jax.grad(loss)([leaf for own, leaf in zip(floats, leaves, strict=True) if own], leaves)
    derivative.__name__ = f"derivative_of_{function.__name__}"
    return derivative


def difference(mine, theirs):
    """The largest difference over the largest element, over all arrays of two trees; NaN equals NaN."""
    found = 0.0
    for a, b in zip(jax.tree_util.tree_leaves(mine), jax.tree_util.tree_leaves(theirs), strict=True):
        a, b = np.asarray(a), np.asarray(b)
        if a.dtype.kind in "biu":
            found = max(found, float((a != b).mean()))
            continue
        wrong = np.abs(np.where(np.isnan(a) & np.isnan(b), 0, a - b))
        found = max(found, float(np.max(wrong, initial=0) / (np.nanmax(np.abs(b), initial=0) + 1e-30)))
    return found
