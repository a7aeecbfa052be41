"""JAX functions as StableHLO: `lower_call` imports the module of one call.

A module that cannot be run without JAX's own machinery (effects, several devices) is refused with a reason; the caller
then leaves the function to `jax.jit`.
"""
from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import jax
from jaxlib.mlir import ir

from reactant.frontends.jax import jax_rules
from reactant.frontends.jax.jax_arguments import Settings
from reactant.frontends.jax.refusals import CannotImport
from reactant.frontends.session.dispatch import means
from reactant.ir import cusolver, gpu_scans, modules, ops
from reactant.ir.types import shape_and_dtype
from reactant.runtime.devices import default_device
from reactant.runtime.jax_internals import restore_x64, swap_x64, with_known_shapes
from reactant.support.random_keys import is_key
from reactant.support.records import dataclass
from reactant.support.session import noting_calls


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
    place: jax.sharding.Sharding | None = None
    """Where results are bound to lie, by arguments or by the function (`device_put`, a mesh of one device)."""


def importer(jitted: Any, settings: Settings) -> Any:
    """The same function under a `jax.jit` that keeps every argument and donates none: the module then has exactly the
    leaves of the arguments."""
    return jax.jit(jitted._fun,       # private: __wrapped__ may be any function that functools.wraps named
                   static_argnums=settings.static_argnums or None, static_argnames=settings.static_argnames or None,
                   keep_unused=True)


@means("lower_jax_call")
def lower_call(keeping: Any, args: tuple, kwargs: dict, differentiated: bool = False,
               callbacks: bool = False) -> Imported:
    """Import the module of `keeping(*args, **kwargs)`, in the user's jax settings. `keeping` comes from `importer`.
    differentiated: the module is to be differentiated, so it says where gradients stop and
    which calls have a derivative of their own. callbacks: it may call Python at run time.

    Raises `CannotImport` where the program needs what only jax.jit does, and whatever the function raises.
    """
    with noting_calls():
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
    try:
        lowered = traced.lower(_private_parameters=parameters)
    except (NotImplementedError, TypeError, ValueError) as error:   # jax.jit leaves out first what nothing needs
        raise CannotImport(f"JAX cannot lower all of the program ({error})") from error
    theirs = lowered.compiler_ir("stablehlo")
    internals = lowered._lowering                                       # private: what jax hands to XLA
    symbolic = internals.compile_args.get("shape_poly_state")
    if symbolic is not None and symbolic.uses_dim_vars:     # a call of an exported program of symbolic sizes
        theirs = with_known_shapes(theirs)
    with theirs.context:
        theirs.operation.write_bytecode(buffer)
    code = buffer.getvalue()
    if b"mhlo.memory_kind" in code or b"annotate_device_placement" in code:
        raise CannotImport("the program says in which memory arrays lie")
    module = modules.parse(code)
    if cusolver.concerns(code) or b"triangular_solve" in code and default_device().platform != "cpu":
        cusolver.as_lapack(module)
    if gpu_scans.concerns(code) and default_device().platform != "cpu":
        gpu_scans.as_windows(module)
    shardings = b"sdy" in code          # names of ops, attributes and dialects stand in it as they are
    called = internals.compile_args.get("host_callbacks") or ()
    _refuse(module, shardings or b"custom_call" in code, callbacks and bool(called))
    if shardings:
        _drop_shardings(module)
    return Imported(module, inputs, outputs, traced.in_tree, jax.tree_util.tree_structure(traced.out_info),
                    tuple(getattr(traced, "_consts", ())),              # private: they are arguments of the module
                    tuple(_in_these_settings(each) for each in called), _place(internals))


def _place(lowering: Any) -> jax.sharding.Sharding | None:
    """Where results lie that are bound to a device, by the function or by its arguments. A mesh around the call is
    around ours, too."""
    if not lowering.compile_args.get("committed") or not jax.sharding.get_abstract_mesh().empty:
        return None
    for sharding in lowering.compile_args.get("intermediate_shardings") or ():
        if isinstance(sharding, jax.sharding.NamedSharding):
            return jax.sharding.NamedSharding(sharding.mesh, jax.sharding.PartitionSpec())
    (device,) = lowering._device_list
    return jax.sharding.SingleDeviceSharding(device)


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
