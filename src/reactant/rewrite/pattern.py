"""The rule language: patterns, variables, and what a rule is (`declare` makes them).

Op and attribute names are checked against the dialects' generated classes when a rule module is imported.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from functools import cache
from typing import Any

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import chlo, func, stablehlo

from reactant.ir import ops
from reactant.ir.types import dtype_of
from reactant.support.records import dataclass

LEVELS = (None, "rounding", "association")
DTYPES = {"integer": "iu", "float": "f", "real": "iuf", "bool": "b", "complex": "c", "discrete": "iub",
          "inexact": "fc", "number": "iufc", "ordered": "biuf"}
SPECIAL = ("result", "result_type", "result_shape", "result_dtype")
"""Parameters every rule may ask for besides the names its pattern binds: the root's result (only to look at its
consumers: it is about to go), and its type, shape and dtype."""


class Pattern:
    """What a value must look like."""


@dataclass(frozen=True)
class Variable(Pattern):
    """Any value (or, in an attribute's place, any attribute, decoded); a repeated variable means equality."""
    name: str


@dataclass(frozen=True)
class Constant(Pattern):
    """Any `stablehlo.constant`; binds its content as a NumPy array."""
    name: str


@dataclass(frozen=True)
class Splat(Pattern):
    """A constant whose elements are all equal; binds the element as a NumPy scalar."""
    name: str


@dataclass(frozen=True)
class Literal(Pattern):
    """A splat constant whose elements are this number, bit for bit in the value's dtype (0.0 is not -0.0)."""
    value: int | float | complex | bool


@dataclass(frozen=True)
class Rest(Pattern):
    """All remaining operands, bound as a tuple of values."""
    name: str


@dataclass(frozen=True)
class Once(Pattern):
    """`inner`, where no op other than the one around it uses the value."""
    inner: Pattern


@dataclass(frozen=True)
class Named(Pattern):
    """`inner`, and the value itself bound to a name."""
    name: str
    inner: Pattern


@dataclass(frozen=True)
class Op(Pattern):
    """A result of one of the ops `names`; `template`, where given, binds a `Template` that rebuilds the op."""
    names: tuple[str, ...]
    operands: tuple[Pattern, ...]
    attributes: tuple[tuple[str, object], ...] = ()
    template: str | None = None


class Template:
    """A matched op as data: its name and raw attributes, to build the same op on other operands. It is for the call of
    the rule's function only (it reads the op when asked) and must not be kept."""

    __slots__ = ("op", "name")

    def __init__(self, op: ir.Operation):
        self.op = op
        self.name: str = op.name

    @property
    def attributes(self) -> tuple[tuple[str, ir.Attribute], ...]:
        """Names and raw attributes."""
        attributes = self.op.attributes
        return tuple((key, attributes[key]) for key in attributes)

    @property
    def dtype(self) -> np.dtype:
        """The result's dtype."""
        return dtype_of(self.op.results[0])

    @property
    def body(self) -> str | None:
        """The name of the one op in the region of a reduction ("add", "maximum", ...), "second" for a region that
        returns its second argument (a scatter that overwrites), None for ops without region and for other regions."""
        return body_of(self.op) if len(self.op.regions) else None

    def build(self, operands: Sequence[ir.Value], shape: Sequence[int], **changed: ir.Attribute) -> ir.Value:
        """The same op on `operands`, with a result of `shape`, the matched op's result dtype, and `changed`
        attributes."""
        type_ = ops.tensor_type(tuple(shape), self.dtype)
        return ops.create(self.name, [type_], operands, dict(self.attributes) | changed).result


COMMUTATIVE = {f"stablehlo.{n}" for n in ("add", "multiply", "maximum", "minimum", "and", "or", "xor")}


def body_of(op: ir.Operation) -> str | None:
    """The op name that the region of a reduction or scatter of one operand stands for, see `Template.body`."""
    block = op.regions[0].blocks[0]
    body = [child.operation for child in block]
    arguments = list(block.arguments)
    if len(arguments) != 2:
        return None
    if len(body) == 1:
        return "second" if list(body[0].operands) == arguments[1:] else None
    if len(body) != 2 or list(body[1].operands) != list(body[0].results):
        return None
    name, operands = body[0].name.removeprefix("stablehlo."), list(body[0].operands)
    forward = operands == arguments
    return name if forward or (body[0].name in COMMUTATIVE and operands == arguments[::-1]) else None


def variables(names: str) -> tuple[Any, ...]:
    """`x, y = variables("x y")`."""
    return tuple(Variable(name) for name in names.split())


def constant(name: str) -> Constant:
    return Constant(name)


def splat(name: str) -> Splat:
    return Splat(name)


def rest(name: str) -> Rest:
    return Rest(name)


def once(inner: Pattern) -> Once:
    """Demand that nothing else uses the matched value."""
    return Once(inner)


def named(name: str, inner: Pattern) -> Named:
    """Bind the value that `inner` matches, besides what `inner` binds."""
    return Named(name, inner)


def one_of(names: Sequence[str], *operands: object, template: str | None = None, **attributes: object) -> Op:
    """A result of any of several ops (full names such as "stablehlo.add")."""
    return Op(tuple(names), tuple(map(as_pattern, operands)), tuple(attributes.items()), template)


def as_pattern(value: object) -> Pattern:
    if isinstance(value, Pattern):
        return value
    if isinstance(value, (int, float, complex, bool)):
        return Literal(value)
    raise TypeError(f"a pattern operand is a pattern, a variable or a number, not {type(value).__name__}")


@cache
def dialect_ops() -> dict[str, type]:
    """Full op name to generated class."""
    return {cls.OPERATION_NAME: cls  # type: ignore[attr-defined]
            for dialect in (stablehlo, chlo, func) for cls in vars(dialect).values()
            if isinstance(cls, type) and issubclass(cls, ir.OpView) and cls is not ir.OpView}


@cache
def attribute_names(name: str) -> frozenset[str]:
    """Attributes an op can have: exactly those properties of its generated class that can be set."""
    return frozenset(key for key, member in vars(dialect_ops()[name]).items()
                     if isinstance(member, property) and member.fset is not None)


class _Match:
    """`match.<op>(operands..., attribute=...)`: the pattern of that op."""

    def __getattr__(self, python_name: str) -> Callable[..., Op]:
        word = python_name.rstrip("_")
        names = [n for n in (f"stablehlo.{word}", f"chlo.{word}", f"func.{word}") if n in dialect_ops()]
        if not names:
            raise AttributeError(f"no op is called '{word}'.")
        known = attribute_names(names[0])

        def pattern(*operands: object, **attributes: object) -> Op:
            for key in attributes:
                if key not in known:
                    raise TypeError(f"'{word}' has no attribute '{key}'; it has {', '.join(sorted(known)) or 'none'}.")
            return Op((names[0],), tuple(map(as_pattern, operands)), tuple(attributes.items()))
        setattr(self, python_name, pattern)     # asked for once
        return pattern


match = _Match()


def bindings(pattern: Pattern) -> Iterator[str]:
    """Names a pattern binds, in order, with repetitions."""
    match pattern:
        case Variable(name) | Constant(name) | Splat(name) | Rest(name):
            yield name
        case Once(inner):
            yield from bindings(inner)
        case Named(name, inner):
            yield name
            yield from bindings(inner)
        case Op(_, operands, attributes, template):
            for operand in operands:
                yield from bindings(operand)
            for _, value in attributes:
                if isinstance(value, Variable):
                    yield value.name
            if template:
                yield template


def build(pattern: Pattern, values: dict[str, Any]) -> Any:
    """The IR of a pattern read as an expression, its variables replaced by `values`."""
    match pattern:
        case Variable(name) | Constant(name) | Splat(name) | Rest(name):
            return values[name]
        case Literal(value):
            return value
        case Once(inner) | Named(_, inner):
            return build(inner, values)
        case Op(names, operands, attributes, _):
            name = names[0].partition(".")[2]
            function = getattr(ops, name + "_" if name in ("and", "or", "not", "if", "while") else name)
            keywords = {key: values[v.name] if isinstance(v, Variable) else v for key, v in attributes}
            if "comparison_direction" in keywords:
                keywords["direction"] = keywords.pop("comparison_direction")
            return function(*(build(operand, values) for operand in operands), **keywords)
    raise TypeError(f"cannot build {pattern!r}")


def text(pattern: object) -> str:
    """A pattern as one writes it: `negate(negate(x))`."""
    match pattern:
        case Variable(name) | Splat(name) | Constant(name):
            return name
        case Literal(value):
            return repr(value)
        case Rest(name):
            return f"*{name}"
        case Once(inner) | Named(_, inner):
            return text(inner)
        case Op(names, operands, attributes, template):
            name = names[0].partition(".")[2] if len(names) == 1 else (template or "op")
            return f"{name}({', '.join([*map(text, operands), *(f'{k}={text(v)}' for k, v in attributes)])})"
    return repr(pattern)


# ---- rules ---------------------------------------------------------------------------------------------------------

@dataclass(frozen=True, eq=False)
class Rule:
    """One declared rewrite. `pattern` is None for a general rule (whole-op view, regions included)."""
    name: str
    family: str
    roots: tuple[str, ...]
    equation: str
    pattern: Op | None
    parameters: tuple[str, ...]
    body: Callable[..., Any]
    assumes: str | None = None
    changes: str | None = None
    dtypes: str | None = None
    example: Any = None
    counter: Any = None
    line: int = 0
    kinds: str = field(default="")
    by_types: bool = False
    of: str = ""
    made_by: tuple[str, ...] = ()
    holds: frozenset[str] = frozenset()
    nested: bool = False

    @property
    def qualified(self) -> str:
        """`family.name`."""
        return f"{self.family}.{self.name}"
