"""Tree reductions: `s[i] += s[i + n]` for i below n is a reduction of pairs, and a chain of them one of everything; so
is `x += shuffle down x`, for the first lane of a warp. Said as reductions here, because slices of slices of sums are
harder to recognise.
"""
from __future__ import annotations

from dataclasses import replace

from reactant.ir import ops
from reactant.kernels.lockstep.combining import combine, reduced
from reactant.kernels.lockstep.data import Domain, Lanes, Tree, View
from reactant.kernels.lockstep.lanes import apply, laid_over, total


def tree(kind: str, x: object, y: object, domain: Domain) -> Lanes | None:
    """x combined with y as a step of a tree reduction; None where it is none."""
    found = halves(kind, x, y, domain)
    if found is not None or not (isinstance(x, Lanes) and isinstance(y, Lanes)):
        return found
    if x.shuffled is not None and x.shuffled.given is y:
        x, y = y, x
    if y.shuffled is None or y.shuffled.given is not x:
        return None
    how, before = y.shuffled, x.tree
    if before is None or (before.kind, before.mode, before.axes) != (kind, how.mode, how.axes):
        before = Tree(how.source, kind, how.mode, frozenset(), how.axes)
    if how.by in before.reached or any(domain[a].count != a.extent for a in how.axes):
        return None
    after = replace(before, reached=before.reached | {how.by})
    if how.mode == "xor" and after.complete():
        return total(after, domain)
    sums = apply(lambda a, b: combine(kind, a, b), [x, y], domain)
    return replace(sums, tree=after)


def halves(kind: str, x: object, y: object, domain: Domain) -> Lanes | None:
    """x combined with y where they are two halves of one tensor (the first and the second, or every other element)."""
    if not (isinstance(x, Lanes) and isinstance(y, Lanes)) or x.view is None or y.view is None:
        return None
    a, b = x.view, y.view
    if a.value != b.value or a.shape != b.shape or a.labels != b.labels or x.axes != y.axes or x.spans != y.spans \
            or any(domain[axis] != span for axis, span in zip(x.axes, x.spans, strict=True)):
        return None
    different = [d for d, (p, q) in enumerate(zip(a.bounds, b.bounds, strict=True)) if p != q]
    if len(different) != 1:
        return None
    (d,) = different
    (first, stride, count), (second, other, same) = sorted((a.bounds[d], b.bounds[d]))
    if count != same or (count > 1 and stride != other):
        return None
    gap = second - first
    if count == 1 or gap == count * stride:
        step, side_by_side = gap if count == 1 else stride, True
    elif stride == 2 * gap:
        step, side_by_side = gap, False
    else:
        return None
    return _reduced(kind, x, a, d, (first, step, 2 * count), side_by_side, domain)


def _reduced(kind: str, x: Lanes, view: View, d: int, bounds: tuple[int, int, int], side_by_side: bool,
             domain: Domain) -> Lanes:
    """The tensor cut to both halves, their dimension split, and reduced along the part that tells them apart."""
    whole = [bounds if k == d else b for k, b in enumerate(view.bounds)]
    value = ops.slice(ops.reshape(view.value, view.shape), [s for s, _, _ in whole],
                      [s + (n - 1) * t + 1 for s, t, n in whole], [t for _, t, _ in whole])
    counts = [n for _, _, n in whole]
    half = bounds[2] // 2
    value = ops.reshape(value, [*counts[:d], *((2, half) if side_by_side else (half, 2)), *counts[d + 1:]])
    value = reduced(kind, value, [d if side_by_side else d + 1])
    axes = [a for label in view.labels for a in label]
    return laid_over(ops.reshape(value, [domain[a].count for a in axes]), axes, domain)
