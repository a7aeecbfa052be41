"""Modules as a whole: parse, print, verify, clone, walk, count, inline, run MLIR's own passes."""
from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable, Iterator, MutableMapping
from functools import cache
from typing import Any

from jaxlib.mlir import ir
from jaxlib.mlir.passmanager import PassManager

from reactant.errors import ReactantError
from reactant.ir import context  # noqa: F401 - registers dialects and passes
from reactant.ir.locations import file_and_line

SOURCE = "reactant.source"
"""Attribute of a module: bytecode of what it was while it still said how to differentiate it."""


UNSET = "reactant.unset"
"""Attribute of a constant of which no element is read before it has been written: it may hold anything."""
PRINTED = "reactant.printed"
"""Attribute of a call of Python that says something to the user: its result is its first operand, a counter."""
LOOP_POLICY = "reactant.loops"
"""Attribute of a loop: how reverse mode keeps it, where the user says."""


class InvalidModule(ReactantError, ValueError):
    """Text that is no module, or a module that breaks a rule of its dialects; carries MLIR's message."""

    code = "invalid-module"


def parse(text: str | bytes) -> ir.Module:
    """A module from MLIR text or bytecode. Raises `InvalidModule`."""
    try:
        return ir.Module.parse(text)
    except ir.MLIRError as error:
        raise InvalidModule(f"this is not a valid module: {error}") from error


def to_text(module: ir.Module | ir.Operation, locations: bool = False, large_elements: int | None = 32) -> str:
    """MLIR text; constants of more than `large_elements` elements are elided (None prints all)."""
    return operation(module).get_asm(enable_debug_info=locations, large_elements_limit=large_elements)


def operation(module: ir.Module | ir.Operation) -> ir.Operation:
    return module.operation


def verify(module: ir.Module) -> None:
    """Raises `InvalidModule` where an op breaks its dialect's rules."""
    try:
        module.operation.verify()
    except ir.MLIRError as error:
        raise InvalidModule(f"the module is invalid: {error}") from error


def clone(module: ir.Module) -> ir.Module:
    """A deep copy."""
    return ir.Module.parse(bytecode(module))


def become(module: ir.Module, other: ir.Module) -> None:
    """Put the content of another module, which is empty then, in the place of the module's."""
    for op in list(module.body.operations):
        op.operation.erase()
    for op in list(other.body.operations):
        module.body.append(op)


def bytecode(module: ir.Module | ir.Operation) -> bytes:
    """MLIR bytecode: several times faster to write and read than text."""
    stream = io.BytesIO()
    module.operation.write_bytecode(stream)
    return stream.getvalue()


def source_of(module: ir.Module) -> bytes | None:
    """The bytecode under `SOURCE`."""
    if SOURCE not in module.operation.attributes:
        return None
    return bytes(ir.StringAttr(module.operation.attributes[SOURCE]).value_bytes)


def put_source(module: ir.Module, bytecode: bytes) -> None:
    """Put `bytecode` under `SOURCE`."""
    with module.context:
        module.operation.attributes[SOURCE] = ir.StringAttr.get(bytecode)


def take_source(module: ir.Module) -> bytes | None:
    """The bytecode under `SOURCE`, taken off the module."""
    found = source_of(module)
    if found is not None:
        del module.operation.attributes[SOURCE]
    return found


def altered(module: ir.Module, concerned: Callable[[ir.Operation], bool],
            alter: Callable[[ir.Operation], None]) -> ir.Module:
    """The module, or a copy of it in which each op that is `concerned` has been given to `alter`, which may make others
    before it."""
    numbers = [number for number, op in enumerate(walk(module)) if concerned(op)]
    if not numbers:
        return module
    made = clone(module)
    there = list(walk(made))
    for op in map(there.__getitem__, numbers):
        with ir.InsertionPoint(op), op.location:
            alter(op)
    return made


def walk(module: ir.Module | ir.Operation) -> Iterator[ir.Operation]:
    """Every op inside, at any depth, in program order."""
    for region in operation(module).regions:
        for block in region:
            for op in block:
                yield op.operation
                if len(op.regions):
                    yield from walk(op.operation)


def captured(op: ir.Operation) -> list[ir.Value]:
    """Values used in the regions of an op and defined outside of it, in order of first use."""
    if not len(op.regions):
        return []
    inside: set[ir.Value] = {a for region in op.regions for block in region for a in block.arguments}
    found: dict[ir.Value, None] = {}
    for child in walk(op):
        inside.update(child.results)
        inside.update(a for region in child.regions for block in region for a in block.arguments)
    for child in walk(op):
        found.update(dict.fromkeys(operand for operand in child.operands if operand not in inside))
    return list(found)


def ops_called(name: str, module: ir.Module | ir.Operation) -> Iterator[ir.Operation]:
    """The ops of one name inside, at any depth, in program order: `walk` for who looks for few among many."""
    for region in operation(module).regions:
        for block in region:
            for op in block:
                kind: Any = type(op)
                if (op.name if kind is ir.OpView else kind.OPERATION_NAME) == name:
                    yield op.operation
                if kind is ir.OpView or kind._ODS_REGIONS != (0, True):
                    yield from ops_called(name, op.operation)


def counts(module: ir.Module | ir.Operation) -> Counter[str]:
    """How many of each op a module has (functions and terminators left out)."""
    return Counter(op.name for op in walk(module) if op.name not in STRUCTURE)


def size(module: ir.Module | ir.Operation) -> int:
    """Number of ops, as `counts` counts."""
    top = operation(module)
    total = 0
    for region in top.regions:
        for block in region:
            for op in block:
                total += 1
                if len(op.regions):
                    total += size(op.operation)
            total -= top.name != "builtin.module"  # the terminator
    return total - (top.name == "func.func")


def names(module: ir.Module | ir.Operation) -> Counter[str]:
    """How many of each op a module has, functions and terminators included."""
    found: Counter[str] = Counter()
    left = [operation(module)]
    while left:
        for region in left.pop().regions:
            for block in region:
                children: list[ir.OpView] = list(block)
                kind: Any
                for kind, count in Counter(map(type, children)).items():
                    if kind is ir.OpView:   # ops of dialects that Python does not know
                        found.update(child.name for child in children if type(child) is kind)
                    else:
                        found[kind.OPERATION_NAME] += count
                    if kind is ir.OpView or kind._ODS_REGIONS != (0, True):
                        left.extend(child.operation for child in children if type(child) is kind)
    return found


STRUCTURE = {"func.func", "func.return", "stablehlo.return", "builtin.module"}


@cache
def _manager(pipeline: str) -> PassManager:
    manager = PassManager.parse(f"builtin.module({pipeline})")
    manager.enable_verifier(False)  # it costs more than the passes; `verify` is there for whoever wants it
    return manager


def run_passes(module: ir.Module | ir.Operation, pipeline: str) -> None:
    """Run MLIR's own passes, for instance "func.func(cse)" or "inline". Raises `InvalidModule` with MLIR's message."""
    try:
        _manager(pipeline).run(module.operation)
    except ir.MLIRError as error:
        raise InvalidModule(f"pass '{pipeline}' failed: {error}") from error


def inline_calls(module: ir.Module) -> bool:
    """Replace every call by the body of its callee and drop the private functions nothing calls any more; gives whether
    there were calls.

    MLIR's own inliner leaves StableHLO alone in this build (the dialect's inliner interface is not registered).
    Raises `InvalidModule` for recursive functions.
    """
    by_name = functions(module)
    finished: set[str] = set()
    called = False
    for name in by_name:
        called |= _inline_into(name, by_name, finished, ())
    if called:
        run_passes(module, "symbol-dce")
    return called


def _inline_into(name: str, by_name: dict[str, ir.Operation], finished: set[str], path: tuple[str, ...]) -> bool:
    if name in path:
        raise InvalidModule(f"function '{name}' calls itself ({' -> '.join((*path, name))}).")
    if name in finished:
        return False
    calls = list(ops_called("func.call", by_name[name]))
    for call in calls:
        callee = call.attributes["callee"].value
        if callee not in by_name:
            raise InvalidModule(f"function '{name}' calls '{callee}', which does not exist.")
        _inline_into(callee, by_name, finished, (*path, name))
        block = by_name[callee].clone(ip=False).regions[0].blocks[0]    # all at once: twice as fast
        for argument, value in zip(block.arguments, call.operands, strict=True):
            argument.replace_all_uses_with(value)
        *body, terminator = (child.operation for child in block)
        returned = list(terminator.operands)
        terminator.erase()
        for child in body:
            child.move_before(call)
            _place(child, call.location)
        for result, value in zip(call.results, returned, strict=True):
            result.replace_all_uses_with(value)
        call.erase()
    finished.add(name)
    return bool(calls)


def _place(op: ir.Operation, caller: ir.Location) -> None:
    """Say where ops come from that do not know their line: those of jax's own functions."""
    for each in (op, *walk(op)) if len(op.regions) else (op,):
        if file_and_line(each.location) is None:
            each.location = caller


def clone_with(op: ir.Operation, mapping: MutableMapping[ir.Value, ir.Value]) -> ir.Operation:
    """Copy an op and its regions to the insertion point, operands replaced through `mapping`, which learns the
    results."""
    copy = op.clone().operation
    for each in (copy, *walk(copy)) if len(copy.regions) else (copy,):
        for i, operand in enumerate(each.operands):
            if operand in mapping:
                each.operands[i] = mapping[operand]
    mapping.update(zip(op.results, copy.results, strict=True))
    return copy


def functions(module: ir.Module) -> dict[str, ir.Operation]:
    """The functions of a module by their names."""
    return {op.operation.attributes["sym_name"].value: op.operation for op in module.body
            if op.operation.name == "func.func"}


def function(module: ir.Module, name: str = "main") -> ir.Operation:
    """The function called `name`. Raises `KeyError`."""
    for op in module.body:
        if op.operation.name == "func.func" and op.operation.attributes["sym_name"].value == name:
            return op.operation
    raise KeyError(name)


def silence(module: ir.Module) -> ir.Module:
    """Drop the calls that say something to the user (`PRINTED`)."""
    for op in ops_called("stablehlo.custom_call", module):
        if PRINTED in op.attributes:
            op.results[0].replace_all_uses_with(op.operands[0])
            op.erase()
    return module
