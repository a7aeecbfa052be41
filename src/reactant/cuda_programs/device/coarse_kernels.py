"""Coarsened kernels for this processor: text of a prepared module's kernel in and out."""
from __future__ import annotations

import re
from collections.abc import Mapping

from reactant.cuda_programs.device import library
from reactant.cuda_programs.device.coarsen import AXES, Coarsened, block_of, places
from reactant.cuda_programs.device.kernel import Kernel, kernel, register_name, with_addresses
from reactant.cuda_programs.device.layout import Layout
from reactant.cuda_programs.device.meetings import FIRST_OF_WARP, meeting
from reactant.cuda_programs.device.retarget import Variable
from reactant.cuda_programs.device.text import VALUE, Function, quoted, uses_of
from reactant.cuda_programs.device.versions import Factors, NotAnother

WHOLE = 72
"""Where ReactantLaunch (runtime/reactant_launch.h) has the extents of the program's own grid."""
_SCOPES = re.compile(r", !(?:alias\.scope|noalias) !\d+")
_KINDS = {"barrier.block": "barrier", "barrier.grid": "grid", **dict.fromkeys(("barrier.count", "barrier.and",
          "barrier.or"), "reducing")}


def coarsened(text: str, factors: Factors, shared: dict[str, Variable], layout: Layout) -> tuple[str, bool]:
    """(the kernel that does the work of several threads or blocks, whether its rows have to be whole warps).

    Args:
        text: a kernel of a prepared module.
        factors: how many threads and blocks become one.
        shared: the module's shared variables; those that blocks have several of are added.
        layout: the module's types.

    Raises:
        NotAnother: where it cannot be.
    """
    made = kernel(text)
    names = {register_name(register): f"%o.{register_name(register)[3:]}" for register in library.REGISTERS}
    used = _renamed(made, names)
    if not used & _coarse(factors):
        raise NotAnother("threads and blocks do not differ along the axis")
    addresses = _addresses(made, shared) if factors.of_blocks > 1 else {}
    if addresses and "%o.dynamic_shared" in used:
        raise NotAnother("a block asks how much shared memory it has")
    coarse = Coarsened(made.function, factors, list(addresses.values()), _barrier)
    blocks = coarse.run()
    start = [line for line in places(coarse, lambda name: f"call i32 @nvvm.read.ptx.sreg.{name}()")]
    if "%o.launch" in used:
        start.append("%o.launch = call ptr @reactant.launch()")
    if "%o.dynamic_shared" in used:
        start.append("%o.dynamic_shared = call i64 @reactant.dynamic_shared()")
    start += _extents(factors)
    start += _memory(coarse, addresses, shared, layout)
    first = next(iter(blocks))
    blocks[first][:0] = start
    return Function(made.function.header, made.name, blocks).text(), coarse.warps


def _coarse(factors: Factors) -> set[str]:
    """The registers that tell copies from each other."""
    return {f"%o.{kind}.{axis}" for kind, numbers in (("tid", factors.threads), ("ctaid", factors.blocks))
            for axis, n in zip(AXES, numbers, strict=True) if n > 1}


def _barrier(line: str) -> str:
    found = meeting(line)
    if found is None:
        return ""
    return "warp" if found.code >= FIRST_OF_WARP else _KINDS[found.kind]


def _renamed(made: Kernel, names: Mapping[str, str]) -> set[str]:
    """Registers get their names for `Coarsened`; what pointers do not lead to is said of single threads, and goes.
    Returns the registers that are read."""
    used: set[str] = set()
    for lines in made.function.blocks.values():
        for at, line in enumerate(lines):
            line = VALUE.sub(lambda m: names.get(m[0], m[0]), _SCOPES.sub("", line))
            used.update(name for name in uses_of(line) if name in names.values())
            lines[at] = line
        lines[:] = [line for line in lines if "@llvm.experimental.noalias.scope.decl" not in line]
    return used


def _addresses(made: Kernel, shared: Mapping[str, Variable]) -> dict[str, str]:
    """Names for the addresses of shared variables, which the kernel uses instead of them afterwards."""
    text = made.function.text()
    found = {name: f"%o.shared.{number}" for number, name in enumerate(shared)
             if re.search(rf"@{re.escape(quoted(name))}(?![-\w$.])", text)}
    hoisted = with_addresses(made.function, found)
    next(iter(made.function.blocks.values()))[:0] = hoisted
    return found


def _extents(factors: Factors) -> list[str]:
    """The program's own grid, where there are fewer blocks now."""
    lines = ["%n.launch = call ptr @reactant.launch()"] if factors.of_blocks > 1 else []
    for number, (axis, blocks) in enumerate(zip(AXES, factors.blocks, strict=True)):
        if blocks > 1:
            lines += [f"%n.whole.{axis} = getelementptr inbounds i8, ptr %n.launch, i64 {WHOLE + 4 * number}",
                      f"%o.nctaid.{axis} = load i32, ptr %n.whole.{axis}, align 4, !invariant.load !{{}}"]
    return lines


def _memory(coarse: Coarsened, addresses: Mapping[str, str], shared: dict[str, Variable], layout: Layout) -> list[str]:
    """Each block's own variables; those of no size are parts of the dynamic memory, which the launch has more of."""
    lines: list[str] = []
    sizes = {name: layout.size(shared[name].type) for name in addresses}
    if 0 in sizes.values():
        lines += ["%n.dynamic.all = call i64 @reactant.dynamic_shared()",
                  f"%n.dynamic = udiv i64 %n.dynamic.all, {coarse.factors.of_blocks}"]
        lines += [f"%n.dynamic.{k} = mul nuw nsw i64 %n.dynamic, {k}" for k in range(coarse.factors.of_blocks)]
    for name, address in addresses.items():
        variable = shared[name]
        for copy in range(len(coarse.copies)):
            block = block_of(coarse, copy)
            own, offset = name, f"%n.dynamic.{block}"
            if sizes[name]:
                own, offset = (f"{name}.block{block}" if block else name), "0"
                shared.setdefault(own, Variable(own, variable.type, variable.align))
            lines.append(f"{address}.copy{copy} = getelementptr i8, ptr @{quoted(own)}, i64 {offset}")
    return lines
