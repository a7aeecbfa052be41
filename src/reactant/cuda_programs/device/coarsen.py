"""Coarsening: a kernel whose threads do the work of several threads, of one block or of blocks beside each other.

Thread t of a block that is n threads wide does what t, t + n, t + 2 n... did: accesses of neighbours stay beside each
other, for a GPU that joins them and for vectors. Blocks do what consecutive blocks did, each with shared memory of its
own. Instructions are copied one after the other, so that copies overlap and share what is the same for all; barriers
are met once. Where copies may go different ways each goes by itself, one after the other (`coarsen_regions`); where
what they decide is a guard (a branch that skips work), a copy of the work is made for threads whose copies all do it.

Source: Ivanov, Zinenko, Domke, Endo, Moses, "Retargeting and Respecializing GPU Workloads for Performance Portability",
CGO 2024, sections 4 and 5, for the idea of one rewriting by factors of threads and of blocks.
"""
from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from reactant.cuda_programs.device.coarsen_regions import AGREE, Common, Region
from reactant.cuda_programs.device.flow import EXIT
from reactant.cuda_programs.device.text import VALUE, Function, opcode_of, result_of, uses_of
from reactant.cuda_programs.device.versions import Factors, NotAnother

AXES = "xyz"
MOST_GUARDS = 3
"""Guards whose work is copied for threads that agree."""
_PHI = re.compile(r"\[ ([^\[\]]+), %([^\[\], ]+) \]")
_SHARES = re.compile(r"@llvm\.(?!memcpy|memmove|memset)")
_ATOMIC = ("atomicrmw", "cmpxchg", "fence")


class Coarsened:
    """The new body of a kernel, whose registers are named %o.tid.x and so on; `given` says what they are.

    Args:
        function: the kernel; changed.
        factors: how many threads and blocks become one.
        own: shared variables by the names of their addresses, of which each block has its own.
        barrier: the kind of meeting at a line: "" for none, "barrier", "reducing" (a barrier that counts threads),
            "grid", "warp".
    """

    def __init__(self, function: Function, factors: Factors, own: Sequence[str], barrier: Callable[[str], str]) -> None:
        self.function, self.factors, self.own, self.barrier = function, factors, own, barrier
        self.copies = list(itertools.product(*(range(n) for n in (*factors.blocks[::-1], *factors.threads[::-1]))))
        self.warps = False
        self._refuse()
        names = [f"%o.tid.{axis}" for axis, n in zip(AXES, factors.threads, strict=True) if n > 1]
        names += [f"%o.ctaid.{axis}" for axis, n in zip(AXES, factors.blocks, strict=True) if n > 1]
        self.first = {*names, *(own if factors.of_blocks > 1 else ())}
        self.common = self._analysed()

    def _analysed(self) -> Common:
        return Common(self.function, self.first, self._source, lambda line: self.barrier(line) not in ("", "warp"))

    def _refuse(self) -> None:
        for label, block in self.function.blocks.items():
            for line in block:
                kind = self.barrier(line)
                if kind == "grid" or (kind == "reducing" and self.factors.of_threads > 1):
                    raise NotAnother("threads are counted, or the grid meets")
                self.warps |= kind == "warp" and self.factors.of_threads > 1
                if opcode_of(line) in ("switch", "indirectbr", "invoke"):
                    raise NotAnother(f"{opcode_of(line)} in {label}")
                if opcode_of(line) == "load" and (" volatile " in line or " atomic " in line):
                    raise NotAnother("a thread may wait for what another writes")

    def _source(self, line: str) -> bool:
        opcode = opcode_of(line)
        if opcode in ("alloca", *_ATOMIC):
            return True
        return opcode == "call" and AGREE not in line and not _SHARES.search(line) and self.barrier(line) != "barrier"

    # -- guards

    def guards(self) -> None:
        """Copy the work of guards for threads all of whose copies do it."""
        for number in range(MOST_GUARDS):
            guard = next((r for r in self.common.regions if self._worth(r)), None)
            if guard is None:
                return
            self._agreeing(guard, f"all{number}")
            self.common = self._analysed()

    def _worth(self, region: Region) -> bool:
        """A branch around work, that copies have to agree about."""
        if region.branch.endswith(".some") or region.meet not in self.common.flow.after.get(region.branch, ()):
            return False
        return any(opcode_of(line) in ("load", "store", "call") for label in region.blocks
                   for line in self.function.blocks[label])

    def _agreeing(self, region: Region, tag: str) -> None:
        """branch: all copies alike -> the copy of the work, else -> as it was, in a block `branch.some`."""
        blocks, branch = self.function.blocks, region.branch
        last = blocks[branch][-1]
        condition, *targets = uses_of(last)
        inside = next(t[1:] for t in targets if t[1:] in region.blocks)
        wanted = "true" if targets[0] == f"%{inside}" else "false"
        names = {name: f"{name}.{tag}" for label in region.blocks for line in blocks[label]
                 if (name := result_of(line)) is not None}
        labels = {label: f"{label}.{tag}" for label in region.blocks}
        rename = names | {f"%{label}": f"%{new}" for label, new in labels.items()}
        made: dict[str, list[str]] = {}
        for label, lines in blocks.items():
            made[label] = lines
            if label == branch:
                made[branch] = [*lines[:-1], f"%{tag}.agree = call i1 {AGREE}i1 {condition}, i1 {wanted})",
                                f"br i1 %{tag}.agree, label %{labels[inside]}, label %{branch}.some"]
                made[f"{branch}.some"] = [last]
                for each in [each for each in blocks if each in region.blocks]:
                    made[labels[each]] = [_with(line, rename) for line in blocks[each]]
        for label in region.blocks | ({region.meet} - {EXIT}):
            made[label] = [self._phis(line, region, branch, labels, names) for line in made[label]]
        self.function.blocks = made

    @staticmethod
    def _phis(line: str, region: Region, branch: str, labels: Mapping[str, str], names: Mapping[str, str]) -> str:
        """A phi of the work or behind it: the branch is elsewhere now, and the copy leads to the meeting, too."""
        if " = phi " not in line:
            return line
        pairs = _PHI.findall(line)
        inside = result_of(line) in names
        made = [(value, f"{branch}.some" if label == branch else label) for value, label in pairs]
        if not inside:
            made += [(names.get(value, value), labels[label]) for value, label in pairs if label in labels]
        return line[:line.index("[")] + ", ".join(f"[ {value}, %{label} ]" for value, label in made)

    # -- writing

    def run(self) -> dict[str, list[str]]:
        """The blocks of the new function."""
        self.guards()
        self.region_of = {label: region for region in self.common.regions for label in region.blocks}
        self.branching = {region.branch: region for region in self.common.regions if region.branch}
        self.entered = {region.entry: region for region in self.common.regions if region.entry}
        made: dict[str, list[str]] = {}
        for label, lines in self.function.blocks.items():
            if label in self.region_of:
                if label in self.entered:
                    made |= self._loop(self.entered[label])
                continue
            made[label] = self._joint(label, lines[:-1])
            if label in self.branching:
                made |= self._chain(made[label], label, self.branching[label], lines[-1])
            else:
                made[label].append(self._to_entries(lines[-1]))
        return made

    def _copied(self, line: str, copy: int) -> str:
        def named(found: re.Match) -> str:
            return f"{found[0]}.copy{copy}" if found[0] in self.common.differs else found[0]
        return VALUE.sub(named, line)

    def _joint(self, label: str, lines: Sequence[str]) -> list[str]:
        """Instructions that all copies run side by side. Phis come first."""
        phis: list[str] = []
        rest: list[str] = []
        for line in lines:
            name = result_of(line)
            if (name in self.common.differs or (name is None and self._own_of_copies(line))) \
                    and AGREE not in line:
                for copy in range(len(self.copies)):
                    (phis if " = phi " in line else rest).append(
                        self._phi(self._copied(line, copy), label, copy) if " = phi " in line else
                        self._copied(line, copy))
            elif AGREE in line:
                rest += self._agreement(line)
            else:
                (phis if " = phi " in line else rest).append(line)
        return phis + rest

    def _own_of_copies(self, line: str) -> bool:
        """Whether a line without a result is each copy's own: all but barriers, and stores of what is common where it
        is common."""
        if self.barrier(line) == "barrier":
            return False
        return opcode_of(line) != "store" or not self.common.differs.isdisjoint(uses_of(line))

    def _agreement(self, line: str) -> list[str]:
        name = line.partition(" = ")[0]
        found = re.search(r"\(i1 (\S+), i1 (\w+)\)", line)
        assert found is not None
        lines, last = [], ""
        for copy in range(len(self.copies)):
            value = self._copied(found[1], copy)
            if found[2] == "false":
                lines.append(f"{name}.not.{copy} = xor i1 {value}, true")
                value = f"{name}.not.{copy}"
            if last:
                result = name if copy == len(self.copies) - 1 else f"{name}.and.{copy}"
                lines.append(f"{result} = and i1 {last}, {value}")
                value = result
            last = value
        return lines

    def _phi(self, line: str, label: str, copy: int) -> str:
        """A phi where copies are side by side again: what comes out of regions comes from where they are over."""
        pairs, over = [], []
        for value, source in _PHI.findall(line):
            region = self.region_of.get(source) or self.branching.get(source)
            if region is None:
                pairs.append((value, source))
            elif region not in over:
                over.append(region)
                last = self._end(region, len(self.copies) - 1)
                pairs.append((f"{line.partition(' = ')[0]}.{self._tag(region)}", last))
        return line[:line.index("[")] + ", ".join(f"[ {value}, %{source} ]" for value, source in pairs)

    def _tag(self, region: Region) -> str:
        return f"over.{region.branch or region.entry}"

    def _end(self, region: Region, copy: int) -> str:
        """Where a copy has come through a region."""
        return f"{self._tag(region)}.{copy}"

    def _to_entries(self, last: str) -> str:
        """A branch, which leads to regions by the blocks before them."""
        return VALUE.sub(lambda m: f"%{m[0][1:]}.before" if m[0][1:] in self.entered else m[0], last)

    def _chain(self, block: list[str], label: str, region: Region, last: str) -> dict[str, list[str]]:
        """Each copy's branch, and its way through the blocks that it decides about."""
        made: dict[str, list[str]] = {}
        for copy in range(len(self.copies)):
            source = self._end(region, copy - 1) if copy else label
            (made[source] if copy else block).append(self._ways(self._copied(last, copy), region, copy))
            for each in (each for each in self.function.blocks if each in region.blocks):
                made[f"{each}.copy{copy}"] = self._alone(each, region, copy, {label: source})
            made[self._end(region, copy)] = self._over(region, copy, {label: source})
        made[self._end(region, len(self.copies) - 1)].append(self._onward(region))
        return made

    def _loop(self, region: Region) -> dict[str, list[str]]:
        """Each copy's way through a loop, and a block before that, where what copies bring in is chosen."""
        before = f"{region.entry}.before"
        made: dict[str, list[str]] = {before: []}
        for copy in range(len(self.copies)):
            for line in self.function.blocks[region.entry]:
                if " = phi " in line:
                    outside = [(self._copied(value, copy), source) for value, source in _PHI.findall(line)
                               if source not in region.blocks]
                    if any(source in self.region_of or source in self.branching for _, source in outside):
                        raise NotAnother("a loop begins where copies meet")
                    made[before].append(f"{result_of(line)}.in.copy{copy} = {line[line.index('phi'):line.index('[')]}"
                                        + ", ".join(f"[ {value}, %{source} ]" for value, source in outside))
        for copy in range(len(self.copies)):
            source = self._end(region, copy - 1) if copy else before
            made[source].append(f"br label %{region.entry}.copy{copy}")
            for each in (each for each in self.function.blocks if each in region.blocks):
                made[f"{each}.copy{copy}"] = self._alone(each, region, copy, {"": source})
            made[self._end(region, copy)] = self._over(region, copy, {})
        made[self._end(region, len(self.copies) - 1)].append(self._onward(region))
        return made

    def _onward(self, region: Region) -> str:
        if region.meet in self.region_of:
            raise NotAnother("a loop begins where copies meet")
        return "ret void" if region.meet == EXIT else f"br label %{region.meet}"

    def _ways(self, last: str, region: Region, copy: int) -> str:
        """A branch within a region."""
        def target(found: re.Match) -> str:
            label = found[1]
            if label in region.blocks:
                return f"label %{label}.copy{copy}"
            assert label == region.meet
            return f"label %{self._end(region, copy)}"
        if last.startswith("ret"):
            return f"br label %{self._end(region, copy)}"
        return re.sub(r"label %([^ ,\]]+)", target, last)

    def _alone(self, label: str, region: Region, copy: int, sources: Mapping[str, str]) -> list[str]:
        """A block for one copy. `sources`: what the region's branch is called for it; "": where it enters a loop."""
        made = []
        for line in self.function.blocks[label][:-1]:
            text = self._copied(line, copy)
            if " = phi " in line:
                pairs: list[tuple[str, str]] = []
                for value, source in _PHI.findall(text):
                    if source in region.blocks:
                        pairs.append((value, f"{source}.copy{copy}"))
                    elif source in sources:
                        pairs.append((value, sources[source]))
                    elif "" in sources and sources[""] not in [s for _, s in pairs]:
                        pairs.append((f"{result_of(line)}.in.copy{copy}", sources[""]))
                text = text[:text.index("[")] + ", ".join(f"[ {value}, %{source} ]" for value, source in pairs)
            made.append(text)
        return [*made, self._ways(self._copied(self.function.blocks[label][-1], copy), region, copy)]

    def _over(self, region: Region, copy: int, sources: Mapping[str, str]) -> list[str]:
        """Where a copy's ways through a region meet: phis for those of the block behind it."""
        if region.meet == EXIT:
            return []
        made = []
        for line in self.function.blocks[region.meet]:
            if " = phi " not in line:
                continue
            text = self._copied(line, copy)
            pairs = [(value, f"{source}.copy{copy}" if source in region.blocks else sources[source])
                     for value, source in _PHI.findall(text) if source in region.blocks or source in sources]
            name = text.partition(" = ")[0]
            made.append(f"{name}.{self._tag(region)} = {text[text.index('phi'):text.index('[')]}"
                        + ", ".join(f"[ {value}, %{source} ]" for value, source in pairs))
        return made


def _with(line: str, names: Mapping[str, str]) -> str:
    """A line with other names of values and blocks."""
    return VALUE.sub(lambda m: names.get(m[0], m[0]), line)


def places(made: Coarsened, register: Callable[[str], str]) -> Iterator[str]:
    """Instructions for the start of the new function, which say what registers were, but for the extents of a grid
    whose blocks are fewer now. `register`: an expression for one of the new launch."""
    factors = made.factors
    for axis, n, blocks in zip(AXES, factors.threads, factors.blocks, strict=True):
        yield f"%n.ntid.{axis} = {register(f'ntid.{axis}')}"
        yield f"%n.tid.{axis} = {register(f'tid.{axis}')}"
        yield f"%n.ctaid.{axis} = {register(f'ctaid.{axis}')}"
        yield f"%o.ntid.{axis} = mul nuw nsw i32 %n.ntid.{axis}, {n}"
        yield f"%n.first.{axis} = mul nuw nsw i32 %n.ctaid.{axis}, {blocks}"
        if blocks == 1:
            yield f"%o.nctaid.{axis} = {register(f'nctaid.{axis}')}"
        for kind, count in (("tid", n), ("ctaid", blocks)):
            if count == 1:
                yield f"%o.{kind}.{axis} = add nuw nsw i32 %n.{kind}.{axis}, 0"
    for number, (bz, by, bx, tz, ty, tx) in enumerate(made.copies):
        for axis, n, k, blocks, j in zip(AXES, factors.threads, (tx, ty, tz), factors.blocks, (bx, by, bz),
                                         strict=True):
            if n > 1:
                yield f"%n.offset.{axis}.copy{number} = mul nuw nsw i32 %n.ntid.{axis}, {k}"
                yield f"%o.tid.{axis}.copy{number} = add nuw nsw i32 %n.tid.{axis}, %n.offset.{axis}.copy{number}"
            if blocks > 1:
                yield f"%o.ctaid.{axis}.copy{number} = add nuw nsw i32 %n.first.{axis}, {j}"


def block_of(made: Coarsened, copy: int) -> int:
    """Which of the blocks that became one a copy is of."""
    return copy // made.factors.of_threads
