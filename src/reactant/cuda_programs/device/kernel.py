"""A kernel as a function with names: its parameters, the registers it reads, the constant addresses in it."""
from __future__ import annotations

import re
from dataclasses import field

from reactant.cuda_programs.device import library
from reactant.cuda_programs.device.text import NAME, Function, function, quoted
from reactant.kernels.llvm_ir.signatures import split_arguments, type_of
from reactant.support.records import dataclass

_REGISTER = re.compile(rf"^(%{NAME}) = (?:tail )?call [^@]*@({NAME})\(\)")
_CALLED = re.compile(rf"\bcall\b[^@%]*(?:@({NAME})|%{NAME})\(")
RANGES = {"tid": "range(i32 0, 1024) ", "ntid": "range(i32 1, 1025) ", "ctaid": "range(i32 0, 2147483647) ",
          "nctaid": "range(i32 1, -2147483648) "}


@dataclass
class Parameter:
    """A parameter of a kernel. `value` is the type of what its argument's address leads to."""

    text: str
    name: str
    type: str
    value: str
    by_address: bool

    @property
    def argument(self) -> str:
        """The parameter, handed on to a function that has it, too."""
        return f"{self.type} {f'byval({self.value}) ' if 'byval(' in self.text else ''}{self.name}"


@dataclass
class Kernel:
    """A kernel whose registers are parameters, named by `register_name`."""

    name: str
    parameters: list[Parameter]
    function: Function
    calls: set[str] = field(default_factory=set)
    """Functions that are called by name; "" for one that is called by its address."""


def register_name(register: str) -> str:
    """The parameter for a register."""
    return "%r." + register.removeprefix("nvvm.read.ptx.sreg.").removeprefix("reactant.")


def register_parameters() -> list[str]:
    """Registers as parameters of functions."""
    found = []
    for register, kind in library.REGISTERS.items():
        known = RANGES.get(register.split(".")[-2], "") if kind == "i32" else ""
        found.append(f"{kind} noundef {known}{register_name(register)}")
    return found


def register_arguments() -> list[str]:
    """The same as arguments."""
    return [f"{kind} {register_name(register)}" for register, kind in library.REGISTERS.items()]


def group_registers(words: str = "") -> list[str]:
    """The registers that the threads of a group have in common, all but threadIdx.x: as arguments, or with words as
    parameters."""
    return [f"{kind} {words}{register_name(register)}" for register, kind in library.REGISTERS.items()
            if register_name(register) != "%r.tid.x"]


def kernel(text: str) -> Kernel:
    """Read one. Its registers become parameters."""
    made = function(text)
    parameters = [_parameter(p) for p in split_arguments(_between_parentheses(made.header, f"@{quoted(made.name)}"))]
    names: dict[str, str] = {}
    calls: set[str] = set()
    for lines in made.blocks.values():
        kept = []
        for line in lines:
            if "@llvm.lifetime." in line:
                continue
            found = _REGISTER.match(line)
            if found and (register := found[2].strip('"')) in library.REGISTERS:
                names[found[1]] = register_name(register)
                continue
            if " call " in f" {line}" and (called := _CALLED.search(line)):
                calls.add((called[1] or "").strip('"'))
            kept.append(line)
        lines[:] = kept
    _rename(made, names)
    return Kernel(made.name, parameters, made, calls)


def _between_parentheses(text: str, after: str) -> str:
    start = text.index("(", text.index(after + "(")) + 1
    depth, at = 1, start
    while depth:
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        at += 1
    return text[start:at - 1]


def _parameter(text: str) -> Parameter:
    name = text.rsplit(" ", 1)[1]
    kind = type_of(re.sub(r"\b(byval|sret)\((?:[^()]|\([^()]*\))*\)|\breadnone\b|\bnofpclass\([^)]*\)|\b"
                          r"initializes\((?:[^()]|\([^()]*\))*\)|\bdead_on_return\b", "", text))
    kind = re.sub(r"\s+", " ", kind).strip()
    value = re.search(r"byval\(((?:[^()]|\([^()]*\))*)\)", text)
    return Parameter(text, name, kind, value[1] if value else kind, value is not None)


def _rename(made: Function, names: dict[str, str]) -> None:
    if not names:
        return
    wanted = re.compile("|".join(re.escape(n) + r"(?![-\w$.])" for n in sorted(names, key=len, reverse=True)))
    for lines in made.blocks.values():
        lines[:] = [wanted.sub(lambda m: names[m[0]], line) for line in lines]


_EXPRESSION = re.compile(r"\b((?:getelementptr|ptrtoint|inttoptr|bitcast|trunc|add|sub|xor)"
                         r"(?: (?:nuw|nsw|nusw|inbounds|inrange\([^()]*\)))*) \(([^()]*)\)")


def with_addresses(made: Function, addresses: dict[str, str]) -> list[str]:
    """Put values in place of global variables, also within constant expressions, which become the instructions that
    are returned, for the function's start."""
    if not addresses:
        return []
    wanted = re.compile("|".join(f"@{re.escape(quoted(n))}(?![-\\w$.])" for n in addresses))
    taken = {f"@{quoted(n)}": value for n, value in addresses.items()}
    hoisted: dict[str, str] = {}

    def hoist(found: re.Match) -> str:
        if "%" not in re.sub(r"%struct\.[-\w$.]+|%\"[^\"]*\"", "", found[2]):
            return found[0]
        how = re.sub(r" inrange\([^()]*\)", "", found[1])
        return hoisted.setdefault(f"{how} {found[2]}", f"%addr.{len(hoisted)}")
    for lines in made.blocks.values():
        for at, line in enumerate(lines):
            if not wanted.search(line):
                continue
            head, equals, rest = line.partition(" = ") if line[0] == "%" else ("", "", line)
            rest = wanted.sub(lambda m: taken[m[0]], rest)
            before = ""
            while before != rest:
                before = rest
                rest = _EXPRESSION.sub(hoist, rest)
            lines[at] = head + equals + rest
    return [f"{name} = {text}" for text, name in hoisted.items()]
