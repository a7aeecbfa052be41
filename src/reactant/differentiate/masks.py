"""Where a cotangent is zero because nothing was chosen there: the other branch of `where`, say.

Such a zero stays zero whatever the slopes behind it are, also infinite ones or no numbers: what `where` masks out stays
out. A zero that is a value, like sinh(sqrt(x)) at 0, times an infinite slope is no number, as in forward mode.

The mask is read off the program that makes the cotangent: through what is done element by element, as far as a choice.
Where it is made otherwise (sums of parts, loops, seeds), its elements that are zero there count.
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field
from typing import TypeAlias

from jaxlib.mlir import ir

from reactant.ir import ops
from reactant.ir.types import dtype_of, shape_of
from reactant.records import dataclass

Mask: TypeAlias = "bool | Test"


@dataclass(frozen=True)
class Test:
    """A mask that depends on what a value of booleans says there: a node of an ordered decision diagram, whose tests
    have rising numbers on each path, so that masks which are the same function are equal."""

    number: int
    yes: Mask
    no: Mask


BUDGET = 256
"""How many ops behind a cotangent are looked at."""
PLACED = ("pad", "concatenate", "scatter", "dynamic_update_slice", "optimization_barrier", "select_and_scatter",
          "custom_call")
"""Ops that put zeros, or nobody knows what, beside what they are given."""
SAME_PLACES = ("multiply", "divide", "negate", "add", "subtract", "complex", "real", "imag", "conj", "convert",
               "reduce_precision")
"""Ops whose results are zero where all that they are given is. (All others: nowhere, if that is zero nowhere.)"""
LARGEST = 24
"""How many tests a mask may have; beyond, values are tested."""
FEW = 3
"""How many tests are made again; what more of them say was computed once and is read."""


@dataclass
class _Program:
    """What is being made: the first `count` arguments of its block are no cotangents; its seeds are."""

    block: ir.Block
    count: int
    seeds: Sequence[ir.Value]
    searches: dict[bool, _Search] = field(default_factory=dict)
    kept: dict[ir.Value, bool] = field(default_factory=dict)
    """What `kept_zero` has made: whether of an exact mask."""


_programs: list[_Program] = []


@contextmanager
def made_from(block: ir.Block, count: int, seeds: Sequence[ir.Value]) -> Iterator[None]:
    """The cotangents of a program: its seeds, and what is made of them. The first `count` arguments of its block are
    none, those of blocks inside are."""
    _programs.append(_Program(block, count, seeds))
    try:
        yield
    finally:
        _programs.pop()


def forget() -> None:
    """Ops may have been erased, or may not be read from here: look again."""
    if _programs:
        _programs[-1].searches.clear()
        _programs[-1].kept.clear()


def unchosen(g: ir.Value, exact: bool = False) -> ir.Value | bool:
    """Where a cotangent is zero for that reason: booleans of its shape, or all of them. exact: only where a choice says
    so, no test of values."""
    program = _programs[-1]
    search = program.searches.setdefault(exact, _Search(program, exact))
    search.left = BUDGET
    return search.built(search.zero(g), shape_of(g))


def kept_zero(g: ir.Value, moved: ir.Value, exact: bool = False) -> ir.Value:
    """What was made of a cotangent element by element, but zero where nothing of that was chosen."""
    mask = unchosen(g, exact)
    if isinstance(mask, bool):
        return ops.splat(0, moved) if mask else moved
    result = ops.select(mask, ops.splat(0, moved), moved)
    _programs[-1].kept[result] = exact
    return result


class _Search:
    def __init__(self, program: _Program, exact: bool) -> None:
        self.program, self.exact, self.left = program, exact, BUDGET
        self.found: dict[ir.Value, Mask] = {}
        self.linear: dict[ir.Value, bool] = {}
        self.tests: list[ir.Value] = []
        self.numbers: dict[ir.Value, int] = {}
        self.of_values: set[int] = set()

    # -- what is zero

    def zero(self, g: ir.Value) -> Mask:
        if g not in self.found:
            self.left -= 1
            mask = self._zero(g)
            self.found[g] = self.of_value(g) if self.is_large(mask) else mask
        return self.found[g]

    def _zero(self, g: ir.Value) -> Mask:
        op = ops.maker(g)
        if op is None or self.left < 0 or len(op.results) != 1 or len(op.regions) and op.name != "stablehlo.reduce":
            return self.of_value(g)
        word = op.name.removeprefix("stablehlo.")
        if word == "constant":
            known = ops.constant_value(g)
            return self.of_value(g) if known is None or known.any() and not known.all() else not known.any()
        if g in self.program.kept:
            mask = self.zero(op.operands[2])
            known = self.program.kept[g] == self.exact and len(self.tests_of(mask)) > FEW
            return self.test(op.operands[0]) if known else mask
        if word == "select" and shape_of(op.operands[0]) == shape_of(g):
            return self.choice(self.test(op.operands[0]), self.zero(op.operands[1]), self.zero(op.operands[2]))
        if word == "concatenate" and not any(self.zero(x) for x in op.operands):
            return False
        varied = [x for x in op.operands if self.depends(x)]
        if not varied or word in PLACED:
            return self.of_value(g)
        given = [self.zero(x) for x in varied]
        if word in SAME_PLACES:
            both = given[0]
            for each in given[1:]:
                both = self.choice(both, each, False)
            return both
        return self.of_value(g) if any(given) else False

    def of_value(self, g: ir.Value) -> Mask:
        """Where it is zero, for whatever reason."""
        if self.exact:
            return False
        found = self.test(ops.compare(g, ops.splat(0, g), "EQ"))
        self.of_values.add(found.number)
        return found

    # -- masks

    def test(self, booleans: ir.Value) -> Test:
        if booleans not in self.numbers:
            self.numbers[booleans] = len(self.tests)
            self.tests.append(booleans)
        return Test(self.numbers[booleans], True, False)

    def choice(self, test: Mask, yes: Mask, no: Mask) -> Mask:
        """`yes` where `test` holds, else `no`."""
        if isinstance(test, bool):
            return yes if test else no
        if yes == no:
            return yes
        number = min(each.number for each in (test, yes, no) if isinstance(each, Test))

        def where(says: bool) -> list[Mask]:
            return [(each.yes if says else each.no) if isinstance(each, Test) and each.number == number else each
                    for each in (test, yes, no)]

        found = self.choice(*where(True)), self.choice(*where(False))
        return found[0] if found[0] == found[1] else Test(number, *found)

    def tests_of(self, mask: Mask) -> set[int]:
        """The tests that it has; some of them, if there are too many."""
        waiting, seen = [mask], set[int]()
        while waiting and len(seen) <= LARGEST:
            if isinstance(each := waiting.pop(), Test):
                waiting += each.yes, each.no
                seen.add(each.number)
        return seen

    def is_large(self, mask: Mask) -> bool:
        """Whether it has many tests, or more than one of values."""
        seen = self.tests_of(mask)
        return len(seen) > LARGEST or len(seen & self.of_values) > 1

    def built(self, mask: Mask, shape: tuple[int, ...]) -> ir.Value | bool:
        """As a value of the program."""
        if isinstance(mask, bool):
            return mask
        test, yes, no = self.tests[mask.number], self.built(mask.yes, shape), self.built(mask.no, shape)
        if isinstance(yes, bool) and isinstance(no, bool):
            return test if yes else ops.not_(test)
        if isinstance(yes, bool):
            return ops.or_(test, no) if yes else ops.and_(ops.not_(test), no)
        if isinstance(no, bool):
            return ops.or_(ops.not_(test), yes) if no else ops.and_(test, yes)
        return ops.select(test, yes, no)

    # -- what is a cotangent

    def depends(self, value: ir.Value) -> bool:
        """Whether a value of the program under construction depends on a cotangent; past the budget: yes."""
        if value not in self.linear:
            self.left -= 1
            self.linear[value] = self._depends(value)
        return self.linear[value]

    def _depends(self, value: ir.Value) -> bool:
        program = self.program
        if dtype_of(value).kind in "biu":
            return False
        if isinstance(value.owner, ir.Block):
            return value.owner != program.block or ir.BlockArgument(value).arg_number >= program.count
        return value in program.seeds or self.left < 0 or any(
            self.depends(x) for x in value.owner.operation.operands)
