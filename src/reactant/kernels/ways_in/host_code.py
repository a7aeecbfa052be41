"""Host code that the compiler does not accept, left out, so that the device code beside it compiles.

Only kernels matter here, and a file's host code may use what is not there: MPI, cuBLAS, another CUDA's runtime. Each
error of the compiler lies in some item of the preprocessed text (`cxx_items`). Where that is host code, the statement
around the error is left out, then the function's body, then the item; until nothing is left to complain about, or an
error lies in device code, which is the one to show. In the place of statements stands a call of `LEFT_OUT`, which is
for the host only: device code that would need them does not compile. Templates of kernels that code left out launches
with their arguments written out are still compiled.
"""
from __future__ import annotations

import bisect
import re
from collections.abc import Callable, Iterator
from dataclasses import field

from reactant.kernels.ways_in.cxx_items import Item, enclosing, items_of
from reactant.kernels.ways_in.cxx_tokens import PAIRS, Token, launches, partners, tokens, with_launches_joined
from reactant.support.records import dataclass

LEFT_OUT = "__reactant_left_out"
KEPT = "__reactant_kept_"
"""Variables that hold the addresses of kernels which code left out launches."""
ROUNDS = 16
STATEMENTS = 3
"""Rounds in which single statements of a function are left out, before its whole body is."""

_LINE_MARKER = re.compile(r'^# (\d+) "((?:[^"\\]|\\.)*)"((?: \d)*)$')
_SAID = re.compile(r"^reactant\.text:(\d+):(\d+): (error|fatal error|note|warning): (.*)$", re.MULTILINE)
_CHAIN = re.compile(r"requested here|^called by |^while |^in (instantiation|evaluation) of")


@dataclass
class Edit:
    """A part of the source that other text takes the place of, and the errors that were there."""

    start: int
    end: int
    text: str
    causes: list[Message]
    item: Item | None = None


@dataclass
class Message:
    """An error of the compiler, or a note: its offset in the source, or the edit that it is in the text of."""

    text: str
    offset: int
    edit: Edit | None = None
    notes: list[Message] = field(default_factory=list)

    def chain(self) -> Iterator[Message]:
        """Where it is, and what led there."""
        yield self
        yield from (note for note in self.notes if _CHAIN.search(note.text))


@dataclass(frozen=True)
class DeviceError:
    """An error that host code is not to blame for."""

    file: str
    line: int
    text: str
    code: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: error: {self.text}\n    {self.code.strip()[:200]}"


class HostCode:
    """A preprocessed text with its host code; `headers`: the folder of ours, which are never changed."""

    def __init__(self, text: str, headers: str):
        self.source = f'extern "C" void {LEFT_OUT}();\n' + text
        self.lines = self.source.split("\n")
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line) + 1)
        self.places, self.found = self._read(headers)
        self.pairs = partners(self.found)
        self.offsets = [t.start for t in self.found]
        self.items = items_of(self.found)
        self.edits: list[Edit] = []
        self.rounds: dict[int, int] = {}            # of statements left out, by the item's offset
        self._instances: set[str] = set()

    def _read(self, headers: str) -> tuple[list[tuple[int, str, int]], list[Token]]:
        """(first line, file, its line) of each part of the text, and the tokens of those parts that are the user's."""
        places, parts = [(0, "<built-in>", 1)], []
        begin, users = 0, False
        for number, line in enumerate([*self.lines, '# 1 "" 3']):
            marker = _LINE_MARKER.match(line)
            if marker is None:
                continue
            if users:
                parts.append((begin, number))
            file = re.sub(r"\\(.)", r"\1", marker[2])
            users = "3" not in marker[3].split() and not file.startswith((headers, "<built-in>", "<command line>"))
            begin = number + 1
            places.append((begin, file, int(marker[1])))
        found: list[Token] = []
        for first, last in parts:
            begin, end = self.starts[first], self.starts[last] - 1
            joined = with_launches_joined(self.source[begin:end])
            self.source = self.source if joined == self.source[begin:end] else \
                self.source[:begin] + joined + self.source[end:]
            found += [t for t in tokens(self.source, begin, end) if t.kind != "directive"]
        return places, found

    # ---- texts

    def text(self, probe: bool = False) -> str:
        """The text without what was left out; `probe`: with markers that say which line of it each line is."""
        changed = self._pieces()[0]
        if not probe:
            return changed
        lines = changed.split("\n")
        for number, line in enumerate(lines):
            marker = _LINE_MARKER.match(line)
            if marker is not None:
                lines[number] = f'# {number + 2} "reactant.text"{" 3" if "3" in marker[3].split() else ""}'
        return '# 1 "reactant.text"\n' + "\n".join(lines)

    def _pieces(self) -> tuple[str, list[tuple[int, int, Edit | None]]]:
        """The changed text, and where its pieces begin in it and in the source."""
        pieces, places, at, length = [], [], 0, 0
        for edit in sorted(self.edits, key=lambda e: (e.start, e.end)):
            for text, start, made in ((self.source[at:edit.start], at, None),
                                      (edit.text + "\n" * self.source.count("\n", edit.start, edit.end), edit.start,
                                       edit)):
                places.append((length, start, made))
                pieces.append(text)
                length += len(text)
            at = edit.end
        places.append((length, at, None))
        pieces.append(self.source[at:])
        return "".join(pieces), places

    def messages(self, said: str) -> list[Message]:
        """What the compiler says of a probe."""
        changed, places = self._pieces()
        starts = [0]
        for line in changed.split("\n"):
            starts.append(starts[-1] + len(line) + 1)
        begins = [p[0] for p in places]

        found: list[Message] = []
        for line, column, kind, text in _SAID.findall(said):
            offset = starts[min(int(line) - 1, len(starts) - 1)] + int(column) - 1
            begin, start, edit = places[bisect.bisect_right(begins, offset) - 1]
            message = Message(text, start if edit is not None else start + offset - begin, edit)
            if kind in ("error", "fatal error"):
                found.append(message)
            elif kind == "note" and found:
                found[-1].notes.append(message)
        return found

    def place(self, message: Message) -> DeviceError:
        line = bisect.bisect_right(self.starts, message.offset) - 1
        begin, file, first = self.places[bisect.bisect_right([p[0] for p in self.places], line) - 1]
        return DeviceError(file, first + line - begin, message.text, self.lines[min(line, len(self.lines) - 1)])

    # ---- leaving out

    def leave_out(self, messages: list[Message]) -> list[DeviceError]:
        """Leave out the host code that these errors are in; gives the errors that lie in device code, and the first
        error where nothing can be left out."""
        refused: list[Message] = []
        touched: set[int] = set()
        changed = False
        for message in messages:
            outcome = self._needed(message) if LEFT_OUT in message.text else self._one(message, touched)
            changed |= outcome is True
            refused += outcome if isinstance(outcome, list) else []
        if refused or not changed:
            return [self.place(m) for m in self._origins(refused or messages[:1])]
        return []

    def _one(self, message: Message, touched: set[int]) -> bool | list[Message]:
        """Leave out what one error is about, or give the error, where it is one of device code."""
        for step in message.chain():
            if step.edit is not None and KEPT in step.edit.text:
                self.edits = [e for e in self.edits if e is not step.edit]
                return True
            if step.edit is None and any(e.start <= step.offset < e.end for e in self.edits):
                return True         # for an error before this one
            item = enclosing(self.items, step.offset) or self._before(step.offset)
            if item is not None:
                return [message] if item.device else self._more(item, message, touched,
                                                                step.offset if step.edit is None else None)
        return [message]

    def _before(self, offset: int) -> Item | None:
        """The item that ends here: what is missing after it is complained about where the next token could be."""
        number = bisect.bisect_left(self.offsets, offset) - 1
        return enclosing(self.items, self.found[number].end - 1) if number >= 0 and not self.source[
            self.found[number].end:offset].strip() else None

    def _more(self, item: Item, message: Message, touched: set[int], offset: int | None) -> bool | list[Message]:
        """Leave out a statement, the body, or the whole item, whichever comes next."""
        level = self.rounds.get(item.start, 0)
        if item.start not in touched:
            touched.add(item.start)
            self.rounds[item.start] = level + 1
        begin, end = item.body or (0, 0)
        if item.body is not None and offset is not None and begin < offset < end and level < STATEMENTS:
            statement = self._statement(offset, begin, end)
            if statement is not None:
                self._at_run_time(item, message)
                return self._replace(*statement, f"{LEFT_OUT}();", message, item)
        whole = any(e.item is item and e.start <= begin and e.end >= end for e in self.edits)
        inside = offset is None or begin <= offset or item.initialisers is not None and item.initialisers <= offset
        if item.body is not None and not whole and inside:
            self._at_run_time(item, message)
            return self._replace(item.initialisers or begin, end, f"{{ {LEFT_OUT}(); }}", message, item)
        if _removable(item):
            return self._replace(item.start, item.end, "", message, item)
        if item.outermost.device:
            return [message]
        return self._replace(item.outermost.start, item.outermost.end, "", message, item.outermost)

    def _at_run_time(self, item: Item, message: Message) -> None:
        """A function with something left out has no value that constants could have."""
        for token in self._tokens(item.start, item.body[0] if item.body else item.start):
            if token.text in ("constexpr", "consteval"):
                self._replace(token.start, token.end, "", message, item)

    def _replace(self, start: int, end: int, text: str, message: Message, item: Item) -> bool:
        inside = [e for e in self.edits if start <= e.start and e.end <= end and e.start != e.end]
        if any(e.start == start and e.end == end and e.text == text for e in inside):
            return False
        self.edits = [e for e in self.edits if e not in inside]
        causes = [cause for e in inside for cause in e.causes] + [message]
        self.edits.append(Edit(start, end, text, causes, item))
        self._keep_instances(start, end, item)
        return True

    def _statement(self, offset: int, begin: int, end: int) -> tuple[int, int] | None:
        """The innermost statement around an offset in a body."""
        first, last = (bisect.bisect_left(self.offsets, x) for x in (begin, end))
        block = max((k for k in range(first, last) if self.found[k].text == "{"
                     and self.offsets[k] < offset < self.found[self.pairs.get(k, last - 1)].start), default=None)
        if block is None:
            return None
        close = self.pairs.get(block, last - 1)
        start = at = block + 1
        while at < close:
            text = self.found[at].text
            at = self.pairs.get(at, at) + 1 if text in PAIRS else at + 1
            following = self.found[at].text if at < close else ""
            ends = text == ";" or (text == "{" and following not in (";", ",", ")", "(", ".", "->", "[", "?", ":"))
            if ends and following not in ("else", "catch") and not (following == "while" and self._is_do(start)):
                if self.found[at - 1].end > offset:
                    return self.found[start].start, self.found[at - 1].end
                start = at
        return None

    def _is_do(self, start: int) -> bool:
        return self.found[start].text == "do"

    def _tokens(self, start: int, end: int) -> list[Token]:
        return self.found[bisect.bisect_left(self.offsets, start):bisect.bisect_left(self.offsets, end)]

    # ---- what device code needs of what was left out

    def hidden(self) -> list[DeviceError]:
        """Why items went whose names device code uses, and finds elsewhere now: it may mean something else than it
        did."""
        gone = [e for e in self.edits if e.item is not None and e.start <= e.item.start and e.end >= e.item.end]
        kept = {name for item in self._all(self.items) for name in self._declared(item)
                if not any(e.start <= item.start < e.end for e in gone)}
        lost = [(e, self._declared(e.item) & kept) for e in gone if e.item is not None]
        used = {t.text for item in self._all(self.items) if item.device and item.kind != "class"
                for t in self._tokens(item.start, item.end)} if any(names for _, names in lost) else set()
        return [self.place(e.causes[0]) for e, names in lost if names & used]

    def _all(self, items: list[Item]) -> Iterator[Item]:
        for item in items:
            yield item
            yield from self._all(item.members)

    def _declared(self, item: Item) -> set[str]:
        """The names that an item declares outside of its brackets."""
        found = self._tokens(item.start, item.end)
        pairs, names, at = partners(found), set(), 0
        while at + 1 < len(found):
            following = found[at + 1].text
            if found[at].kind == "word" and following in ("(", "=", ";", "[", "{", ",", ":"):
                names.add(found[at].text)
                if following == "(" and item.takes_parameters:
                    break
            at = pairs.get(at, at) + 1 if found[at].text in PAIRS else at + 1
        return names - {"__attribute__", "alignas", "decltype", "template", "operator"}

    def _needed(self, message: Message) -> bool | list[Message]:
        """Of a body that was left out and is compiled for the device all the same: why it was, where device code needs
        it; where an explicit instantiation asks for it, that is left out too."""
        for note in message.chain():
            item = enclosing(self.items, note.offset)
            if item is not None and item.is_instantiation:
                return self._replace(item.start, item.end, "", message, item)
        causes = [] if message.edit is None else message.edit.causes
        return causes[:1] or [message]

    def _origins(self, refused: list[Message]) -> list[Message]:
        """The errors to show: where one is about a name that was left out, why it was."""
        shown: list[Message] = []
        for message in refused:
            names = set(re.findall(r"'([A-Za-z_]\w*)", message.text))
            causes = [e.causes[0] for e in self.edits if e.item is not None and e.start <= e.item.start
                      and e.end >= e.item.end and names & set(e.item.words)]
            shown += [m for m in [*causes[:1], message] if m not in shown]
        return shown

    # ---- kernels that code left out launches

    def _keep_instances(self, start: int, end: int, item: Item) -> None:
        """Ask for the instances of templates that a part of the text launches with written arguments."""
        found = self._tokens(start, end)
        pairs = partners(found)
        for first, _ in launches(found, pairs):
            name = _launched(found, first, self.source)
            place = item.outermost.end
            if name is not None and (key := f"{place} {name}") not in self._instances:
                text = (f' extern "C" {{ __attribute__((device)) void *{KEPT}{len(self._instances)} = '
                        f"(void *)&{name}; }}")
                self._instances.add(key)
                self.edits.append(Edit(place, place, text, []))


def _launched(found: list[Token], first: int, source: str) -> str | None:
    """The kernel in front of a launch, where it is written with the arguments of its template."""
    at, depth = first - 1, 0
    if at < 0 or found[at].text != ">":
        return None
    while at >= 0:
        depth += (found[at].text == ">") - (found[at].text == "<")
        at -= 1
        if depth == 0:
            break
    begin = at
    while begin > 0 and (found[begin - 1].text == "::"
                         or found[begin].text == "::" and found[begin - 1].kind == "word"):
        begin -= 1
    if at < 0 or found[at].kind != "word":
        return None
    return " ".join(source[found[begin].start:found[first - 1].end].split())


def _removable(item: Item) -> bool:
    """Whether an item may go without changing how memory is laid out."""
    if item.device:
        return False
    if item.parent is None or not item.parent.kind == "class":
        return True
    if item.words[:1] and item.words[0] in ("using", "typedef", "friend", "static", "enum", "template"):
        return True
    special = item.parent.words and {"~", "operator", "virtual"} & set(item.words)
    constructor = set(item.words[:2]) & set(item.parent.words)
    return item.takes_parameters and not special and not constructor


def without_host_errors(text: str, headers: str, check: Callable[[str], str]
                        ) -> tuple[str, list[DeviceError]]:
    """A preprocessed text without the host code that does not compile, and the errors of its device code.

    check: gives what the compiler says of a text, nothing where it accepts it."""
    code = HostCode(text, headers)
    for _ in range(ROUNDS):
        said = check(code.text(probe=True))
        if not said:
            return code.text(), code.hidden()
        messages = code.messages(said)
        if not messages:
            return code.text(), [DeviceError("", 0, said.strip()[:2000], "")]
        errors = code.leave_out(messages)
        if errors:
            return code.text(), errors
    return code.text(), [code.place(m) for m in messages[:10]]
