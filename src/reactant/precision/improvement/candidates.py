"""The best forms of an expression on samples: dynamic programming over the classes of an equality graph.

Of each class a few expressions are kept (the most accurate, one that is right where that one is not, the cheapest),
made of those kept of the classes below, until nothing better is found. Errors are measured: each form is computed in
floats from its operands as they come out in floats, and compared with what the class is in real numbers.
"""
from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from reactant.precision.improvement import rational, saturation, series, truth
from reactant.precision.improvement.expressions import (
    OPERATIONS,
    Array,
    Expression,
    applied,
    cost,
    in_floats,
    leaf,
    leaves,
    made,
    nodes,
    number,
    replaced,
)
from reactant.precision.improvement.extra import mpmath

SAMPLES, KEPT, KEPT_OF_ROOT, SWEEPS = 32, 3, 16, 8
"""Samples that the search looks at, expressions that are kept of a class, of that of the whole expression, and how
often all classes are gone through."""
EQUAL = 0.3
"""Bits of mean error that make no difference."""


class Candidate(NamedTuple):
    """A form of an expression; its floats on the samples, bits of error of each, and cost in ns per element."""

    expression: Expression
    values: Array
    errors: Array
    cost: float


def candidates(root: Expression, given: Sequence[Array], dtype: np.dtype) -> list[Candidate]:
    """Forms of an expression, the most accurate on samples of its leaves first. given: an array for each leaf."""
    given = [np.asarray(each, dtype) for each in given]
    parts = nodes(root)
    real = truth.in_reals(root, given, dtype)[0][root]
    chosen = _spread(given, real)
    few = [each[chosen] for each in given]
    known, digits = truth.in_reals(root, few, dtype)
    classes, places = saturation.saturated(parts)
    search = _Search(classes, few, dtype)
    search.reals(dict(zip(places, parts, strict=True)), digits)
    search.truth[places[-1]] = known[root]
    multiplied_out: list[Expression] = []
    for node, place in zip(parts, places, strict=True):
        if node.operands and len(leaves(node)) == 1:
            for each in series.expansions(node, few[leaves(node)[0]]):
                search.offer_expression(place, each)
        for each in rational.forms(node):
            search.offer_expression(place, each)
            multiplied_out.append(replaced(root, {node: each}))     # kept in any case: they often need no guard
    search.run(places[-1])
    found = [measured(each, given, real, dtype) for each in dict.fromkeys(
        [root, *(each.expression for each in search.kept[places[-1]]), *multiplied_out])]
    return sorted(found, key=lambda each: (round(float(each.errors.mean()) / EQUAL), each.cost))


def measured(expression: Expression, given: Sequence[Array], real: Array, dtype: np.dtype) -> Candidate:
    """An expression with its errors on samples whose real values are known; samples without one count nothing."""
    values = np.asarray(_values(expression, given, dtype), dtype)
    errors = np.where(np.isfinite(real), truth.bits_of_error(values, real, dtype), 0.0)
    return Candidate(expression, values, errors, cost(expression, dtype))


def _spread(given: Sequence[Array], real: Array) -> Array:
    """Some samples with a real value, evenly over those sorted by the first leaf, then by the others."""
    usable = np.flatnonzero(np.isfinite(real))
    if len(usable) <= SAMPLES:
        return usable if len(usable) else np.arange(min(len(real), SAMPLES))
    found: list[int] = []
    for values in given:
        order = usable[np.argsort(values[usable], kind="stable")]
        found += order[np.linspace(0, len(order) - 1, SAMPLES // len(given)).round().astype(int)].tolist()
    return np.array(sorted(set(found)))


class _Search:
    """What is known of each class: its real values, rounded, and the expressions kept of it."""

    def __init__(self, classes: saturation.Classes, given: Sequence[Array], dtype: np.dtype):
        self.classes, self.given, self.dtype = classes, given, dtype
        self.count = len(given[0])
        self.truth: list[Array | None] = [None] * len(classes)
        self.kept: list[list[Candidate]] = [[] for _ in classes]
        self.tried: set[tuple[Any, ...]] = set()
        self.root = -1
        self.narrow = dtype.itemsize <= 4
        self.version = [0] * len(classes)
        self.best: dict[int, Array] = {}
        self.means: dict[int, list[float]] = {}

    def reals(self, first: dict[int, Expression], digits: Sequence[int]) -> None:
        """Real values of all classes that have any, by whichever form is defined; by the original ones first."""
        mp = mpmath().mp
        order = self._order()
        values = np.full((len(self.classes), self.count), np.nan, self.dtype)
        for k in range(self.count):
            with mp.workprec(min(digits[k], 1100) + 64):
                row = truth.at(nodes(*first.values()), [each[k] for each in self.given])
                found: dict[int, Any] = {place: row[node] for place, node in first.items()}
                for place, form in order:
                    if found.get(place) is None:
                        found[place] = self._real(form, found, k)
                for place, value in found.items():
                    values[place, k] = truth.nearest(value, self.dtype)
        for place in {place for place, _ in order}:
            self.truth[place] = values[place]

    def _order(self) -> list[tuple[int, saturation.Form]]:
        """Forms whose operands come before them; several of a class, should the first have no value."""
        ready: set[int] = set()
        used: dict[int, int] = {}
        order: list[tuple[int, saturation.Form]] = []
        pending = [(place, form) for place, forms in enumerate(self.classes) for form in forms]
        while True:
            later, before = [], len(order)
            for place, form in pending:
                if all(each in ready for each in form.operands):
                    if used.get(place, 0) < 3:
                        order.append((place, form))
                        used[place] = used.get(place, 0) + 1
                    ready.add(place)
                else:
                    later.append((place, form))
            if len(order) == before:
                return order
            pending = later

    def _real(self, form: saturation.Form, found: dict[int, Any], k: int) -> Any:
        mp = mpmath().mp
        if form.name == "leaf":
            value = self.given[form.value][k]
            return mp.mpf(float(value)) if np.isfinite(value) else None
        if form.name == "number":
            return truth.exact(form.value)
        return truth.exactly(form.name, [found.get(each) for each in form.operands])

    def run(self, root: int) -> None:
        """Until no class has anything better."""
        self.root = root
        order = self._reachable(root)
        for _ in range(SWEEPS):
            changed = False
            for place in order:
                for form in self.classes[place]:
                    changed |= self._try(place, form)
            if not changed:
                return

    def _reachable(self, root: int) -> list[int]:
        """The classes below, nearest to the leaves first."""
        depth = {root: 0}
        queue = [root]
        for place in queue:
            for form in self.classes[place]:
                for each in form.operands:
                    if each not in depth and self.truth[each] is not None:
                        depth[each] = depth[place] + 1
                        queue.append(each)
        return queue[::-1]

    def _try(self, place: int, form: saturation.Form) -> bool:
        """Compute a form of all combinations of what is kept of its operands, and keep what is worth it."""
        if form.name == "leaf":
            return self.offer_expression(place, leaf(form.value))
        if form.name == "number":
            return self.offer_expression(place, number(form.value))
        state = (place, form, *(self.version[each] for each in form.operands))
        if state in self.tried:
            return False
        self.tried.add(state)
        choices = [self.kept[each] for each in form.operands]
        if not all(choices):
            return False
        stacked = [np.stack([each.values for each in choice]) for choice in choices]
        if len(stacked) == 2:
            stacked = [stacked[0][:, None], stacked[1][None]]
        values = applied(form.name, stacked)
        values = values.reshape(-1, self.count)
        errors = self._errors(place, values)
        changed = False
        for k, operands in enumerate(product(*choices)):
            price = OPERATIONS[form.name].cost[self.narrow] + sum(each.cost for each in operands)
            if self._worth(place, errors[k], price):
                expression = made(form.name, *(each.expression for each in operands))
                changed |= self._keep(place, Candidate(expression, values[k], errors[k], price))
        return changed

    def _errors(self, place: int, values: Array) -> Array:
        real = self.truth[place]
        return np.where(np.isnan(real), 0.0, truth.bits_of_error(values, real, self.dtype))

    def _worth(self, place: int, errors: Array, price: float) -> bool:
        """Whether it is right where nothing kept is, or cheaper than what is as good."""
        kept = self.kept[place]
        if not kept:
            return True
        best = self.best[place]
        if best.mean() - np.minimum(best, errors).mean() >= EQUAL:
            return True
        mean = errors.mean()
        return not any(each.cost <= price and mean_of <= mean + EQUAL
                       for each, mean_of in zip(kept, self.means[place], strict=True))

    def _keep(self, place: int, found: Candidate) -> bool:
        if any(each.expression is found.expression for each in self.kept[place]):
            return False
        chosen = chosen_of([*self.kept[place], found], KEPT_OF_ROOT if place == self.root else KEPT)
        if not any(each is found for each in chosen):
            return False
        self.kept[place] = chosen
        self.version[place] += 1
        self.best[place] = np.min([each.errors for each in chosen], axis=0)
        self.means[place] = [each.errors.mean() for each in chosen]
        return True

    def offer_expression(self, place: int, expression: Expression) -> bool:
        """Keep an expression that is about what a class is, if it is worth it."""
        if self.truth[place] is None or (place, expression) in self.tried:
            return False
        self.tried.add((place, expression))
        values = np.asarray(_values(expression, self.given, self.dtype), self.dtype)
        found = Candidate(expression, values, self._errors(place, values), cost(expression, self.dtype))
        return self._worth(place, found.errors, found.cost) and self._keep(place, found)


def _values(expression: Expression, given: Sequence[Array], dtype: np.dtype) -> Array:
    found = in_floats(expression, given, dtype)[expression]
    return np.broadcast_to(found, given[0].shape)


def chosen_of(found: Sequence[Candidate], most: int) -> list[Candidate]:
    """The most accurate, then whichever helps most where those before are wrong; the cheapest has its place too."""
    left = list(found)
    chosen: list[Candidate] = []
    best = np.full(len(found[0].errors), np.inf)
    while left and len(chosen) < most - 1:
        means = [np.minimum(best, each.errors).mean() for each in left]
        least = min(means)
        if chosen and best.mean() - least < EQUAL:
            break
        k = min((each.cost, k) for k, each in enumerate(left) if means[k] <= least + EQUAL)[1]
        best = np.minimum(best, left[k].errors)
        chosen.append(left.pop(k))
    if left:
        cheapest = min(left, key=lambda each: (each.cost, each.errors.mean()))
        if all(cheapest.cost < each.cost for each in chosen):
            chosen.append(cheapest)
            left = [each for each in left if each is not cheapest]
    for each in sorted(left, key=lambda each: (each.cost, each.errors.mean())) if most > KEPT else ():
        if len(chosen) < most and all(each.cost < other.cost or each.errors.mean() < other.errors.mean() - EQUAL
                                      for other in chosen):
            chosen.append(each)
    return chosen
