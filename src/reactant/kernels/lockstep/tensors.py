"""A kernel in structured form as a StableHLO function: all its threads in lock step (see `lockstep`).

    @kernel(buffers and numbers, as the kernel's parameters) -> (the written buffers, in order)

Buffers have the shapes of `reactant.shape` (flat where that does not fit). What cannot be a tensor program raises
`NotRaised` with the reason and the kernel's line; an access that certainly leaves its buffer raises `OutOfBounds`. Of
accesses known only at run time, a read outside gives some element or zero, and a write outside is left out.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from jaxlib.mlir import ir

from reactant.errors import ReactantError, Span
from reactant.ir import attributes as attr
from reactant.ir import modules, ops
from reactant.ir.context import building
from reactant.ir.types import Shape, shape_of, size, tensor_type
from reactant.kernels.form.form import kernel_of, launch_of, span_of
from reactant.kernels.lockstep.conditions import at_least
from reactant.kernels.lockstep.data import Form, Lanes
from reactant.kernels.lockstep.machine import Machine, Split, thread_of
from reactant.kernels.lockstep.memory import Memory
from reactant.kernels.lockstep.operations import OPERATIONS
from reactant.kernels.lockstep.parallel_axis import WRITERS, contains
from reactant.kernels.lockstep.staged_indices import NotStaged
from reactant.kernels.lockstep.values import Refused, dtype_of_type, of_lanes
from reactant.kernels.lockstep.warp_collectives import WARP, UnevenWarps
from reactant.support.records import dataclass

ATTEMPTS = 40
MOST_REASONS = 12
WORTH_TURNING = 4096
"""So many elements transposed, and it is tried whether threads that are neighbours in x are better along columns: the
first index of `i, j = cuda.grid(2)` is x, and often the row."""
Dim3 = tuple[int, int, int]


class NotRaised(ReactantError, NotImplementedError):
    """A kernel is no tensor program: `why`, and the line that it is about."""

    code = "kernel-not-tensors"

    def __init__(self, why: str, line: Span | None = None, op: ir.Operation | None = None):
        super().__init__(f"The kernel cannot be raised to tensors: {why}.", span=line)
        self.why, self.op = why, op

    def brief(self) -> str:
        """The line and the reason."""
        return f"{self.span}: {self.why}" if self.span else self.why


@dataclass(frozen=True)
class Parameter:
    """A parameter of the raised function: a buffer (with the shape it has as a tensor) or a number (shape ())."""

    name: str
    dtype: np.dtype
    shape: Shape
    is_buffer: bool
    written: bool = False


@dataclass(frozen=True)
class Raised:
    """The module, its parameters, and the numbers of the parameters that its results are the new contents of."""

    module: ir.Module
    parameters: tuple[Parameter, ...]
    results: tuple[int, ...]
    notes: tuple[tuple[str, str], ...] = ()


def reasons(module: ir.Module) -> tuple[str, ...]:
    """All that keeps a kernel from being a tensor program: what is refused, then what else is without that."""
    found: list[str] = []
    skipped: list[ir.Operation] = []
    for _ in range(MOST_REASONS):
        try:
            raised(module, skipped=skipped)
        except NotRaised as refused:
            if refused.brief() not in found:
                found.append(refused.brief())
            if refused.op is None or any(refused.op == op for op in skipped):
                break
            skipped.append(refused.op)
        except Exception:       # of what was left out, no program can be made
            break
        else:
            break
    return tuple(found)


def raised(module: ir.Module, name: str = "main", skipped: Sequence[ir.Operation] = ()) -> Raised:
    """The kernel of a module in structured form as one StableHLO function `name` in a module of its own.

    skipped: operations that are left out (`reasons`).
    Errors: `NotRaised`; `OutOfBounds` for an access that the launch certainly makes outside a buffer."""
    found = _raised(module, name, skipped, (2, 1, 0))
    moved = _transposed(found.module, name)
    if moved < WORTH_TURNING or contains(kernel_of(module), ("gpu.shuffle", "func.call")):
        return found
    try:
        turned = _raised(module, name, skipped, (0, 1, 2))
    except NotRaised:
        return found
    return turned if _transposed(turned.module, name) < moved else found


def _transposed(module: ir.Module, name: str) -> int:
    """Elements that are moved by transpositions; 0 where there are products of matrices, which take them along."""
    end = list(modules.function(module, name).regions[0].blocks[0].operations)[-1]
    found = [v.owner.operation for v in _behind(list(end.operands))]
    if any(op.name == "stablehlo.dot_general" for op in found):
        return 0
    return sum(size(shape_of(op.results[0])) for op in found if op.name == "stablehlo.transpose")


def _raised(module: ir.Module, name: str, skipped: Sequence[ir.Operation], order: Dim3) -> Raised:
    """The same with the dimensions of the grid in some order as those of the tensors."""
    with building():
        parameters = parameters_of(module)
        made = ir.Module.create()
        inputs = [tensor_type(p.shape, p.dtype) for p in parameters]
        results = [k for k, p in enumerate(parameters) if p.written]
        kind = ir.FunctionType.get(inputs, [inputs[k] for k in results])
        notes: list[tuple[str, str]] = []
        block_size = launch_of(module)[1]
        whole = _of_whole_warps(module)
        staging = _has_shared(module)
        radices = {} if staging else _blocks_apart(module, block_size)
        for _ in range(ATTEMPTS):
            with ir.InsertionPoint(made.body):
                function = ops.create("func.func", [], [], {"sym_name": attr.string(name),
                                                            "function_type": ir.TypeAttr.get(kind)}, regions=1)
            block = function.regions[0].blocks.append(*inputs, arg_locs=[ir.Location.current] * len(inputs))
            try:
                with ir.InsertionPoint(block):
                    finals = run(module, list(block.arguments), radices, notes, block_size,
                                 fills_warps=whole is not None and block_size != whole, skipped=skipped,
                                 staging=staging, order=order)
                    ops.create("func.return", [], finals)
            except Split as split:
                function.erase()
                radices = {**radices, split.dimension: sorted({*radices.get(split.dimension, ()), split.radix})}
                notes.clear()
                continue
            except (NotStaged, Refused) as refused:
                function.erase()
                if staging:
                    staging, radices = False, _blocks_apart(module, block_size)
                    notes.clear()
                    continue
                assert isinstance(refused, Refused)
                if isinstance(refused, UnevenWarps) and whole is not None and block_size != whole:
                    block_size, radices = whole, _blocks_apart(module, whole)
                    notes.clear()
                    continue
                raise NotRaised(refused.reason, span_of(refused.op) if refused.op is not None else None,
                                refused.op) from None
            except BaseException:
                function.erase()
                raise
            return Raised(made, tuple(parameters), tuple(results), tuple(notes))
    raise NotRaised("its threads are told apart in too many ways")


def _of_whole_warps(module: ir.Module) -> Dim3 | None:
    """A block with threads that do nothing at its end, so that it divides into warps; None for what is no row."""
    _, (x, y, z) = launch_of(module)
    if y * z > 1 or contains(kernel_of(module), ("gpu.block_dim",)):
        return None
    return (-(-x // WARP) * WARP, 1, 1)


def _has_shared(module: ir.Module) -> bool:
    """Whether the kernel has memory of a block."""
    return any(isinstance(r.type, ir.MemRefType) and r.type.memory_space is not None
               for op in kernel_of(module).regions[0].blocks[0].operations for r in op.operation.results)


def _blocks_apart(module: ir.Module, block: Dim3) -> dict[int, list[int]]:
    """Radices that tell blocks apart, where the kernel has memory or meetings of a block."""
    grid, _ = launch_of(module)
    if not _has_shared(module) and not contains(kernel_of(module), ("gpu.shuffle", "func.call")):
        return {}
    return {d: [block[d]] for d in range(3) if grid[d] > 1 and block[d] > 1}


def parameters_of(module: ir.Module) -> list[Parameter]:
    """What the raised function takes, as the kernel's parameters say it."""
    function = kernel_of(module)
    arguments = list(function.regions[0].blocks[0].arguments)
    written = _written(function)
    attributes = function.attributes["arg_attrs"] if "arg_attrs" in function.attributes else None
    found = []
    for k, argument in enumerate(arguments):
        notes = ir.DictAttr(attributes[k]) if attributes is not None else {}
        name = attr.decode(notes["reactant.name"]) if "reactant.name" in notes else f"argument {k}"
        if not isinstance(argument.type, ir.MemRefType):
            found.append(Parameter(name, dtype_of_type(argument.type), (), False))
            continue
        dtype = dtype_of_type(argument.type.element_type)
        elements = int(attr.decode(notes["reactant.elements"]))
        shape: Shape = (elements,)
        if "reactant.shape" in notes:
            hint = tuple(int(n) for n in attr.decode(notes["reactant.shape"]))
            shape = hint if hint and size(hint) == elements else shape
        found.append(Parameter(name, dtype, shape, True, argument in written))
    return found


def _written(op: ir.Operation) -> set[ir.Value]:
    """The memory that ops inside may write."""
    found: set[ir.Value] = set()
    for region in op.regions:
        for block in region:
            for inner in block.operations:
                place = WRITERS.get(inner.operation.name)
                if place is not None:
                    found.add(inner.operands[place])
                found |= _written(inner.operation)
    return found


def run(module: ir.Module, operands: Sequence[ir.Value], radices: dict[int, list[int]],
        notes: list[tuple[str, str]], block: Dim3, fills_warps: bool = False,
        skipped: Sequence[ir.Operation] = (), staging: bool = False,
        order: Dim3 = (2, 1, 0)) -> list[ir.Value]:
    """Emit the kernel for operands (tensors as `parameters_of` has them); the new contents of written buffers.

    block: that of the launch, or one with more threads in x, which then do nothing. fills_warps: whether one with more
    would be tried (`UnevenWarps` asks for it). staging: whether shared memory is taken to stage loads only (`NotStaged`
    says where that is wrong). order: of the grid's dimensions as dimensions of tensors."""
    grid, launched = launch_of(module)
    function = kernel_of(module)
    parameters = parameters_of(module)
    if 0 in grid or 0 in launched:
        return [v for v, p in zip(operands, parameters, strict=True) if p.written]
    machine = Machine(grid, block, radices, OPERATIONS, tables=_tables(module), notes=notes,
                      meets=contains(function, ("gpu.shuffle", "func.call")), fills_warps=fills_warps, skipped=skipped,
                      staging=staging, order=order)
    body = function.regions[0].blocks[0]
    buffers: list[Memory] = []
    for argument, value, parameter in zip(body.arguments, operands, parameters, strict=True):
        if not parameter.is_buffer:
            machine.values[argument] = of_lanes(Lanes(value), argument.type)
            continue
        memory = Memory(parameter.name, parameter.dtype, size(parameter.shape), parameter.shape, value)
        machine.memories.append(memory)
        machine.values[argument] = memory
        if parameter.written:
            buffers.append(memory)
    context = machine.start
    if block != launched:
        found = machine.narrowed(context, at_least(Form(launched[0] - 1), thread_of(machine, 0)))
        assert found is not None
        context = found
    machine.block_of(body, context)
    results = [memory.value for memory in buffers]
    if staging:
        alive = _behind(results)
        for value, split in machine.put_off:
            if value in alive:
                raise split
        for op in reversed([op.operation for op in ir.InsertionPoint.current.block.operations]):
            if op.results and not any(r in alive for r in op.results):
                op.erase()
    return results


def _behind(results: Sequence[ir.Value]) -> set[ir.Value]:
    """The values that results are made of."""
    found: set[ir.Value] = set()
    left = list(results)
    while left:
        value = left.pop()
        if value not in found and not isinstance(value.owner, ir.Block):
            op = value.owner.operation
            found.update(op.results)
            left += [operand for each in (op, *modules.walk(op)) for operand in each.operands]
    return found


def _tables(module: ir.Module) -> Callable[[str], np.ndarray]:
    """Contents of the constant globals by name."""
    def table(name: str) -> np.ndarray:
        for op in module.body.operations:
            if op.operation.name == "memref.global" and attr.decode(op.attributes["sym_name"]) == name:
                kind = ir.MemRefType(ir.TypeAttr(op.attributes["type"]).value)
                dtype, value = dtype_of_type(kind.element_type), op.attributes["initial_value"]
                return np.array(attr.read(value), dtype).reshape(-1)
        raise Refused(f"there is no table {name}")
    return table
