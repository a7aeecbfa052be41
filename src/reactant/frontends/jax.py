"""JAX functions as StableHLO: `lower_call` imports the module of one call, `call_in_trace` splices one into a traced
NumPy program.

A module that cannot be run without JAX's own machinery (effects, several devices) is refused with a reason; the caller
then leaves the function to `jax.jit`.
"""
from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jaxlib.mlir import ir

from reactant.errors import UnsupportedError
from reactant.frontends import jax_calls, jax_rules
from reactant.frontends.jax_arguments import Settings, settings_of
from reactant.frontends.jax_recognition import PjitFunction
from reactant.frontends.numpy.tensor import PYTHON, Tensor, check_dtype
from reactant.frontends.trace import current_trace, located
from reactant.ir import modules, ops
from reactant.ir.types import shape_and_dtype
from reactant.records import dataclass
from reactant.runtime.jax_internals import restore_x64, swap_x64
from reactant.session import SESSION, suspended

BY_JAX = "Call the derivative outside, or compile with frontend=\"jax\"."


class CannotImport(Exception):
    """Why a call is left to `jax.jit`."""


class NotImported(UnsupportedError):
    """A JAX function that cannot be a part of a program of ours; `reason` says what stands in the way."""

    def __init__(self, message: str, reason: str):
        super().__init__(message)
        self.reason = reason


@dataclass
class Imported:
    """One lowered call. Leaves are those of the run-time arguments, and of the results, in jax's order."""

    module: ir.Module
    inputs: tuple[Any, ...]           # abstract value of each argument leaf
    outputs: tuple[Any, ...]          # jax.ShapeDtypeStruct of each result leaf
    in_tree: Any
    out_tree: Any
    outside: tuple[Any, ...] = ()
    """What the function uses that JAX is tracing outside of it: the first arguments of the module."""
    callbacks: tuple[Callable, ...] = ()
    """What the module's calls of Python run; each call has the number of its own."""


def importer(jitted: Any, settings: Settings) -> Any:
    """The same function under a `jax.jit` that keeps every argument and donates none: the module then has exactly the
    leaves of the arguments."""
    return jax.jit(jitted._fun,       # private: __wrapped__ may be any function that functools.wraps named
                   static_argnums=settings.static_argnums or None, static_argnames=settings.static_argnames or None,
                   keep_unused=True)


def lower_call(keeping: Any, args: tuple, kwargs: dict, differentiated: bool = False,
               callbacks: bool = False) -> Imported:
    """Import the module of `keeping(*args, **kwargs)`, in the user's jax settings. `keeping` comes from `importer`.
    differentiated: the module is to be differentiated, so it says where gradients stop and
    which calls have a derivative of their own. callbacks: it may call Python at run time.

    Raises `CannotImport` where the program needs what only jax.jit does, and whatever the function raises.
    """
    traced = keeping.trace(*args, **kwargs)
    if traced.jaxpr.effects:
        raise CannotImport(f"the function has effects ({', '.join(sorted(map(str, traced.jaxpr.effects)))})")
    outputs = tuple(jax.tree_util.tree_leaves(traced.out_info))
    inputs = tuple(leaf._aval for leaf in jax.tree_util.tree_leaves(traced.args_info))  # private: has weak_type
    for aval in (*inputs, *outputs):
        if aval.dtype == jax.dtypes.float0:
            raise CannotImport("an argument or result has the dtype float0")
        if jax.dtypes.issubdtype(aval.dtype, jax.dtypes.extended) and not is_key(aval.dtype):
            raise CannotImport(f"an argument or result has the dtype {aval.dtype}")
    buffer = io.BytesIO()
    try:
        parameters = jax_rules.lowering_parameters(traced.jaxpr) if differentiated else jax_rules.SIMPLIFIED
    except jax_rules.MixedMarks:
        raise CannotImport("it stops gradients, and calls a function of JAX's (a linear solver, say) that does so for "
                           "its own derivative") from None
    lowered = traced.lower(_private_parameters=parameters)
    theirs = lowered.compiler_ir("stablehlo")
    with theirs.context:
        theirs.operation.write_bytecode(buffer)
    code = buffer.getvalue()
    module = modules.parse(code)
    shardings = b"sdy" in code          # names of ops, attributes and dialects stand in it as they are
    called = lowered._lowering.compile_args.get("host_callbacks") or ()         # private: what jax hands to XLA
    _refuse(module, shardings or b"custom_call" in code, callbacks and bool(called))
    if shardings:
        _drop_shardings(module)
    return Imported(module, inputs, outputs, traced.in_tree, jax.tree_util.tree_structure(traced.out_info),
                    tuple(getattr(traced, "_consts", ())),              # private: they are arguments of the module
                    tuple(_in_these_settings(each) for each in called))


def _in_these_settings(callback: Callable) -> Callable:
    """A callback that finds jax 64-bit or not, as now: programs run with 64 bits on, some in the thread that calls."""
    setting = jax.config.jax_enable_x64

    def call(*args: Any) -> Any:
        before = swap_x64(setting)
        try:
            return callback(*args)
        finally:
            restore_x64(before)
    return call


def _refuse(module: ir.Module, look: bool, callbacks: bool) -> None:
    """Raise for what a module of one device does not have. look: whether any op may be such. callbacks: it may call
    Python; the calls stay where they are, as if they had effects: one that raises, say, may be all that a branch does.
    """
    top = module.operation.attributes
    for name in ("mhlo.num_partitions", "mhlo.num_replicas"):
        if name in top and ir.IntegerAttr(top[name]).value > 1:
            raise CannotImport(f"the program runs on several devices ({name} = {ir.IntegerAttr(top[name]).value})")
    _refuse_signature(modules.function(module))
    for op in modules.walk(module) if look else ():
        if target := ops.target_of(op):
            if callbacks and target.startswith("xla_ffi_python_"):
                op.attributes["has_side_effect"] = ir.BoolAttr.get(True)
            elif "callback" in target:
                raise CannotImport(f"the program calls Python at run time ({target})")
            if target in ("Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape"):
                raise CannotImport(f"the program says how arrays are sharded ({target})")
        elif op.name.startswith("sdy.") and op.name not in _ON_ONE_DEVICE:
            raise CannotImport(f"the program says how arrays are sharded ({op.name})")


_ON_ONE_DEVICE = {"sdy.mesh", "sdy.sharding_constraint"}
"""What may be dropped where there is one device."""


def _drop_shardings(module: ir.Module) -> None:
    """Leave out where arrays lie: there is one device, and the module that this one goes into has other meshes."""
    for op in list(modules.walk(module)):
        if op.name == "sdy.sharding_constraint":
            op.results[0].replace_all_uses_with(op.operands[0])
        if op.name in _ON_ONE_DEVICE:
            op.erase()
            continue
        if "sdy.sharding" in op.attributes:
            del op.attributes["sdy.sharding"]
        for name in ("arg_attrs", "res_attrs"):
            if op.name == "func.func" and name in op.attributes:
                op.attributes[name] = ir.ArrayAttr.get([_without_sharding(each) for each in op.attributes[name]])


def _without_sharding(attributes: ir.DictAttr) -> ir.DictAttr:
    return ir.DictAttr.get({each.name: each.attr for each in attributes if each.name != "sdy.sharding"})


def _refuse_signature(main: ir.Operation) -> None:
    kind = ir.FunctionType(ir.TypeAttr(main.attributes["function_type"]).value)
    for each in (*kind.inputs, *kind.results):
        if not isinstance(each, ir.RankedTensorType) or not each.has_static_shape:
            raise CannotImport(f"an argument or result has the type {each}")
        try:
            shape_and_dtype(each)
        except (ValueError, KeyError, TypeError, NotImplementedError):
            raise CannotImport(f"an argument or result has the type {each}") from None


def is_key(dtype: Any) -> bool:
    """Whether a dtype is that of `jax.random.key`."""
    return jax.dtypes.issubdtype(dtype, jax.dtypes.prng_key)


def key_implementation(dtype: Any) -> str:
    """The random generator of a key dtype, as `jax.random.wrap_key_data` takes it."""
    return dtype._impl.name           # private: jax.random.key_impl asks an array, and there is none yet


# ---- calls from traced NumPy code ------------------------------------------------------------------------------

@located
def call_in_trace(function: Callable, args: tuple, kwargs: dict) -> Any:
    """`function(*args, **kwargs)` as part of the NumPy program being traced: traced arrays in, traced arrays out.

    jax's dtypes hold: with 64 bits off, a float64 array is float32 to the function, and so are its results. Raises
    `UnsupportedError` for callbacks, effects, shardings, and results that are not arrays.
    """
    jitted = function if type(function) is PjitFunction else None
    settings = settings_of(jitted) if jitted is not None else Settings((), (), (), (), "")
    body = jitted._fun if jitted is not None else function
    static = set(settings.static_argnums)
    leaves, tree = jax.tree_util.tree_flatten((
        [None if i in static else a for i, a in enumerate(args)],
        {n: a for n, a in kwargs.items() if n not in settings.static_argnames}))
    numbers = [i for i, leaf in enumerate(leaves) if type(leaf) is Tensor]
    known = [None if type(leaf) is Tensor else _constant(leaf) for leaf in leaves]
    shapes = [_abstract(leaves[i]) for i in numbers]

    def with_arrays(*arrays: Any) -> Any:
        whole = list(known)
        for i, array in zip(numbers, arrays, strict=True):
            whole[i] = array
        positional, keyword = jax.tree_util.tree_unflatten(tree, whole)
        positional = [args[i] if i in static else a for i, a in enumerate(positional)]
        fixed = {n: a for n, a in kwargs.items() if n in settings.static_argnames}
        return body(*positional, **keyword, **fixed)

    name = getattr(function, "__name__", "function")
    differentiated = SESSION.differentiating > 0
    try:
        with suspended():           # what of ours the function calls is a part of the JAX program
            imported = lower_call(jax.jit(with_arrays, keep_unused=True), tuple(shapes), {}, differentiated)
    except CannotImport as refused:
        purpose, advice = ("differentiated by reactant", BY_JAX) if SESSION.differentiating \
            else ("part of a compiled NumPy function", "Call it outside.")
        reason = f"The JAX function '{name}' cannot be {purpose}: {refused}."
        raise NotImported(f"{reason} {advice}", reason) from None
    if any(is_key(out.dtype) for out in imported.outputs):
        raise UnsupportedError(f"The JAX function '{name}' returns a jax.random.key to a compiled NumPy function. "
                               f"Return jax.random.key_data(key), or keep keys inside.")
    values = [_converted(leaves[i].value(), aval.dtype) for i, aval in zip(numbers, imported.inputs, strict=True)]
    values = [*map(current_trace().capture_traced, imported.outside), *values]
    if len(values) != len(modules.function(imported.module).regions[0].blocks[0].arguments):
        raise UnsupportedError(f"The JAX function '{name}' uses an array from outside that JAX is tracing. Pass it as "
                               f"an argument.")
    results = jax_calls.splice(imported.module, values, current_trace().module)
    return jax.tree_util.tree_unflatten(imported.out_tree, [Tensor.of_value(r) for r in results])


def _abstract(tensor: Tensor) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(tensor.shape, jax.dtypes.canonicalize_dtype(tensor.dtype),
                                weak_type=tensor.kind == PYTHON)


def _constant(leaf: Any) -> Any:
    return jax.numpy.asarray(leaf) if isinstance(leaf, (np.ndarray, np.generic)) else leaf


def _converted(value: ir.Value, dtype: Any) -> ir.Value:
    check_dtype(dtype)
    return value if shape_and_dtype(value.type)[1] == dtype else ops.convert(value, dtype)
