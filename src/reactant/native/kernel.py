"""GPU kernels on CPU threads: a launch becomes a parallel loop over blocks, and loops over threads inside.

`compile_kernel` takes one `func.func` that is one GPU thread (gpu.thread_id, gpu.block_id, shared memory as
`memref.alloca` in the workgroup address space, gpu.barrier, gpu.shuffle and the collective calls of the kernels' form).
A kernel whose threads never meet is a loop nest that LLVM vectorises. One whose threads meet in uniform control flow is cut
at the barriers into such nests (`fission`). Every other one runs its threads as coroutines (`meeting`).
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from jaxlib.mlir import ir

from reactant.errors import ReactantError, UnsupportedError
from reactant.native import coroutine, layout, parallel
from reactant.native.control import loop_note
from reactant.native.emission import Function, Module, emits
from reactant.native.memory import counted, product, total

Dim3 = tuple[int, int, int]


@dataclass
class Launch:
    """A kernel and how it is launched."""

    op: ir.Operation
    grid: Dim3
    block: Dim3
    shared: list[ir.Operation] = field(default_factory=list)
    """Allocations of memory that the threads of a block share."""
    meetings: list[ir.Operation] = field(default_factory=list)

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.block[0] * self.block[1] * self.block[2]

    @property
    def blocks(self) -> int:
        return self.grid[0] * self.grid[1] * self.grid[2]


def launch_of(op: ir.Operation, grid: Sequence[int] | None, block: Sequence[int] | None) -> Launch:
    """Read the launch's sizes (attributes `reactant.grid` and `reactant.block` where not given) and what is in the
    kernel. Raises `ReactantError` where a size is missing or not positive."""
    sizes = []
    for name, given in (("grid", grid), ("block", block)):
        if given is None and f"reactant.{name}" in op.attributes:
            given = [int(v) for v in ir.DenseI64ArrayAttr(op.attributes[f"reactant.{name}"])]
        if given is None:
            raise ReactantError(f"The kernel has no attribute reactant.{name} and no {name} was given.")
        size = (*given, 1, 1, 1)[:3]
        if min(size) < 1 or len(given) > 3:
            raise ReactantError(f"A {name} has one to three positive sizes; got {tuple(given)}.")
        sizes.append(size)
    launch = Launch(op, sizes[0], sizes[1])  # type: ignore[arg-type]

    def visit(region: ir.Region) -> None:
        for block_ in region:
            for inner in block_.operations:
                if is_meeting(inner.operation):
                    launch.meetings.append(inner.operation)
                if is_shared(inner.operation):
                    launch.shared.append(inner.operation)
                for nested in inner.operation.regions:
                    visit(nested)
    visit(op.regions[0])
    return launch


def is_shared(op: ir.Operation) -> bool:
    return op.name == "memref.alloca" and (space := ir.MemRefType(op.results[0].type).memory_space) is not None \
        and str(space) in ("#gpu.address_space<workgroup>", "3 : i64", "3")


def is_meeting(op: ir.Operation) -> bool:
    """Whether threads wait for each other here."""
    if op.name in ("gpu.barrier", "gpu.shuffle"):
        return True
    return op.name == "func.call" and ir.FlatSymbolRefAttr(op.attributes["callee"]).value.startswith("reactant.")


# -- who am I

@dataclass
class Place:
    """Thread and block indices of the thread being translated."""

    thread: tuple[str, str, str]
    block: tuple[str, str, str]
    launch: Launch


def axis(op: ir.Operation) -> int:
    return "xyz".index(str(op.attributes["dimension"]).rsplit(" ", 1)[-1].strip("<>#"))


def place_of(f: Function, op: ir.Operation) -> Place:
    place = getattr(f, "place", None)
    if place is None:
        raise UnsupportedError(f"native code has no {op.name} outside kernels (at {op.location}).")
    return place


@emits("gpu.thread_id", "gpu.block_id", "gpu.block_dim", "gpu.grid_dim", "gpu.global_id")
def emit_index(f: Function, op: ir.Operation) -> None:
    place, d = place_of(f, op), axis(op)
    if op.name == "gpu.global_id":
        made = total(f, product(f, place.block[d], str(place.launch.block[d])), place.thread[d])
    else:
        made = {"gpu.thread_id": place.thread, "gpu.block_id": place.block, "gpu.block_dim": place.launch.block,
                "gpu.grid_dim": place.launch.grid}[op.name][d]
    f.define(op.results[0], str(made))


def flat_thread(f: Function, place: Place) -> str:
    """Number of the thread in its block, x fastest."""
    x, y, z = place.thread
    return total(f, x, product(f, str(place.launch.block[0]), total(f, y, product(f, str(place.launch.block[1]), z))))


@emits("gpu.lane_id", "gpu.subgroup_id", "gpu.subgroup_size", "gpu.num_subgroups")
def emit_warp_index(f: Function, op: ir.Operation) -> None:
    place = place_of(f, op)
    if op.name in ("gpu.subgroup_size", "gpu.num_subgroups"):
        f.define(op.results[0], "32" if op.name == "gpu.subgroup_size" else str(-(-place.launch.threads // 32)))
        return
    number = flat_thread(f, place)
    if number[0] != "%":
        f.define(op.results[0], str(int(number) % 32 if op.name == "gpu.lane_id" else int(number) // 32))
        return
    f.define(op.results[0], f.let(f"{'and' if op.name == 'gpu.lane_id' else 'lshr'} i64 {number}, "
                                  f"{31 if op.name == 'gpu.lane_id' else 5}"))


# -- the launch

def emit_launch(module: Module, launch: Launch) -> str:
    """Define the function that runs the launch: `(runtime, parts of the arguments)`; its LLVM name."""
    from reactant.native import fission
    f = Function(module)
    parameters = ["ptr %rt"]
    arguments = list(launch.op.regions[0].blocks[0].arguments)
    for number, argument in enumerate(arguments):
        names = []
        for position, type_ in enumerate(layout.parts(argument.type)):
            names.append(f"%a{number}.{position}")
            parameters.append(f"{type_}{' noalias' if type_ == 'ptr' else ''} {names[-1]}")
            if type_ == "ptr":
                f.roots[names[-1]] = names[-1]
        f.define(argument, *names)
    f.start("start")
    each = str(max(parallel.work(launch.op.regions[0]), 1) * launch.threads)
    if not launch.meetings:
        write = _plain
    elif fission.possible(launch):
        write = fission.emit_blocks_of_threads
    elif any(coroutine.code_of(op) == coroutine.GRID for op in launch.meetings):
        coroutine.emit_grid(f, launch, arguments, each)
        f.leave(())
        module.definitions.append(f.finished(f"internal void @launch({', '.join(parameters)}) #0"))
        return "@launch"
    else:
        write = coroutine.emit_block
    parallel.outline(f, arguments, str(launch.blocks), each, lambda inside: over_blocks(inside, launch, write))
    f.leave(())
    module.definitions.append(f.finished(f"internal void @launch({', '.join(parameters)}) #0"))
    return "@launch"


def over_blocks(f: Function, launch: Launch, write: Callable[[Function, Launch, tuple[str, str, str]], None]) -> None:
    """Blocks %first to %last, one after the other; `write` translates one."""
    allocate_shared(f, launch)
    # blocks of one thread each: it is the loop over blocks that is to be vectorised
    independent = launch.threads == 1 and not launch.shared and not launch.meetings
    group = f.module.note("distinct !{}") if independent else None
    if group:
        f.groups.append(group)

    def body(number: str) -> None:
        write(f, launch, block_index(f, launch, number))
    counted(f, "%first", "%last", body, loop_note(f, None, group))
    if group:
        f.groups.pop()


def block_index(f: Function, launch: Launch, number: str) -> tuple[str, str, str]:
    """(x, y, z) of a block by its number, with what LLVM cannot know about their ranges."""
    found, rest = [], number
    for d, size in enumerate(launch.grid):
        last = all(s == 1 for s in launch.grid[d + 1:])
        if size == 1:
            found.append("0")
            continue
        found.append(rest if last else f.let(f"urem i64 {rest}, {size}"))
        in_range = f.let(f"icmp ult i64 {found[-1]}, {size}")
        f.line(f"call void {f.module.declare('llvm.assume', 'void', ['i1'], '')}(i1 {in_range})")
        if not last:
            rest = f.let(f"udiv i64 {rest}, {size}")
    return found[0], found[1], found[2]


def allocate_shared(f: Function, launch: Launch) -> None:
    """Memory that threads of a block share; blocks that one function runs use it one after the other."""
    for op in launch.shared:
        type_ = op.results[0].type
        place = layout.memory(type_)
        if place.unknown_sizes:
            raise UnsupportedError(f"native code has no shared memory of run-time size (at {op.location}).")
        count = 1 + place.is_complex
        for extent in place.shape:
            count *= extent or 0
        pointer = f.allocate(layout.in_memory(place.number), count)
        f.roots[pointer] = pointer
        f.define(op.results[0], *layout.parts_of(type_, pointer, tuple(map(str, place.shape)),
                                                 tuple(map(str, place.strides))))


def over_threads(f: Function, launch: Launch, body: Callable[[tuple[str, str, str]], None]) -> None:
    """A loop nest over the threads of a block, whose iterations are independent."""
    group = f.module.note("distinct !{}") if launch.threads > 1 else None
    if group:
        f.groups.append(group)
    index = ["0", "0", "0"]

    def nest(d: int) -> None:
        if d < 0:
            body((index[0], index[1], index[2]))
        elif launch.block[d] == 1:
            nest(d - 1)
        else:
            def inside(counter: str) -> None:
                index[d] = counter
                nest(d - 1)
            counted(f, "0", str(launch.block[d]), inside, loop_note(f, None, group))
    nest(2)
    if group:
        f.groups.pop()


def _plain(f: Function, launch: Launch, block: tuple[str, str, str]) -> None:
    """A block whose threads never meet."""
    def thread(index: tuple[str, str, str]) -> None:
        f.place = Place(index, block, launch)  # type: ignore[attr-defined]
        if len(launch.op.regions[0].blocks) > 1:
            raise UnsupportedError("native code needs kernels in structured control flow.")
        f.emit_block(launch.op.regions[0].blocks[0])
    over_threads(f, launch, thread)

