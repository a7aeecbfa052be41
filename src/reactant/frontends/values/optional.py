"""Variables that are None on some paths and a value on others: `best = None`, then `if best is None or x < best: ...`.

`MaybeNone` is the value and a run-time truth that says whether there is one. `is None` asks the truth; whatever else
reads it uses the value, with a check that there is one. (`state` merges them; loops carry both.)
"""
from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from reactant.errors import ControlFlowError, UnsupportedError
from reactant.frontends.arrays import python_numbers
from reactant.frontends.arrays.tensor import TRACED_TEXT, Tensor, is_tensor, python_number, wrap
from reactant.frontends.control.branches import failing_at_run_time, staged_if
from reactant.frontends.control.decisions import truth_where_reached
from reactant.frontends.control.snapshots import REBUILT, SNAPSHOTS, capture
from reactant.frontends.control.trees import Node
from reactant.frontends.session.abstract import Abstract, certain
from reactant.frontends.session.calls import KINDS
from reactant.frontends.session.trace import current_trace
from reactant.frontends.source.operators import ag__
from reactant.ir import ops


class MaybeNone(Abstract):
    """`value` where the run-time boolean `defined` holds, else None. All other names are those of the value."""

    __slots__ = ("ag__defined", "ag__value")
    __array_priority__ = 3000.0

    def __init__(self, defined: Any, value: Any):
        self.ag__defined, self.ag__value = defined, value
        current_trace().undecided = True

    def ag__known(self, error: Callable[[], Exception] | None = None) -> Any:
        """The value, in code that fails where there is none."""
        trace = current_trace()
        truth = ops.reshape(wrap(self.ag__defined).value(), ())
        (trace.check if trace.attempts else trace.record)(truth, error or (lambda: TypeError(
            "None is used as a number or array (a variable that is None on some paths)")))
        return self.ag__value

    def ag__each(self, use: Callable[[Any], Any]) -> Any:
        """What `use` makes of the value, or of None."""
        def side(x: Any) -> Callable[[], Any]:
            return failing_at_run_time(lambda: use(x), TypeError, AttributeError, LookupError)
        return staged_if(ops.reshape(wrap(self.ag__defined).value(), ()), side(self.ag__value), side(None))

    def ag__truth(self) -> Any:
        """Whether it is there and true."""
        return ag__.and_(self.ag__defined, lambda: truth_where_reached(self.ag__value))

    def ag__if_true(self) -> Any:
        return self.ag__value

    def ag__same(self, other: Any) -> Any:
        return self.ag__each(lambda x: ag__.same(x, other))

    def ag__is_none(self) -> Any:
        return ag__.not_(self.ag__defined)

    def ag__certain(self) -> Any:
        return self.ag__known()

    def ag__sides(self) -> tuple[Any, Any, Any]:
        return self.ag__defined, self.ag__value, None

    def ag__attributes(self, name: str, use: Callable = getattr, *value: Any) -> Any:
        """What has the attribute of this name. Where it is None, the error is Python's for its `use`."""
        try:
            use(None, name, *value)
        except AttributeError as error:
            text = str(error)
        return self.ag__known(lambda: AttributeError(text))

    def ag__array(self) -> Tensor:
        return wrap(self.ag__known())

    def __array__(self, dtype: object = None, copy: bool | None = None) -> Any:
        return self.ag__array().__array__(dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **keywords: Any) -> Any:
        outs = {n: tuple(map(certain, v)) if n == "out" else certain(v) for n, v in keywords.items()}
        return getattr(ufunc, method)(*map(certain, inputs), **outs)

    def __array_function__(self, function: Any, types: object, args: tuple, keywords: dict) -> Any:
        return function(*map(certain, args), **{n: certain(v) for n, v in keywords.items()})

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return ag__.get_attr(self.ag__attributes(name), name)

    def __str__(self) -> str:
        return self.ag__text(str)

    def __repr__(self) -> str:
        return self.ag__text(repr)

    def __format__(self, specification: str) -> str:
        return self.ag__text(lambda x: format(x, specification))

    def ag__text(self, write: Callable[[Any], str]) -> str:
        """A mark that stands for it in texts: one of two texts, the first of which may hold marks."""
        try:
            without = write(None)
        except TypeError as error:      # it has no such format
            refused = str(error)
            return write(self.ag__known(lambda: TypeError(refused)))
        texts, value = current_trace().texts, self.ag__value
        of_the_run = is_tensor(value) and not value.is_concrete() or getattr(value, "ag__one_of_several", False)
        texts.append((wrap(self.ag__defined), (value.ag__text(write) if of_the_run else write(value), without)))
        return f"{TRACED_TEXT}None or a value #{len(texts) - 1}>"

    def __setitem__(self, key: Any, value: Any) -> None:
        self.ag__known()[key] = value

    def __bool__(self) -> bool:
        raise ControlFlowError("Whether this variable is None is known only at run time.",
                               hint="Ask `is None` or `is not None`, not its truth.", code="maybe-none")

    def __eq__(self, other: object) -> Any:
        if not (_is_array(self.ag__value) or _is_array(other)):
            return self.ag__each(lambda x: ag__.Eq(x, other))
        if other is None:
            raise ControlFlowError("An array is compared with None by == or !=, which compares element by element.",
                                   hint="Compare with None by `is None` or `is not None`.", code="maybe-none")
        return self.ag__known() == certain(other)

    def __ne__(self, other: object) -> Any:
        equal = self == other
        return ~equal if _is_array(equal) else ag__.not_(equal)

    def __hash__(self) -> int:
        raise ControlFlowError("A variable that is None on some paths is put into a set or a dict, or looked up in "
                               "one.", hint="Ask `is None` before.", code="maybe-none")


def changing(x: Any, change: Callable[[Any], Any], value: Callable[[MaybeNone], Any] = MaybeNone.ag__known) -> Any:
    """`change` of the object that is meant; of the `value` of what may be None. It changes nothing where a handler
    waits for what None raises in it."""
    return change(value(x)) if type(x) is MaybeNone and not current_trace().attempts else x.ag__each(change)


def _is_array(x: Any) -> bool:
    return isinstance(x, np.ndarray) or type(x) is MaybeNone and _is_array(x.ag__value)




def known_index(index: Any) -> Any:
    """An index in which nothing may be None as decided at run time, which would be a new axis; bounds of slices may,
    which are the ends then."""
    if type(index) is tuple and any([type(x) is MaybeNone or type(x) is slice for x in index]):
        return tuple(map(known_index, index))
    if type(index) is slice and MaybeNone in (type(index.start), type(index.stop), type(index.step)):
        step = certain(index.step)
        ends = None if is_tensor(step) else (0, _FAR) if step is None or step > 0 else (_FAR, -_FAR)
        start, stop = (index.start, index.stop) if ends is None else map(_bound, (index.start, index.stop), ends)
        return slice(certain(start), certain(stop), step)
    return certain(index)


def present(item: Any) -> Any:
    """An element of a list of numbers: nothing in it may be None when the program runs."""
    if type(item) is MaybeNone:
        return item.ag__known(lambda: UnsupportedError("A list that grows under conditions takes numbers: here it "
                                                       "would take None, which a variable is on some paths.",
                                                       span=None,
                                                       hint="Ask `is None` before the append, or append a number "
                                                            "that says so.", code="maybe-none"))
    if type(item) is tuple and any([type(x) in (MaybeNone, tuple) for x in item]):
        parts = tuple(map(present, item))
        return item if all(a is b for a, b in zip(parts, item, strict=True)) else parts
    return item


_FAR = 2**62
"""Behind the end of any array."""


def _bound(bound: Any, end: int) -> Any:
    """A bound of a slice, which is at an end where it is None."""
    if type(bound) is not MaybeNone:
        return bound
    given = bound.ag__value if is_tensor(bound.ag__value) else wrap(operator.index(bound.ag__value))
    if given.dtype.kind not in "iub":
        return bound.ag__known()        # the slice raises
    truth, value = (ops.reshape(v.value(), ()) for v in (wrap(bound.ag__defined), given))
    known_ends = python_numbers.bounds(given)
    interval = None if known_ends is None else (min(known_ends[0], end), max(known_ends[1], end))
    return python_number(ops.select(truth, ops.convert(value, np.int64), end), interval=interval)


def _forward(name: str) -> None:
    function = getattr(operator, name, None) or {"__len__": len, "__iter__": iter, "__abs__": abs, "__divmod__": divmod,
                                                 "__round__": round}[name]
    setattr(MaybeNone, name, lambda self, *others: function(self.ag__known(), *map(certain, others)))


def _reflect(name: str) -> None:
    function = getattr(operator, f"__{name}__")
    setattr(MaybeNone, f"__r{name}__", lambda self, other: function(certain(other), self.ag__known()))
    in_place = getattr(operator, f"__i{name}__")
    setattr(MaybeNone, f"__i{name}__", lambda self, other: in_place(self.ag__known(), certain(other)))


for _name in ("lt", "le", "gt", "ge", "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or",
              "xor", "lshift", "rshift", "neg", "pos", "invert", "abs", "getitem", "len", "iter"):
    _forward(f"__{_name}__")
for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor", "lshift",
              "rshift"):
    _reflect(_name)


def _called(function: Any, arguments: tuple, keywords: dict) -> Any:
    raise ControlFlowError("A variable that is None on some paths is called.", hint="Ask `is None` before.",
                           code="maybe-none")


KINDS[MaybeNone] = _called


def _snapshot(value: MaybeNone, inside: tuple[int, ...]) -> Node:
    return Node("optional", (), [capture(value.ag__defined), capture(value.ag__value, inside)], value)


SNAPSHOTS[MaybeNone] = _snapshot
REBUILT["optional"] = lambda node, children: children[1] if children[0] is True else MaybeNone(*children)
