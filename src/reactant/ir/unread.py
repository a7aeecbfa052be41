"""Arguments of a program that none of its forms reads: it runs without them, and nobody has to hand them over."""
from __future__ import annotations

from jaxlib.mlir import ir

from reactant.ir import modules
from reactant.support.records import dataclass


@dataclass(frozen=True)
class Forms:
    """A program as a module, as one with native code in it, and the bytecode that other programs take."""

    module: ir.Module
    native: ir.Module | None
    general: bytes | None
    read: tuple[int, ...] | None = None
    """Which of the arguments these take; None: all of them."""


def without_unread(module: ir.Module, native: ir.Module | None = None, general: bytes | None = None,
                   least: int = 0) -> Forms:
    """The forms of a program without the arguments of @main that none of them reads; those given stay as they are.
    Where fewer than `least` are read, all stay.

    The form that `module` says it was differentiated from (`modules.SOURCE`) counts, and is in the result, too.
    """
    read, count = _read(module), len(_entry(module).arguments)
    if len(read) == count:
        return Forms(module, native, general)
    source = modules.source_of(module)
    other = None if general is None else modules.parse(general)
    origin = None if source is None else modules.parse(source)
    for form in (native, other, origin):
        read |= _read(form) if form is not None else set()
    if len(read) == count or len(read) < least:
        return Forms(module, native, general)
    made, native = modules.clone(module), None if native is None else modules.clone(native)
    for form in (made, native, other, origin):
        if form is not None:
            _erase(form, read)
    if origin is not None:
        modules.put_source(made, modules.bytecode(origin))
    return Forms(made, native, None if other is None else modules.bytecode(other), tuple(sorted(read)))


def _entry(module: ir.Module) -> ir.Block:
    return modules.function(module).regions[0].blocks[0]


def _read(module: ir.Module) -> set[int]:
    return {number for number, argument in enumerate(_entry(module).arguments) if any(True for _ in argument.uses)}


def _erase(module: ir.Module, read: set[int]) -> None:
    """Leave only the arguments `read`."""
    main, block = modules.function(module), _entry(module)
    for number in reversed(range(len(block.arguments))):
        if number not in read:
            block.erase_argument(number)
    whole = ir.FunctionType(main.attributes["function_type"].value)
    main.attributes["function_type"] = ir.TypeAttr.get(
        ir.FunctionType.get([a.type for a in block.arguments], list(whole.results)))
    if "arg_attrs" in main.attributes:
        del main.attributes["arg_attrs"]
