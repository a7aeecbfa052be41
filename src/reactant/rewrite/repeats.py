"""Which parts of a block are copies of one another: the iterations of a loop that was unrolled, the layers of a
network.

Ops are compared by tokens: kind, types of the results, attributes and what is in their regions. Where tokens recur at
one distance, the stretches between are copies if their ops use one another alike; single ops that differ (the constant
of a stage, the row that an iteration writes) are let be, see `Repeat.holes`.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.ir.ops import ELEMENTWISE, content_of
from reactant.ir.types import shape_of, size
from reactant.rewrite.compile import CONSTANT
from reactant.support.records import dataclass

LEAST_LENGTH, LEAST_COPIES, LEAST_SAVED = 12, 3, 120
"""What a repeat must have: ops in one copy, copies, and ops that need not be looked at again."""

MOST = 0.55
"""How many of all ops may need no second look, about, for it to be worth to find out."""

SHARE = 0.35
"""How many of all ops need no second look for it to be worth the rest."""

WINDOW = 8
"""So many tokens in a row that recur make a distance worth trying."""

CANDIDATES = 6
"""How many distances are tried."""

PLAIN, MOST_PLAIN = {*ELEMENTWISE, "stablehlo.constant"}, 0.9
"""Ops of which rules leave most as they are, and how much of a program they may be."""

PRINTED = 64
"""How many elements of a constant are compared as text."""

LOOKED_AT_AGAIN = 3
"""How many ops have to be looked at again, about, for a value that one copy gives to the next."""

HOLES = 0.25
"""How much of a copy may differ from the others."""


@dataclass(frozen=True)
class Repeat:
    """`copies` stretches of `length` ops one after the other, from op `start` of a block on. `holes`: the places in a
    copy where the ops differ, though not in what they use and in the types they give. `saved`: how many ops, those in
    regions included, need not be looked at again."""
    start: int
    length: int
    copies: int
    holes: frozenset[int]
    saved: int

    @property
    def end(self) -> int:
        return self.start + self.length * self.copies

    @property
    def starts(self) -> range:
        return range(self.start, self.end, self.length)


# ---- what ops are and use ----------------------------------------------------------------------------------------

MANY = 1 << 20
"""More results than an op has."""


class Ops:
    """All ops of a block but for the terminator, each with results; their tokens, and what uses what. Results are
    numbered: `MANY` times the index of the op, and which of its results."""

    def __init__(self, views: list[ir.OpView]):
        self.views = views
        count = len(views)
        self.sizes = np.ones(count, np.int64)
        """How many ops an op is, those in its regions included."""
        self.made: dict[int, int] = {}
        """The numbers of results, by their addresses."""
        self.used: list[int] = []
        """The addresses of what the ops use, in their regions too, but for what is defined there."""
        made, used, first = self.made, self.used, [0]
        numbers: dict[Any, int] = {}
        tokens = []
        for index, view in enumerate(views):
            op = view.operation
            results = op.results
            result = results[0]
            made[hash(result)] = index * MANY
            types: Any = result.type
            if len(results) > 1:
                made.update((hash(result), index * MANY + number) for number, result in enumerate(results))
                types = tuple(result.type for result in results)
            kind: Any = type(view)
            if kind is not ir.OpView and kind._ODS_REGIONS == (0, True):
                used.extend(map(hash, op.operands))
                key = kind, types, len(used) - first[-1], attributes_of(view) if len(op.attributes) else None
            else:
                key = _key(view, types, used, {}, outer=True)
                self.sizes[index] = _size(key)
            first.append(len(used))
            tokens.append(numbers.setdefault(key, len(numbers)))
        terminator = views[0].operation.block.operations[-1]
        used.extend(map(hash, terminator.operands))
        self.tokens = np.array(tokens, np.int64)
        self.first = np.array(first, np.int64)
        """Where what an op uses begins in `used`."""
        self.at = np.fromiter((made.get(address, -1) for address in used), np.int64, len(used))
        """The numbers of what is used; -1 for what none of the ops gives."""
        self.users = np.repeat(np.arange(count + 1), np.diff(np.append(self.first, len(used))))
        """Which op uses it; the last is the terminator of the block."""

    def uses(self, start: int, length: int) -> np.ndarray:
        """What a stretch of ops uses: numbers of results from `start` on, -1 for everything before."""
        at = self.at[self.first[start]:self.first[start + length]] - start * MANY
        return np.where(at >= 0, at, -1)


def _key(view: ir.OpView, types: Any, used: list[int], local: dict[int, int], outer: bool = False) -> tuple:
    """What tells an op with regions, or an op in one, from others; appends to `used`. `local`: numbers of the values
    defined in the same outer op."""
    op: ir.Operation = view.operation
    kind: Any = type(view)
    places = []
    for address in map(hash, op.operands):
        place = None if outer else local.get(address)
        if place is None:
            used.append(address)
        places.append(place)
    inner: list[Any] = []
    for region in op.regions:
        for block in region:
            for argument in block.arguments:
                local[hash(argument)] = len(local)
                inner.append(argument.type)
            for child in block:
                results = child.operation.results
                inner.append(_key(child, tuple(each.type for each in results), used, local))
                for result in results:
                    local[hash(result)] = len(local)
        inner.append(None)
    told = attributes_of(view) if len(op.attributes) else None
    return op.name if kind is ir.OpView else kind, types, tuple(places), told, tuple(inner)


def _size(key: tuple) -> int:
    """How many ops a key has keys of."""
    return 1 + sum(_size(inner) for inner in key[-1] if type(inner) is tuple)


def attributes_of(view: ir.OpView) -> Any:
    """The names and attributes of an op, to be compared. A large constant that the bindings cannot cast is like no
    other."""
    kind: Any = type(view)
    if kind is CONSTANT and content_of(view) is None:
        result = view.operation.results[0]
        return hash(result) if size(shape_of(result)) > PRINTED else view.operation.get_asm(
            use_local_scope=True, assume_verified=True)
    return tuple(view.operation.attributes.items())


def references(op: ir.Operation) -> list[ir.Value]:
    """The values whose addresses `Ops.used` has, in the same order."""
    return [user.operands[place] for user, place in _uses(op)] if len(op.regions) else list(op.operands)


def clone_using(op: ir.Operation, values: Sequence[ir.Value]) -> ir.Operation:
    """Copy an op to the insertion point, with other `references`: one for each use, also of a value used twice."""
    copy = op.clone().operation
    for (user, place), value in zip(_uses(copy), values, strict=True):
        user.operands[place] = value
    return copy


def _uses(op: ir.Operation) -> list[tuple[ir.Operation, int]]:
    """Which operands of an op, and of those in its regions, come from outside of it."""
    found = [(op, place) for place in range(len(op.operands))]
    own: set[int] = set()

    def look(outer: ir.Operation) -> None:
        for region in outer.regions:
            for block in region:
                own.update(map(hash, block.arguments))
                for child in block:
                    inner = child.operation
                    found.extend((inner, place) for place, value in enumerate(inner.operands) if hash(value) not in own)
                    look(inner)
                    own.update(map(hash, inner.results))
    look(op)
    return found


# ---- repeats -----------------------------------------------------------------------------------------------------

def may_repeat(views: list[ir.OpView], sizes: list[int]) -> bool:
    """Whether it may be worth to look for repeats: kinds of ops, and types of what they give, recur at one distance,
    which costs less to find out, and there is something but plain elementwise code, of which rules leave nearly all
    as it is. `sizes`: how many ops each is, those in its regions included."""
    kinds = list(map(type, views))
    plain = sum(count for kind, count in Counter(kinds).items() if getattr(kind, "OPERATION_NAME", "") in PLAIN)
    return (sum(sizes) > LEAST_SAVED and plain <= MOST_PLAIN * len(kinds) and _recurs(_numbered(kinds), sizes)
            and _recurs(_numbered([(type(view), view.operation.results[0].type) for view in views]), sizes))


def _numbered(keys: list[Any]) -> np.ndarray:
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    return np.fromiter(map(numbers.__getitem__, keys), np.int64, len(keys))


def _recurs(tokens: np.ndarray, sizes: list[int]) -> bool:
    """Whether most ops are copies of others, if nothing else tells ops apart."""
    copied = np.zeros(len(tokens), bool)
    for length in _distances(tokens):
        same = np.concatenate([[0], np.cumsum(tokens[:-length] == tokens[length:])])
        alike = (same[length:] - same[:-length]) >= (1 - HOLES) * length
        copied[:len(alike)] |= alike
    return bool(np.dot(copied, sizes) >= MOST * sum(sizes))


def repeats(ops: Ops) -> list[Repeat]:
    """What is worth looking at once, in program order; no op is in two of them. Nothing, where that is little beside
    all that is there."""
    found: list[Repeat] = []
    left = [(0, len(ops.views))]
    while left:
        low, high = left.pop()
        best = _best(ops, low, high)
        if best is not None:
            found.append(best)
            left += [(low, best.start), (best.end, high)]
    if sum(repeat.saved for repeat in found) < SHARE * ops.sizes.sum():
        return []
    return sorted(found, key=lambda repeat: repeat.start)


def _best(ops: Ops, low: int, high: int) -> Repeat | None:
    """The repeat between two ops that saves most."""
    if ops.sizes[low:high].sum() < LEAST_SAVED:
        return None
    found = (repeat for length in _distances(ops.tokens[low:high]) for repeat in _of_length(ops, length, low, high))
    return max((repeat for repeat in found if repeat.copies >= LEAST_COPIES and repeat.saved >= LEAST_SAVED),
               key=lambda repeat: repeat.saved, default=None)


def _distances(tokens: np.ndarray) -> list[int]:
    """At which distances windows of tokens recur most."""
    count = len(tokens) - WINDOW + 1
    if count <= 0:
        return []
    windows = np.zeros(count, np.uint64)
    for offset in range(WINDOW):
        windows = windows * np.uint64(1_000_003) + tokens[offset:offset + count].astype(np.uint64) + np.uint64(7)
    order = np.argsort(windows, kind="stable")
    recurs = windows[order[1:]] == windows[order[:-1]]
    distances, times = np.unique((order[1:] - order[:-1])[recurs], return_counts=True)
    often = [int(distances[i]) for i in np.argsort(-times, kind="stable") if distances[i] >= LEAST_LENGTH]
    return often[:CANDIDATES]


def _of_length(ops: Ops, length: int, low: int, high: int) -> Iterator[Repeat]:
    """Repeats with copies of one length, first come first served."""
    same = np.concatenate([[0], np.cumsum(ops.tokens[low:high - length] == ops.tokens[low + length:high])])
    alike = (same[length:] - same[:-length]) >= (1 - HOLES) * length      # a copy that begins here and the next one
    place = 0
    while place < len(alike):
        rest = np.flatnonzero(alike[place:])
        if not len(rest):
            return
        start = low + place + int(rest[0])
        end = start + int(np.argmin(np.append(alike[start - low:], False))) + 2 * length
        cut = _cut(ops, start, min(end, high), length)
        repeat = _grown(ops, cut, length, min(end, high))
        if repeat.copies >= LEAST_COPIES:
            yield repeat
            place = max(repeat.end - low - length, place + 1)
        else:
            place = max(cut + _first_alike(ops, cut, length) - low, place + 1)


def _cut(ops: Ops, start: int, end: int, length: int) -> int:
    """Where to begin between `start` and `length` ops later: where few values go from one copy to the next, and no copy
    is lost for it if they are few."""
    copies, spare = divmod(end - start, length)
    if copies <= LEAST_COPIES:
        return start
    begin = start + length      # what the second and the third copy use of what comes shortly before
    used = slice(ops.first[begin], ops.first[min(begin + 2 * length, end)])
    made, user = ops.at[used] // MANY, ops.users[used]
    near = (made >= begin - length) & (user - made < length)
    last = dict(zip(made[near].tolist(), user[near].tolist(), strict=True))
    crossing = np.zeros(length + 1, np.int64)
    for each, after in last.items():
        if (first := max(each + 1, begin)) <= (until := min(after, begin + length - 1)):
            crossing[first - begin] += 1
            crossing[until + 1 - begin] -= 1
    costs = LOOKED_AT_AGAIN * copies * np.cumsum(crossing)[:length] + length * (np.arange(length) > spare)
    return start + int(np.argmin(costs))


def _grown(ops: Ops, start: int, length: int, end: int) -> Repeat:
    """As many copies as there are, from an op on."""
    tokens, first = ops.tokens, ops.first
    holes: set[int] = set()
    uses = ops.uses(start, length)
    copies = 1
    while (begin := start + copies * length) + length <= end:
        differ = np.flatnonzero(tokens[start:start + length] != tokens[begin:begin + length]).tolist()
        together = holes.union(differ)
        if (len(together) > HOLES * length
                or not np.array_equal(first[begin:begin + length + 1] - first[begin],
                                      first[start:start + length + 1] - first[start])
                or not np.array_equal(uses, ops.uses(begin, length))
                or any(_types(ops, start + place) != _types(ops, begin + place) for place in differ)):
            break
        holes = together
        copies += 1
    each = int(ops.sizes[start:start + length].sum()) - len(holes)
    return Repeat(start, length, copies, frozenset(holes), each * (copies - 1))


def _first_alike(ops: Ops, start: int, length: int) -> int:
    """From which place on two copies use the same."""
    uses, others = ops.uses(start, length), ops.uses(start + length, length)
    if len(uses) != len(others):
        return length // 2 + 1
    differ = np.flatnonzero(uses != others)
    return int(ops.users[ops.first[start] + differ[-1]]) - start + 1 if len(differ) else length // 2 + 1


def _types(ops: Ops, index: int) -> list[ir.Type]:
    return [result.type for result in ops.views[index].operation.results]


def results_used_outside(ops: Ops, repeat: Repeat) -> list[tuple[int, int]]:
    """Which results (place in a copy, number) of some copy another part of the block uses."""
    start, length, end = repeat.start, repeat.length, repeat.end
    made, number = np.divmod(ops.at[ops.first[start]:], MANY)
    user = ops.users[ops.first[start]:]
    copy = np.where(user < end, (user - start) // length, -1)
    outside = (made >= start) & (made < end) & ((made - start) // length != copy)
    return sorted(set(zip(((made[outside] - start) % length).tolist(), number[outside].tolist(), strict=True)))


def given(ops: Ops, repeat: Repeat) -> dict[tuple[int, ...], list[int]]:
    """What the copies use from outside, by its addresses copy for copy; and by which uses, counted from the first one
    of a copy on."""
    found: dict[tuple[int, ...], list[int]] = {}
    begins = [int(ops.first[start]) for start in repeat.starts]
    for use in np.flatnonzero(ops.uses(repeat.start, repeat.length) < 0).tolist():
        found.setdefault(tuple([ops.used[begin + use] for begin in begins]), []).append(use)
    return found
