"""Writes blocks: the steps of their plans, loops and branches.

A carried array whose next content cannot be written over it gets a second buffer, and the two change places every
iteration. """
from __future__ import annotations

from collections.abc import Iterable, Sequence

from reactant.loopnests.analysis.graph import Block, Node, origin
from reactant.loopnests.emission import compactions, listed, measuring
from reactant.loopnests.emission.affine import ZERO
from reactant.loopnests.emission.buffers import Frame, NotCompiled
from reactant.loopnests.emission.by_columns import CALLED
from reactant.loopnests.emission.carried import Slot, slots_of
from reactant.loopnests.emission.demand import planned
from reactant.loopnests.emission.elements import Buffer
from reactant.loopnests.emission.emitter import Emitter
from reactant.loopnests.emission.factorizations import emit_factorization, results_to_write
from reactant.loopnests.emission.interchange import emit_columns
from reactant.loopnests.emission.keeping import note_whole_updates, results_of
from reactant.loopnests.emission.loop_parts import Target
from reactant.loopnests.emission.nests import Nest
from reactant.loopnests.emission.plan import SMALL, Planner
from reactant.loopnests.emission.roots import Root, Step
from reactant.loopnests.emission.routines import emit_routine
from reactant.loopnests.emission.rows import enter_rows, find_rows, leave_rows, next_row
from reactant.loopnests.emission.scans import emit_scan
from reactant.loopnests.emission.scatter import emit_scatter
from reactant.loopnests.emission.slots import place_slots
from reactant.loopnests.emission.tiles import chain_at, emit_chain
from reactant.loopnests.emission.time_tiling import emit_strips


class Compiler(Emitter):
    """Writes one function."""

    def __init__(self) -> None:
        super().__init__()
        self.rotated: dict[Node, list[bool]] = {}
        """Which arrays change places in loops that have been tried: the loops around them are written twice, too."""
        self.trusts = True          # that they do the same when written again
        self.trusted = False        # something was written so

    # ---- blocks

    def block(self, block: Block, destinations: dict[Node, Buffer], loop: bool = False) -> Frame:
        """Write a block's steps. Values that have a destination go there where nothing forbids it."""
        forced = {n for n in block.returned if n.block is block and n.kind not in ("argument", "result", "constant")}
        note_whole_updates(block)
        planner = Planner(block, forced, self.ranges.get,
                          lambda n: n in self.e.storage or n in self.e.bound, self.names)
        frame = Frame(block, planned(planner), loop)
        listed.note_lists(self, planner, frame.plan)
        self.frames.append(frame)
        _hand_back(block, destinations)
        steps = frame.plan.steps
        while frame.position < len(steps):
            chain = chain_at(self, frame.plan, frame.position)
            with measuring.step(self, [link.step for link in chain] or [steps[frame.position]]):
                if chain:
                    frame.position += len(chain) - 1
                    emit_chain(self, chain, destinations)
                else:
                    self._step(steps[frame.position], destinations)
            self._release(frame)
            frame.position += 1
        return frame

    def _step(self, step: Step, destinations: dict[Node, Buffer]) -> None:
        if step.kind == "scalar":
            node = step.roots[0].node
            self.bind(node, self.e.compute(node, (ZERO,) * len(node.shape)))
        elif step.kind == "op":
            self._op(step.roots[0].node, destinations)
        else:
            self._nest(step, destinations)

    def _nest(self, step: Step, destinations: dict[Node, Buffer]) -> None:
        step = self._small_updates_first(step)
        targets: dict[Root, Target] = {}
        for root in step.roots:
            node = root.node
            if root.kind == "reduce" and not results_of(node)[0].shape:
                continue
            if root.kind == "update":
                targets[root] = self._update_target(root, destinations)
            else:
                targets[root] = Target([self._target(each, root, destinations) for each in results_of(node)],
                                       shape=node.shape)
                if root.rests is not None:
                    targets[root].buffers[0] = listed.rested(self, root, step, targets[root].buffers[0])
        whole = listed.emit_listed(self, step, targets) if step.listed is not None else Nest(
            self.e, step.shape, step.roots, targets, self.scratch, self.parallel).emit()
        for root, target in targets.items():
            for each, buffer in zip(results_of(root.node), target.buffers, strict=True):
                self.e.storage[each] = buffer
        for node, values in whole.items():
            for each, value in zip(results_of(node), values, strict=True):
                self.bind(each, value)

    def _small_updates_first(self, step: Step) -> Step:
        """Updates of small parts that read what they (or one another) overwrite elsewhere than at its own place: what
        is to be written is put aside first, so that no array need be copied.

            d[p], s[p] = d[p] - l[c] * u[c] / d[c], s[p] - s[c] * u[c] / d[c]
        """
        updates = [r for r in step.roots if r.kind == "update"]
        others = [r for r in step.roots if r.kind != "update"]
        if not updates or any(r.kind not in ("map", "reduce") for r in others):
            return step
        buffers = [self.e.storage.get(r.node.operands[0]) for r in updates]
        if any(buffer is None or r.node.operands[1].size * SMALL > r.node.size
               for r, buffer in zip(updates, buffers, strict=True)) \
                or all(self.may_overwrite(buffer, r) for r, buffer in zip(updates, buffers, strict=True) if buffer):
            return step
        steps, here = self.frames[-1].plan.steps, self.frames[-1].position
        if others:                                              # what is read before the updates: a nest of its own
            steps[here:here + 1] = [Step(others, step.shape), Step(updates, step.shape)]
            return steps[here]
        made = [r.node.operands[1] for r in updates]
        put = Step([Root(r.node, "update", r.shape, r.flat, [(m, None), (r.node.operands[0], None)], r.place, r.starts)
                    for r, m in zip(updates, made, strict=True)], step.shape)
        steps[here] = put
        if all(m in self.e.storage for m in made) or not all(
                self.may_overwrite(buffer, r) for r, buffer in zip(put.roots, buffers, strict=True) if buffer):
            steps[here] = step
            return step
        aside = {m: Root(m, "map", m.shape, expense=r.expense)
                 for r, m in zip(updates, made, strict=True) if m not in self.e.storage}
        targets = {root: Target([self.scratch(m.dtype, m.size)], shape=m.shape) for m, root in aside.items()}
        Nest(self.e, step.shape, list(targets), targets, self.scratch, self.parallel).emit()
        for m, root in aside.items():
            self.e.storage[m] = targets[root].buffers[0]
        return put

    # ---- ops

    def _op(self, node: Node, destinations: dict[Node, Buffer]) -> None:
        if node.kind == "while":
            self._while(node, destinations)
        elif node.kind in ("if", "case"):
            self._if(node, destinations)
        elif node.kind == "scatter":
            self._scatter(node, destinations)
        elif node.kind == "reduce_window":
            buffer = self._target(node, Root(node, "map", node.shape), destinations)
            emit_scan(self, node, buffer)
            self.e.storage[node] = buffer
        elif node.kind == "compaction":
            buffer = self._target(node, Root(node, "map", node.shape), destinations)
            compactions.emit_compaction(self, node, buffer)
            self.e.storage[node] = buffer
        elif node.kind == "custom_call":
            self._factorization(node, destinations)
        else:
            raise NotCompiled(f"{node.kind} has no form as loops")

    def _factorization(self, node: Node, destinations: dict[Node, Buffer]) -> None:
        frame = self.frames[-1]
        read = {self.e.storage[n] for n, _ in frame.plan.steps[frame.position].roots[0].reads if n in self.e.storage}
        outputs = {r: self.apart(r, read, destinations) for r in results_to_write(node)}
        (emit_routine if CALLED in node.attributes else emit_factorization)(self, node, outputs)
        for result, buffer in outputs.items():
            if result.shape:
                self.e.storage[result] = buffer
            else:
                self.bind(result, self.e.load(buffer, ZERO, result.dtype))

    def _scatter(self, node: Node, destinations: dict[Node, Buffer]) -> None:
        operand = node.operands[0]
        buffer = self.e.storage.get(operand)
        if buffer is None or not self.may_overwrite(buffer) or buffer in {
                self.e.storage.get(n) for n in self.behind(node.operands[1:])}:
            buffer = self._target(node, Root(node, "map", node.shape), destinations)
            self.copy(operand, buffer)
        frame = self.frames[-1]
        step = frame.plan.steps[frame.position]
        emit_scatter(self, node, buffer, None if step.listed is None else listed.ListedUpdates(self, step, buffer))
        self.e.storage[node] = buffer

    # ---- branches

    def _if(self, node: Node, destinations: dict[Node, Buffer]) -> None:
        arrays = [r for r in node.results if r.shape]
        scalars = [r for r in node.results if not r.shape]
        places: dict[Node, Buffer] = {}
        for r in arrays:
            taken = [buffer for other, buffer in destinations.items() if other is not r]
            places[r] = self._common_place(node, r, arrays, [*taken, *places.values()]) \
                or self._target(r, Root(r, "map", r.shape), destinations)
        types = [t for r in scalars for t in self.types(r.dtype)]
        condition = self.e.at(node.operands[0], ())
        branches = [self._branch(block, places, scalars) for block in node.blocks]
        order = [0, 1] if node.kind == "if" else list(range(len(branches)))
        name = self.w.fresh("if")
        results = f"{name}:{len(types)} = " if types else ""
        arrow = f" -> ({', '.join(types)})" if types else ""
        if node.kind == "if":
            head = f"{results}scf.if {self.a.name(condition)}{arrow} {{"
            self.w.scopes[-1].lines += [head, *branches[0], "} else {", *branches[1], "}"]
        else:
            last = len(branches) - 1
            place = self.e.a.as_index(condition)
            outside = place if condition.dtype.kind == "u" else place
            index = self.w.affine(outside)
            given = f" -> {', '.join(types)}" if types else ""
            lines = [f"{results}scf.index_switch {index}{given}"]
            for k in order[:-1]:
                lines += [f"case {k} {{", *branches[k], "}"]
            self.w.scopes[-1].lines += [*lines, "default {", *branches[last], "}"]
        outs = iter([self.w.define(f"{name}#{k}") for k in range(len(types))])
        for r in scalars:
            self.bind(r, self.from_names(r.dtype, outs))
        for r, buffer in places.items():
            buffer.version += 1
            buffer.level = self.w.depth
            buffer.home = self.frames[-1].block
            self.e.storage[r] = buffer

    def _common_place(self, node: Node, result: Node, arrays: Sequence[Node], taken: Sequence[Buffer]) -> Buffer | None:
        """A buffer for a result of a branch: that of an array which one branch hands on, if nobody reads it later, and
        no branch needs its content for another result when it has something new to put there."""
        for block in node.blocks:
            buffer = self._handed_on(block, result)
            if buffer is None or buffer.size != result.size or buffer in taken or not self.may_overwrite(buffer):
                continue
            others = (self._handed_on(each, r) for each in node.blocks for r in arrays if r is not result)
            if buffer not in others and all(self._handed_on(each, result) is buffer or self._needs_nothing_else(
                    each, buffer, [r for r in arrays if r is not result]) for each in node.blocks):
                return buffer
        return None

    def _needs_nothing_else(self, block: Block, buffer: Buffer, results: Iterable[Node]) -> bool:
        """Whether what a branch gives for some results does not read a buffer at its end."""
        outside = [r for result in results if (r := block.returned[result.index]).block is not block]
        return all(self.e.storage.get(n) is not buffer for n in self.behind(outside))

    def _handed_on(self, block: Block, result: Node) -> Buffer | None:
        """The buffer of an array from outside that a branch gives for a result, updates in place included."""
        found = origin(block.returned[result.index], block)
        return None if found is None else self.e.storage.get(found)

    def _branch(self, block: Block, places: dict[Node, Buffer], scalars: Sequence[Node]) -> list[str]:
        self.w.open()
        homes = [(buffer, buffer.home) for buffer in set(self.e.storage.values())]
        with self.e.remembering():
            wanted = {block.returned[r.index]: buffer for r, buffer in places.items()}
            frame = self.block(block, wanted)
            # before the copies, into what they may be computed from
            yields = [self.a.name(n) for r in scalars for n in self.numbers(block.returned[r.index])]
            copied = [(block.returned[r.index], buffer) for r, buffer in places.items()
                      if self.e.storage.get(block.returned[r.index]) is not buffer]
            for returned, buffer in copied:
                self.copy(returned, buffer)
            for returned, _ in copied:          # which may be several results
                if returned.block is block:
                    self.e.storage.pop(returned, None)
            types = [t for r in scalars for t in self.types(r.dtype)]
            self.w.line(f"scf.yield {', '.join(yields)} : {', '.join(types)}" if types else "scf.yield")
            self.leave(frame)
        lines = self.w.close()
        for buffer in self.e.storage.values():      # written here, read in another branch
            buffer.level = min(buffer.level, self.w.depth)
        for buffer, home in homes:
            buffer.home = home
        return lines

    # ---- loops

    def _while(self, node: Node, destinations: dict[Node, Buffer]) -> None:
        slots = slots_of(node)
        self.learn_counters(node, slots)
        if node not in self.rows and (emit_strips(self, node, slots, destinations)
                                      or emit_columns(self, node, slots, destinations)):
            return
        find_rows(self, node, slots, destinations)
        if self.trusts and node in self.rotated:
            self.trusted = True
        elif self._try_while(node, slots, destinations):
            return
        for slot, rotates in zip(slots, self.rotated[node], strict=True):
            slot.rotates = rotates
        place_slots(self, node, slots, destinations)
        self._write_while(node, slots, [s for s in slots if s.rotates], final=True)

    def _try_while(self, node: Node, slots: Sequence[Slot], destinations: dict[Node, Buffer]) -> bool:
        """Write a loop to see which arrays change places. True if none does: what was written stays, else it is
        forgotten."""
        state = (dict(self.e.storage), dict(self.e.bound), {k: list(v) for k, v in self.free.items()})
        made, taken = list(self.frames[-1].made), list(self._taken)
        buffers = [(b, b.version, b.level, b.home) for b in set(self.e.storage.values())]
        with self.w.trial() as stays, self.e.remembering():
            place_slots(self, node, slots, destinations)
            self._write_while(node, slots, [], final=False)
            self.rotated[node] = [s.rotates for s in slots]
            if not any(self.rotated[node]):
                stays.append(True)
                return True
        self.e.storage.clear()
        self.e.storage.update(state[0])
        self.e.bound = state[1]
        self.free = state[2]
        self.frames[-1].made, self._taken[:] = made, taken
        for buffer, version, level, home in buffers:    # what the trial changed
            buffer.version, buffer.level, buffer.home = version, level, home
        self._restore_scratch()
        return False

    def _restore_scratch(self) -> None:
        """Workspace first asked for on trial stays; its names are forgotten by the trial."""
        for buffer in self.scratch_made:
            if buffer.name not in self.w.level:
                self.w.define(buffer.name, 0)
                self.free.setdefault((buffer.dtype, buffer.size), []).append(buffer)

    def _write_while(self, node: Node, slots: Sequence[Slot], rotating: Sequence[Slot], final: bool) -> None:
        """The loop itself. Buffers of rotating slots are carried as pointers, with spare ones."""
        condition, body = node.blocks
        w = self.w
        numbers = [s for s in slots if not s.init.shape]
        types = [t for s in numbers for t in self.types(s.init.dtype)]
        starts = [self.a.name(n) for s in numbers for n in self.numbers(s.init)]
        saved = {s: s.buffer for s in slots}
        lists = listed.begin_lists(self, node, slots)
        starts += [s.buffer.name for s in rotating if s.buffer is not None]
        types += [s.buffer.type for s in rotating if s.buffer is not None]
        # before: the condition
        w.open()
        names = [w.define(w.fresh("b")) for _ in types]
        with self.e.remembering():
            self._enter(slots, numbers, rotating, names, before=True)
            for rows in self.rows.get(node, ()):
                enter_rows(self, rows, slots, before=True)
            listed.enter_lists(self, lists, before=True)
            frame = self.block(condition, {}, loop=True)
            test = self.a.name(self.e.at(condition.returned[0], ()))
            self.leave(frame)
        before = w.close()
        # the body
        w.open()
        inside = [w.define(w.fresh("b")) for _ in types]
        with self.e.remembering():
            self._enter(slots, numbers, rotating, inside, before=False)
            for s in slots:
                if s.buffer is not None and not s.invariant:
                    s.buffer.home = body
            wanted = {s.returned: s.buffer for s in reversed(slots) if s.buffer is not None and not s.invariant}
            row_after: dict[Node, Buffer] = {}
            for rows in self.rows.get(node, ()):
                enter_rows(self, rows, slots, before=False)
                row_after[slots[rows.array].returned] = next_row(self, rows, slots, body)
            listed.enter_lists(self, lists, before=False)
            measuring.iteration(self)
            frame = self.block(body, {**wanted, **row_after}, loop=True)
            for value, row in row_after.items():
                if self.e.storage.get(value) is not row:
                    self.copy(value, row)
            yields = [self.a.name(n) for s in numbers for n in self.numbers(s.returned)]     # may read spare buffers
            listed.shorten_lists(self, lists)
            pointers, spare_types, spare_starts, spare_names = self._rotate(slots, rotating, frame, final)
            yields += pointers
            self.leave(frame, escaping=bool(rotating))
        types += spare_types
        starts += spare_starts
        inside += spare_names
        outside = [f"%z{w.count}_{k}" for k in range(len(spare_types))]
        names += outside
        if types:
            w.line(f"scf.yield {', '.join(yields)} : {', '.join(types)}")
        else:
            w.line("scf.yield")
        after = w.close()
        result = w.fresh("w")
        kinds = ", ".join(types)
        assigned = ", ".join(f"{n} = {s}" for n, s in zip(names, starts, strict=True))
        w.scopes[-1].lines += [
            (f"{result}:{len(types)} = " if types else "") + f"scf.while ({assigned}) : ({kinds}) -> ({kinds}) {{",
            *before, f"scf.condition({test})" + (f" {', '.join(names)} : {kinds}" if types else ""), "} do {",
            f"^bb0({', '.join(f'{n}: {t}' for n, t in zip(inside, types, strict=True))}):" if types else "^bb0:",
            *after, "}"]
        outs = iter([w.define(f"{result}#{k}") for k in range(len(types))])
        for s in numbers:
            self.bind(s.result, self.from_names(s.init.dtype, outs))
        for rows in self.rows.get(node, ()):
            leave_rows(self, rows, slots)
        for s in slots:
            s.buffer = saved[s] if s.init.shape else None
        backing = [b for s in rotating if (b := s.buffer) is not None]
        backing += [b for b in self.frames[-1].made if b.name in spare_starts]
        backing += [b for each in backing for b in each.backing]    # where a loop before has left the array
        for s in slots:
            if s.buffer is None:
                continue
            if s in rotating:
                s.buffer = Buffer(next(outs), s.init.dtype, s.init.size, level=w.depth, home=self.frames[-1].block,
                                  backing=tuple(backing))
            elif not s.invariant:
                s.buffer.version += 1
                s.buffer.level = w.depth
                s.buffer.home = self.frames[-1].block
            self.e.storage[s.result] = s.buffer
        if any(f.loop for f in self.frames):
            # pointers that change places leave their loop only at the top: around it, buffers have fixed names
            for s in rotating:
                if not s.result.is_read:
                    continue        # the loop is run again for the rows that it fills
                settled = self.scratch(s.init.dtype, s.init.size)
                self.copy(s.result, settled)
                self.e.storage[s.result] = settled

    def _enter(self, slots: Sequence[Slot], numbers: Sequence[Slot], rotating: Sequence[Slot], names: Sequence[str],
               before: bool) -> None:
        """Bind a region's arguments."""
        rest = iter(names)
        for s in numbers:
            self.bind(s.condition_argument if before else s.argument, self.from_names(s.init.dtype, rest))
            if not before:
                self.bound_counter(s)
        for s in slots:
            if not s.init.shape or s.buffer is None:
                continue
            buffer = s.buffer
            if s in rotating:
                buffer = Buffer(next(rest), s.init.dtype, s.init.size, level=self.w.depth)
                if not before:
                    s.buffer = buffer
            elif not s.invariant:
                buffer.version += 1
                buffer.level = self.w.depth
            self.e.storage[s.condition_argument if before else s.argument] = buffer

    def _rotate(self, slots: Sequence[Slot], rotating: Sequence[Slot], frame: Frame,
                final: bool) -> tuple[list[str], list[str], list[str], list[str]]:
        """After the body: which buffer each carried array is in now. Arrays outside their slot are noted on trial,
        and change places with it when written for good."""
        placed: dict[Slot, Buffer] = {}
        own = {id(s.buffer) for s in slots if s.buffer is not None and not s.invariant}
        rotates_now: list[Slot] = []
        for s in slots:
            if s.buffer is None or s.invariant:
                continue
            found = self.e.storage.get(s.returned)
            taken = any(b is found for b in placed.values())
            if found is s.buffer and not taken:
                placed[s] = found
            elif found is not None and not taken and found.writable and (
                    found.home is s.returned.block or id(found) in own) and self._local(found, frame, own):
                placed[s] = found
                rotates_now.append(s)
        # arrays that are not in a buffer of the loop's own are copied: into their slot, or, where another array has
        # moved in there, into new memory that then changes places
        for s in slots:
            if s.buffer is None or s.invariant or s in placed:
                continue
            used = any(b is s.buffer for b in placed.values()) or any(
                self.e.storage.get(o.returned) is s.buffer for o in slots if o not in placed and o is not s)
            if used:
                placed[s] = self.scratch(s.init.dtype, s.init.size)
                rotates_now.append(s)
            else:
                placed[s] = s.buffer
            self.copy(s.returned, placed[s])
        if not final:
            for s in _closed(rotates_now, placed, slots):
                s.rotates = True
        elif any(s not in rotating for s in rotates_now):
            raise NotCompiled("an array moves that did not on trial")
        pointers, types, starts, names = [], [], [], []
        for s in rotating:
            pointers.append(placed[s].name)
        given = {placed[s].name for s in rotating}
        left = [s.buffer for s in rotating if s.buffer is not None and s.buffer.name not in given]
        used_names = [placed[s] for s in rotating if not any(placed[s] is o.buffer for o in rotating)]
        for buffer in used_names:
            match = next(b for b in left if b.size == buffer.size and b.dtype == buffer.dtype)
            left.remove(match)
            pointers.append(match.name)
            types.append(buffer.type)
            starts.append(buffer.name)
            names.append(buffer.name)
        renamed = self._renamed(names)
        new = dict(zip(names, renamed, strict=True))
        return [new.get(p, p) for p in pointers], types, starts, renamed

    def _renamed(self, names: list[str]) -> list[str]:
        """Spare buffers are block arguments inside the loop: their text there is changed to the new names."""
        made = []
        for name in names:
            new = self.w.fresh("y")
            lines = self.w.scopes[-1].lines
            for k, line in enumerate(lines):
                if name in line:
                    lines[k] = _replaced(line, name, new)
            made.append(new)
        return made

    def _local(self, buffer: Buffer, frame: Frame, own: set[int]) -> bool:
        """Whether a buffer belongs to this iteration of the loop alone: workspace asked for in the body, or a
        slot's."""
        return id(buffer) in own or buffer in frame.made or buffer.home is frame.block


def _hand_back(block: Block, destinations: dict[Node, Buffer]) -> None:
    """What becomes a value with a destination, by a loop or an update that nothing else needs, goes there at once."""
    for node in reversed(block.nodes):
        sources: list[tuple[Node, Node]] = []
        if node.kind == "while":
            sources = list(zip(node.results, node.operands, strict=True))
        elif node.kind == "dynamic_update_slice":
            sources = [(node, node.operands[0])]
        for result, source in sources:
            if result in destinations and source not in destinations and source.block is block and result.shape \
                    and source.kind in ("result", "dynamic_update_slice") and (
                        len(set(source.users)) == 1 or destinations[result].whole and _last(node, source)):
                destinations[source] = destinations[result]


def _last(node: Node, source: Node) -> bool:
    """Whether all others that use a value come before an op."""
    assert node.block is not None
    later = node.block.nodes[node.block.nodes.index(node) + 1:]
    return not any(user in later or user.block is not node.block for user in source.users)


def _closed(rotating: list[Slot], placed: dict[Slot, Buffer], slots: Sequence[Slot]) -> list[Slot]:
    """Slots whose buffers change places with others', and those others."""
    found = list(rotating)
    while True:
        more = [s for s in slots if s not in found and s.buffer is not None
                and any(placed[r] is s.buffer for r in found if r in placed)]
        if not more:
            return found
        found += more


def _replaced(line: str, name: str, new: str) -> str:
    """A name in a line of text, replaced where it is the whole name."""
    parts = line.split(name)
    made = parts[0]
    for part in parts[1:]:
        made += (name if part[:1].isalnum() or part[:1] == "_" else new) + part
    return made
