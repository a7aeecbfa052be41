"""Groups of consecutive threads of a row, run in step as vectors, whatever way its threads go.

Where all threads of a group go the same way, branches are branches. Where they may not, they are asked: if they agree,
the group goes on whole; if not, both sides are run one after the other under masks, up to where all ways meet again
(`_masked`). Values that are needed in more than one block are in variables of the function, which LLVM makes registers
of; so whole and masked copies of blocks need not know of each other. At barriers of the block, values that are needed
later go to memory of the threads. Where threads of a group reach different barriers they go on one by one (`steps`).
"""
from __future__ import annotations

import re

from reactant.cuda_programs.device.ends import Ends
from reactant.cuda_programs.device.flow import EXIT
from reactant.cuda_programs.device.kept import Kept
from reactant.cuda_programs.device.single import Single
from reactant.cuda_programs.device.spread import NotVectorizable, Region
from reactant.cuda_programs.device.steps import EXCHANGE
from reactant.cuda_programs.device.text import opcode_of, quoted, result_of
from reactant.cuda_programs.device.types import leading
from reactant.cuda_programs.device.values import HARMLESS

SHORT = 6
"""Instructions without side effects up to which a block is run whether or not a thread is in it."""
PLACED = 4
"""Instructions that an access of one thread at a place of its own costs within vectors."""
UNRELATED = 4
"""Instructions of vectors that an access at places of their own may cost."""
_EFFECTS = frozenset(("load", "store", "call", "atomicrmw", "cmpxchg", "fence", "udiv", "sdiv", "urem", "srem"))


class Vectors(Kept):
    """Writes `K.group`, and the functions for what comes after single meetings."""

    # -- whole groups

    def whole(self, label: str) -> str:
        """The copy of a block for groups whose threads are all in it."""
        if label == EXIT:
            return "end"
        if label not in self._begun:
            self._begun.add(label)
            self._waiting.append(lambda: self._whole(label))
        return f"u.{label}"

    def _whole(self, label: str) -> None:
        self.mask = ""
        self.begin(f"u.{label}")
        self.body(label)
        if label in self.meetings:
            return self.meeting(self.meetings[label])
        last = self.function.blocks[label][-1]
        if last.startswith("ret"):
            self.f.line("br label %end")
        elif last.startswith("unreachable"):
            self.f.line("unreachable")
        elif last.startswith("br label"):
            self._edge(label, self.spread.flow.after[label][0])
        elif label in self.spread.branches:
            self._branch(label, last)
        else:
            raise NotVectorizable(last)

    def _edge(self, source: str, target: str) -> None:
        self.assign(source, target, "", True)
        self.f.line(f"br label %{self.whole(target)}")

    def _edge_block(self, source: str, target: str) -> str:
        """A block for what an edge assigns; the values of its source are known in it."""
        if target != EXIT and not any(" = phi " in line for line in self.function.blocks[target][:1]):
            return self.whole(target)
        name = self.fresh("edge")
        known = self.known()

        def write() -> None:
            self.mask = ""
            self.f.label(name)
            self.know(known)
            self._edge(source, target)
        self._waiting.append(write)
        return name

    def _branch(self, label: str, last: str) -> None:
        yes, no = self.targets(last)
        condition = self.spread.condition(label)
        if not self.spread.differs(label):
            self.f.line(f"br i1 {self.one(condition)}, label %{self._edge_block(label, yes)}, "
                        f"label %{self._edge_block(label, no)}")
            return
        apart = self.spread.meets(label)
        if not apart and self._single(label):
            self._one_by_one(label, (yes, no))
            self.f.line(f"br label %{self.whole(self.spread.decided[label][1])}")
            return None
        test = self.vec("i1", condition)
        if not apart and not self._worth_asking(label):
            return self._masked(label, yes, no, test)
        if not apart and (ends := Ends(self).ask(condition)) is not None:
            vectors, other = self.fresh("vectors"), self.fresh("not.all")
            self.f.line(f"br i1 {ends[0]}, label %{self._edge_block(label, yes)}, label %{other}")
            self.f.label(other)
            self.f.line(f"br i1 {ends[1]}, label %{self._edge_block(label, no)}, label %{vectors}")
            self.f.label(vectors)
        bits = self.bits(test)
        ones = self.f.let(f"icmp eq i{self.size} {bits}, -1")
        rest, split = self.fresh("not.all"), self.fresh("split")
        yes_label, no_label = self._edge_block(label, yes), self._edge_block(label, no)
        self.f.line(f"br i1 {ones}, label %{yes_label}, label %{rest}")
        self.f.label(rest)
        none = self.f.let(f"icmp eq i{self.size} {bits}, 0")
        self.f.line(f"br i1 {none}, label %{no_label}, label %{split}")
        self.f.label(split)
        if apart:
            self.apart(label, test)
        elif self._scattering(label):
            self._one_by_one(label, (yes, no))
            self.f.line(f"br label %{self.whole(self.spread.decided[label][1])}")
        else:
            self._masked(label, yes, no, test)

    def _scattering(self, label: str) -> bool:
        """Whether what a branch decides about has so many accesses at places of their own that half of the threads
        one after the other have less to do than all under masks."""
        places = other = 0
        blocks = self.spread.decided[label][0]
        if blocks & self.spread.headers or label in blocks:
            return False
        lines = [line for block in blocks for line in self.function.blocks[block]]
        rows = {line for block in blocks for line, family in self.families_of(self.function.blocks[block]).items()
                if self.has_room(family)}
        for line in lines:
            opcode, name = opcode_of(line), result_of(line)
            if opcode in ("call", "atomicrmw", "cmpxchg", "alloca") and not HARMLESS.search(line):
                return False
            found = re.search(r", ptr (%[^ ,]+)", line) if opcode in ("load", "store") else None
            if found is not None:
                step, size = self.spread.stride(found[1]), self.layout.size(leading(line.partition(f"{opcode} ")[2]))
                apart = step not in (0, size) and line not in rows
                places += apart
                other += not apart
            elif opcode not in ("br", "phi") and name is not None and not self.same(name):
                other += 1
        return places * PLACED * self.size + other * 3 > (places + other + 6) * self.size * 2 // 3

    def _worth_asking(self, label: str) -> bool:
        blocks = self.spread.decided[label][0]
        lines = [line for block in blocks for line in self.function.blocks[block]]
        return len(lines) > 2 * SHORT or any(self._effect(line) for line in lines) or label in blocks

    def _effect(self, line: str) -> bool:
        return opcode_of(line) in _EFFECTS and not HARMLESS.search(line)

    def _single(self, label: str) -> bool:
        """Whether threads had better go one by one what a branch decides about."""
        if label not in self._singles:
            self._singles[label] = self._of_one_thread(label) or self._unrelated(label)
        return self._singles[label]

    def _of_one_thread(self, label: str) -> bool:
        """Whether at most one thread goes another way than to where all meet: a number of threads is compared."""
        found = self._compared_with_one(label)
        if found is None or not self._has_effects(label):
            return False
        steps = self.spread.stride(found[1]), self.spread.stride(found[2])
        return None not in steps and steps[0] != steps[1]

    def _compared_with_one(self, label: str) -> tuple[str, str, str] | None:
        """(type, one side, other side) of a comparison for equality that leads to where not all meet."""
        meet = self.spread.decided[label][1]
        yes, no = self.targets(self.function.blocks[label][-1])
        found = re.search(r"= icmp (eq|ne) (i\d+) (\S+), (\S+?)(?:, !.*)?$",
                          self.spread.lines.get(self.spread.condition(label), ""))
        if found is None or (no if found[1] == "eq" else yes) != meet:
            return None
        return found[2], found[3], found[4]

    def _the_one(self, label: str) -> tuple[str, str] | None:
        """(the number of the thread that a comparison holds for, whether there is one in the group), where threads'
        numbers follow each other."""
        found = self._compared_with_one(label)
        if found is None:
            return None
        kind, index, bound = found if self.spread.stride(found[2]) == 0 else (found[0], found[2], found[1])
        if self.spread.stride(index) != 1 or self.spread.stride(bound) != 0 or kind not in ("i32", "i64") or \
                not self.there(index) or not self.there(bound):
            return None
        f = self.f
        first = self.first(index)
        lane = f.let(f"sub {kind} {self.one(bound)}, {first}")
        there = f.let(f"icmp ult {kind} {lane}, {self.size}")
        if kind == "i32":
            lane = f.let(f"zext i32 {lane} to i64")
        if self.mask:
            bit = f.let(f"and i64 {lane}, {self.size - 1}")
            word = f.let(f"zext i{self.size} {self.bits(self.mask)} to i64")
            bit = f.let(f"trunc i64 {f.let(f'lshr i64 {word}, {bit}')} to i1")
            there = f.let(f"and i1 {there}, {bit}")
        return lane, there

    def _has_effects(self, label: str) -> bool:
        return any(self._effect(line) for block in self.spread.decided[label][0]
                   for line in self.function.blocks[block])

    def _unrelated(self, label: str) -> bool:
        """Whether it is mostly reads and writes at unrelated places."""
        unrelated = other = 0
        blocks = self.spread.decided[label][0]
        if not blocks & self.spread.headers and not any(
                opcode_of(line) == "atomicrmw" for block in blocks for line in self.function.blocks[block]):
            return False
        for block in blocks:
            often = 8 ** min(self.spread.depth(block, blocks), 3)
            for line in self.function.blocks[block]:
                opcode, name = opcode_of(line), result_of(line)
                if opcode in ("atomicrmw", "cmpxchg"):
                    unrelated += often
                elif opcode in ("load", "store"):
                    found = re.search(r", ptr (%[^ ,]+)", line)
                    step = self.spread.stride(found[1]) if found else 0
                    size = self.layout.size(leading(line.partition(f"{opcode} ")[2]))
                    unrelated += often * (step not in (0, size))
                    other += often * (step == size)
                elif opcode not in ("br", "phi", "getelementptr", "sext", "zext") and \
                        name is not None and not self.same(name):
                    other += often * (6 if opcode in ("fdiv", "call") else 1)
        return unrelated * UNRELATED > other

    def _one_by_one(self, label: str, targets: tuple[str, str]) -> None:
        """Threads that the branch leads to something else than where all meet go there one after the other."""
        blocks, meet = self.spread.decided[label]
        mask, word = self.mask, f"i{self.size}"
        if targets[0] == targets[1]:
            raise NotVectorizable("a branch to one place")
        inside = [k for k in (0, 1) if targets[k] in blocks]
        order = (targets[inside[0]], targets[1 - inside[0]]) if len(inside) == 1 else targets
        the_one = self._the_one(label) if len(inside) == 1 else None
        sides, bits, lane, wanted = ["", ""], ["", ""], "", ""
        if the_one is not None:
            lane, some = the_one
        if the_one is None or (meet != EXIT and " = phi " in "".join(self.function.blocks[meet][:1])):
            test = self.vec("i1", self.spread.condition(label))
            sides = [test, self.f.let(f"xor <{self.size} x i1> {test}, splat (i1 true)")]
            if mask:
                sides = [self.f.let(f"and <{self.size} x i1> {mask}, {side}") for side in sides]
        for k in (0, 1):
            if k not in inside:
                self.assign(label, targets[k], sides[k], False)
        if the_one is None:
            bits = [self.bits(side) for side in sides]
            wanted = bits[inside[0]] if len(inside) == 1 else self.bits(mask) if mask else str(2**self.size - 1)
            some = self.f.let(f"icmp ne {word} {wanted}, 0")
        first, skip = self.fresh("singly"), self.fresh("singly.end")
        self.f.line(f"br i1 {some}, label %{first}, label %{skip}")
        self.f.label(first)
        self.mask = ""
        Single(self, label, blocks, meet).write(wanted, None if len(inside) == 1 else bits[0], order, lane)
        self.f.line(f"br label %{skip}")
        self.begin(skip)
        self.mask = mask

    # -- groups that split

    def _masked(self, label: str, yes: str, no: str, test: str) -> None:
        blocks, meet = self.spread.decided[label]
        other = self.f.let(f"xor <{self.size} x i1> {test}, splat (i1 true)")
        for target, mask in ((yes, test), (no, other)):
            self.assign(label, target, mask, False)
            if target in blocks:
                self._enter(target, mask)
        region = self.spread.region(blocks)
        prefix = self.fresh("m")
        self._run(region, prefix, blocks)
        self.f.line(f"br label %{self.whole(meet)}")

    def _enter(self, target: str, mask: str) -> None:
        place = self.mask_of(target)
        old = self.f.let(f"load <{self.size} x i1>, ptr {place}, align 64")
        self.f.line(f"store <{self.size} x i1> {self.f.let(f'or <{self.size} x i1> {old}, {mask}')}, ptr {place}, "
                    "align 64")

    def _run(self, region: Region, prefix: str, blocks: set[str]) -> None:
        """Blocks one after the other, each for those threads that are in it."""
        if region.header is not None:
            self.f.line(f"br label %{prefix}.{region.header}.loop")
            self.begin(f"{prefix}.{region.header}.loop")
        for part in region.parts:
            if isinstance(part, Region):
                self._run(part, prefix, blocks)
            else:
                self._masked_block(part, prefix, blocks)
        if region.header is not None:
            again = self.f.let(f"load <{self.size} x i1>, ptr {self.mask_of(region.header)}, align 64")
            self.f.line(f"br i1 {self.any(again)}, label %{prefix}.{region.header}.loop, "
                        f"label %{prefix}.{region.header}.left")
            self.begin(f"{prefix}.{region.header}.left")

    def _masked_block(self, label: str, prefix: str, blocks: set[str]) -> None:
        place = self.mask_of(label)
        mask = self.f.let(f"load <{self.size} x i1>, ptr {place}, align 64")
        lines = self.function.blocks[label]
        if label in self.meetings:
            raise NotVectorizable("a meeting under a mask")
        asked = len(lines) > SHORT or any(self._effect(line) for line in lines)
        name = f"{prefix}.{label}"
        if asked:
            self.f.line(f"br i1 {self.any(mask)}, label %{name}, label %{name}.after")
        else:
            self.f.line(f"br label %{name}")
        self.begin(name)
        self.f.line(f"store <{self.size} x i1> zeroinitializer, ptr {place}, align 64")
        self.mask = mask
        self.body(label)
        last = lines[-1]
        if last.startswith("br label"):
            target = self.spread.flow.after[label][0]
            self._leave(label, target, mask, asked, blocks)
        elif label in self.spread.branches:
            yes, no = self.targets(last)
            condition = self.spread.condition(label)
            if self.spread.differs(label) and self._single(label):
                self._one_by_one(label, (yes, no))
                meet = self.spread.decided[label][1]
                if meet in blocks:
                    self._enter(meet, mask)
                self._after(name)
                return
            test = self.vec("i1", condition)
            other = self.f.let(f"xor <{self.size} x i1> {test}, splat (i1 true)")
            edges = [(t, self.f.let(f"and <{self.size} x i1> {mask}, {c}")) for t, c in ((yes, test), (no, other))]
            for target, edge in edges:
                self._leave(label, target, edge, False, blocks)
        elif not last.startswith(("ret", "unreachable")):
            raise NotVectorizable(last)
        self._after(name)

    def _after(self, name: str) -> None:
        self.mask = ""
        self.f.line(f"br label %{name}.after")
        self.begin(f"{name}.after")

    def _leave(self, label: str, target: str, mask: str, sure: bool, blocks: set[str]) -> None:
        self.assign(label, target, mask, sure)
        if target in blocks:
            self._enter(target, mask)

    # -- the function

    def group(self, arrays: list[int], how: str = "", site: int | None = None) -> str:
        """The function that a group runs from a state on; `site`: for that of one place alone (`Kept.start`)."""
        self.blank()
        f, size = self.f, self.size
        for k, (name, bytes_) in enumerate(zip(self.cut.arrays, arrays, strict=True)):
            at = f.let(f"mul i64 %base, {bytes_}")
            first = f.let(f"getelementptr i8, ptr %all.{k}, i64 {at}")
            offsets = ", ".join(f"i64 {bytes_ * lane}" for lane in range(size))
            self._fixed[name] = f.let(f"getelementptr i8, ptr {first}, <{size} x i64> <{offsets}>")
        if self.meets:
            self.top += [f"  %{letter} = alloca [{size} x {kind}], align 64" for letter, (kind, _) in EXCHANGE.items()]
        self.start(site)
        while self._waiting:
            self._waiting.pop()()
        f.label("end")
        f.line("ret i32 -1")
        lines = ["entry:", *self.top, *self.top_stores, *f.lines]
        return (f"define internal i32 @{quoted(self.name_of(site))}({', '.join(self.parameters())}) {how}"
                "#REACTANT {\n" + "\n".join(lines) + "\n}\n")
