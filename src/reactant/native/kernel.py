"""GPU kernels on CPU threads: a launch becomes a parallel loop over blocks, and loops over threads inside.

`compile_kernel` takes one `func.func` that is one GPU thread (gpu.thread_id, gpu.block_id, shared memory as
`memref.alloca` in the workgroup address space, gpu.barrier, gpu.shuffle and the collective calls of the kernels'
form). A kernel whose threads never meet is a loop nest that LLVM vectorises. One whose threads meet in uniform
control flow is cut at the barriers into such nests (`fission`). Every other one runs its threads as coroutines
(`meeting`).
"""
from __future__ import annotations

from collections.abc import Callable

from jaxlib.mlir import ir

from reactant.native import bounds, coroutine, fission, layout, parallel
from reactant.native.control import loop_note
from reactant.native.emission import Function, Module
from reactant.native.memory import counted, parallel_group
from reactant.native.order import loop_order
from reactant.native.place import Launch, Place, block_index, launch_of, over_threads
from reactant.native.refusals import refused
from reactant.native.short_loops import write_out
from reactant.native.whole_blocks import over_whole_blocks

# -- the launch

def emit_launch(module: Module, launch: Launch, coroutines: bool = False) -> str:
    """Define the function that runs the launch: `(runtime, parts of the arguments)`; its LLVM name. `coroutines` runs
    threads that meet as coroutines always."""
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
    write_out(launch)
    each = str(max(parallel.work(launch.op.regions[0]), 1) * launch.threads)
    if not launch.meetings:
        write = _plain
    elif not coroutines and fission.possible(launch):
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
    since = len(f.accesses)
    counted(f, "%first", "%last", body, lambda: loop_note(f, None, parallel_group(f, group, since)))
    if group:
        f.groups.pop()


def allocate_shared(f: Function, launch: Launch) -> None:
    """Memory that threads of a block share; blocks that one function runs use it one after the other."""
    for op in launch.shared:
        type_ = op.results[0].type
        place = layout.memory(type_)
        if place.unknown_sizes:
            raise refused("has no shared memory of run-time size", op)
        count = 1 + place.is_complex
        for extent in place.shape:
            count *= extent or 0
        pointer = f.allocate(layout.in_memory(place.number), count)
        f.roots[pointer] = pointer
        limits = bounds.of_new(f, pointer, str(count * layout.nbytes(layout.in_memory(place.number))),
                               f"the shared {type_}", f.entry)
        f.define(op.results[0], *layout.parts_of(type_, pointer, tuple(map(str, place.shape)),
                                                 tuple(map(str, place.strides)), limits))


def _plain(f: Function, launch: Launch, block: tuple[str, str, str]) -> None:
    """A block whose threads never meet."""
    if len(launch.op.regions[0].blocks) > 1:
        raise refused("needs kernels in structured control flow")

    def write(kernel: Callable[[ir.Block], object]) -> None:
        def thread(index: tuple[str, str, str]) -> None:
            f.place = Place(index, block, launch)
            kernel(launch.op.regions[0].blocks[0])
        over_threads(f, launch, thread, loop_order(launch))
    over_whole_blocks(f, launch, block, write)


__all__ = ["emit_launch", "launch_of"]
