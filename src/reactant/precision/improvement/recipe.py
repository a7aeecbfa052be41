"""What was found for the expressions of a program, and the pass that puts it in their place."""
from __future__ import annotations

import hashlib
from typing import NamedTuple

import numpy as np
from jaxlib.mlir import ir

from reactant.errors import UnsupportedError
from reactant.ir import modules, ops, splice
from reactant.ir.types import shape_of, size, tensor_type
from reactant.options import CompileOptions
from reactant.precision import wide_floats
from reactant.precision.improvement import guards
from reactant.precision.improvement.expressions import Expression, cost
from reactant.precision.improvement.regimes import Piecewise, whole
from reactant.precision.improvement.regions import Place, is_arithmetic, places

LIMBS = {"float64x2": ("float64", 2)}
PASS_COST = 0.2
"""Nanoseconds per element that a branch over a whole array costs: its leaves are read twice."""


class Form(NamedTuple):
    """What takes the place of an expression.

    precision: the float format it is computed in. where: what holds where it is right; elsewhere the original is
    computed.
    """

    pieces: Piecewise
    precision: str
    where: tuple[guards.Guard, ...] = ()

    def cost(self, original: Expression, dtype: np.dtype) -> float:
        """Estimated nanoseconds per element."""
        if self.precision in LIMBS:
            return 20 * cost(original, dtype)
        price = self.pieces.cost(np.dtype(self.precision))
        if self.precision != dtype.name:
            price += 0.1
        if self.where:
            price += guards.price(self.where, dtype) + min(cost(original, dtype), PASS_COST)
        return price


class Recipe:
    """Forms by expression and float format; equal to no other one, so that programs with it are its own."""

    def __init__(self, forms: dict[tuple[Expression, str], Form]):
        self.forms = forms

    @property
    def needs_limbs(self) -> bool:
        """Whether something is computed in sums of floats, which native code does not know."""
        return any(each.precision in LIMBS for each in self.forms.values())

    def __repr__(self) -> str:
        text = ";".join(sorted(f"{key[0]}:{key[1]}:{form}" for key, form in self.forms.items()))
        return f"Recipe({hashlib.sha256(text.encode()).hexdigest()[:16]})"


def apply(module: ir.Module, recipe: Recipe, options: CompileOptions) -> None:
    """Put the forms of a recipe in the place of the expressions, in place. Raises `UnsupportedError` where one of them
    is not in the module: it is another program. One of empty arrays stays as it is."""
    found = places(module)
    if all(size(shape_of(each.op.results[0])) == 0 for each in found):
        return
    there = {each.key for each in found}
    if missing := [key for key in recipe.forms if key not in there]:
        raise UnsupportedError(
            f"The improved function was made for other arguments: here it does not compute '{missing[0][0]}'.",
            hint="Its constants or its branches depend on the arguments' shapes or static values: call "
                 "reactant.improve with these arguments.", code="improved-for-others")
    new: dict[ir.Value, ir.Value] = {}
    for place in found:
        form = recipe.forms.get(place.key)
        if form is None:
            continue
        leaves = tuple(new.get(each, each) for each in place.leaves)
        with ir.InsertionPoint(place.op), place.op.location:
            value = _guarded(place._replace(leaves=leaves), form, options)
        old = place.op.results[0]
        old.replace_all_uses_with(value)
        new[old] = value
    _erase_unused(module)       # else the originals are found equal to their copies in branches
    modules.run_passes(module, "func.func(cse)")


def _erase_unused(module: ir.Module) -> None:
    """Arithmetic that nothing uses any more, what uses it first."""
    for op in reversed(list(modules.walk(module))):
        if is_arithmetic(op) and not any(True for _ in op.results[0].uses):
            op.erase()


def _guarded(place: Place, form: Form, options: CompileOptions) -> ir.Value:
    """The form where it is right, the original elsewhere."""
    if not form.where:
        return _computed(place, form, options)
    shape = shape_of(place.leaves[0])

    def by_element(within: ir.Value) -> ir.Value:
        original = whole(place.expression).emitted(place.leaves, place.dtype)
        return ops.select(within, _computed(place, form, options), original)

    within = guards.tested(form.where, place.leaves, place.dtype)
    in_loop = place.op.parent.operation.name != "func.func"     # where a branch would be in the way of native code
    if in_loop or cost(place.expression, place.dtype) <= PASS_COST or size(shape) == 0:
        return by_element(within)
    everywhere = ops.reduce(within, True, tuple(range(len(shape))), "and") if shape else within
    return ops.if_(everywhere, lambda: [_computed(place, form, options)],
                   lambda: [by_element(guards.tested_again(form.where, place.leaves, place.dtype))],
                   [place.leaves[0].type])[0]


def _computed(place: Place, form: Form, options: CompileOptions) -> ir.Value:
    if form.precision in LIMBS:
        return _in_limbs(place, form, options)
    dtype = np.dtype(form.precision)
    if dtype == place.dtype:
        return form.pieces.emitted(place.leaves, dtype)
    return ops.convert(form.pieces.emitted([ops.convert(each, dtype) for each in place.leaves], dtype), place.dtype)


def _in_limbs(place: Place, form: Form, options: CompileOptions) -> ir.Value:
    """Computed by a function of its own, which is converted whole and copied here."""
    kind = str(tensor_type(shape_of(place.leaves[0]), place.dtype))
    arguments = ", ".join(f"%{k}: {kind}" for k in range(len(place.leaves)))
    scratch = modules.parse(f"func.func @main({arguments}) -> {kind} {{ return %0 : {kind} }}")
    block = modules.function(scratch).regions[0].blocks[0]
    last = block.operations[0].operation
    with ir.InsertionPoint(last), ir.Location.unknown():
        last.operands[0] = form.pieces.emitted(list(block.arguments), place.dtype)
    name, count = LIMBS[form.precision]
    limbs = wide_floats.Format(place.dtype, np.dtype(name), count)
    wide_floats.Conversion(scratch, limbs, options).run()
    return splice.copied(modules.function(scratch).regions[0].blocks[0], place.leaves)[0]
