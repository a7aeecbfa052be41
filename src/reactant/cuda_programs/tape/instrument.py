"""LLVM IR of host code, with calls that note how its numbers come from one another (`runtime/tape.cpp`).

The IR is clang's without optimisation (-O0): numbers are loaded, computed with, and stored. Each float or double gets
an identity, an i64; operations make new ones, loads and stores take them from and to memory. What could lose one
unseen (bits read as integers, functions of libraries) is noted as a complaint, with its line. The method is operator
recording, as in Griewank and Walther, "Evaluating Derivatives" (2008), chapter 6, on instructions.
"""
from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

NUMBERS = {"float": 4, "double": 8}
BINARY = {"fadd": "add", "fsub": "subtract", "fmul": "multiply", "fdiv": "divide"}
ONE = ("sqrt", "cbrt", "fabs", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin",
       "acos", "atan", "sinh", "cosh", "tanh")
TWO = ("atan2", "hypot", "pow", "fmin", "fmax", "copysign")
STEPS = ("floor", "ceil", "trunc", "round", "rint", "nearbyint", "roundeven")
MATH = {**{name: (name, 1) for name in ONE}, **{name: (name, 2) for name in TWO},
        **{name: ("step", 1) for name in STEPS}, "fma": ("fma", 3), "fmuladd": ("fma", 3), "minnum": ("fmin", 2),
        "maxnum": ("fmax", 2)}
"""Functions of the C library and intrinsics -> the tape's function, its arguments."""
HARMLESS = re.compile(r"v?[fs]?n?printf|puts|putchar|fputs|fwrite|fflush|_ZNSo.*|_ZStls.*|_ZNSt.*ostream.*"
                      r"|reactant_.*|__cuda.*|cuda.*|llvm\.(dbg|lifetime|assume|expect|va_|stack).*")
"""Functions that only show numbers, or have nothing to do with the host's."""
NAME = re.compile(r'%(?:"[^"]*"|[\w.$-]+)')
ASSIGN = re.compile(r'^  (%(?:"[^"]*"|[\w.$-]+)) = (.*)$')
LOCATION = re.compile(r"^(!\d+) = (?:distinct )?!DILocation\(line: (\d+)")
QUALIFIERS = re.compile(r"^(?:volatile |atomic )+")
ATTRIBUTE = re.compile(r"(?:align \d+|[a-z_]+\([^()]*(?:\([^()]*\))?[^()]*\)|(?!getelementptr|inttoptr|ptrtoint|null"
                       r"|undef|poison|true|false|zeroinitializer|addrspacecast|bitcast)[a-z_]+) (?=\S)")
"""What stands between an argument's type and its value."""


def defined(text: str) -> set[str]:
    """The functions that a module defines."""
    return {n.strip('"') for n in re.findall(r'^define [^\n]*?@("[^"]+"|[\w.$-]+)\(', text, re.MULTILINE)}


def instrumented(text: str, own: Iterable[str], file: str, lines: list[str]) -> str:
    """A module of host code.

    Args:
        text: clang's IR at -O0, with line numbers.
        own: functions that all modules of the program define.
        file: what the source is called.
        lines: the source lines that numbers of complaints mean; more are added.

    Returns:
        The module as it is to be compiled.

    Raises:
        ValueError: for instructions that cannot be followed, with the reason.
    """
    writer = _Writer(set(own), file, {node: int(line) for node, line in (
        m.groups() for m in map(LOCATION.match, text.splitlines()) if m)}, lines)
    out: list[str] = []
    inside = False
    for line in text.splitlines():
        if line.startswith("define "):
            inside = True
            out.append(line)
            writer.begin(line)
        elif line.startswith("}"):
            inside = False
            out.append(line)
        elif inside:
            out += writer.line(line)
        else:
            out.append(line)
    out += DECLARATIONS.values()
    return "\n".join(out) + "\n"


def _declarations() -> dict[str, str]:
    forms = {"load": ("i64", "ptr, i32"), "store": ("void", "ptr, i32, i64"), "clear": ("void", "ptr, i64"),
             "copy": ("void", "ptr, ptr, i64"), "read": ("void", "ptr, i64, i64"), "parameter": ("i64", "i32"),
             "argument": ("void", "i32, i64"), "returned": ("i64", ""), "return": ("void", "i64"),
             "given": ("void", "i64, i64")}
    for name in (*BINARY.values(), *TWO):
        forms[name] = "i64", "double, i64, double, i64"
    for name in ("negate", "same", "step", *ONE):
        forms[name] = "i64", "double, i64"
    forms["fma"] = "i64", "double, i64, double, i64, double, i64"
    return {name: f"declare {result} @reactant_tape_{name}({given})" for name, (result, given) in forms.items()}


DECLARATIONS = _declarations()


@dataclass
class _Writer:
    own: set[str]
    file: str
    locations: dict[str, int]
    lines: list[str]
    identities: dict[str, str] = field(default_factory=dict)
    count: int = 0
    _entry: list[str] = field(default_factory=list)

    def begin(self, head: str) -> None:
        """A function: its numbers come with their identities."""
        self.identities, self._entry = {}, []
        parameters = _split(head[head.index("(", head.index("@")) + 1:_closing(head, head.index("(", head.index("@")))])
        k = 0
        for number, parameter in enumerate(parameters):
            words = parameter.split()
            if words and words[0] in NUMBERS:
                name = words[-1] if words[-1].startswith("%") else f"%{number}"
                self.identities[name] = shadow = self.fresh()
                self._entry.append(f"  {shadow} = call i64 @reactant_tape_parameter(i32 {k})")
                k += 1

    def fresh(self) -> str:
        self.count += 1
        return f"%tape.{self.count}"

    def of(self, value: str) -> str:
        """The identity of a value: constants have none."""
        return self.identities.get(value, "0")

    def place(self, line: str) -> str:
        """The number of a line for complaints."""
        found = re.search(r"!dbg (!\d+)", line)
        number = self.locations.get(found[1]) if found else None
        text = f"{self.file}:{number}" if number else self.lines[0]
        if text not in self.lines:
            self.lines.append(text)
        return str(self.lines.index(text))

    # ---- instructions ----

    def line(self, line: str) -> list[str]:
        """A line of a function, with what is noted of it."""
        if self._entry and line.startswith("  "):
            first, self._entry = self._entry, []
            return [*self._located(first, ""), *self.line(line)]
        body = line.strip()
        assigned = ASSIGN.match(line)
        result, operation = (assigned[1], assigned[2]) if assigned else ("", body)
        head = operation.split(" ", 1)[0]
        debug = found[0] if (found := re.search(r", !dbg !\d+", line)) else ""
        method = getattr(self, f"_{head}", None)
        if head in BINARY:
            before, after = self._binary(result, operation, line)
        elif head in ("tail", "notail", "musttail", "call"):
            before, after = self._call(result, operation, line)
        elif head in ("invoke", "landingpad", "resume"):
            raise ValueError("its host code handles exceptions")
        elif method is not None:
            before, after = method(result, operation, line)
        else:
            before, after = self._other(result, operation, line)
        return [*self._located(before, debug), line, *self._located(after, debug)]

    def _located(self, lines: list[str], debug: str) -> list[str]:
        return [f"{each}{debug}" if "call " in each else each for each in lines]

    def _wide(self, value: str, kind: str, lines: list[str]) -> str:
        """A number as a double."""
        if kind == "double":
            return value
        name = self.fresh()
        lines.append(f"  {name} = fpext float {value} to double")
        return name

    def _node(self, result: str, name: str, kind: str, operands: list[str]) -> list[str]:
        """The identity of a result, unless all operands are constants."""
        if all(self.of(v) == "0" for v in operands):
            return []
        lines: list[str] = []
        given = [f"double {self._wide(v, kind, lines)}, i64 {self.of(v)}" for v in operands]
        self.identities[result] = shadow = self.fresh()
        return [*lines, f"  {shadow} = call i64 @reactant_tape_{name}({', '.join(given)})"]

    def _binary(self, result: str, operation: str, line: str) -> tuple[list[str], list[str]]:
        found = re.match(r"(\w+) (?:[a-z]+ )*(float|double) ([^,]+), ([^,]+)", operation)
        if found is None:
            return self._other(result, operation, line)
        return self._node(result, BINARY[found[1]], found[2], [found[3], found[4]]), []

    def _fneg(self, result: str, operation: str, line: str) -> tuple[list[str], list[str]]:
        found = re.match(r"fneg (?:[a-z]+ )*(float|double) ([^,]+)", operation)
        if found is None:
            return self._other(result, operation, line)
        return self._node(result, "negate", found[1], [found[2]]), []

    def _fpext(self, result: str, operation: str, line: str) -> tuple[list[str], list[str]]:
        found = re.match(r"(?:fpext|fptrunc) (?:[a-z]+ )*(float|double) (\S+) to (float|double)", operation)
        if found is None:
            return self._other(result, operation, line)
        if self.of(found[2]) != "0":
            self.identities[result] = self.of(found[2])
        return [], []

    _fptrunc = _fpext

    def _fptosi(self, result: str, operation: str, line: str) -> tuple[list[str], list[str]]:
        return [], []               # constant almost everywhere

    _fptoui = _fcmp = _br = _switch = _unreachable = _fptosi

    def _phi(self, result: str, operation: str, line: str) -> tuple[list[str], list[str]]:
        found = re.match(r"phi (?:[a-z]+ )*(float|double) (.*)", operation)
        if found is None:
            return [], []
        pairs = re.findall(r"\[ ([^,]+), (%[^ ]+) \]", found[2])
        self.identities[result] = shadow = self.fresh()
        incoming = ", ".join(f"[ {self.of(value)}, {label} ]" for value, label in pairs)
        return [f"  {shadow} = phi i64 {incoming}"], []

    def _select(self, result: str, operation: str, line: str) -> tuple[list[str], list[str]]:
        found = re.match(r"select (?:[a-z]+ )*i1 ([^,]+), (float|double) ([^,]+), (?:float|double) ([^,]+)", operation)
        if found is None or self.of(found[3]) == self.of(found[4]) == "0":
            return [], []
        self.identities[result] = shadow = self.fresh()
        return [f"  {shadow} = select i1 {found[1]}, i64 {self.of(found[3])}, i64 {self.of(found[4])}"], []

    def _load(self, result: str, operation: str, line: str) -> tuple[list[str], list[str]]:
        kind, pointer, *_ = _split(QUALIFIERS.sub("", operation.split(" ", 1)[1]))
        if kind == "ptr":
            return [], []
        if kind not in NUMBERS:
            return [f"  call void @reactant_tape_read({pointer}, i64 {_size(kind)}, i64 {self.place(line)})"], []
        self.identities[result] = shadow = self.fresh()
        return [], [f"  {shadow} = call i64 @reactant_tape_load({pointer}, i32 {NUMBERS[kind]})"]

    def _store(self, result: str, operation: str, line: str) -> tuple[list[str], list[str]]:
        stored, pointer, *_ = _split(QUALIFIERS.sub("", operation.split(" ", 1)[1]))
        kind, value = _typed(stored)
        if kind in NUMBERS:
            return [], [f"  call void @reactant_tape_store({pointer}, i32 {NUMBERS[kind]}, i64 {self.of(value)})"]
        return [], [f"  call void @reactant_tape_clear({pointer}, i64 {_size(kind)})"]

    def _alloca(self, result: str, operation: str, line: str) -> tuple[list[str], list[str]]:
        kind, *more = _split(operation.split(" ", 1)[1])
        if kind == "ptr" or any(not part.startswith(("align", "!dbg")) for part in more):
            return [], []               # the second: as many as a number says
        return [], [f"  call void @reactant_tape_clear(ptr {result}, i64 {_size(kind)})"]

    def _ret(self, result: str, operation: str, line: str) -> tuple[list[str], list[str]]:
        found = re.match(r"ret (float|double) ([^,]+)", operation)
        return ([f"  call void @reactant_tape_return(i64 {self.of(found[2])})"] if found else []), []

    def _other(self, result: str, operation: str, line: str) -> tuple[list[str], list[str]]:
        """What is not known: a number that goes into it is lost."""
        lost = [n for n in dict.fromkeys(NAME.findall(operation)) if self.of(n) != "0"]
        return [f"  call void @reactant_tape_given(i64 {self.of(n)}, i64 {self.place(line)})" for n in lost], []

    # ---- calls ----

    def _call(self, result: str, operation: str, line: str) -> tuple[list[str], list[str]]:
        opened = _opening(operation)
        if opened is None:
            return self._other(result, operation, line)
        callee, first = opened
        given = [_typed(a) for a in _split(operation[first + 1:_closing(operation, first)])]
        numbers = [(kind, value) for kind, value in given if kind in NUMBERS]
        name = callee.lstrip("@").strip('"')
        if name.startswith(("llvm.memcpy", "llvm.memmove")) or name in ("memcpy", "memmove"):
            (_, to), (_, source), (_, count) = given[:3]
            return [f"  call void @reactant_tape_copy(ptr {to}, ptr {source}, i64 {count})"], []
        if name.startswith("llvm.memset") or name == "memset":
            return [f"  call void @reactant_tape_clear(ptr {given[0][1]}, i64 {given[2][1]})"], []
        plain = re.sub(r"^llvm\.(\w+)\.f\d+$", r"\1", name)
        known = MATH.get(plain) or (MATH.get(plain[:-1]) if plain.endswith("f") and name not in self.own else None)
        if known and name not in self.own and len(numbers) == known[1]:
            return self._node(result, known[0], numbers[0][0], [v for _, v in numbers]), []
        if name in self.own or not callee.startswith("@"):
            before = [f"  call void @reactant_tape_argument(i32 {k}, i64 {self.of(v)})"
                      for k, (_, v) in enumerate(numbers)]
            after = []
            if re.search(r"call (?:[\w()]+ )*?(float|double) ", operation[:first] + " "):
                self.identities[result] = shadow = self.fresh()
                after = [f"  {shadow} = call i64 @reactant_tape_returned()"]
                before = ["  call void @reactant_tape_return(i64 0)", *before]
            return before, after
        if HARMLESS.fullmatch(name):
            return [], []
        place = self.place(line)
        return [f"  call void @reactant_tape_given(i64 {self.of(v)}, i64 {place})" for _, v in numbers
                if self.of(v) != "0"], []


def _typed(text: str) -> tuple[str, str]:
    """The type and the value of an operand."""
    if text[0] in "{[<":
        closing = {"{": "}", "[": "]", "<": ">"}[text[0]]
        depth = 0
        for k, c in enumerate(text):
            depth += c == text[0]
            depth -= c == closing
            if depth == 0:
                return text[:k + 1], text[k + 2:]
    kind, _, value = text.partition('" ' if text.startswith('%"') else " ")
    kind += '"' if text.startswith('%"') else ""
    while found := ATTRIBUTE.match(value):
        value = value[found.end():]
    return kind, value


def _size(kind: str) -> str:
    """The bytes of a type, as a constant of LLVM's."""
    plain = {"i1": "1", "i8": "1", "i16": "2", "i32": "4", "i64": "8", "ptr": "8", "float": "4", "double": "8"}
    return plain.get(kind) or f"ptrtoint (ptr getelementptr ({kind}, ptr null, i32 1) to i64)"


def _opening(operation: str) -> tuple[str, int] | None:
    """What is called, and where its arguments begin."""
    for found in re.finditer(r'(@(?:"[^"]*"|[\w.$-]+)|%(?:"[^"]*"|[\w.$-]+))\(', operation):
        return found[1], found.end() - 1
    return None


def _closing(text: str, at: int) -> int:
    depth, quoted = 0, False
    for k in range(at, len(text)):
        quoted ^= text[k] == '"'
        if not quoted:
            depth += text[k] == "("
            depth -= text[k] == ")"
            if depth == 0:
                return k
    return len(text)


def _split(text: str) -> list[str]:
    """Arguments apart at the commas that are not inside of anything."""
    parts, depth, start, quoted = [], 0, 0, False
    for k, c in enumerate(text):
        quoted ^= c == '"'
        if quoted:
            continue
        depth += c in "([{<"
        depth -= c in ")]}>"
        if c == "," and depth == 0:
            parts.append(text[start:k].strip())
            start = k + 1
    return [*parts, text[start:].strip()] if text.strip() else []
