"""Where a cotangent is zero because nothing was chosen there: the other branch of `where`, say.

Such a zero stays zero whatever the slopes behind it are, also infinite ones or no numbers: what `where` masks out stays
out. A zero that is a value, like sinh(sqrt(x)) at 0, times an infinite slope is no number, as in forward mode.

The mask is read off the program that makes the cotangent: as far as a choice, through what is done element by element,
through what moves elements, and of sums, products of matrices and the like through the dimensions that they keep apart
(`mask_places`): a choice for a whole array or for its rows is one for all that is made of it or of them. Where a mask
is lost in such an op, in a loop or between parts that are put beside each other, and in seeds, elements that are zero
count.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from typing import TypeAlias

from jaxlib.mlir import ir

from reactant.differentiate.facts.mask_places import (
    MOVED,
    SAME_PLACES,
    Atom,
    atom_of,
    follower,
    spread,
    through,
    word_of,
)
from reactant.ir import ops
from reactant.ir.types import dtype_of, shape_of
from reactant.rewrite.site import captures
from reactant.support.records import dataclass

Mask: TypeAlias = "bool | Test"


@dataclass(frozen=True)
class Test:
    """A mask that depends on what an atom says there: a node of an ordered decision diagram, whose tests have rising
    numbers on each path, so that masks which are the same function are equal."""

    number: int
    yes: Mask
    no: Mask


BUDGET = 256
"""How many ops behind a cotangent are looked at."""
PLACED = ("pad", "concatenate", "scatter", "dynamic_update_slice", "select_and_scatter", "custom_call")
"""Ops that put zeros, or nobody knows what, beside what they are given."""
WITH_CODE = ("stablehlo.while", "stablehlo.if", "stablehlo.case")
WITH_DATA = tuple(f"stablehlo.{name}" for name in (
    "dot_general", "convolution", "reduce", "reduce_window", "scatter", "select_and_scatter", "cholesky",
    "triangular_solve", "custom_call", "optimization_barrier"))
"""Ops whose cotangents are made with data beyond element by element: zeros do not stay zeros where these are infinite.
"""
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
    doubtful: set[ir.Value] = field(default_factory=set)
    """What loops carry on from cotangents with a mask."""
    originals: dict[ir.Value, ir.Value] = field(default_factory=dict)


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


def stands_for(value: ir.Value, original: ir.Value) -> None:
    """A value of the program under construction that is put in place later, and what that is in the old one."""
    if _programs:
        _programs[-1].originals[value] = original


def placed(value: ir.Value) -> None:
    """What `stands_for` was told of is gone."""
    if _programs:
        _programs[-1].originals.pop(value, None)


def forget() -> None:
    """Ops may have been erased, or may not be read from here: look again."""
    if _programs:
        _programs[-1].searches.clear()
        _programs[-1].kept.clear()


def _search(exact: bool) -> _Search:
    program = _programs[-1]
    search = program.searches.setdefault(exact, _Search(program, exact))
    search.left = BUDGET
    return search


def kept_zero(g: ir.Value, moved: ir.Value, exact: bool = False) -> ir.Value:
    """What was made of a cotangent element by element, but zero where nothing of that was chosen. exact: only where a
    choice says so, no test of values unless a choice may be lost."""
    search = _search(exact)
    mask = search.zero(g)
    made = search.built(mask, shape_of(g))
    if isinstance(made, bool) or search.by_choices(mask) == mask or search.is_one_value(mask, shape_of(g)):
        return _zero_where(made, moved, exact)
    # Values are tested among others: what is finite there stays, for it has a derivative (`signs` knows single tests).
    lost = ops.and_(ops.broadcast_in_dim(made, shape_of(moved), range(len(shape_of(made)))),
                    ops.compare(moved, moved, "NE"))
    return ops.select(lost, ops.splat(0, moved), moved)


def settled(g: ir.Value) -> ir.Value:
    """A cotangent that was made with data: zero where nothing was chosen, whatever these are."""
    search = _search(True)
    return _zero_where(search.built(search.by_choices(search.zero(g)), shape_of(g)), g, True)


def settled_apart(g: ir.Value, made: ir.Value, dimensions: Iterable[int]) -> ir.Value:
    """What was made of a cotangent with data, each index in some dimensions of that index alone."""
    search = _search(True)
    mask = search.moved(search.by_choices(search.zero(g)), through({d: d for d in dimensions}))
    unchosen = search.built(mask, shape_of(made))
    return made if isinstance(unchosen, bool) else ops.select(unchosen, ops.splat(0, made), made)


def chosen_factor(g: ir.Value, factor: ir.Value, dimensions: Mapping[int, int]) -> ir.Value:
    """A factor that is contracted with a cotangent, but zero where it meets only what was not chosen. dimensions: of
    the cotangent -> of the factor, those that are contracted and those of batches."""
    search = _search(True)
    mask = search.moved(search.by_choices(search.zero(g)), through(dimensions))
    if isinstance(search.moved(mask, through({})), Test):          # `settled` has what holds of the whole
        return factor
    made = search.built(mask, shape_of(factor))
    return factor if isinstance(made, bool) else ops.select(made, ops.splat(0, factor), factor)


def common(cotangents: Iterable[ir.Value]) -> ir.Value | bool:
    """Whether nothing was chosen of any of them, as one boolean: then nothing is of what is made of them alone."""
    search = _search(True)
    found: Mask = True
    for g in cotangents:
        found = search.choice(found, search.moved(search.by_choices(search.zero(g)), through({})), False)
    return search.built(found, ())


def carried_on(inits: Sequence[ir.Value], arguments: Sequence[ir.Value]) -> None:
    """Cotangents that a loop gets, and what stands for them inside: zeros there count where masks are lost."""
    search = _search(True)
    if any(mask != search.moved(mask, through({})) for mask in map(search.zero, inits)):   # else `common` has it
        _programs[-1].doubtful.update(arguments)


def _zero_where(mask: ir.Value | bool, moved: ir.Value, exact: bool) -> ir.Value:
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
        self.atoms: list[Atom] = []
        self.numbers: dict[Atom, int] = {}
        self.narrowed: dict[ir.Value, Atom] = {}
        self.of_values: set[int] = set()

    # -- what is zero

    def zero(self, g: ir.Value) -> Mask:
        if g not in self.found:
            self.left -= 1
            mask = self._zero(g)
            self.found[g] = self.by_choices_or_value(mask, g, True) if self.is_large(mask) else mask
        return self.found[g]

    def _zero(self, g: ir.Value) -> Mask:
        op = ops.maker(g)
        if op is None:
            return self.of_value(g, g in self.program.doubtful)
        word = word_of(op)
        if self.left < 0:
            return self.of_value(g)
        if word == "constant":
            known = ops.constant_value(g)
            return self.of_value(g) if known is None or known.any() and not known.all() else not known.any()
        if g in self.program.kept:
            mask = self.zero(op.operands[2])
            known = self.program.kept[g] == self.exact and len(self.tests_of(mask)) > FEW
            return self.test(op.operands[0]) if known else mask
        if word == "select":
            return self.choice(self.test(op.operands[0]), self.zero(op.operands[1]), self.zero(op.operands[2]))
        if word == "optimization_barrier" and len(op.operands):     # without: a stand-in
            return self.zero(op.operands[list(op.results).index(g)])
        if word == "concatenate" and not any(self.zero(x) for x in op.operands):
            return False
        return self.made_of(g, op)

    def made_of(self, g: ir.Value, op: ir.Operation) -> Mask:
        """The mask of what is made linearly of cotangents: where those have no part in it that was chosen."""
        word = word_of(op)
        varied = [(x, follower(op, i)) for i, x in enumerate(op.operands) if self.depends(x)]
        varied += [(x, through({})) for x in captures(op) if self.depends(x)]
        if not varied:
            return self.of_value(g)
        both: Mask = True
        given = [self.zero(x) for x, _ in varied]
        for mask, (_, follow) in zip(given, varied, strict=True):
            both = self.choice(both, self.moved(mask, follow), False)
        if word in SAME_PLACES or word in MOVED or both is True:
            return both
        lost = any(isinstance(mask, Test) for mask in given)
        if word in PLACED or any(given) or op.name in WITH_CODE:
            return self.by_choices_or_value(both, g, lost)
        return False

    def by_choices_or_value(self, mask: Mask, g: ir.Value, lost: bool) -> Mask:
        """Where a mask holds whatever values are, or a value is zero: that says what the tests of other values say."""
        found = self.by_choices(mask)
        return self.choice(False if self.is_large(found) else found, True, self.of_value(g, lost))

    def of_value(self, g: ir.Value, lost: bool = False) -> Mask:
        """Where it is zero, for whatever reason. lost: a choice may be that."""
        if self.exact and not lost:
            return False
        found = self.test(ops.compare(g, ops.splat(0, g), "EQ"))
        self.of_values.add(found.number)
        return found

    # -- masks

    def test(self, booleans: ir.Value) -> Test:
        if booleans not in self.narrowed:
            self.narrowed[booleans] = atom_of(booleans, self.program.originals)
        return self.atom(self.narrowed[booleans])

    def atom(self, atom: Atom) -> Test:
        if atom not in self.numbers:
            self.numbers[atom] = len(self.atoms)
            self.atoms.append(atom)
        return Test(self.numbers[atom], True, False)

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

    def moved(self, mask: Mask, follow: Callable[[Atom], Atom | None]) -> Mask:
        """What a mask says elsewhere: it holds where it does whatever atoms say that do not get there."""
        known: dict[int, Test | None] = {}
        masks: dict[Mask, Mask] = {}

        def found(each: Mask) -> Mask:
            if isinstance(each, bool):
                return each
            if each not in masks:
                if each.number not in known:
                    after = follow(self.atoms[each.number])
                    known[each.number] = None if after is None else self.atom(after)
                    if after is not None and each.number in self.of_values:
                        self.of_values.add(self.numbers[after])
                test, yes, no = known[each.number], found(each.yes), found(each.no)
                masks[each] = self.choice(yes, no, False) if test is None else self.choice(test, yes, no)
            return masks[each]
        return found(mask)

    def by_choices(self, mask: Mask) -> Mask:
        """Where a mask holds whatever the tests of values say."""
        values = {self.atoms[number] for number in self.of_values}
        return self.moved(mask, lambda atom: None if atom in values else atom)

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

    def is_one_value(self, mask: Mask, shape: tuple[int, ...]) -> bool:
        """Whether it is the test of one value for each element."""
        return isinstance(mask, Test) and (mask.yes, mask.no) == (True, False) and mask.number in self.of_values \
            and shape_of(self.atoms[mask.number][0]) == shape

    def built(self, mask: Mask, shape: tuple[int, ...]) -> ir.Value | bool:
        """As a value of the program: of a shape, or one boolean for all of it."""
        if isinstance(mask, bool):
            return mask
        over = sorted({d for number in self.tests_of(mask) for d in self.atoms[number][1]})
        made = self._built(mask, shape, over)
        return made if not over or isinstance(made, bool) else spread((made, tuple(over)), shape, range(len(shape)))

    def _built(self, mask: Mask, shape: tuple[int, ...], over: Sequence[int]) -> ir.Value | bool:
        if isinstance(mask, bool):
            return mask
        test = spread(self.atoms[mask.number], shape, over)
        yes, no = self._built(mask.yes, shape, over), self._built(mask.no, shape, over)
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
        op = value.owner.operation
        return value in program.seeds or self.left < 0 or any(self.depends(x) for x in (*op.operands, *captures(op)))
