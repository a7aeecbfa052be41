"""A kernel whose threads meet, as a function that runs one thread from one meeting to the next.

Values that live across meetings are in memory of the thread from where they are defined on. So barriers may stand in
any control flow.
"""
from __future__ import annotations

from collections.abc import Mapping

from reactant.cuda_programs.device.cuts import Cut, Pieces, phi_inputs
from reactant.cuda_programs.device.meetings import narrowed, widened
from reactant.cuda_programs.device.text import opcode_of, result_of, uses_of

FRAME = {"launch": 0, "block": 16, "place": 24, "threads": 36, "state": 40, "x": 48, "m": 56, "y": 64, "z": 72,
         "answer": 80, "arguments": 88, "own": 96}
"""Offsets in ReactantFrame (runtime/reactant_frame.h)."""
PLACES = {"x": ("i64", 8), "m": ("i32", 4), "y": ("i32", 4), "z": ("i32", 4)}
EXCHANGE = {**PLACES, "answer": ("i64", 8)}
"""What a thread gives to and gets from the others where they meet: type and bytes."""


class Step:
    """Writes the body of a step function."""

    note = ""
    """What loads and stores of the thread's memory are marked with."""

    def __init__(self, cut: Pieces, types: Mapping[str, str]) -> None:
        self.cut, self.types = cut, types
        self.names = {name: f"kept.{number}" for number, name in enumerate(cut.kept)}
        self._fresh = 0

    def lines(self) -> list[str]:
        """All blocks, from the dispatch on the state on. %state, %index and %kept.N (memory of the thread for each
        kept value) are defined before; exchange is through %x.at, %m.at, %y.at, %z.at, %answer.at."""
        entry = next(iter(self.cut.function.blocks))
        lines = self.variables()
        arrays = set(self.cut.arrays)
        anew = set(self.cut.anew)
        everything = self.cut.function.definitions()
        lines += [f"  {everything[name]}" for name in self.cut.anew]
        cases = " ".join(f"i32 {c.state}, label %resume.{c.site}" for c in self.cut.cuts)
        lines.append(f"  switch i32 %state, label %begin [ {cases} ]")
        lines += ["begin:", f"  br label %{entry}"]
        at_end = {c.before: c for c in self.cut.cuts if c.meeting is not None}
        at_start = {c.after: c for c in self.cut.cuts}
        gone = arrays | anew
        loads = self.phi_loads()
        for label, block in self.cut.function.blocks.items():
            if (resumed := at_start.get(label)) is not None:
                lines += self.resumed(resumed)
            lines.append(f"{label}:")
            body = [line for line in block if result_of(line) not in gone]
            ended = at_end.get(label)
            head = body if ended else body[:-1]
            if resumed is not None and resumed.meeting and (name := resumed.meeting.result) in self.names:
                lines.append(f"  {self.store(name)}")
            phis = [line for line in head if " = phi " in line]
            lines += [f"  {self.phi(line, label)}" for line in phis]
            lines += [f"  {text}" for line in phis for text in self.stored(line)]
            for line in head:
                if " = phi " not in line:
                    lines += [f"  {text}" for text in (*self.loaded(line), *self.stored(line))]
            lines += [f"  {text}" for text in loads.get(label, ())]
            if ended is not None:
                lines += self.left(ended)
            else:
                lines += [f"  {text}" for text in self.ended(label, body[-1])]
        return lines

    def variables(self) -> list[str]:
        """Variables of kept values that are in no memory."""
        return []

    # -- values in variables

    def fresh(self) -> str:
        self._fresh += 1
        return f"%again.{self._fresh}"

    def loaded(self, line: str) -> list[str]:
        """An instruction that reads kept values from their variables."""
        found: list[str] = []
        head, equals, rest = line.partition(" = ") if line[0] == "%" else ("", "", line)
        for name in dict.fromkeys(uses_of(line)):
            if name in self.names:
                again = self.fresh()
                found.append(self.load(name, again))
                rest = _replaced(rest, name, again)
        return [*found, head + equals + rest]

    def stored(self, line: str) -> list[str]:
        name = result_of(line)
        if name not in self.names:
            return []
        return [self.store(name)]

    def load(self, name: str, again: str) -> str:
        """Read a kept value."""
        return f"{again} = load {self.types[name]}, ptr %{self.names[name]}{self.note}"

    def store(self, name: str) -> str:
        """Keep a value."""
        return f"store {self.types[name]} {name}, ptr %{self.names[name]}{self.note}"

    def phi_loads(self) -> dict[str, list[str]]:
        """Reads of kept values at the ends of blocks, for phis; fills `self.inputs`."""
        self.inputs: dict[tuple[str, str], str] = {}
        found: dict[str, list[str]] = {}
        for block in self.cut.function.blocks.values():
            for line in block:
                if " = phi " not in line:
                    continue
                for value, before in phi_inputs(line):
                    if value in self.names and (value, before) not in self.inputs:
                        again = self.fresh()
                        self.inputs[value, before] = again
                        found.setdefault(before, []).append(self.load(value, again))
        return found

    def phi(self, line: str, label: str) -> str:
        head, rest = line.split(" = ", 1)
        for value, before in phi_inputs(line):
            if (value, before) in self.inputs:
                rest = rest.replace(f"[ {value}, %{before} ]", f"[ {self.inputs[value, before]}, %{before} ]")
        return f"{head} = {rest}"

    # -- meetings

    def left(self, cut: Cut) -> list[str]:
        """The end of a step at a meeting."""
        assert cut.meeting is not None
        lines = []
        for letter, (kind, value) in cut.meeting.operands.items():
            if value in self.names:
                again = self.fresh()
                lines.append(f"  {self.load(value, again)}")
                value = again
            if letter == "x":
                more, value = widened(kind, value, self.fresh()[1:])
                lines += [f"  {line}" for line in more]
                kind = "i64"
            lines.append(f"  store {kind} {value}, ptr %{letter}.at")
        return [*lines, *(f"  {line}" for line in self.returned(str(cut.state)))]

    def returned(self, state: str) -> list[str]:
        """The end of a step that leaves the thread in a state."""
        return [f"ret i32 {state}"]

    def resumed(self, cut: Cut) -> list[str]:
        """The start of a step after a meeting."""
        lines = [f"resume.{cut.site}:"]
        if cut.meeting is not None and cut.meeting.result is not None:
            answer = self.fresh()
            lines.append(f"  {answer} = load i64, ptr %answer.at")
            lines += [f"  {line}" for line in narrowed(cut.meeting.type, answer, cut.meeting.result)]
        return [*lines, f"  br label %{cut.after}"]

    def ended(self, label: str, line: str) -> list[str]:
        """A block's terminator."""
        if opcode_of(line) == "ret":
            return self.returned("-1")
        return self.loaded(line)


def _replaced(text: str, name: str, value: str) -> str:
    at = text.find(name)
    while at >= 0:
        end = at + len(name)
        if end == len(text) or not (text[end].isalnum() or text[end] in "-$._"):
            text = text[:at] + value + text[end:]
            end = at + len(value)
        at = text.find(name, end)
    return text
