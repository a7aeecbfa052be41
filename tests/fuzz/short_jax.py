"""Short random JAX programs: two to seven operations of jax.numpy, jax.lax and jax.nn on small arrays of odd sizes,
as text. A statement is kept when JAX accepts it."""
from __future__ import annotations

import random
import re
import warnings
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tests.fuzz.short_jax_operations import (
    COMPLEX,
    ELEMENTS,
    ITERATIONS,
    LOOPS,
    MOVES,
    PARTS,
    PRODUCTS,
    SORTS,
    STRUCTURE,
    SUMS,
    WHOLE,
)

HEAD = "import jax\nimport jax.numpy as jnp\nimport jax.scipy.linalg as jsl\nfrom jax import lax\n\n\n"
SIZES = (1, 2, 2, 3, 3, 5, 5, 7, 17, 33)
FLOATS = ("float32", "float32", "float32", "float64", "float16", "bfloat16")
INTEGERS = ("int32", "int32", "int8", "uint8", "uint32")

GROUPS = {"structure": (STRUCTURE, 6), "products": (PRODUCTS, 4), "moves": (MOVES, 6), "sorts": (SORTS, 2),
          "sums": (SUMS, 4), "elements": (ELEMENTS, 6), "whole": (WHOLE, 2), "complex": (COMPLEX, 2),
          "loops": (LOOPS, 3), "parts": (PARTS, 12), "iterations": (ITERATIONS, 5)}
"""Operations of each kind, and how often one is drawn."""
TEMPLATES = {name: " ".join(text.split()).split(" ; ") for name, (text, _) in GROUPS.items()}
HOLE = re.compile(r"\{([a-zA-Z])(\d?)\}")
SPACE = {"jax": jax, "jnp": jnp, "lax": jax.lax}
exec(HEAD, SPACE)
FORMS = {
    "plain": "def f(*given):\n    return h(*given)\n",
    "grad": "def f(a, s, *rest):\n    return jax.grad(lambda a, s: total(h(a, s, *rest)), (0, 1))(a, s)\n",
    "jvp": "def f(a, s, *rest):\n    return jax.jvp(lambda a, s: floats(h(a, s, *rest)), (a, s), (a, s + 1))[1]\n",
    "hessian": "def f(a, s, v, *rest):\n    return jax.hessian(lambda v: total(h(a, s, v, *rest)))(v)\n",
    "vmap": "def f(a, *rest):\n    return jax.vmap(lambda a: h(a, *rest))(jnp.stack([a, a[::-1], a * 2]))\n",
}
TOTAL = """

def floats(results):
    return [x for x in results if jnp.issubdtype(x.dtype, jnp.inexact)]


def total(results):
    weighed = [jnp.real(x).ravel() * (1 + jnp.arange(x.size) % 3).astype(jnp.real(x).dtype) for x in floats(results)]
    return sum((w.sum().astype(a_dtype) for w in weighed), jnp.zeros((), a_dtype))


"""


def accepts(hole: str, v: Any) -> bool:
    """Whether a value may stand in a hole."""
    floating, ranks = jnp.issubdtype(v.dtype, jnp.floating), len(v.shape)
    whole, complexes = jnp.issubdtype(v.dtype, jnp.integer), jnp.issubdtype(v.dtype, jnp.complexfloating)
    return {"s": floating and ranks == 2 and v.shape[0] == v.shape[-1], "m": floating and ranks == 2,
            "v": floating and ranks == 1, "t": floating and ranks == 0, "f": floating, "r": floating and ranks > 0,
            "c": complexes, "i": whole, "j": whole and ranks == 1, "b": v.dtype == bool, "x": ranks > 0,
            "h": floating and ranks == 3, "z": (floating or complexes) and ranks > 0}[hole]


class Writer:
    """One program, by its seed."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.x64 = self.chance(0.4)
        self.float = self.any(*FLOATS[:3 + 3 * self.x64], *FLOATS[4:])
        self.whole, self.special = self.any(*INTEGERS), self.chance(0.5)
        self.numbers = np.random.default_rng(seed)
        self.form = self.any(*["plain"] * 6, "grad", "grad", "jvp", "hessian", "vmap")
        self.lines: list[str] = []
        n, m = self.any(*SIZES), self.any(*SIZES, 0)
        if self.form == "hessian":
            n, m = min(n, 3), min(m, 3)
        self.shapes = {"a": (n, m), "s": (n, n), "v": (n,), "t": (), "h": (2, n, n), "i": (self.any(n, 3),), "k": (),
                       "b": self.any((n,), (n, m)), "c": self.any((n,), (n, m), (n, n))}
        self.kinds = {name: {"i": self.whole, "k": "int32", "b": "bool",
                             "c": "complex128" if self.float == "float64" else "complex64"}.get(name, self.float)
                      for name in self.shapes}
        self.values = {name: jax.ShapeDtypeStruct(shape, self.kinds[name]) for name, shape in self.shapes.items()}

    def any(self, *choices: Any) -> Any:
        return self.random.choice(choices)

    def chance(self, p: float) -> bool:
        return self.random.random() < p

    # ---- statements ----

    def fill(self, template: str) -> str | None:
        """The template with values in its holes; None where there is none that fits."""
        chosen: dict[str, str] = {}
        for hole, number in HOLE.findall(template):
            if hole + number not in chosen:
                name = self.hole(hole, chosen)
                if name is None:
                    return None
                chosen[hole + number] = name
        return HOLE.sub(lambda found: chosen[found[1] + found[2]], template)

    def hole(self, hole: str, chosen: dict[str, str]) -> str | None:
        if hole == "N":
            return str(self.any(0, 1, 1, 2, 3, -1, -2))
        if hole == "S":
            return self.any("2.0", "0.5", "-1.0", "0.0", "3.0", "1.0")
        if hole == "K":
            return self.any("k", "k", "k - 1", "k + 2", "1", "0")
        first = next((name for name in chosen.values() if name in self.values), None)
        ranks = 0 if first is None else len(self.values[first].shape)
        if hole == "D":
            return str(self.any(0, -1, max(ranks - 1, 0)))
        if hole == "y":
            if first is None:
                return None
            like = self.values[first]
            fits = [n for n, v in self.values.items() if v.shape == like.shape and v.dtype == like.dtype]
        else:
            fits = [n for n, v in self.values.items() if n != "k" and accepts(hole, v)]
        made = [n for n in fits if n.startswith("w")]
        recent = self.any(*made[-2:]) if made else None
        return recent if recent and self.chance(0.6) else self.any(*fits) if fits else None

    def statement(self) -> None:
        group = self.random.choices(list(GROUPS), [weight for _, weight in GROUPS.values()])[0]
        text = self.fill(self.any(*TEMPLATES[group]))
        if text is None:
            return
        names = list(self.values)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                made = jax.eval_shape(lambda *given: eval(text, SPACE | dict(zip(names, given, strict=True))),
                                      *self.values.values())
        except Exception:
            return
        if isinstance(made, jax.ShapeDtypeStruct) and made.size <= 5000:
            name = f"w{len(self.lines)}"
            self.lines.append(f"    {name} = {text}")
            self.values[name] = made

    def program(self) -> str:
        """The text of a module with the function f."""
        count = self.any(1, 2, 2, 3, 3, 4, 5, 7)
        for _ in range(12 * count):
            if len(self.lines) < count:
                self.statement()
        made = [name for name in self.values if name.startswith("w")] or ["a"]
        results = {made[-1], self.any(*made)}
        arguments = ", ".join(self.shapes)
        body = f"def h({arguments}):\n" + "\n".join(self.lines) + f"\n    return {', '.join(sorted(results))},\n"
        return f"{HEAD}a_dtype = '{self.float}'\n\n\n{body}{TOTAL}{FORMS[self.form]}"

    # ---- arguments ----

    def floats(self, shape: tuple[int, ...], style: str) -> np.ndarray:
        x = self.numbers.standard_normal(shape)
        if style == "ties":
            x = np.where(self.numbers.random(shape) < 0.2, -0.0, np.round(x))
        if len(shape) > 1 and shape[-1] == shape[-2]:
            x = x + shape[-1] * np.eye(shape[-1])        # far from singular
        if style == "special":
            odd = self.numbers.choice([np.nan, np.inf, -np.inf, 0.0, -0.0], shape)
            x = np.where(self.numbers.random(shape) < self.any(0.05, 0.3), odd, x)
        return x

    def arguments(self, style: str) -> list[jax.Array]:
        """Arguments of f: "plain", with "ties" and -0.0, or "special": NaN, infinities, extreme integers."""
        return [jnp.asarray(self.argument(name, style)) for name in self.shapes]

    def argument(self, name: str, style: str) -> np.ndarray:
        shape, dtype = self.shapes[name], jnp.dtype(self.kinds[name])
        if name == "k":
            return np.int32(self.any(0, 1, 2, 3, -1, -2, 40) if style != "plain" else self.any(0, 1, 2))
        if name == "b":
            return self.numbers.random(shape) < 0.5
        if name == "c":
            return (self.floats(shape, style) + 1j * self.floats(shape, style)).astype(dtype)
        if name != "i":
            return self.floats(shape, style).astype(dtype)
        limits = np.iinfo(dtype)
        if style == "plain":
            return self.numbers.integers(0, 3, shape).astype(dtype)
        low = 0 if limits.min == 0 else -self.shapes["v"][0] - 2
        x = self.numbers.integers(low, self.shapes["v"][0] + 3, shape).clip(limits.min, limits.max)
        return (np.where(self.numbers.random(shape) < 0.2, self.numbers.choice([limits.min, limits.max, 0], shape), x)
                if style == "special" else x).astype(dtype)
