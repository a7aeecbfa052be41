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


def without(sequence: Sequence[int], dropped: set[int]) -> tuple[int, ...]:
    """The items at positions not in `dropped`."""
    return tuple(item for i, item in enumerate(sequence) if i not in dropped)


def replaced(sequence: Sequence[int], position: int, item: int) -> tuple[int, ...]:
    """A copy with one item changed."""
    return (*sequence[:position], item, *sequence[position + 1:])


__all__ = ["inverse", "replaced", "reshape_groups", "size", "unit_mapping", "without"]
