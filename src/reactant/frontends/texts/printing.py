"""`print`, `warnings.warn` and `logging` with run-time values: said when the program runs, in the order of the code.

A value that is known only at run time goes into a text as a mark; what the text is given to is called from the program
(a callback of XLA), with the values in place of the marks. A counter goes through all such calls, which keeps their
order; loops and branches carry it as any other memory. What is differentiated, batched or exported says nothing.
"""
from __future__ import annotations

import builtins
import contextlib
import copy
import functools
import logging
import os
import re
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.errors import ConcreteValueNeeded, ListTooLong
from reactant.frontends.arrays.nested import mapped
from reactant.frontends.arrays.storage import Storage
from reactant.frontends.arrays.tensor import TRACED_TEXT, Tensor, is_tensor, of_kind, wrap
from reactant.frontends.session import calls
from reactant.frontends.session.abstract import Abstract
from reactant.frontends.session.trace import Trace, current_trace, is_tracing, located
from reactant.frontends.source import operators
from reactant.frontends.source.source_map import user_frame
from reactant.ir import attributes as attr
from reactant.ir import ops
from reactant.ir.modules import PRINTED
from reactant.runtime.devices import default_device
from reactant.support.records import dataclass
from reactant.support.session import SESSION

_MARK = re.compile(f"({TRACED_TEXT}[^>]* #[0-9]+>)")
_CONVERSION = re.compile(r"%(?:\((\w+)\))?([#0\- +]*)(\*|\d+)?(?:\.(\*|\d+))?[hlL]?([diouxXeEfFgGcrsa%])")
_PLAIN = (type(None), bool, int, float, complex, bytes, np.generic, np.ndarray, type)
"""What prints as itself; other objects are made texts at once, which may hold marks."""


@dataclass(frozen=True)
class _Hole:
    """A run-time value: its place among the arguments of the callback, what it is, how it is written in a text."""

    number: int
    kind: str
    write: Callable[[Any], str] | None = None


@dataclass(frozen=True)
class _Text:
    parts: tuple[Any, ...]


@dataclass(frozen=True)
class _Either:
    """What `truth` holds at run time: `value` or the `other`."""

    truth: _Hole
    value: Any
    other: Any = None


@dataclass(frozen=True)
class _Verbatim:
    """An object in a list that is printed: its `repr`."""

    text: Any

    def __repr__(self) -> str:
        return str(self.text)


# ---- texts -------------------------------------------------------------------------------------------------------

def _marked(text: str, trace: Trace, values: list[ir.Value]) -> Any:
    """A text with a hole for each mark."""
    parts: list[Any] = _MARK.split(text)
    for k in range(1, len(parts), 2):
        tensor, write = trace.texts[int(parts[k].rpartition("#")[2][:-1])]
        parts[k] = _Either(_hole(tensor, values), _marked(write[0], trace, values), write[1]) \
            if type(write) is tuple else _hole(tensor, values, write)
    _refuse(*parts)     # marks that were cut
    return parts[0] if len(parts) == 1 else _Text(tuple(parts))


def _hole(tensor: Tensor, values: list[ir.Value], write: Callable[[Any], str] | None = None) -> _Hole:
    values.append(tensor.value())
    return _Hole(len(values) - 1, tensor.kind, write)


def _sides(x: Any) -> tuple[Any, Any, Any] | None:
    """`Abstract.ag__sides` of a value, if it is one."""
    return x.ag__sides() if issubclass(type(x), Abstract) else None


def with_holes(x: Any, trace: Trace, values: list[ir.Value], inside: bool = False) -> Any:
    """What is printed, with holes; containers as they are now."""
    if (sides := _sides(x)) is not None:
        truth, value, other = sides
        return _Either(_hole(wrap(truth), values), with_holes(value, trace, values, inside), other)
    if is_tensor(x):
        return copy.copy(x.known()) if x.is_concrete() else _hole(x, values)
    if isinstance(x, str):
        return _marked(x, trace, values)
    if type(x) in (list, tuple, set, frozenset):
        return type(x)([with_holes(each, trace, values, True) for each in x])
    if type(x) is dict:
        return {key: with_holes(each, trace, values, True) for key, each in x.items()}
    if isinstance(x, _PLAIN) or isinstance(x, BaseException):
        return x.copy() if isinstance(x, np.ndarray) else x
    text = _marked(repr(x) if inside else str(x), trace, values)
    return _Verbatim(text) if inside else text


def filled(template: Any, values: Sequence[np.ndarray]) -> Any:
    if type(template) is _Hole:
        value = of_kind(template.kind, np.asarray(values[template.number]))
        return value if template.write is None else template.write(value)
    if type(template) is _Either:
        return filled(template.value if filled(template.truth, values) else template.other, values)
    if type(template) is _Text:
        return "".join([p if type(p) is str else str(filled(p, values)) for p in template.parts])
    if type(template) is _Verbatim:
        return _Verbatim(filled(template.text, values))
    if type(template) in (list, tuple, set, frozenset):
        return type(template)([filled(each, values) for each in template])
    if type(template) is dict:
        return {key: filled(each, values) for key, each in template.items()}
    return template


def _as_known(x: Any) -> Any:
    return x.known() if is_tensor(x) and x.is_concrete() else x


def _percent(left: str, right: Any) -> str:
    """`text % values`, where some are run-time values."""
    given = right if type(right) is tuple else (right,)
    given_values = (*given, *(right.values() if type(right) is dict else ()))
    if any(found.group(3) or found.group(4) for found in _CONVERSION.finditer(left)):
        _refuse(*given_values)
    if not any(is_tensor(x) or _sides(x) is not None for x in given_values):
        return left % right
    waiting = list(given)

    def one(found: re.Match) -> str:
        name, _, width, precision, kind = found.groups()
        if kind == "%":
            return "%"
        stars = [waiting.pop(0) for star in (width, precision) if star == "*"]
        value = right[name] if name is not None else waiting.pop(0)
        rule = found.group().replace(f"({name})", "")

        def written(value: Any) -> str:
            if _sides(value) is not None:
                return value.ag__text(written)      # type: ignore[no-any-return]
            if not is_tensor(value) or value.is_concrete():
                return rule % (*stars, mapped(value, _as_known))
            return value.ag__text(lambda known: rule % (*stars, known))
        return written(value)
    try:
        text = _CONVERSION.sub(one, left)
    except IndexError:
        raise TypeError("not enough arguments for format string") from None
    if waiting and type(right) is tuple:
        raise TypeError("not all arguments converted during string formatting")
    return text


class Spoken:
    """What one program says: at once, or once it is known that there was room for its lists."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.waiting: list[Callable[[], Any]] | None = None

    def say(self, text: Callable[[], Any]) -> None:
        if self.waiting is None:
            text()
        else:
            self.waiting.append(text)

    @contextlib.contextmanager
    def kept(self) -> Iterator[None]:
        """A run that is to be repeated where it raises `ListTooLong`, with nothing said. One at a time."""
        with self.lock:
            found: list[Callable[[], None]] = []
            self.waiting = found
            try:
                yield
            except ListTooLong:
                found = []
                raise
            finally:
                self.waiting = None
                for text in found:
                    text()


class _Converted:
    """`{value!r:spec}`, of a value known at run time; the specification is for what `convert` makes of it."""

    def __init__(self, value: Any, convert: Callable[[Any], str]):
        self.value, self.convert = value, convert

    def __format__(self, spec: str) -> str:
        return self.value.ag__text(lambda known: format(self.convert(known), spec))     # type: ignore[no-any-return]


def formatted(value: Any, conversion: int) -> Any:
    held = value if (sides := _sides(value)) is None else sides[1]
    if conversion >= 0 and (getattr(type(held), "ag__one_of_several", False)
                            or is_tensor(held) and not held.is_concrete()):
        return _Converted(value, {"r": repr, "s": str, "a": ascii}[chr(conversion)])
    text = operators.formatted(value, conversion)
    if type(text) is str and TRACED_TEXT in text:       # it would be as wide as its mark
        raise ConcreteValueNeeded("The width of a text that holds run-time values",
                                  "Give the value itself the width: f'{value!s:>10}'.")
    return text


# ---- calls -------------------------------------------------------------------------------------------------------

@located
def said(function: Callable, args: tuple, keywords: dict) -> None:
    """Call `function` when the program comes here."""
    trace = current_trace()
    if SESSION.differentiating or SESSION.quiet:
        return
    values: list[ir.Value] = []
    template = tuple([with_holes(x, trace, values) for x in args])
    options = {name: with_holes(x, trace, values) if type(x) in (str, Tensor) else x for name, x in keywords.items()}

    def run(count: np.ndarray, *arrays: np.ndarray) -> tuple[np.ndarray]:
        if spoken.waiting is not None:
            arrays = tuple(map(np.array, arrays))       # theirs are gone when it is said
        spoken.say(functools.partial(function, *filled(template, arrays), **filled(options, arrays)))
        return (np.asarray(count),)

    if trace.spoken is None:
        trace.spoken = Spoken()
    spoken, counter = trace.spoken, _counter(trace)
    counter.write(_call(len(trace.callbacks), [counter.read(), *values]))
    trace.callbacks.append(run)


def _counter(trace: Trace) -> Storage:
    """The memory that every call reads and writes: of the whole program, wherever the first call stands."""
    if trace.said is None:
        with trace.at_entry():
            trace.said = Storage((), np.dtype(np.int32), ops.constant(np.int32(0)))
        while trace.said.region.parent is not None:
            trace.said.region = trace.said.region.parent
    return trace.said


def _call(index: int, operands: list[ir.Value]) -> ir.Value:
    platform = "cpu" if default_device().platform == "cpu" else "gpu"
    layouts = [ir.Attribute.parse(f"dense<{list(range(rank))[::-1]}> : tensor<{rank}xindex>" if rank else
                                  "dense<> : tensor<0xindex>") for rank in (v.type.rank for v in operands)]
    return ops.create("stablehlo.custom_call", results=[operands[0].type], operands=operands, attributes={
        "call_target_name": attr.string(f"xla_ffi_python_{platform}_callback"), "has_side_effect": attr.boolean(True),
        "backend_config": attr.string(""), "operand_layouts": ir.ArrayAttr.get(layouts),
        "result_layouts": ir.ArrayAttr.get(layouts[:1]), PRINTED: ir.UnitAttr.get(),
        "mhlo.backend_config": ir.DictAttr.get({"index": ir.IntegerAttr.get(ir.IntegerType.get_unsigned(64), index)}),
    }).result


# ---- what says something -----------------------------------------------------------------------------------------

LOGGING = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR,
           "critical": logging.CRITICAL, "log": None}
WHOLE = frozenset({"format", "format_map", "join", "strip", "lstrip", "rstrip", "removeprefix", "removesuffix"})
"""Methods of texts that leave the marks in them as they are."""


def _print(*args: Any, **keywords: Any) -> None:
    if is_tracing():
        said(print, args, keywords)
    else:
        print(*args, **keywords)


def _logging(original: Callable, level: int | None, of_logger: bool) -> Callable:
    """A record of a level that is on while the program is compiled; others leave loops without calls of Python."""
    def log(*args: Any, **keywords: Any) -> None:
        if not is_tracing():
            original(*args, **keywords)
            return
        logger, rest = (args[0], args[1:]) if of_logger else (logging.getLogger(), args)
        if logger.isEnabledFor(rest[0] if level is None else level):
            bound = functools.partial(original, logger) if of_logger else original
            said(bound, rest, keywords)
    return log


def _warn(message: Any, category: Any = None, stacklevel: int = 1, source: Any = None, **more: Any) -> None:
    if not is_tracing():
        warnings.warn(message, category, stacklevel + 1, source, **more)
        return
    frame = user_frame()
    place = (frame.file, frame.line) if frame is not None else ("<compiled>", 1)
    said(warnings.warn_explicit, (message, category or UserWarning, *place), {})


LOOKING = (len, int, float, complex, np.float64, np.float32, np.int64, np.int32, np.complex128, ord, getattr, hasattr,
           setattr, delattr, list, tuple, set, frozenset, sorted, reversed, enumerate, iter)
"""Functions that look into a text, or find something by it."""
FINDING = ("index", "count", "remove")
"""Methods of lists that do."""


def _refuse(*texts: Any) -> None:
    """What looks into a text needs it now."""
    if any(type(text) is str and TRACED_TEXT in text for text in texts):
        raise ConcreteValueNeeded("A text", "Texts that hold run-time values can be printed, logged and joined.")


def _of_exception(arguments: tuple) -> bool:
    """Whether these are given to what makes an exception, which keeps texts as they are."""
    made = arguments[0] if arguments else None
    return isinstance(made, BaseException) or isinstance(made, type) and issubclass(made, BaseException)


def in_texts(value: Any) -> bool:
    """Whether this is a text that holds run-time values, or holds one."""
    if type(value) in (list, tuple, dict, set, frozenset):
        return any(map(in_texts, value.values() if type(value) is dict else value))
    return type(value) is str and TRACED_TEXT in value


def _method(function: Any, arguments: tuple, keywords: dict) -> Any:
    specified = function.__name__ in ("format", "format_map") and ":" in function.__self__
    if function.__name__ not in WHOLE:
        _refuse(function.__self__, *arguments)
    elif specified:
        _refuse(*arguments, *keywords.values())
    return function(*arguments, **keywords)


def refusing(original: Callable) -> Callable:
    """An operator that needs to know the texts that it is given."""
    def operate(*operands: Any, **keywords: Any) -> Any:
        _refuse(*operands)
        return original(*operands, **keywords)
    return operate


def install() -> None:
    """Put the functions in place, around those that are there."""
    calls.replace(builtins.print)(_print)
    calls.replace(warnings.warn)(_warn)
    for function in LOOKING:
        calls.REPLACEMENTS[function] = refusing(calls.REPLACEMENTS.get(function, function))
    for name, level in LOGGING.items():
        for owner in (logging, logging.Logger):
            original = getattr(owner, name)
            calls.replace(original)(_logging(original, level, owner is not logging))
    calls.KINDS[str] = _method


def percent(inner: Callable) -> Callable:
    """`left % right`, of a text with what the run-time values are."""
    return lambda left, right: _percent(left, right) if type(left) is str else inner(left, right)


def foreign_call(inner: Callable) -> Callable:
    def foreign_call(arguments: tuple, keywords: dict) -> None:
        if not _of_exception(arguments):
            _refuse(*arguments, *keywords.values())
        inner(arguments, keywords)
    return foreign_call


def set_item(inner: Callable) -> Callable:
    """Texts with run-time values in them are no keys, and not for the environment."""
    def set_item(value: Any, container: Any, index: Any) -> None:
        _refuse(index)
        if isinstance(container, os._Environ) and in_texts(value):
            raise ConcreteValueNeeded("A variable of the environment", "Return the value and set it after the call.")
        inner(value, container, index)
    return set_item


def call_bound(inner: Callable) -> Callable:
    """Texts with run-time values in them are not looked up."""
    def call_bound(function: Any, owner: Any, /, *arguments: Any, **keywords: Any) -> Any:
        if isinstance(owner, (dict, set)) or function.__name__ in FINDING:
            _refuse(*arguments[:1])
        return inner(function, owner, *arguments, **keywords)
    return call_bound
