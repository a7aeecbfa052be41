"""Modules as a whole: parse, print, verify, clone, walk, count, inline, run MLIR's own passes."""
from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterator
from functools import cache

from jaxlib.mlir import ir
from jaxlib.mlir.passmanager import PassManager

from reactant.errors import ReactantError
from reactant.ir import context  # noqa: F401 - registers dialects and passes


class InvalidModule(ReactantError, ValueError):
    """Text that is no module, or a module that breaks a rule of its dialects; carries MLIR's message."""


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


def bytecode(module: ir.Module) -> bytes:
    """MLIR bytecode: several times faster to write and read than text."""
    stream = io.BytesIO()
    module.operation.write_bytecode(stream)
    return stream.getvalue()


def walk(module: ir.Module | ir.Operation) -> Iterator[ir.Operation]:
    """Every op inside, at any depth, in program order."""
    for region in operation(module).regions:
        for block in region:
            for op in block:
                yield op.operation
                if len(op.regions):
                    yield from walk(op.operation)


def counts(module: ir.Module | ir.Operation) -> Counter[str]:
    """How many of each op a module has (functions and terminators left out)."""
    return Counter(op.name for op in walk(module) if op.name not in _STRUCTURE)


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


_STRUCTURE = {"func.func", "func.return", "stablehlo.return", "builtin.module"}


@cache
def _manager(pipeline: str) -> PassManager:
    manager = PassManager.parse(f"builtin.module({pipeline})")
    manager.enable_verifier(False)  # it costs more than the passes; `verify` is there for whoever wants it
    return manager


def run_passes(module: ir.Module, pipeline: str) -> None:
    """Run MLIR's own passes, for instance "func.func(cse)" or "inline". Raises `InvalidModule` with MLIR's message."""
    try:
        _manager(pipeline).run(module.operation)
    except ir.MLIRError as error:
        raise InvalidModule(f"pass '{pipeline}' failed: {error}") from error


def inline_calls(module: ir.Module) -> None:
    """Inline every call and drop the functions nothing calls any more."""
    run_passes(module, "inline,symbol-dce")


def function(module: ir.Module, name: str = "main") -> ir.Operation:
    """The function called `name`. Raises `KeyError`."""
    for op in module.body:
        if op.operation.name == "func.func" and op.operation.attributes["sym_name"].value == name:
            return op.operation
    raise KeyError(name)
