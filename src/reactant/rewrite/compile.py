"""From patterns to flat Python matchers, grouped by root op and dispatched on the kinds of the operands' owners.

For every root op there is one table keyed by the classes of the ops that define its first operands and, where rules
ask for numbers, by which of these a constant holds; its rows (the rules that can match there at all) are made when a
key is first met. So the cost of an op does not grow with the number of rules, and a matcher checks only what the key
has not proved.
"""
from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import attributes as attr
from reactant.ir import creation, ops
from reactant.ir.types import shape_and_dtype
from reactant.rewrite.pattern import (
    COMMUTATIVE,
    Constant,
    Literal,
    Named,
    Once,
    Op,
    Pattern,
    Rest,
    Rule,
    Splat,
    Template,
    Variable,
    bindings,
    dialect_ops,
)
from reactant.rewrite.site import READ

Matcher = Callable[[ir.Operation, list[ir.Value], list[Any], dict[str, Any]], "tuple | None"]
"""Of the root op, its operands, what is known of the first operands' owners, and a place to keep what is decoded of the
root; gives the values of the rule's parameters."""


class Row(NamedTuple):
    """A rule that may match. `settles`: an operand's owner matters to the match only by its kind, so that where it
    fails, it fails as long as the op has these operands; `declines`: and so does the rule's function, see `rewrite`;
    `asks`: it depends on who reads some value."""
    rule: Rule
    matcher: Matcher | None
    settles: bool = False
    declines: bool = False
    asks: bool = True


MAX_WIDTH = 3

WIDE = 8
"""Ops of more operands are not walked for each of these that changes."""
WAITING = {"stablehlo.while": 0, "stablehlo.concatenate": WIDE + 1}
"""Ops that are looked at when nothing else is left, where they have so many operands: loops, whose rules are dear and
ask what has become of the ops inside, and what is put together of so many parts that to look each time that one of
them has changed would take quadratic time."""


class Root:
    """The rules of one root op. `width`: how many operands' owners the dispatch looks at; `exact`: for each of these,
    whether a rule asks for a certain number there."""

    def __init__(self, name: str, candidates: list[tuple[Rule, Op | None]]):
        self.name = name
        self.candidates = candidates
        self.width = MAX_WIDTH if any(rule.made_by for rule, _ in candidates) else min(MAX_WIDTH, max(
            (_width(pattern) if pattern is not None else bool(rule.of) for rule, pattern in candidates), default=0))
        patterns = [pattern.operands for _, pattern in candidates if pattern is not None]
        self.exact = [any(i < len(each) and isinstance(_inner(each[i]), (Literal, Splat)) for each in patterns)
                      for i in range(self.width)]
        self.numbers = any(self.exact)
        self.regions: bool = dialect_ops()[name]._ODS_REGIONS != (0, True)  # type: ignore[attr-defined]
        self.whole = len(patterns) < len(candidates)
        """Whether there are rules that see a whole op."""
        self.waits = WAITING.get(name)
        self.nested = all(rule.nested for rule, _ in candidates)
        """Whether no rule looks at ops that are in no region of another."""
        self.rows: dict[tuple, tuple[Row, ...]] = {}
        for rule in {rule for rule, _ in candidates}:
            _learn(rule)

    def select(self, key: tuple) -> tuple[Row, ...]:
        """The rules that can match when the first operands are defined by ops of the classes `key`."""
        found = tuple(Row(rule, None) if pattern is None else _row(rule, pattern) for rule, pattern in self.candidates
                      if all(map(_possible, _operands(rule, pattern), key)) and _made_by(rule, key))
        self.rows[key] = found
        return found


def _operands(rule: Rule, pattern: Op | None) -> tuple[Pattern, ...]:
    """What the first operands must be."""
    if pattern is not None:
        return pattern.operands
    return (Op((rule.of,), ()),) if rule.of else ()


def _made_by(rule: Rule, key: tuple) -> bool:
    """Whether an operand is made as the rule demands."""
    return not rule.made_by or not {dialect_ops()[name] for name in rule.made_by}.isdisjoint(
        CONSTANT if isinstance(kind, Content) else kind for kind in key)


def compile_rules(rules: tuple[Rule, ...]) -> dict[str, Root]:
    """Root op name to its table."""
    grouped: dict[str, list[tuple[Rule, Op | None]]] = {}
    for rule in rules:
        for name in rule.roots:
            variants = (None,) if rule.pattern is None else _variants(rule)
            grouped.setdefault(name, []).extend((rule, variant) for variant in variants)
    return {name: Root(name, candidates) for name, candidates in grouped.items()}


@cache
def _variants(rule: Rule) -> tuple[Op, ...]:
    """The orders of commutative operands worth trying. Constants stand on the right (canonical order)."""
    pattern = rule.pattern
    assert pattern is not None
    names = list(bindings(pattern))
    found = tuple(dict.fromkeys(_orders(pattern, frozenset(n for n in names if names.count(n) > 1))))
    if len(found) > 32:
        raise TypeError(f"a pattern with {len(found)} orders of commutative operands is too costly: {pattern}")
    return found


def _orders(pattern: Pattern, repeated: frozenset[str]) -> Iterator[Any]:
    if isinstance(pattern, Once):
        yield from (Once(inner) for inner in _orders(pattern.inner, repeated))
    elif isinstance(pattern, Named):
        yield from (Named(pattern.name, inner) for inner in _orders(pattern.inner, repeated))
    elif isinstance(pattern, Op):
        for operands in itertools.product(*(list(_orders(p, repeated)) for p in pattern.operands)):
            yield Op(pattern.names, operands, pattern.attributes, pattern.template)
            if len(operands) == 2 and set(pattern.names) <= COMMUTATIVE and _order_matters(*operands, repeated):
                yield Op(pattern.names, operands[::-1], pattern.attributes, pattern.template)
    else:
        yield pattern


def _order_matters(left: Pattern, right: Pattern, repeated: frozenset[str]) -> bool:
    if left == right or _is_constant(left) or _is_constant(right):
        return False
    return not all(isinstance(p, Variable) and p.name not in repeated for p in (left, right))


def _is_constant(pattern: Pattern) -> bool:
    inner = _inner(pattern)
    return isinstance(inner, (Literal, Constant, Splat)) or (
        isinstance(inner, Op) and inner.names == ("stablehlo.constant",))


def _inner(pattern: Pattern) -> Pattern:
    while isinstance(pattern, (Named, Once)):
        pattern = pattern.inner
    return pattern


def _width(pattern: Op | None) -> int:
    if pattern is None:
        return 0
    wanted = [i for i, p in enumerate(pattern.operands) if not isinstance(p, (Variable, Rest))]
    return wanted[-1] + 1 if wanted else 0


def _possible(pattern: Pattern, kind: Any) -> bool:
    pattern = _inner(pattern)
    content = kind if isinstance(kind, Content) else None
    if content is not None:
        kind = CONSTANT
    if isinstance(pattern, Op):
        return any(dialect_ops()[name] is kind for name in pattern.names)
    if isinstance(pattern, Literal):
        return kind is CONSTANT and (content is None or repr(pattern.value) in content.numbers)
    if isinstance(pattern, Splat):
        return kind is CONSTANT and (content is None or content.uniform)
    return kind is CONSTANT or not isinstance(pattern, Constant)


CONSTANT = dialect_ops()["stablehlo.constant"]


# ---- kinds of constants --------------------------------------------------------------------------------------------

class Content(NamedTuple):
    """What a key says of a constant: whether its elements are all the same, and which of the numbers that stand in
    patterns they are (by `repr`, for 0.0 == -0.0)."""
    uniform: bool
    numbers: frozenset[str]


_numbers: dict[str, int | float | complex | bool] = {}
"""The numbers that stand in patterns."""


@cache
def _learn(rule: Rule) -> None:
    """The numbers in a rule's pattern; its variants have the same."""
    if rule.pattern is not None:
        _learn_numbers(rule.pattern)


def _learn_numbers(pattern: Pattern) -> None:
    pattern = _inner(pattern)
    if isinstance(pattern, Op):
        for operand in pattern.operands:
            _learn_numbers(operand)
    elif isinstance(pattern, Literal) and repr(pattern.value) not in _numbers:
        _numbers[repr(pattern.value)] = pattern.value
        _numbers_by_content.cache_clear()
        _content_of.cache_clear()


def content_kind(op: ir.OpView) -> Content:
    """The kind of a constant op's content."""
    attribute = ops.content_of(op)
    return _content_kind(_uniform(_content(op))) if attribute is None else _content_of(attribute)


@cache
def _content_of(attribute: ir.Attribute) -> Content:
    return _content_kind(_splat_of(attribute))


def _content_kind(scalar: np.generic | None) -> Content:
    if scalar is None:
        return Content(False, frozenset())
    return Content(True, _numbers_by_content(scalar.dtype).get(scalar.tobytes(), frozenset()))


@cache
def _numbers_by_content(dtype: np.dtype) -> dict[bytes | None, frozenset[str]]:
    """The numbers in patterns by what elements of a dtype that are equal to them look like."""
    found: dict[bytes | None, frozenset[str]] = {}
    for text, number in _numbers.items():
        raw = _bytes_of(number, dtype)
        if raw is not None:
            found[raw] = found.get(raw, frozenset()) | {text}
    return found


# ---- run-time helpers of the generated code ------------------------------------------------------------------------

def _content(op: ir.OpView) -> np.ndarray:
    """The array of a constant op."""
    return ops.constant_value(op.operation.results[0])


@cache
def _splat_of(attribute: ir.Attribute) -> np.generic | None:
    return _uniform(attr.elements(attribute))


def _uniform(array: np.ndarray) -> np.generic | None:
    if not array.size or not attr._uniform(array):
        return None
    return array[(0,) * array.ndim]


def _scalar(op: ir.OpView) -> np.generic | None:
    """The element of a splat constant op, else None."""
    attribute = ops.content_of(op)
    return _uniform(_content(op)) if attribute is None else _splat_of(attribute)


def _bytes_of(number: Any, dtype: np.dtype) -> bytes | None:
    """What an element of this dtype that is this number looks like; None where no element is."""
    if dtype.kind == "b" and number not in (0, 1):
        return None
    if dtype.kind in "iu" and (not np.isfinite(number) or number != int(number.real)
                               or not _fits(int(number.real), dtype)):
        return None
    return np.asarray(number).astype(dtype).tobytes()


def _fits(number: int, dtype: np.dtype) -> bool:
    bits = 4 if dtype.name in ("int4", "uint4") else 8 * dtype.itemsize
    low, high = (0, 2**bits - 1) if dtype.kind == "u" or dtype.name == "uint4" else (-2**(bits - 1), 2**(bits - 1) - 1)
    return low <= number <= high


def _one_user(value: ir.Value) -> bool:
    """Whether a single op uses the value (perhaps several times)."""
    READ.append(hash(value))
    uses = iter(value.uses)
    first = next(uses, None)
    if first is None:
        return True
    second = next(uses, None)
    if second is None:
        return True
    owner = first.owner
    return second.owner == owner and all(use.owner == owner for use in uses)


def _attribute(op: ir.OpView, name: str) -> object:
    try:
        found = op.attributes[name]
    except KeyError:
        return None
    return attr.decode(found)


def _root_attribute(op: ir.Operation, decoded: dict[str, Any], name: str) -> object:
    if name not in decoded:
        decoded[name] = _attribute(op, name)
    return decoded[name]


def _root_kind(values: list[ir.Value], decoded: dict[str, Any]) -> str:
    if "" not in decoded:
        decoded[""] = kind_letter(values[0].type) if values else "-"     # a call without operands
    return decoded[""]


def _same(a: Any, b: Any) -> bool:
    return a == b if not isinstance(a, np.ndarray) else a.dtype == b.dtype and a.tobytes() == b.tobytes()


def _same_iteration(inner: ir.OpView, root: ir.Operation) -> bool:
    """Whether building `inner` again at `root` computes it no more often: both in one block, or `root` in a branch."""
    wanted, block = inner.operation.block, root.block
    while block != wanted:
        parent = block.owner.operation
        if parent.name not in ("stablehlo.if", "stablehlo.case"):
            return False
        block = parent.block
    return True


def _template(op: ir.OpView) -> Template:
    return Template(op.operation)


def _root_template(op: ir.Operation, decoded: dict[str, Any]) -> Template:
    found = decoded.get("op itself")
    if found is None:
        found = decoded["op itself"] = Template(op)
    return found


def _result_shape(op: ir.Operation, decoded: dict[str, Any]) -> tuple[int, ...]:
    decoded["result shape"], decoded["result dtype"] = shape_and_dtype(op.results[0].type)
    return decoded["result shape"]


def _result_dtype(op: ir.Operation, decoded: dict[str, Any]) -> np.dtype:
    _result_shape(op, decoded)
    return decoded["result dtype"]


@cache
def kind_letter(type_: ir.Type) -> str:
    """The NumPy kind letter of a tensor type's elements; "V" of ml_dtypes becomes "f" or "i"; "" for other types."""
    if not isinstance(type_, ir.RankedTensorType):
        return ""
    dtype = shape_and_dtype(type_)[1]
    if dtype.kind == "V" or dtype.name in ("int4", "uint4"):
        return "i" if "int" in dtype.name else "f"
    return dtype.kind


_HELPERS: dict[str, Any] = {
    "content": _content, "scalar": _scalar, "content_kind": content_kind, "one_user": _one_user,
    "attribute": _attribute,
    "same": _same, "template": _template,
    "owner_of": creation.owner, "same_iteration": _same_iteration, "result_shape": _result_shape,
    "result_dtype": _result_dtype, "kind_letter": kind_letter,
    "root_attribute": _root_attribute, "root_kind": _root_kind,
    "root_template": _root_template,
}


# ---- code generation -------------------------------------------------------------------------------------------------

def _kept(key: str, find: str) -> str:
    """The expression of something that stays the same for a root op: found out once."""
    return f"(decoded[{key!r}] if {key!r} in decoded else {find})"


class _Writer:
    """Writes one matcher: flat statements, each returning None as soon as something does not fit."""

    def __init__(self, rule: Rule):
        self.rule = rule
        self.lines: list[str] = []
        self.bound: dict[str, str] = {}
        self.globals = dict(_HELPERS)
        self.count = itertools.count()

    def fresh(self) -> str:
        return f"t{next(self.count)}"

    def require(self, condition: str) -> None:
        self.lines.append(f"if not ({condition}): return None")

    def capture(self, value: object) -> str:
        name = f"g{next(self.count)}"
        self.globals[name] = value
        return name

    def bind(self, name: str, expression: str, equal: str) -> None:
        if name in self.bound:
            self.require(equal.format(self.bound[name], expression))
        else:
            variable = self.fresh()
            self.lines.append(f"{variable} = {expression}")
            self.bound[name] = variable

    def value(self, pattern: Pattern, value: str, owner: str | None) -> None:
        """Match the value named `value`; `owner`, where given, names its owner, whose class is proved."""
        match pattern:
            case Variable(name):
                self.bind(name, value, "{0} == {1}")
            case Once(inner):
                self.value(inner, value, owner)
                self.require(f"one_user({value})")
            case Named(name, inner):
                self.bind(name, value, "{0} == {1}")
                self.value(inner, value, owner)
            case Op():
                self.op(pattern, *self.owner(value, owner, [dialect_ops()[n] for n in pattern.names]))
            case Literal(number):
                if owner is None:       # else the key has proved the number too
                    owner, _ = self.owner(value, None, [CONSTANT])
                    self.require(f"{repr(number)!r} in content_kind({owner}).numbers")
            case Splat(name):
                owner, _ = self.owner(value, owner, [CONSTANT])
                scalar = self.fresh()
                self.lines.append(f"{scalar} = scalar({owner})")
                self.require(f"{scalar} is not None")
                self.bind(name, scalar, "same({0}, {1})")
            case Constant(name):
                owner, _ = self.owner(value, owner, [CONSTANT])
                self.bind(name, f"content({owner})", "same({0}, {1})")
            case _:
                raise TypeError(f"rule '{self.rule.name}': {type(pattern).__name__} cannot stand here.")

    def owner(self, value: str, owner: str | None, classes: list[type]) -> tuple[str, None]:
        if owner is None:
            owner = self.fresh()
            self.lines.append(f"{owner} = owner_of({value})")
            kinds = self.capture(frozenset(classes) if len(classes) > 1 else classes[0])
            self.require(f"type({owner}) {'in' if len(classes) > 1 else 'is'} {kinds}")
        return owner, None

    def op(self, pattern: Op, owner: str, operands: str | None, owners: str | None = None, width: int = 0) -> None:
        """Match an op whose class is known; `operands`/`owners` name the lists the driver made for the root."""
        if operands is None:
            operands = self.fresh()
            self.lines.append(f"{operands} = {owner}.operands")
        if pattern.operands and isinstance(pattern.operands[-1], Rest):
            fixed = len(pattern.operands) - 1
            self.bind(pattern.operands[-1].name, f"tuple({operands})" + (f"[{fixed}:]" if fixed else ""), "{0} == {1}")
        else:
            fixed = len(pattern.operands)
            self.require(f"len({operands}) == {fixed}")
        for i in range(fixed):
            name = self.fresh()
            self.lines.append(f"{name} = {operands}[{i}]")
            self.value(pattern.operands[i], name, f"{owners}[{i}]" if owners and i < width else None)
        for key, wanted in pattern.attributes:
            found = _kept(key, f"root_attribute(op, decoded, {key!r})") if owner == "op" \
                else f"attribute({owner}, {key!r})"
            if isinstance(wanted, Variable):
                self.bind(wanted.name, found, "same({0}, {1})")
            else:
                self.require(f"{found} == {self.capture(wanted)}")
        if pattern.template:
            if owner != "op":  # what is built again must not come to run more often
                self.require(f"same_iteration({owner}, op)")
            self.bind(pattern.template, "root_template(op, decoded)" if owner == "op" else f"template({owner})",
                      "{0} == {1}")

    def finish(self) -> Matcher:
        special = {"result": "op.results[0]", "result_type": "op.results[0].type",
                   "result_shape": _kept("result shape", "result_shape(op, decoded)"),
                   "result_dtype": _kept("result dtype", "result_dtype(op, decoded)")}
        values = [self.bound.get(name) or special[name] for name in self.rule.parameters]
        self.lines.append(f"return ({', '.join(values)}{',' if len(values) == 1 else ''})")
        source = "def matcher(op, values, owners, decoded):\n    " + "\n    ".join(self.lines)
        exec(compile(source, f"<matcher of {self.rule.qualified}>", "exec"), self.globals)
        matcher = self.globals["matcher"]
        matcher.source = source
        return matcher


@cache
def _row(rule: Rule, pattern: Op) -> Row:
    settles = not any(isinstance(each, (Op, Once, Named)) for each in pattern.operands)
    return Row(rule, _compiled(rule, pattern), settles, settles and rule.by_types, _asks(pattern))


def _asks(pattern: Pattern) -> bool:
    """Whether a pattern demands that a value has one reader."""
    match pattern:
        case Once():
            return True
        case Named(_, inner):
            return _asks(inner)
        case Op():
            return any(map(_asks, pattern.operands))
    return False


@cache
def _compiled(rule: Rule, pattern: Op) -> Matcher:
    writer = _Writer(rule)
    if rule.kinds:
        writer.require(f"{_kept('', 'root_kind(values, decoded)')} in {rule.kinds!r}")
    writer.op(pattern, "op", "values", "owners", min(MAX_WIDTH, _width(pattern)))
    return writer.finish()
