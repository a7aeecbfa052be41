"""A launch of a GPU kernel, and where a thread is in it."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field

from jaxlib.mlir import ir

from reactant.errors import ReactantError
from reactant.ir import attributes as attr
from reactant.native.control import loop_note
from reactant.native.emission import Function, emits
from reactant.native.memory import counted, parallel_group, product, total
from reactant.native.refusals import refused
from reactant.support.records import dataclass

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
            raise ReactantError(f"The kernel has no attribute reactant.{name} and no {name} was given.",
                                code="native-function")
        size = (*given, 1, 1, 1)[:3]
        if min(size) < 1 or len(given) > 3:
            raise ReactantError(f"A {name} has one to three positive sizes; got {tuple(given)}.",
                                code="native-function")
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
    return "xyz".index(attr.enumerator(op.attributes["dimension"]))


def place_of(f: Function, op: ir.Operation) -> Place:
    if f.place is None:
        raise refused(f"has no {op.name} outside kernels", op)
    return f.place


@emits("gpu.thread_id", "gpu.block_id", "gpu.block_dim", "gpu.grid_dim", "gpu.global_id")
def emit_index(f: Function, op: ir.Operation) -> None:
    place, d = place_of(f, op), axis(op)
    if op.name == "gpu.global_id":
        made = total(f, product(f, place.block[d], str(place.launch.block[d])), place.thread[d])
    else:
        launch = place.launch
        made = {"gpu.thread_id": place.thread[d], "gpu.block_id": place.block[d], "gpu.block_dim": str(launch.block[d]),
                "gpu.grid_dim": str(launch.grid[d])}[op.name]
    f.define(op.results[0], made)


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


# -- loops over blocks and threads

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


def over_threads(f: Function, launch: Launch, body: Callable[[tuple[str, str, str]], None],
                 order: Sequence[int] = (0, 1, 2)) -> None:
    """A loop nest over the threads of a block, whose iterations are independent. order: dimensions, the innermost loop
    first."""
    group = f.module.note("distinct !{}") if launch.threads > 1 else None
    if group:
        f.groups.append(group)
    index, since = ["0", "0", "0"], len(f.accesses)

    def nest(level: int) -> None:
        if level < 0:
            body((index[0], index[1], index[2]))
            return
        d = order[level]
        if launch.block[d] == 1:
            nest(level - 1)
        else:
            def inside(counter: str) -> None:
                index[d] = counter
                nest(level - 1)
            counted(f, "0", str(launch.block[d]), inside, lambda: loop_note(
                f, None, parallel_group(f, group, since), launch.block[d]))
    nest(2)
    if group:
        f.groups.pop()
