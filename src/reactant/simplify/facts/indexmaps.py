"""Small facts about how shape ops move elements, shared by the families."""
from __future__ import annotations

from collections.abc import Sequence

from reactant.ir.types import Shape, size


def inverse(permutation: Sequence[int]) -> tuple[int, ...]:
    """q with q[p[i]] = i."""
    result = [0] * len(permutation)
    for i, p in enumerate(permutation):
        result[p] = i
    return tuple(result)


def unit_mapping(old: Shape, new: Shape) -> dict[int, int] | None:
    """Where each dimension of extent other than 1 goes when a reshape only adds and drops dimensions of extent 1;
    None for any other reshape."""
    kept_old = [d for d, n in enumerate(old) if n != 1]
    kept_new = [d for d, n in enumerate(new) if n != 1]
    if [old[d] for d in kept_old] != [new[d] for d in kept_new]:
        return None
    return dict(zip(kept_old, kept_new, strict=True))


def reshape_groups(old: Shape, new: Shape) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """The finest split of a reshape into independent ones: (old dimensions, new dimensions) with equal products.

    (2, 3, 4) to (6, 2, 2) gives [((0, 1), (0,)), ((2,), (1, 2))]. Needs non-empty arrays."""
    groups: list[tuple[tuple[int, ...], tuple[int, ...]]] = []
    i = j = 0
    while i < len(old) or j < len(new):
        first_i, first_j = i, j
        a = b = 1
        if i < len(old):
            a, i = old[i], i + 1
        if j < len(new) and (a != 1 or first_i == i):
            b, j = new[j], j + 1
        while a != b:
            if a < b:
                a, i = a * old[i], i + 1
            else:
                b, j = b * new[j], j + 1
        groups.append((tuple(range(first_i, i)), tuple(range(first_j, j))))
    return groups


def cut_group(inner: Sequence[int], outer: Sequence[int], old: Sequence[int], new: Sequence[int],
               wanted: tuple[Sequence[int], ...], bounds: list[list[int]]) -> bool:
    """Write into `bounds` the slice of the old dimensions that gives the wanted slice of the new ones, if there is
    one."""
    starts, limits, strides = wanted
    cut = [d for d in new if (starts[d], limits[d], strides[d]) != (0, outer[d], 1)]
    if not cut:
        return True
    wide_new, wide_old = [d for d in new if outer[d] != 1], [d for d in old if inner[d] != 1]
    if cut != wide_new[:1] or not wide_old:
        return False
    block = size([outer[d] for d in wide_new[1:]])
    unit = size([inner[d] for d in wide_old[1:]])
    top = cut[0]
    if len(wide_new) == len(wide_old) == 1:
        start, limit, stride = starts[top], limits[top], strides[top]
    elif strides[top] != 1 or starts[top] * block % unit or limits[top] * block % unit:
        return False
    else:
        start, limit, stride = starts[top] * block // unit, limits[top] * block // unit, 1
    for bound, number in zip(bounds, (start, limit, stride), strict=True):
        bound[wide_old[0]] = number
    return True


def without(sequence: Sequence[int], dropped: set[int]) -> tuple[int, ...]:
    """The items at positions not in `dropped`."""
    return tuple(item for i, item in enumerate(sequence) if i not in dropped)


def replaced(sequence: Sequence[int], position: int, item: int) -> tuple[int, ...]:
    """A copy with one item changed."""
    return (*sequence[:position], item, *sequence[position + 1:])


__all__ = ["cut_group", "inverse", "replaced", "reshape_groups", "size", "unit_mapping", "without"]
