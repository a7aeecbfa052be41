"""`reactant.jit` of JAX functions: calls as `jax.jit` takes them, compiled once for each of its signatures."""
from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from reactant.calling.jitted import FOR_JAX, Jitted
from reactant.calling.shardings import Told, on_mesh
from reactant.errors import LeftToJaxWarning, ReactantError, ShardingError, UnsupportedError
from reactant.frontends.jax.jax_arguments import argument_leaves, settings_of
from reactant.options import CompileOptions
from reactant.runtime.array import DeviceArray
from reactant.runtime.direct import NOT_THIS_WAY, Shortcut, debugging, may_change, unchanging
from reactant.runtime.jax_internals import NO_TRANSFORMATION, PjitFunction, after_calls, trace_context, transformation
from reactant.runtime.meshes import spread
from reactant.support.session import SESSION, TRACES, collecting_later

if TYPE_CHECKING:
    from reactant.calling.compiled_jax import JaxLowered
    from reactant.calling.jax_calls import JaxCompiled


class JaxJitted(Jitted):
    """A JAX function that compiles itself for each signature of its arguments; made by `reactant.jit`.

    Takes and returns what `jax.jit` of the function does. Inside JAX's transformations (an argument is a tracer) it is
    that function; inside traced NumPy code it becomes part of the program.

    Example:
        >>> import jax.numpy as jnp
        >>> double = reactant.jit(lambda x: jnp.add(x, x))
        >>> double(jnp.arange(3)).tolist(), double.eval_shape(jnp.arange(3)).shape, double.reasons
        ([0, 2, 4], (3,), [])
    """

    def depends_on(self) -> tuple | None:
        if self.told is not None and (self.told.arguments is not None or self.told.results is not None):
            return None
        return self._plain, self.options

    is_its_function = False

    def __init__(self, function: Callable, options: CompileOptions, **told: Any):
        super().__init__(function, options, (), ())
        told = {name: value for name, value in told.items() if name in FOR_JAX or value}
        if type(function) is PjitFunction and told:
            names = " and ".join(told)
            raise TypeError(f"{self._name} is under jax.jit already: give {names} to jax.jit.")
        shardings = {name: on_mesh(told.pop(name), options.mesh) for name in ("in_shardings", "out_shardings")
                     if told.get(name) is not None}
        plain = function if type(function) is PjitFunction else jax.jit(function, **told)
        self.jitted: Any = plain if not shardings else jax.jit(function, **told, **shardings)
        self._plain = plain
        self.told = Told(shardings.get("in_shardings"), shardings.get("out_shardings"))
        self.settings = settings_of(plain)
        self._entries: dict[tuple, JaxCompiled] = {}        # type: ignore[assignment]
        self._shortcut = Shortcut()
        self._takes_ours = False        # whether a call has come with our device arrays
        self._told: set[str] = set()

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        # The shortest way comes first, and written out: jax.jit's own call of a small function takes 3 us.
        shortcut = self._shortcut
        direct = shortcut.direct
        if self._takes_ours and direct is not None:
            args, kwargs = _plain((args, kwargs))
        if direct is not None and transformation.value is NO_TRANSFORMATION and after_calls.value is None \
                and (not TRACES or SESSION.trace is None):
            try:
                result = direct.run(*args, **kwargs)
            except NOT_THIS_WAY:
                shortcut.miss()
            else:
                if (kwargs or not unchanging(map(type, args))) and may_change(args, kwargs):
                    jax.block_until_ready(result)
                return result
        return self._with_care(args, kwargs)

    def _with_care(self, args: tuple, kwargs: dict) -> Any:
        """A call that may be anything."""
        if SESSION.trace is not None:
            from reactant.frontends.session import calls
            return calls.call(self.jitted, *args, **kwargs)
        if debugging():
            return self.jitted(*args, **kwargs)
        return self._look_up(args, kwargs)

    def _look_up(self, args: tuple, kwargs: dict) -> Any:
        """A call by its signature."""
        leaves, tree, static = argument_leaves(self.settings, args, kwargs)
        kinds = _kinds(leaves)
        if kinds is None:
            return self._call_with(args, kwargs, leaves)
        key = (tree, static, kinds, trace_context(), jax.config.jax_default_device)
        try:
            entry = self._entries.get(key)
        except TypeError:                      # a static argument that is not hashable: jax.jit says so
            return self.jitted(*args, **kwargs)
        if entry is None:
            entry = self._compile_call(key, args, kwargs, leaves)
        if jax.device_count() == 1:
            self._shortcut.offer(entry.direct)
        return entry.run(leaves, args, kwargs)

    def lower(self, /, *args: Any, **kwargs: Any) -> JaxLowered:
        """The program for some arguments, before XLA.

        Args:
            args: the arguments of a call, or `jax.ShapeDtypeStruct`.
            kwargs: arguments by name.

        Returns:
            What `Jitted.lower` gives.
        """
        with collecting_later():
            from reactant.calling import compiled_jax
            from reactant.frontends.jax.refusals import CannotImport
        args, kwargs = _plain((args, kwargs))
        try:
            return compiled_jax.lower(self._importer, self.settings, self._name, args, kwargs, self.options, self.told,
                                      keep_original=True)
        except CannotImport as refused:
            self._refuse(refused, args, kwargs)
            self._tell(refused)
            args, kwargs = compiled_jax.plain((args, kwargs))
            return compiled_jax.LoweredByJax(self.jitted, self._name, str(refused), args, kwargs, self.options)

    def eval_shape(self, /, *args: Any, **kwargs: Any) -> Any:
        """Shapes and dtypes of the results; nothing is computed.

        Args:
            args: the arguments of a call, or `jax.ShapeDtypeStruct`.
            kwargs: arguments by name.

        Returns:
            A tree like the results, of `jax.ShapeDtypeStruct`.
        """
        args, kwargs = _plain((args, kwargs))
        return self.jitted.eval_shape(*args, **kwargs)

    def trace(self, /, *args: Any, **kwargs: Any) -> Any:
        """JAX's own stage before lowering.

        Args:
            args: the arguments of a call, or `jax.ShapeDtypeStruct`.
            kwargs: arguments by name.

        Returns:
            What `jax.jit(function).trace` gives, with `jaxpr` and `out_info`.
        """
        args, kwargs = _plain((args, kwargs))
        return self.jitted.trace(*args, **kwargs)

    def lower_call(self, args: tuple, kwargs: dict) -> tuple[JaxLowered, list]:
        """The program for a call, and the arrays that its module takes there. Raises `ReactantError` where the call is
        left to `jax.jit`."""
        args, kwargs = _plain((args, kwargs))
        lowered = self.lower(*args, **kwargs)
        if lowered.reason:
            raise ReactantError(f"{self._name} is left to jax.jit: {lowered.reason}",
                                hint="Use jax.jit for it, or take that out of the function.",
                                code="jax-function-not-imported")
        if lowered.imported.callbacks:
            raise ReactantError(f"{self._name} calls Python at run time: a program of its own cannot take that "
                                "along.", hint="Use jax.jit for it, or take that out of the function.",
                                code="jax-function-not-imported")
        leaves, _, _ = argument_leaves(self.settings, args, kwargs)
        keys = (jax.dtypes.issubdtype(getattr(x, "dtype", None), jax.dtypes.prng_key) for x in leaves)
        return lowered, [jax.random.key_data(x) if is_key else x for x, is_key in zip(leaves, keys, strict=True)]

    @property
    def reasons(self) -> list[str]:
        """Why calls made so far were left to `jax.jit`, each reason once."""
        return list(dict.fromkeys(entry.reason for entry in self._entries.values() if entry.reason))

    def _refuse(self, refused: Exception, args: tuple, kwargs: dict) -> None:
        """Raise where the user wants what jax.jit would not do: `UnsupportedError` for sums of limbs, `ShardingError`
        for nothing gathered where jax would divide the program."""
        if self.options.floats:
            if isinstance(refused.__cause__, UnsupportedError):
                raise refused.__cause__ from None
            raise UnsupportedError(f"floats={dict(self.options.floats)}: {self._name} can only be run by jax.jit, "
                                   f"which leaves all floats as they are: {refused}",
                                   hint="Take that out of the function.", code="not-in-limbs") from None
        if self.options.shard == "strict" and (self.options.mesh is not None or any(
                type(x) is DeviceArray or isinstance(x, jax.Array) and spread(x) is not None
                for x in jax.tree_util.tree_leaves((args, kwargs)))):
            raise ShardingError(f"shard=\"strict\": {self._name} is left to jax.jit, which may gather whole arrays: "
                                f"{refused}", hint="Use jax.jit for it, or take that out of the function.",
                                code="strict-sharding") from None

    def _tell(self, refused: Exception) -> None:
        """Warn where something of ours failed. (What only JAX can run is no failure.)"""
        from reactant.frontends.jax.refusals import Failed
        with self._lock:
            if not isinstance(refused, Failed) or str(refused) in self._told:
                return
            self._told.add(str(refused))
        warnings.warn(f"{self._name} is left to jax.jit, as correct and without our passes: {refused}",
                      LeftToJaxWarning, stacklevel=_levels_to_the_user())

    @cached_property
    def _importer(self) -> Any:
        from reactant.frontends.jax.importing import importer
        return importer(self._plain, self.settings)

    @property
    def _name(self) -> str:
        return getattr(self.function, "__name__", type(self.function).__name__)

    def _compile_call(self, key: tuple, args: tuple, kwargs: dict, leaves: list[Any]) -> JaxCompiled:
        with collecting_later():
            from reactant.calling import recalled, recalled_jax
        entry: JaxCompiled = recalled.made(
            self, key, lambda: self._anew(args, kwargs), recalled_jax.JAX_FORM,
            lambda: recalled_jax.question(self, key, leaves, args, kwargs))
        try:
            with collecting_later():
                entry.prepare(args, kwargs)
        except jax.errors.JaxRuntimeError as refused:
            if self.options.xla or self.options.floats:
                raise                          # the user's compile options are not for jax.jit to drop
            entry = self._left(f"XLA refuses the simplified program: {refused}", args, kwargs)
        with self._lock:
            return self._entries.setdefault(key, entry)

    def asked(self, args: tuple, kwargs: dict) -> tuple[Any, Any]:
        from reactant.calling import recalled_jax
        leaves, tree, static = argument_leaves(self.settings, *_plain((args, kwargs)))
        return recalled_jax.question(self, (tree, static), leaves, args, kwargs), recalled_jax.JAX_FORM

    def _anew(self, args: tuple, kwargs: dict) -> JaxCompiled:
        """The program for a call, before XLA, or what leaves it to `jax.jit`."""
        with collecting_later():
            from reactant.calling import compiled_jax
            from reactant.frontends.jax.refusals import CannotImport
        try:
            return compiled_jax.lower(self._importer, self.settings, self._name, args, kwargs, self.options,
                                      self.told).program()
        except CannotImport as refused:
            self._refuse(refused, args, kwargs)
            self._tell(refused)
            return compiled_jax.LeftToJax(self.jitted, str(refused), given=(args, kwargs))

    def _left(self, reason: str, args: tuple, kwargs: dict) -> JaxCompiled:
        """What leaves a call to `jax.jit` where something of ours has failed."""
        from reactant.calling import compiled_jax
        from reactant.frontends.jax.refusals import Failed
        self._tell(Failed(reason))
        return compiled_jax.LeftToJax(self.jitted, reason, given=(args, kwargs))

    def clear_cache(self) -> None:
        """Forget every compiled program of this function."""
        super().clear_cache()
        self._shortcut = Shortcut()

    def _call_with(self, args: tuple, kwargs: dict, leaves: list[Any]) -> Any:
        """A call with tracers, which is JAX's, or with our device arrays, whose content is."""
        if any(type(leaf) is DeviceArray for leaf in leaves):
            self._takes_ours = True
            args, kwargs = _plain((args, kwargs))
            return self(*args, **kwargs)
        return self.jitted(*args, **kwargs)


def _levels_to_the_user() -> int:
    """The `stacklevel` for whoever asks, so that a warning names the line that called us."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("reactant."):
        frame, level = frame.f_back, level + 1
    return level


def _kinds(leaves: list[Any]) -> tuple | None:
    """What a program depends on of each leaf; None where a leaf is a tracer, or a `DeviceArray` that jax can have."""
    found: list[Any] = []
    for leaf in leaves:
        if isinstance(leaf, jax.Array):
            if isinstance(leaf, jax.core.Tracer):
                return None
            found.append((leaf.aval, leaf.sharding if leaf.committed else None))
        elif isinstance(leaf, (np.ndarray, np.generic)):
            found.append((type(leaf), leaf.shape, leaf.dtype))
        elif type(leaf) is DeviceArray:
            if not leaf.is_padded:
                return None
            found.append((leaf.shape, leaf.dtype, leaf.sharding))
        else:
            found.append(type(leaf))
    return tuple(found)


def _plain(tree: Any) -> Any:
    """Device arrays of ours as jax's, but for those that jax cannot have."""
    leaves, structure = jax.tree_util.tree_flatten(tree)
    if DeviceArray not in map(type, leaves):
        return tree
    return structure.unflatten([x.jax if type(x) is DeviceArray and not x.is_padded else x for x in leaves])
