"""What a launch becomes: a tensor program, or native code called from the program, and why.

`auto` takes the tensor program where there is one, unless the cost model says that native code is faster here. For a
GPU of NVIDIA's, native code is the kernel itself, as PTX: faster where a tensor program has a loop.
"""
from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable

import numpy as np
from jaxlib.mlir import ir

from reactant import native
from reactant.differentiate.declare import NATIVE_CALLS, NATIVE_FORMS
from reactant.errors import ReactantError, Reason, Related, UnsupportedError, in_kernel
from reactant.ir import modules, ops
from reactant.ir.context import building
from reactant.ir.types import Shape, dtype_of, shape_of
from reactant.kernels.form.record import Buffer, KernelRecord
from reactant.kernels.launch import costs, records
from reactant.kernels.lockstep import tensors
from reactant.kernels.ptx import ptx, ptx_call
from reactant.kernels.stages import checks
from reactant.kernels.stages.stages import run_stages
from reactant.runtime.devices import lowered_for
from reactant.support.records import dataclass

PATHS = ("auto", "tensor", "native")


@dataclass(frozen=True)
class Lowering:
    """One launch as operations: `emit` takes the values of the record's parameters, in order, and gives the new
    contents of its written buffers, in order.

    path: "tensor", "native" or "ptx". reasons: why not the other one. all_reasons: looks for what else is in the way.
    """

    name: str
    path: str
    emit: Callable[[list[ir.Value]], list[ir.Value]]
    reasons: tuple[str, ...] = ()
    all_reasons: Callable[[], tuple[str, ...]] | None = None
    chosen: Callable[[tuple[bool, ...] | None, bool], Lowering] | None = None
    """Where costs decide: what they say if these of the memories hold arguments of the program, which native code
    writes into copies of, and the launch is in a loop of the program."""

    def explained(self) -> str:
        """With all the reasons, where `reasons` has only the first."""
        found = self.all_reasons() if self.all_reasons is not None else ()
        return str(dataclasses.replace(self, reasons=found) if len(found) > 1 else self)

    def __str__(self) -> str:
        what = {"tensor": "raised to a tensor program", "native": "compiled for the CPU",
                "ptx": "runs as itself on the GPU (PTX)"}[self.path]
        return "\n".join([f"{self.name}: {what}", *(f"  {reason}" for reason in self.reasons)])


def lower(record: KernelRecord, path: str = "auto", check: bool = False, differentiated: bool = False,
          place: str = "cpu", guarded: bool = False) -> Lowering:
    """The lowering of a record for a place (`place_of`); one to be differentiated is a tensor program wherever that is
    possible. guarded: native code whose accesses are checked, for a CPU.

    Raises `UnsupportedError` where the asked path cannot take it, with the reasons, and `OutOfBounds` for an access
    that the launch certainly makes outside an array.
    """
    if place != "cpu" and (check or (path == "native" and place != "cuda")):
        why = "accesses are checked at run time" if check else "lower=\"native\" asks for it"
        raise _only_on_cpu(record.name, place, why)
    try:
        structured = run_stages(records.without_fields(record))
    except UnsupportedError as error:
        if path != "native" and not check and (members := _of_members(record)) is not None:
            return _tensor(record, members)
        if place != "cuda" or path == "tensor":
            raise
        return _ptx(record, (error.in_one_line(),))
    if guarded:
        return _native(record, checks.add_bounds_checks(structured, record.name), ("its integers change",))
    if check:
        if path == "tensor":
            raise UnsupportedError(f"The kernel '{record.name}' is checked at run time only as native code.",
                                   hint="Leave out lower=\"tensor\" or check=True. Tensor programs are checked when "
                                        "they are compiled.", code="kernel-launch")
        return _native(record, checks.add_bounds_checks(structured, record.name), ("check=True asks for it",))
    unraised = _ptx if place == "cuda" else functools.partial(_native, module=structured)
    if path == "native":
        return unraised(record, reasons=('lower="native" asks for it',))
    try:
        raised = _raised(record, structured)
    except tensors.NotRaised as error:
        if path == "tensor":
            others = tuple(Related(f"also {reason}") for reason in tensors.reasons(structured)[1:])
            otherwise = "runs as itself" if place == "cuda" else "is compiled for the CPU"
            made = in_kernel(f"The kernel '{record.name}' is no tensor program: {error.why}.",
                             hint=f"With lower=\"auto\" it {otherwise}.", code="kernel-not-tensors", span=error.span)
            made.related += others
            raise made from None
        if place not in ("cpu", "cuda"):
            raise _only_on_cpu(record.name, place, f"it is no tensor program: {error.brief()}") from None
        return dataclasses.replace(unraised(record, reasons=(error.brief(),)),
                                   all_reasons=lambda: tensors.reasons(run_stages(record)))
    except (ValueError, LookupError, AssertionError, TypeError) as error:
        if path == "tensor" or isinstance(error, ReactantError) or place not in ("cpu", "cuda"):
            raise
        return unraised(record, reasons=(f"raising it failed: {type(error).__name__}: {error}",))
    with building():
        modules.run_passes(raised.module, "func.func(cse)")     # masks and indices are written out for each access
    if path == "auto" and not differentiated and place == "cpu":
        return _estimated(record, structured, raised)
    if path == "auto" and not differentiated and place == "cuda":
        return _for_cuda(record, raised)
    return _tensor(record, raised)


def _raised(record: KernelRecord, structured: ir.Module) -> tensors.Raised:
    """The tensor program, of the members of structs where every access says which it means, else of their bits."""
    return _of_members(record) or tensors.raised(structured)


def _of_members(record: KernelRecord) -> tensors.Raised | None:
    if not records.has_fields(record):
        return None
    try:
        return records.joined(tensors.raised(run_stages(record)), record)
    except (UnsupportedError, tensors.NotRaised):
        return None


def _estimated(record: KernelRecord, structured: ir.Module, raised: tensors.Raised) -> Lowering:
    """What the cost model says; native code is compiled once, when a launch takes it."""
    with building():
        estimate = costs.estimate(record, structured, raised.module)
    tensor = _tensor(record, raised)
    compiled: list[Lowering] = []

    def chosen(given: tuple[bool, ...] | None, looped: bool) -> Lowering:
        reason = estimate.reason_for_native(given, looped)
        if reason is None:
            return dataclasses.replace(tensor, chosen=chosen)
        if not compiled:
            compiled.append(_native(record, structured, (reason,), tensor.emit))
        return dataclasses.replace(compiled[0], reasons=(reason,), chosen=chosen)
    return chosen(None, False)


def _for_cuda(record: KernelRecord, raised: tensors.Raised) -> Lowering:
    """The tensor program, unless that is slow or long whatever the sizes are."""
    tensor = _tensor(record, raised)
    with building():
        reason = costs.reason_for_ptx(raised.module)
    if reason is None:
        return tensor
    try:
        return _ptx(record, (reason,), tensor.emit)
    except UnsupportedError:
        return tensor


def place_of(target: str | None = None) -> str:
    """What launches are made for: "cpu", "cuda" or another platform's name. That is jax's default platform; a
    compilation for "gpu" (`CompileOptions.target`) shows on a CPU what it would be on one of NVIDIA's GPUs."""
    platform = lowered_for()
    return "cuda" if platform == "cpu" and target == "gpu" else platform


def _only_on_cpu(name: str, platform: str, why: str) -> UnsupportedError:
    return UnsupportedError(f"The kernel '{name}' would have to be native code ({why}), which runs on CPUs, not on "
                            f"{'the ' if platform != 'cuda' else 'a '}{'GPU' if platform == 'cuda' else platform}.",
                            hint="Run this function inside `with jax.default_device(jax.devices(\"cpu\")[0])`, or "
                                 "launch the kernel there by its own compiler.", code="needs-cpu")


# ---- tensors ---------------------------------------------------------------------------------------------------

def _tensor(record: KernelRecord, raised: tensors.Raised) -> Lowering:
    text = modules.bytecode(raised.module)

    def emit(values: list[ir.Value]) -> list[ir.Value]:
        given = [seen_as(v, p.dtype, p.shape) for v, p in zip(values, raised.parameters, strict=True)]
        module = ir.Module.parse(text)
        results = inlined(modules.function(module), given)
        news = dict(zip(raised.results, results, strict=True))
        return [seen_as(news[i], dtype_of(values[i]), shape_of(values[i])) if i in news else values[i]
                for i, p in enumerate(record.parameters) if isinstance(p, Buffer) and p.written]
    notes = tuple(f"{line}: {note}" if line else note for note, line in raised.notes)
    return Lowering(record.name, "tensor", emit, notes)


def inlined(function: ir.Operation, values: list[ir.Value]) -> list[ir.Value]:
    """Copy the body of a function to the insertion point; gives what it returns."""
    block = function.regions[0].blocks[0]
    mapping = dict(zip(block.arguments, values, strict=True))
    *body, terminator = [op.operation for op in block.operations]
    for op in body:
        modules.clone_with(op, mapping)
    return [mapping.get(v, v) for v in terminator.operands]


def seen_as(value: ir.Value, dtype: np.dtype, shape: Shape) -> ir.Value:
    """The same bytes as a tensor of another type."""
    old = dtype_of(value)
    if old != dtype:
        narrow, wide = sorted((old.itemsize, dtype.itemsize))
        if old.itemsize < dtype.itemsize:
            value = ops.reshape(value, (-(-int(np.prod(shape_of(value))) * narrow // wide), wide // narrow))
        value = ops.bitcast_convert(value, dtype)
    return ops.reshape(value, shape)


# ---- native ----------------------------------------------------------------------------------------------------

def _native(record: KernelRecord, module: ir.Module, reasons: tuple[str, ...],
            form: Callable[[list[ir.Value]], list[ir.Value]] | None = None) -> Lowering:
    """Native code; `form` is the same as tensors, where it could be that as well."""
    with building():
        roles = ["inout" if isinstance(p, Buffer) and p.written else "in" for p in record.parameters]
        compiled = native.compile_kernel(module, "kernel", roles=roles, where=record.name)
    NATIVE_CALLS[compiled.target] = _no_derivative(record, reasons)
    if form is not None:
        NATIVE_FORMS[compiled.target] = form

    def emit(values: list[ir.Value]) -> list[ir.Value]:
        return compiled.custom_call(values, kept={k for k, v in enumerate(values) if is_argument(v)})
    return Lowering(record.name, "native", emit, reasons)


def in_a_loop() -> bool:
    """Whether what is built is part of a loop of the program."""
    block = ir.InsertionPoint.current.block
    return bool(block.owner.operation.name != "func.func")


def is_argument(value: ir.Value) -> bool:
    """Whether it is an argument of the program, as it is or in another shape."""
    made = value.owner
    while not isinstance(made, ir.Block):
        if made.operation.name not in ("stablehlo.reshape", "stablehlo.bitcast_convert"):
            return False
        made = made.operation.operands[0].owner
    return bool(made.owner.operation.name == "func.func")


def _no_derivative(record: KernelRecord, reasons: tuple[str, ...]) -> Reason:
    place = f" (at {record.source}:{record.line})" if record.source and record.line else ""
    return Reason(f"The kernel '{record.name}'{place} is native code in this program ({'; '.join(reasons)}), and "
                  f"native code has no derivative.", "Leave lower= and check= out, change what keeps it from being a "
                  "tensor program, or give its derivative with reactant.custom_derivative.", "not-differentiable")


def _ptx(record: KernelRecord, reasons: tuple[str, ...],
         form: Callable[[list[ir.Value]], list[ir.Value]] | None = None) -> Lowering:
    """The kernel itself, for the GPU; should the program run on a CPU, it is native code there. form: as `_native`."""
    try:
        kernel = ptx.compile_kernel(record)
    except UnsupportedError as error:
        error.related += tuple(Related(f"it is no tensor program: {reason}") for reason in reasons)
        raise

    @functools.cache
    def on_cpu() -> Lowering:
        return _native(record, run_stages(record), reasons)
    NATIVE_CALLS[kernel.name] = _no_derivative(record, reasons)
    if form is not None:
        NATIVE_FORMS[kernel.name] = form
    ptx_call.ON_CPU[kernel.name] = lambda values: on_cpu().emit(values)
    return Lowering(record.name, "ptx", lambda values: ptx_call.emit(kernel, values), reasons)
