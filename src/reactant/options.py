"""What a user can choose about a compilation: one frozen dataclass, part of the cache key."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import ml_dtypes
import numpy as np

LEVELS = ("rounding", "association", "contraction")
NATIVE = ("auto", "never", "always")
TARGETS = ("cpu", "gpu", "tpu")
SHARD = ("auto", "strict")
LIMBS = {"float64": {"float32x2": ("float32", 2), "float32x3": ("float32", 3), "float64x2": ("float64", 2),
                     "float64x4": ("float64", 4), "float32x2 scaled": ("float32", 2),
                     "float32x3 scaled": ("float32", 3)},
         "float32": {"bfloat16x2": ("bfloat16", 2), "bfloat16x3": ("bfloat16", 3), "float16x2": ("float16", 2)}}
"""By the floats of a program: the sums of limbs that can take their place, of which floats, and how many."""


@dataclass(frozen=True)
class CompileOptions:
    """What can be chosen about a compilation; immutable, and part of the cache key.

    Each field is also an argument of `reactant.jit` by its name. Unknown names and values raise `TypeError` or
    `ValueError`.

    Args:
        optimize: True for the default pipeline, False for none, or names of pipelines, families or single rules.
        without: names of families or rules that are left out. Names that nobody has raise `UnknownPass` when the
            function is compiled.
        allow: rewrites that change the last places, admitted beside exact ones: "rounding" (the new form is as
            accurate), "association" (it may lose accuracy: sums in another order, factored products), "contraction" (of
            a product that something is added to, only the sum is rounded: then a*a - b*b at a = b need not be 0).
        finite: assume that no value is NaN or infinite.
        unroll_limit: a `for` over a constant range is unrolled while trip count x operations of the body is at most
            this.
        max_unroll: most iterations unrolled where the loop index must be a Python int (a shape, a list index).
        list_capacity: elements set aside for a list or queue in a loop where nothing bounds its length; a call that
            needs more compiles again, with 16 times as many.
        sized_results: deliver results of run-time size (`x[x > 0]`, lists that grow under conditions), which raise
            otherwise: no program has them, so they are cut out of larger ones after each call.
        denormals: numbers too small for full precision are numbers, as in NumPy; False: they may be taken for 0, as in
            jax, where they would slow a program down.
        check: check run-time indices, divisors and shapes, and raise after the call.
        donate: device arrays given as arguments may be overwritten.
        xla: XLA compile options, a dict by name, over those chosen for the module.
        native: whether parts of a program that XLA runs slower on a CPU than a C compiler would (loops, mostly) become
            native code: "auto" where it pays, "always" wherever it is possible, "never".
        native_seconds: seconds that compiling native code of a program may take, by an estimate from its length; parts
            beyond that stay with XLA, and `reactant.explain` says so. Not with native="always".
        target: "cpu", "gpu" or "tpu": whose fastest forms the last stage chooses, also to look at them on a machine
            without one; None: the platform it will run on (jax's default).
        mesh: the devices that the program runs on (`reactant.mesh(x=4, y=2)`); None: where its arguments are.
        shard: "auto" chooses how those arguments lie on the mesh of which nothing is said, by estimated time; "strict"
            refuses programs that gather a divided array (`ShardingError`).
        floats: floats of the program that become sums of several others inside of it, a dict by name: of "float64"
            "float32x2", "float32x3", "float64x2", "float64x4", "float32x2 scaled" or "float32x3 scaled", of "float32"
            "bfloat16x2", "bfloat16x3" or "float16x2". Arguments and results keep their dtypes.
        without_limbs: which lines `floats` leaves in their own format: a function of the file (as code objects say),
            the line and its text, that says so.
        improvements: other forms of expressions, which `reactant.improve` has found for a program.
        cache: whether compiled programs are looked up in the user's compile cache, and kept there (`reactant.cache`).

    Example:
        >>> options = reactant.CompileOptions(finite=True, allow=("rounding", "association"))
        >>> reactant.jit(lambda x: 0.0 * x, options=options)(np.ones(2))
        array([0., 0.])
        >>> options.with_(finite=False).finite
        False
    """

    optimize: bool | str | tuple[str, ...] = True
    without: tuple[str, ...] = ()
    allow: tuple[str, ...] = ("rounding",)
    finite: bool = False
    unroll_limit: int = 256
    max_unroll: int = 4096
    list_capacity: int = 1024
    sized_results: bool = False
    denormals: bool = True
    check: bool = True
    donate: bool = False
    xla: tuple[tuple[str, Any], ...] = field(default=())
    native: str = "auto"
    native_seconds: float = 8.0
    target: str | None = None
    mesh: Any = None
    shard: str | None = None
    floats: tuple[tuple[str, str], ...] | None = None
    without_limbs: Callable[[str, int, str], object] | None = None
    improvements: Any = None
    cache: bool = True

    def __post_init__(self) -> None:
        for name in ("without", "allow", "optimize"):
            value = getattr(self, name)
            if isinstance(value, list):
                object.__setattr__(self, name, tuple(value))
        if isinstance(self.xla, Mapping):
            object.__setattr__(self, "xla", tuple(sorted(self.xla.items())))
        if isinstance(self.floats, Mapping):
            object.__setattr__(self, "floats", tuple(sorted(self.floats.items())) or None)
        self._check_floats()
        if isinstance(self.without, str) or isinstance(self.allow, str):
            raise TypeError("CompileOptions: `without` and `allow` take tuples of names, not one string.")
        if wrong := [level for level in self.allow if level not in LEVELS]:
            raise ValueError(f"CompileOptions: allow={wrong[0]!r} is not one of {', '.join(LEVELS)}.")
        if self.target not in (None, *TARGETS):
            raise ValueError(f"CompileOptions: target={self.target!r} is not one of {', '.join(TARGETS)}.")
        if self.native not in NATIVE:
            raise ValueError(f"CompileOptions: native={self.native!r} is not one of {', '.join(NATIVE)}.")
        if self.shard not in (None, *SHARD):
            raise ValueError(f"CompileOptions: shard={self.shard!r} is not one of {', '.join(SHARD)}.")
        if not isinstance(self.optimize, (bool, str, tuple)):
            raise TypeError("CompileOptions: optimize is True, False, a name or a tuple of names.")
        for name in ("unroll_limit", "max_unroll", "list_capacity"):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 0:
                raise ValueError(f"CompileOptions: {name} is a non-negative int, not {value!r}.")
        if isinstance(self.native_seconds, bool) or not isinstance(self.native_seconds, (int, float)) \
                or not self.native_seconds >= 0:
            raise ValueError(f"CompileOptions: native_seconds is a number of seconds, not {self.native_seconds!r}.")
        for name in ("finite", "sized_results", "denormals", "check", "donate", "cache"):
            if not isinstance(getattr(self, name), bool):
                raise TypeError(f"CompileOptions: {name} is True or False, not {getattr(self, name)!r}.")

    def _check_floats(self) -> None:
        for source, target in self.floats or ():
            if source not in LIMBS:
                kind = "; limbs are of floats" if "int" in str(source) or source == "bool" else ""
                raise ValueError(f"CompileOptions: floats has {source!r}{kind}, not one of {', '.join(LIMBS)}.")
            if target not in LIMBS[source]:
                raise ValueError(f"CompileOptions: floats={{{source!r}: {target!r}}}: there are "
                                 f"{', '.join(LIMBS[source])}.")
        if self.without_limbs is not None:
            if not callable(self.without_limbs):
                raise TypeError("CompileOptions: without_limbs is a function of file, line and text, not "
                                f"{self.without_limbs!r}.")
            if not self.floats:
                raise ValueError("CompileOptions: without_limbs says where floats= does not apply: give floats= too.")
        for name in ("floats", "improvements"):
            if getattr(self, name) and self.optimize is not True:
                raise ValueError(f"CompileOptions: {name} is a part of the default pipeline: leave optimize=True.")

    def limbs(self, source: str) -> tuple[Any, int]:
        """The dtype of the limbs that a float of the program becomes, and how many."""
        name, count = LIMBS[source][dict(self.floats or ())[source]]
        return np.dtype(getattr(ml_dtypes, name, name)), count

    def scaled(self, source: str) -> bool:
        """Whether those limbs carry a power of two for each array."""
        return dict(self.floats or ())[source].endswith("scaled")

    def after_limbs(self) -> CompileOptions:
        """What may be done to the program once floats have become limbs, or expressions have been given their forms:
        nothing that changes a rounding."""
        return self if self.floats is None and self.improvements is None else replace(self, allow=(), finite=False)

    @property
    def limbs_inside(self) -> bool:
        """Whether something in the program is computed in sums of limbs."""
        return self.floats is not None or self.improvements is not None and self.improvements.needs_limbs

    @property
    def contract(self) -> bool:
        """Whether a product that something is added to may stay unrounded; to sums of limbs it makes no difference."""
        return "contraction" in self.allow or self.floats is not None

    def with_(self, **changes: Any) -> CompileOptions:
        """A copy with some fields changed.

        Args:
            changes: fields by name.

        Returns:
            New `CompileOptions`; these stay as they are.

        Raises:
            TypeError: for names that are no fields; the text lists the fields.
        """
        known = [f.name for f in fields(self)]
        if unknown := [name for name in changes if name not in known]:
            raise TypeError(f"There is no compile option {unknown[0]!r}; there are {', '.join(known)}.")
        return replace(self, **changes)
