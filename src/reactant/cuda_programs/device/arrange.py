"""A prepared module with its kernels as functions that run ranges of blocks."""
from __future__ import annotations

import copy
import os
import re
import sys
import zlib
from collections.abc import Sequence
from dataclasses import field
from typing import TypeVar

from reactant.cuda_programs.device import (
    affine,
    beside,
    blocks,
    coarse_kernels,
    current,
    cuts,
    launches,
    library,
    mathematics,
    narrow,
    reach,
    rows,
    shapes,
    tables,
    together,
    volatile,
)
from reactant.cuda_programs.device.beside import Beside
from reactant.cuda_programs.device.blocks import marked
from reactant.cuda_programs.device.guards import RowVectors
from reactant.cuda_programs.device.interior import agreement as agreed
from reactant.cuda_programs.device.interior import interior
from reactant.cuda_programs.device.kept import GROUP, WARP
from reactant.cuda_programs.device.kernel import Kernel, group_registers, kernel, register_parameters, with_addresses
from reactant.cuda_programs.device.layout import Layout
from reactant.cuda_programs.device.meetings import FIRST_OF_WARP, meeting
from reactant.cuda_programs.device.retarget import Retargeted, Variable
from reactant.cuda_programs.device.rounds import Rounds
from reactant.cuda_programs.device.spread import NotVectorizable
from reactant.cuda_programs.device.stepped import Alone
from reactant.cuda_programs.device.steps import Step
from reactant.cuda_programs.device.text import Module, quoted, result_of, split
from reactant.cuda_programs.device.types import result_type
from reactant.cuda_programs.device.uniformity import uniformity
from reactant.cuda_programs.device.vectors import Vectors
from reactant.cuda_programs.device.versions import OWN, Factors, NotAnother, Version
from reactant.errors import UnsupportedError
from reactant.native import engine
from reactant.support.records import dataclass

Written = TypeVar("Written", bound=Vectors)
_CONSTANTS = re.compile(r'^@("[^"]*"|[-\w$.]+) = [^\n]*?\bconstant ', re.MULTILINE)
_DEFINED = re.compile(r'^@("[^"]*"|[-\w$.]+) = (?!external |extern_weak )', re.MULTILINE)


@dataclass
class Shared:
    """Shared memory of a kernel: instructions that make it, the parameters that carry it, bytes."""

    setup: list[str] = field(default_factory=list)
    parameters: list[str] = field(default_factory=list)
    arguments: list[str] = field(default_factory=list)
    addresses: dict[str, str] = field(default_factory=dict)
    sizes: list[tuple[str, int]] = field(default_factory=list)
    dynamic: bool = False

    @property
    def bytes(self) -> int:
        return sum(size for _, size in self.sizes)


def shared_of(made: Kernel, variables: dict[str, Variable], layout: Layout) -> Shared:
    """What a kernel uses of shared memory. Variables of no size are the dynamic part, all at one address."""
    text = made.function.text()
    found = Shared()
    for name, variable in variables.items():
        if not re.search(rf"@{re.escape(quoted(name))}(?![-\w$.])", text):
            continue
        size = layout.size(variable.type)
        if size == 0:
            found.addresses[name] = "%shared.dynamic"
            found.dynamic = True
            continue
        pointer = f"%shared.{len(found.addresses)}"
        found.addresses[name] = pointer
        found.setup.append(f"{pointer} = alloca {variable.type}, align {max(variable.align, 64)}")
        found.parameters.append(f"ptr noalias noundef align 64 dereferenceable({size}) {pointer}")
        found.arguments.append(f"ptr {pointer}")
        found.sizes.append((pointer, size))
    if found.dynamic:
        found.setup.append("%shared.dynamic = call noalias align 64 ptr @reactant_scratch(i64 %r.dynamic_shared)")
        found.parameters.append("ptr noalias noundef align 64 %shared.dynamic")
        found.arguments.append("ptr %shared.dynamic")
    return found


class Arranger:
    """Collects the pieces of one module."""

    def __init__(self, module: Module, source: Retargeted, identity: str, checks: int = 0,
                 versions: Sequence[Version] = ()) -> None:
        self.versions, self.version = () if checks else versions, OWN
        self.shape: shapes.Shape | None = None
        self.module, self.source, self.identity, self.checks = module, source, identity, checks
        self.layout = Layout(module.rest)
        self.entries: list[tables.Entry] = []
        self.made: list[str] = []
        self.reach = ("", 0)
        self.constants = frozenset(m.strip('"') for m in _CONSTANTS.findall(module.rest))
        self.current = False
        self.notes: list[str] = []
        numbers = [int(n) for n in re.findall(r"^!(\d+) = ", module.rest, re.MULTILINE)]
        self.next_note = max(numbers, default=-1) + 1

    def note(self, text: str) -> str:
        """A metadata node; SELF in the text is its own name."""
        name = f"!{self.next_note}"
        self.next_note += 1
        self.notes.append(f"{name} = {text.replace('SELF', name)}\n")
        return name

    def kernel(self, name: str) -> None:
        """Arrange one, in all versions that can be made of it."""
        text = self.module.functions.pop(name)
        self.version = OWN
        self.arrange(name, text)
        self.copies(name)
        for version in self.versions:
            self.version = version
            own = f"{name}.{version.label}"
            before = self._before()
            try:
                self.arrange(own, text.replace(f"@{quoted(name)}(", f"@{quoted(own)}(", 1))
            except (NotAnother, NotVectorizable) as reason:
                self._back(before, own, reason)

    def copies(self, name: str) -> None:
        """The copies of a kernel for shapes of blocks, and what chooses one."""
        made: dict[shapes.Shape, str] = {}
        for shape, own in self.source.copies.get(name, {}).items():
            self.shape, before = shape, self._before()
            try:
                self.arrange(own, self.module.functions.pop(own))
                made[shape] = blocks.PREFIX + own
            except NotAnother as reason:
                self._back(before, own, reason)
        self.shape = None
        if made:
            self.made.append(shapes.chosen(f"{name}.chosen", self.entries[-1].function, made))
            self.entries[-1].function = f"{blocks.PREFIX}{name}.chosen"

    def arrange(self, name: str, text: str) -> None:
        """One version of a kernel; `name`: what its functions are called after."""
        rows = False
        if self.version.factors != Factors():
            text, rows = coarse_kernels.coarsened(text, self.version.factors, self.source.shared, self.layout)
        self.rows_of_warps = rows
        made = kernel(text)
        if self.version is OWN and not self.checks:
            self.reached(made)
        shared = shared_of(made, self.source.shared, self.layout)
        hoisted = with_addresses(made.function, shared.addresses)
        next(iter(made.function.blocks.values()))[:0] = hoisted
        if shared.addresses:
            volatile.in_step(made.function, set(shared.addresses.values()))
        if self.checks:
            self.copied(made)
            return self.together(made, shared, cuts.pieces(made))
        alone = None if cuts.has_cuts(made) else copy.deepcopy(made)
        if self.shape and alone is not None:
            raise NotAnother("threads do not meet")
        self.copied(made)
        if self.version.how in ("", "vectors") and self.vectors(made, shared, alone):
            return None
        if self.shape or self.version.how == "vectors" or (self.version.how == "threads" and alone is None):
            raise NotAnother(self.version.label or "no vectors")
        if alone is None:
            return self.together(made, shared, cuts.pieces(made))
        wide = copy.deepcopy(alone)
        body, limits = self.body(alone, shared)
        note = self.loop() if self.version.vectorized else self.plain()
        self.made.append(blocks.independent(alone, body, shared.setup, f", !llvm.loop {note}",
                                            (f"{name}.wide", limits)))
        if limits:
            body, _ = self.body(wide, shared, wide=True)
            self.made.append(blocks.independent(wide, body, shared.setup, "", None))
        self.entry(made, shared)
        return None

    def reached(self, made: Kernel) -> None:
        """Write what says which memory the blocks of a kernel access, if it can be said."""
        text, self.reach = reach.reach_function(made, self.source, self.layout, self.constants)
        self.made.append(text)

    def vectors(self, made: Kernel, shared: Shared, alone: Kernel | None) -> bool:
        """A kernel that groups of threads run as vectors, if all of it can be; False, and nothing made, otherwise."""
        before = self._before()
        try:
            if alone is None and self.version.lanes > GROUP:
                raise NotAnother("rows of blocks whose threads meet would have to be as long")
            made, alone = copy.deepcopy(made), copy.deepcopy(alone)
            side = None if alone is None or shared.addresses else rows.side_by_side(made.function)
            if alone is not None and side is not None:
                rows.side_by_side(alone.function)
            original = copy.deepcopy(made)
            cut = cuts.pieces(made)
            if meets_in_grid(cut) or self.keeps_current(made):
                raise NotVectorizable("grids that meet")
            if alone is not None and side is not None and not any(c.meeting for c in cut.cuts):
                self.rows(made, shared, cut, (alone, original), side)
                return True
            self.stepped(made, shared, cut, None if alone is None else self.body(alone, shared), original)
        except NotVectorizable as reason:
            self._back(before, made.name, reason)
            return False
        return True

    def _before(self) -> tuple[int, int, int, bool]:
        return len(self.made), len(self.notes), self.next_note, self.current

    def _back(self, before: tuple[int, int, int, bool], name: str, reason: Exception) -> None:
        """As it was before something was tried."""
        if os.environ.get("REACTANT_CUDA_EXPLAIN"):
            print(f"{name}: {reason}", file=sys.stderr)
        del self.made[before[0]:], self.notes[before[1]:]
        self.next_note, self.current = before[2:]

    def loop(self, whole: bool = False) -> str:
        """The note of a loop whose iterations depend on nothing of one another; `whole`: one over a group, of which
        nothing but vectors is to be left."""
        parts = [f'!{{!"llvm.loop.parallel_accesses", {self.group}}}', '!{!"llvm.loop.unroll.disable"}']
        if whole:
            done = ", ".join(map(self.note, ('!{!"llvm.loop.isvectorized", i32 1}', '!{!"llvm.loop.unroll.full"}')))
            parts += ['!{!"llvm.loop.interleave.count", i32 1}',
                      f'!{{!"llvm.loop.vectorize.followup_vectorized", {done}}}']
        return self.note("distinct !{" + ", ".join(["SELF", *map(self.note, parts)]) + "}")

    def plain(self) -> str:
        """The note of a loop of which nothing is to be made."""
        parts = ('!{!"llvm.loop.unroll.disable"}', '!{!"llvm.loop.vectorize.enable", i1 false}')
        return self.note("distinct !{" + ", ".join(["SELF", *map(self.note, parts)]) + "}")

    def entry(self, made: Kernel, shared: Shared, flags: int = 0) -> None:
        if self.shape:
            return
        if self.version is not OWN:
            self.entries[-1].versions.append((self.version, blocks.PREFIX + made.name, self.rows_of_warps))
            return
        self.entries.append(tables.Entry(made.name, blocks.PREFIX + made.name, made.parameters, flags=flags,
                                         max_threads=self.source.limits.get(made.name, 0),
                                         static_shared=shared.bytes, reach=self.reach))

    def types(self, cut: cuts.Pieces) -> dict[str, str]:
        """The types of kept values."""
        lines = [line for block in cut.function.blocks.values() for line in block]
        return {name: result_type(line, self.layout) for line in lines if (name := result_of(line)) is not None
                and name in cut.kept} | {c.meeting.result: c.meeting.type for c in cut.cuts
                                         if c.meeting and c.meeting.result}

    def together(self, made: Kernel, shared: Shared, cut: cuts.Pieces) -> None:
        """A kernel whose grid meets, or that is checked: run by the runtime, thread by thread."""
        types, checked = self.types(cut), self.checks != 0
        memory = together.memory_of(cut, types, shared.sizes, shared.dynamic, self.layout)
        self.made.append(together.step_function(made, cut, memory, Step(cut, types), self.keeps_current(made),
                                                checked=checked))
        self.made.append(together.blocks_function(made, memory, checked))
        self.entry(made, shared, self.checks | (tables.GRID_BARRIER if meets_in_grid(cut) else 0))

    def stepped(self, made: Kernel, shared: Shared, cut: cuts.Pieces, thread: tuple[str, set[narrow.Sum]] | None,
                original: Kernel) -> None:
        """A kernel that groups of threads run in step. `thread`: its function for one thread, if threads do not
        meet."""
        types = self.types(cut)
        memory = together.memory_of(cut, types, shared.sizes, shared.dynamic, self.layout)
        self.made.append(together.step_function(made, cut, memory, Step(cut, types), self.keeps_current(made),
                                                rarely=True))
        size = WARP if any(c.meeting and c.meeting.code >= FIRST_OF_WARP for c in cut.cuts) else \
            self.version.lanes or GROUP
        border, group, agreement = self.versions_of(made, original, cut, shared.parameters, size, Vectors)
        arrays = [size for _, size in memory.arrays]
        if agreement:
            self.made.append(border.group(arrays, "noinline cold optsize "))
        if thread is not None:
            group.limits |= thread[1]
            alone = Alone(group, memory, agreement, thread[0], self.loop)
            self.made += [group.group(arrays), alone.apart(), alone.text()]
        else:
            most = beside.at_a_time(group, border, memory, self.shape)
            rounds = Beside(group, border, memory, agreement, self.shape, most) if self.shape and most > 1 else \
                Rounds(group, border, memory, agreement, self.shape)
            self.made += [group.group(arrays, "alwaysinline ", site) for site in rounds.sites]
            self.made += [rounds.apart(), rounds.text()]
        self.entry(made, shared)

    def rows(self, made: Kernel, shared: Shared, cut: cuts.Pieces, other: tuple[Kernel, Kernel],
             side: rows.Side) -> None:
        """A kernel whose threads do not meet and whose blocks can be taken for one. `other`: the kernel, for a thread
        and for a version of the interior."""
        memory = together.memory_of(cut, self.types(cut), shared.sizes, shared.dynamic, self.layout)
        border, group, agreement = self.versions_of(made, other[1], cut, [], self.version.lanes or GROUP, RowVectors)
        arrays = [size for _, size in memory.arrays]
        if agreement:
            self.made.append(border.group(arrays, "noinline cold optsize "))
        self.made.append(group.group(arrays))
        thread, _ = self.body(other[0], shared, wide=True, how="noinline cold optsize")
        self.made.append(rows.blocks_function(group, memory.arrays, side, thread, agreement))
        self.entry(made, shared)

    def versions_of(self, made: Kernel, original: Kernel, cut: cuts.Pieces, shared: list[str],
                    size: int, how: type[Written]) -> tuple[Written, Written, str]:
        """A kernel for any group, the version for groups away from borders, and the function that says which those
        are; twice the same and "" where there is no such version, or its pieces are others."""
        self.group = self.note("distinct !{}")
        given = shared, size, (self.group, lambda: self.loop(True), self.plain()), self.layout
        border = how(made, cut, self.types(cut), *given)
        version = interior(original, cut.uniform.divergent - border.spread.cancelled)
        if version is None:
            return border, border, ""
        other = cuts.pieces(version.kernel)
        different = [n for n in cut.kept if (n in cut.uniform.divergent) != (n in other.uniform.divergent)]
        if other.kept != cut.kept or other.arrays != cut.arrays or different or \
                [(c.state, c.after) for c in other.cuts] != [(c.state, c.after) for c in cut.cuts]:
            return border, border, ""
        inside = how(made, other, self.types(other), *given, ".inside")
        inside.agree(border)
        name = f"{made.name}.is.inside"
        parameters = [*(p.text for p in made.parameters), *group_registers("noundef "), f"i32 noundef {affine.BASE}"]
        self.made.append(agreed(version, quoted(name), parameters, size))
        return border, inside, name

    def copied(self, made: Kernel) -> None:
        """Structures that a kernel gets by value and writes into are each thread's own."""
        for parameter in made.parameters:
            if parameter.by_address and "readonly" not in parameter.text:
                own = parameter.name
                parameter.name, parameter.text = f"{own}.given", f"ptr noundef readonly {own}.given"
                size = self.layout.size(parameter.value)
                next(iter(made.function.blocks.values()))[:0] = [
                    f"{own} = alloca {parameter.value}, align 16",
                    f"call void @llvm.memcpy.p0.p0.i64(ptr {own}, ptr {parameter.name}, i64 {size}, i1 false)"]

    def keeps_current(self, made: Kernel) -> bool:
        """Whether a kernel calls functions that may ask which thread they run for."""
        keeps = "" in made.calls or any(
            name in self.module.functions for name in made.calls)
        self.current |= keeps
        return keeps

    def body(self, made: Kernel, shared: Shared, wide: bool = False,
             how: str = "alwaysinline") -> tuple[str, set[narrow.Sum]]:
        """The kernel's function for one thread, and the limits of launches for it; none if it is `wide`. `how`: what
        LLVM makes of it."""
        name = f"{made.name}.{'any' if wide else 'thread'}"
        self.group = self.note("distinct !{}")
        marked(made.function, self.group)
        if not wide:
            affine.with_steps(made.function, uniformity(made.function, set(), set()).divergent)
            next(iter(made.function.blocks.values()))[:0] = [f"{affine.BASE} = add i32 0, 0",
                                                             f"{affine.LANE} = zext nneg i32 %r.tid.x to i64"]
        if self.keeps_current(made):
            next(iter(made.function.blocks.values()))[:0] = current.kept()
        parameters = [p.text for p in made.parameters] + register_parameters() + shared.parameters
        made.function.header = (f"define internal void @{quoted(name)}({', '.join(parameters)}) {how} "
                                "#REACTANT {")
        made.function.name = name
        text = made.function.text()
        limits: set[narrow.Sum] = set()
        if not wide:
            lines, limits = narrow.narrowed(text.split("\n"))
            text = "\n".join(lines)
        self.made.append(text)
        return name, limits

    def code(self) -> int:
        """A number for what was made, not 0."""
        return zlib.crc32("".join(self.made).encode()) or 1

    def text(self) -> str:
        """The whole module."""
        for name in self.source.kernels:
            self.kernel(name)
        refuse_meetings(self.module)
        rest = current.with_current(self.module, self.current or bool(self.source.launched))
        symbols = [(v, tables.CONSTANT) for v in self.source.constant.values()] + [
            (v, 0) for v in self.source.device.values()]
        there = {m.strip('"') for m in _DEFINED.findall(self.module.rest)}
        made = tables.tables(self.layout, self.identity, self.entries, [s for s in symbols if s[0].name in there],
                             self.code() if self.versions else 0)
        text = launches.defined("".join([rest, *self.made, made, *self.notes]), self.source.launched,
                                [e.name for e in self.entries])
        text, routines = mathematics.with_routines(text)
        text = text.replace("#REACTANT", "#9999") + f"\nattributes #9999 = {{ {engine.attributes()} }}\n"
        return text + _without_declared(routines, text).replace(" #0", " #9999") + library.external(text)


def meets_in_grid(cut: cuts.Pieces) -> bool:
    """Whether all threads of the grid meet."""
    return any(c.meeting and c.meeting.kind == "barrier.grid" for c in cut.cuts)


def refuse_meetings(module: Module) -> None:
    """Raise `UnsupportedError` for functions that stay functions and in which threads meet."""
    for name, text in module.functions.items():
        for line in text.split("\n"):
            if (found := meeting(line.strip())) is not None:
                raise UnsupportedError(
                    f"Threads meet ({found.kind}) in the device function '{name}', which calls itself or is called by "
                    "its address.", code="kernel-instruction",
                    hint="Let kernels reach it by direct calls, and take recursion out of it.")


def _without_declared(text: str, other: str) -> str:
    """A text without declarations that another has."""
    there = set(re.findall(r"^declare [^@\n]*@([\w.]+)\(", other, re.MULTILINE))
    return re.sub(r"^declare [^@\n]*@([\w.]+)\([^\n]*\n", lambda m: "" if m[1] in there else m[0], text,
                  flags=re.MULTILINE)


def arranged(text: str, source: Retargeted, identity: str, checks: int = 0, versions: Sequence[Version] = ()) -> str:
    """LLVM IR of the object; `checks`: flags of kernels that are checked (`tables`). `versions`: others that kernels
    are to have beside their own."""
    module = split(text)
    module.rest = re.sub(r"^; .*\n", "", module.rest, flags=re.MULTILINE)
    return Arranger(module, source, identity, checks, versions).text()
