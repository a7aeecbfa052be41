"""Functions whose source cannot be found (`exec`, a prompt): their code object, with its calls and operators followed.

The code runs as Python runs it, jumps included, but what its calls, attributes, items, operators and comparisons do is
asked of `ag__`, as in converted code: arrays that it makes are traced, what it calls is converted, writes into arrays
are seen. A run-time decision is not Python's to take: it raises, and no handler of the function gets what is raised
so. The `bytecode` package reads and writes code objects; which instructions there are differs between Python's
versions, and code with others than these here is left as it is.
"""
from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from types import CodeType
from typing import TYPE_CHECKING, Any

from reactant.errors import ConcreteValueNeeded
from reactant.frontends.source.operators import COMPARE, ag__

if TYPE_CHECKING:
    from bytecode import Instr

_BEFORE_3_13 = sys.version_info < (3, 13)

BINARY = {
    "ADD": "Add", "AND": "BitAnd", "FLOOR_DIVIDE": "FloorDiv", "LSHIFT": "LShift", "MATRIX_MULTIPLY": "MatMult",
    "MULTIPLY": "Mult", "REMAINDER": "Mod", "OR": "BitOr", "POWER": "Pow", "RSHIFT": "RShift", "SUBTRACT": "Sub",
    "TRUE_DIVIDE": "Div", "XOR": "BitXor",
}
"""What `bytecode` calls an operator -> its name in `ag__`."""
UNARY = {"UNARY_NEGATIVE": "USub", "UNARY_POSITIVE": "UAdd", "UNARY_INVERT": "Invert", "UNARY_NOT": "not_"}
COMPARISONS = {"LT": "Lt", "LE": "LtE", "EQ": "Eq", "NE": "NotEq", "GT": "Gt", "GE": "GtE"}
LOOKS_AT_ITS_FRAME = frozenset(("locals", "vars", "dir", "eval", "exec"))
"""Functions that read the variables of who calls them: code with these runs as it is."""
NOT_FOLLOWED = frozenset(("CHECK_EG_MATCH", "MATCH_CLASS", "MATCH_MAPPING", "MATCH_SEQUENCE", "MATCH_KEYS"))
"""Instructions that look at values themselves: `match`, `except*`."""
HOW_TO_GET_SOURCE = ("Save it in a file and import it, or type it into IPython, a notebook or the prompt of Python "
                     "3.13, which keep what is typed")


class NotFollowed(Exception):
    """Code that cannot run with followed operators; the text says why."""


class _NoSelf:
    """In the place of the null that Python pushes for a call without `self`."""


# ---- what the instructions do: each takes a tuple of operands --------------------------------------------------

def _called(operands: tuple) -> Any:
    function, arguments = _function_and_arguments(operands)
    return ag__.call(function, *arguments)


def _called_with_names(operands: tuple) -> Any:
    names = operands[-1]
    function, arguments = _function_and_arguments(operands[:-1])
    plain = len(arguments) - len(names)
    return ag__.call(function, *arguments[:plain], **dict(zip(names, arguments[plain:], strict=True)))


def _called_with_star(operands: tuple) -> Any:
    (function, ()), arguments, keywords = _function_and_arguments(operands[:2]), operands[2], operands[3:]
    return ag__.call(function, *arguments, **(keywords[0] if keywords else {}))


def _function_and_arguments(operands: Any) -> tuple[Any, tuple]:
    first, second, *others = operands
    if first is _NoSelf:
        return second, tuple(others)
    return (first, tuple(others)) if second is _NoSelf else (first, (second, *others))


def _identity(operands: tuple) -> Any:
    left, right = operands
    if right is None:
        return ag__.is_none(left)
    return ag__.is_(left, right) if right is True or right is False else ag__.same(left, right)


def _not(operation: Callable[[tuple], Any]) -> Callable[[tuple], Any]:
    return lambda operands: ag__.not_(operation(operands))


def _decision(operands: tuple) -> bool:
    """What Python decides by."""
    try:
        return ag__.truth(operands[0])
    except ConcreteValueNeeded:
        pass
    raise ConcreteValueNeeded("A decision (`if`, `while`, `and`, `assert`, ...) in a function whose source cannot be "
                              "found", f"{HOW_TO_GET_SOURCE}; or write it without a decision of Python's (np.where, "
                              "np.minimum).", code="source-not-found")


def _is_ours(kind: type) -> bool:
    return kind.__module__.startswith("reactant.")


def _handled(operands: tuple) -> bool:
    """Whether `except kinds` takes an exception. No handler of the program means what tracing refuses."""
    error, kinds = operands
    kinds = kinds if isinstance(kinds, tuple) else (kinds,)
    if not all(isinstance(kind, type) and issubclass(kind, BaseException) for kind in kinds):
        raise TypeError("catching classes that do not inherit from BaseException is not allowed")
    found = [kind for kind in kinds if kind in type(error).__mro__]
    return any(map(_is_ours, found)) if _is_ours(type(error)) else bool(found)


def _suppressed(operands: tuple) -> Any:
    """Whether the `__exit__` of a `with` has said that an exception is dealt with."""
    said, error = operands
    return False if _is_ours(type(error)) else said


def _let_through(operands: tuple) -> None:
    """At the start of a handler for everything."""
    if _is_ours(type(operands[0])):
        raise operands[0]


def _getting(name: str) -> Callable[[tuple], Any]:
    return lambda operands: ag__.get_attr(operands[0], name)


def _setting(name: str) -> Callable[[tuple], Any]:
    return lambda operands: ag__.set_attr(operands[0], operands[1], name)


def _deleting(name: str) -> Callable[[tuple], Any]:
    return lambda operands: ag__.del_attr(operands[0], name)


def _named(name: str) -> Callable[[tuple], Any]:
    return lambda operands: getattr(ag__, name)(*operands)


def _in_place(kind: str) -> Callable[[tuple], Any]:
    return lambda operands: ag__.inplace(kind, *operands)


def _compared(kind: str) -> Callable[[tuple], Any]:
    return lambda operands: COMPARE[kind](*operands)


# ---- the code ----------------------------------------------------------------------------------------------------

def followed_code(code: CodeType) -> CodeType:
    """The code with its calls and operators followed. Raises `NotFollowed`."""
    if looks := sorted(LOOKS_AT_ITS_FRAME & set(code.co_names)):
        raise NotFollowed(f"it calls {looks[0]}, which looks at its variables")
    from bytecode import Bytecode, ControlFlowGraph, Instr
    whole = Bytecode.from_code(code)
    if odd := sorted(NOT_FOLLOWED & {each.name for each in whole if isinstance(each, Instr)}):
        raise NotFollowed(f"it has a `match` or an `except*` ({odd[0]})")
    whole[:] = _Writer(code, list(whole)).written()
    return whole.to_code(stacksize=ControlFlowGraph.from_bytecode(whole).compute_stacksize())


class _Writer:
    """Writes the instructions of one code object anew."""

    def __init__(self, code: CodeType, instructions: list[Any]):
        from bytecode import CellVar, FreeVar, Instr
        self.kind, self.code = Instr, code
        first = code.co_varnames[0] if code.co_argcount else ""
        held = ("LOAD_DEREF", CellVar(first)) if first in code.co_cellvars else ("LOAD_FAST", first)
        self.super = [("LOAD_DEREF", FreeVar("__class__")), held]
        self.read = [i for i in instructions if not (isinstance(i, Instr) and i.name in ("PRECALL", "EXTENDED_ARG"))]
        self.names: tuple[str, ...] | None = None       # of the keywords of the next call
        self.asks_super = False

    def written(self) -> list[Any]:
        made: list[Any] = []
        for position, each in enumerate(self.read):
            if not isinstance(each, self.kind) or (instead := self._instead(each, position)) is None:
                made.append(each)
                continue
            place = each.location
            if place is None or place.lineno is None:       # of the start of a handler
                place = next((e.location for e in self.read[position:] if isinstance(e, self.kind)
                              and e.location is not None and e.location.lineno is not None), None)
            made += [self.kind(name, *argument, location=place) for name, *argument in instead]
        return made

    def _instead(self, each: Instr, position: int) -> Iterable[tuple] | None:
        """Names and arguments of the instructions in the place of one; None where that stays."""
        name, argument = each.name, each.arg
        if name in ("CALL", "KW_NAMES", "CALL_KW", "CALL_FUNCTION_EX", "PUSH_NULL", "LOAD_GLOBAL", "LOAD_METHOD",
                    "LOAD_ATTR", "LOAD_SUPER_ATTR"):
            return self._calling(name, argument)
        if "JUMP" in name and "IF" in name:
            return _jumping(name, argument)
        if name in ("PUSH_EXC_INFO", "CHECK_EXC_MATCH", "WITH_EXCEPT_START"):
            return self._handling(name, position)
        return _operating(name, argument)

    def _calling(self, name: str, argument: Any) -> Iterator[tuple]:
        null = ("LOAD_CONST", _NoSelf)
        if name == "PUSH_NULL":
            yield null
        elif name == "LOAD_GLOBAL":
            called, variable = argument
            load = (name, (False, variable))
            yield from ((null, load) if _BEFORE_3_13 else (load, null)) if called else (load,)
            self.asks_super = called and variable == "super"
            return
        elif name in ("LOAD_METHOD", "LOAD_ATTR", "LOAD_SUPER_ATTR"):
            called = name == "LOAD_METHOD"
            if name == "LOAD_SUPER_ATTR":
                called, two_given, argument = argument
                yield name, (False, two_given, argument)
            else:
                if type(argument) is tuple:
                    called, argument = argument
                yield from _operation(1, _getting(argument))
            if called:
                yield from (null, ("SWAP", 2)) if _BEFORE_3_13 else (null,)
        elif name == "KW_NAMES":
            self.names = argument
        elif name == "CALL" and self.names is not None:
            yield "LOAD_CONST", self.names
            yield from _operation(argument + 3, _called_with_names)
            self.names = None
        elif name == "CALL" and self.asks_super and argument == 0 and "__class__" in self.code.co_freevars:
            yield from self.super
            yield from _operation(4, _called)
        elif name == "CALL":
            yield from _operation(argument + 2, _called)
        elif name == "CALL_KW":
            yield from _operation(argument + 3, _called_with_names)
        else:
            yield from _operation(3 + (argument & 1), _called_with_star)
        self.asks_super = False

    def _handling(self, name: str, position: int) -> Iterator[tuple]:
        if name == "CHECK_EXC_MATCH":
            yield from (("COPY", 2), ("SWAP", 2), *_operation(2, _handled))
        elif name == "WITH_EXCEPT_START":
            yield from ((name,), ("COPY", 2), *_operation(2, _suppressed))
        else:
            yield (name,)
            if self._takes_all(position):
                yield from (("COPY", 1), *_operation(1, _let_through), ("POP_TOP",))

    def _takes_all(self, position: int) -> bool:
        """Whether a handler takes every exception (`except:`), or is a `finally` from which the function returns."""
        begun = False
        for each in self.read[position + 1:]:
            if not isinstance(each, self.kind):
                continue
            if not begun and each.name == "POP_TOP" or each.name in ("RETURN_VALUE", "RETURN_CONST"):
                return True
            if each.name in ("WITH_EXCEPT_START", "CHECK_EXC_MATCH", "RERAISE", "PUSH_EXC_INFO"):
                return False
            begun = True
        return True


def _operation(count: int, operation: Callable[[tuple], Any]) -> Iterator[tuple]:
    """Instructions that give so many values on the stack, as a tuple, to a function."""
    yield "BUILD_TUPLE", count
    function, null = ("LOAD_CONST", operation), ("PUSH_NULL",)
    yield from (function, null) if _BEFORE_3_13 else (null, function)
    yield "SWAP", 3
    if sys.version_info < (3, 12):
        yield "PRECALL", 1
    yield "CALL", 1


def _jumping(name: str, target: Any) -> Iterator[tuple]:
    if name.endswith("OR_POP"):
        yield from (("COPY", 1), *_operation(1, _decision), ("POP_TOP",), (name, target))
    elif name.endswith("NONE"):
        yield from _operation(1, _named("is_none"))
        yield from _operation(1, _decision)
        yield name.replace("NOT_NONE", "FALSE").replace("NONE", "TRUE"), target
    else:
        yield from (*_operation(1, _decision), (name, target))


def _operating(name: str, argument: Any) -> list[tuple] | None:
    """Instead of an instruction that is an operator; None where it is another one."""
    if name == "TO_BOOL":           # a jump decides, `not` need not
        return []
    if name == "GET_ITER":
        return [*_operation(1, _named("iterate")), (name,)]
    sliced = [("BUILD_SLICE", 2)] if name in ("BINARY_SLICE", "STORE_SLICE") else []
    if (found := _operator(name, argument)) is None:
        return None
    count, operation, results = found
    return [*sliced, *_operation(count, operation), *([] if results else [("POP_TOP",)])]


def _operator(name: str, argument: Any) -> tuple[int, Callable[[tuple], Any], bool] | None:
    """An instruction that is an operator: how many operands it has, what it does, whether it has a result."""
    if name == "BINARY_OP":
        if argument.name.startswith("INPLACE_"):
            return 2, _in_place(BINARY[argument.name.removeprefix("INPLACE_")]), True
        return 2, _named(BINARY[argument.name]), True
    if name == "COMPARE_OP":
        return 2, _compared(COMPARISONS[argument.name.removesuffix("_CAST")]), True
    if name in UNARY:
        return 1, _named(UNARY[name]), True
    if name in ("CONTAINS_OP", "IS_OP"):
        asked: Callable[[tuple], Any] = _named("contains") if name == "CONTAINS_OP" else _identity
        return 2, _not(asked) if argument else asked, True
    if name == "STORE_ATTR":
        return 2, _setting(argument), False
    if name == "DELETE_ATTR":
        return 1, _deleting(argument), False
    return OPERATORS.get(name)


OPERATORS: dict[str, tuple[int, Callable[[tuple], Any], bool]] = {
    "BINARY_SUBSCR": (2, _named("get_item"), True), "BINARY_SLICE": (2, _named("get_item"), True),
    "STORE_SUBSCR": (3, _named("set_item"), False), "STORE_SLICE": (3, _named("set_item"), False),
    "DELETE_SUBSCR": (2, _named("del_item"), False),
}
