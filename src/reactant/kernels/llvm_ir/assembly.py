"""Inline PTX in kernels (`asm("...")`) as LLVM IR: every statement becomes a function that the clean-up inlines.

Straight-line code is read (`assembly_instructions` knows the instructions), with registers of its own, predicates and
`{ }`; a carry lives within one statement. What is not known stays `asm`, and is refused with its line where a kernel
reaches it.
"""
from __future__ import annotations

import re
from functools import partial

from reactant.kernels.llvm_ir.assembly_instructions import instruction
from reactant.kernels.llvm_ir.assembly_statement import BITS, NotKnown, Statement
from reactant.kernels.llvm_ir.signatures import split_arguments, type_of

PREFIX = "reactant.assembly."

# ---- the statements of a module ----------------------------------------------------------------------------------

_STATEMENT = re.compile(r'^(?P<head> *(?:%\S+ = )?)(?:tail )?call (?P<type>[^"\n]*?) asm (?:sideeffect |alignstack )*'
                        r'"(?P<code>[^"]*)", "(?P<constraints>[^"]*)"\((?P<operands>.*)\)(?P<rest>[^()\n]*)$',
                        re.MULTILINE)

_ATTRIBUTES = re.compile(r"\b(noundef|range\([^)]*\)|contract|fast|nnan|ninf|nsz|arcp|afn|reassoc) ")
"""What optimised code says of a result."""


def expanded(text: str) -> str:
    """A module whose inline assembly is calls of functions, where it is known."""
    made: dict[str, str] = {}

    def replace(found: re.Match) -> str:
        try:
            head, body = function_of(found)
        except NotKnown:
            return found[0]
        name = made.setdefault(head + body, f"{PREFIX}{len(made)}")
        location = re.search(r", !dbg !\d+", found["rest"])
        return (f"{found['head']}call {found['type'].split('(')[0].strip()} @{name}({found['operands']})"
                f"{location[0] if location else ''}")
    text = _STATEMENT.sub(replace, text) if " asm " in text else text
    return text + "".join("\n" + content.replace("@NAME", f"@{name}") for content, name in made.items())


def why_not(line: str) -> str:
    """What of a statement is not known."""
    found = _STATEMENT.match(line)
    if found is None:
        return ""
    try:
        function_of(found)
    except NotKnown as reason:
        return f": {reason}"
    return ""


def function_of(found: re.Match) -> tuple[str, str]:
    """(first line, rest) of the LLVM function for one statement. Raises `NotKnown`."""
    result = _ATTRIBUTES.sub("", found["type"]).strip()
    results = [] if result == "void" else split_arguments(result.strip("{} ")) if result.startswith("{") else [result]
    operands = [type_of(re.sub(r"\s(%\S+|@[\w.$]+|-?[\d.xXa-fA-FHRKe+-]+|true|false|null|poison|undef)$", "", o))
                for o in split_arguments(found["operands"])]
    statement = Statement()
    inputs = 0
    for constraint in found["constraints"].split(","):
        if not constraint or constraint.startswith("~"):
            continue
        place = f"${len(statement.kinds)}"
        if constraint.startswith("="):
            statement.kinds[place] = results[len(statement.kinds)]
            continue
        kind = operands[inputs]
        if kind not in (*BITS, "i1", "i8", "i16", "i32", "i64"):
            raise NotKnown(f"an operand of type {kind}")
        statement.kinds[place], statement.values[place] = kind, (kind, f"%a{inputs}")
        if constraint.isdigit():
            statement.values[f"${constraint}"] = statement.kinds[f"${constraint}"], f"%a{inputs}"
        inputs += 1
    code = re.sub(r"\\([0-9A-F]{2})", lambda m: chr(int(m[1], 16)), found["code"])
    code = re.sub(r"\$\{(\d+)(?::\w)?\}", r"$\1", code).replace("${:uid}", "_").replace("$$", "$")
    run(statement, code)
    ends = [statement.values.get(f"${i}", (kind, "zeroinitializer")) for i, kind in enumerate(results)]
    values = [statement.reinterpreted(own, value, kind) for (own, value), kind in zip(ends, results, strict=True)]
    if len(results) == 1:
        statement.line(f"ret {result} {values[0]}")
    elif results:
        whole = "poison"
        for i, (kind, value) in enumerate(zip(results, values, strict=True)):
            whole = statement.let(f"insertvalue {result} {whole}, {kind} {value}, {i}")
        statement.line(f"ret {result} {whole}")
    else:
        statement.line("ret void")
    parameters = ", ".join(f"{kind} %a{i}" for i, kind in enumerate(operands))
    return (f"define internal {result} @NAME({parameters}) alwaysinline {{\nentry:\n",
            "\n".join(statement.lines) + "\n}\n")


def run(statement: Statement, code: str) -> None:
    """All instructions of a statement."""
    code = re.sub(r"//[^\n]*|/\*.*?\*/", " ", code, flags=re.DOTALL)
    for part in code.split(";"):
        text = re.sub(r"\s+", " ", part).strip().lstrip("{} ")      # braces around instructions
        if not text:
            continue
        if declared := re.fullmatch(r"\.reg \.(\w+) (.*)", text):
            for name in declared[2].split(","):
                statement.declare(name.strip(), declared[1])
            continue
        guard = re.match(r"@(!?)\s*([%$\w]+)\s+", text)
        if guard is None:
            instruction(statement, text)
        else:
            statement.guarded(statement.read(guard[1] + guard[2], "i1"),
                              partial(instruction, statement, text[guard.end():]))
