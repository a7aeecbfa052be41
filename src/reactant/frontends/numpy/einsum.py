"""`np.einsum` and `np.einsum_path`: every form NumPy has. Two operands are one labelled product; more operands are
contracted in the order NumPy's own path search gives."""
from __future__ import annotations

import string
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.frontends.arrays import memory_order, view_steps
from reactant.frontends.arrays.implements import implements
from reactant.frontends.arrays.indexing import store
from reactant.frontends.arrays.promotion import result_type
from reactant.frontends.arrays.tensor import ARRAY, Tensor, is_tensor, wrap
from reactant.frontends.arrays.ufuncs import cast
from reactant.frontends.numpy.contraction import finish, product, sum_over
from reactant.ir import ops
from reactant.ir.types import shape_of


def _from_sublists(operands: tuple) -> tuple[str, list]:
    """`einsum(x, [0, 1], y, [1, 2], [0, 2])` as a subscript string."""
    pairs, last = list(operands), None
    if len(pairs) % 2:
        last = pairs.pop()
    arrays, lists = pairs[::2], pairs[1::2]

    def text(labels: Any) -> str:
        return "".join("..." if label is Ellipsis else string.ascii_letters[label.__index__()] for label in labels)
    subscripts = ",".join(text(labels) for labels in lists)
    return subscripts + ("" if last is None else "->" + text(last)), arrays


def label_lists(subscripts: str, ranks: list[int]) -> tuple[list[list], list]:
    """Labels of every operand and of the result; ellipsis dimensions are numbered from the right."""
    subscripts = subscripts.replace(" ", "")
    left, arrow, right = subscripts.partition("->")
    terms = left.split(",")
    if len(terms) != len(ranks):
        raise ValueError("more operands provided to einstein sum function than specified in the subscripts string"
                         if len(terms) < len(ranks) else
                         "fewer operands provided to einstein sum function than specified in the subscripts string")
    lists = [_labels(term, rank, n) for n, (term, rank) in enumerate(zip(terms, ranks, strict=True))]
    dots = sorted({label for labels in lists for label in labels if isinstance(label, int)}, reverse=True)
    letters = [label for labels in lists for label in labels if isinstance(label, str)]
    if not arrow:
        return lists, [*dots, *sorted(c for c in set(letters) if letters.count(c) == 1)]
    before, ellipsis, after = right.partition("...")
    result = [*before, *(dots if ellipsis else []), *after]
    for label in result:
        if isinstance(label, str) and label not in letters:
            raise ValueError(f"einstein sum subscripts string included output subscript '{label}' which never "
                             "appeared in an input")
        if result.count(label) > 1:
            raise ValueError(f"einstein sum subscripts string includes output subscript '{label}' multiple times")
    if dots and not ellipsis:
        raise ValueError("output has no ellipsis subscript, but broadcast dimensions of the operands would be lost")
    return lists, result


def _labels(term: str, rank: int, number: int) -> list:
    before, ellipsis, after = term.partition("...")
    for c in before + after:
        if c not in string.ascii_letters:
            raise ValueError(f"invalid subscript '{c}' in einstein sum subscripts string, subscripts must be letters")
    named = len(before) + len(after)
    if named > rank:
        raise ValueError("einstein sum subscripts string contains too many subscripts for operand "
                         f"{number}")
    if named < rank and not ellipsis:
        raise ValueError("operand has more dimensions than subscripts given in einstein sum, but no '...' ellipsis "
                         "provided to broadcast the extra dimensions.")
    return [*before, *range(rank - named - 1, -1, -1), *after]


def _diagonals(t: Tensor, labels: list) -> tuple[Tensor, list]:
    """A view in which every label stands once."""
    while repeated := next((c for c in labels if labels.count(c) > 1), None):
        i = labels.index(repeated)
        j = labels.index(repeated, i + 1)
        if t.shape[i] != t.shape[j]:
            if 1 not in (t.shape[i], t.shape[j]):
                raise ValueError(f"dimensions in single operand for collapsing index '{repeated}' don't match "
                                 f"({t.shape[i]} != {t.shape[j]})")
            t = t[(slice(None),) * (i if t.shape[i] == 1 else j) + (0,)]
            labels = [c for d, c in enumerate(labels) if d != (i if t.ndim < len(labels) and i == d else j)]
            continue
        rest = [d for d in range(t.ndim) if d not in (i, j)]
        moved = np.transpose(t, (*rest, i, j))
        n = t.shape[i]
        t = moved.view(view_steps.DiagonalStep(0, (*(t.shape[d] for d in rest), n), writable=True))
        labels = [*(labels[d] for d in rest), repeated]
    return t, labels


def _check_extents(lists: list[list], tensors: list[Tensor]) -> None:
    extent: dict = {}
    for labels, t in zip(lists, tensors, strict=True):
        for label, n in zip(labels, t.shape, strict=True):
            if extent.setdefault(label, n) != n:
                if 1 not in (n, extent[label]):
                    raise ValueError("operands could not be broadcast together with remapped shapes "
                                     f"[original->remapped]: dimension '{label}' is {extent[label]} and {n}")
                extent[label] = max(n, extent[label]) if n * extent[label] else 0


def _order(lists: list[list], result: list, tensors: list[Tensor]) -> list[tuple[int, ...]]:
    """Which operands to contract together, step by step (NumPy's greedy search)."""
    names = {label: string.ascii_letters[n] for n, label in
             enumerate(dict.fromkeys(label for labels in lists for label in labels))} if len(lists) > 2 else {}
    if len(lists) <= 2 or len({label for labels in lists for label in labels}) > len(string.ascii_letters):
        return [(0, 1)] * (len(lists) - 1)
    text = ",".join("".join(names[c] for c in labels) for labels in lists) + "->" + "".join(names[c] for c in result)
    shapes = [np.broadcast_to(np.float64(0), t.shape) for t in tensors]
    return [tuple(step) for step in np.einsum_path(text, *shapes, optimize="greedy")[0][1:]]


@implements(np.einsum)
def einsum(*operands: object, out: object = None, optimize: object = False, **kwargs: object) -> Tensor:
    """Sum of products; `optimize` is accepted, the order of contraction is always searched."""
    dtype, casting = kwargs.pop("dtype", None), kwargs.pop("casting", "safe")
    order = memory_order.letter(kwargs.pop("order", None), "K")
    if kwargs:
        raise TypeError(f"einsum() got an unexpected keyword argument {next(iter(kwargs))!r}")
    subscripts, arrays = (operands[0], list(operands[1:])) if isinstance(operands[0], str) else _from_sublists(operands)
    tensors = [wrap(a) for a in arrays]
    lists, result = label_lists(subscripts, [t.ndim for t in tensors])
    common = result_type(tuple(t.dtype for t in tensors)) if dtype is None else np.dtype(dtype)
    for t in tensors:
        if not np.can_cast(t.dtype, common, casting):
            raise TypeError(f"Cannot cast array data from {t.dtype!r} to {common!r} according to the rule '{casting}'")
    pairs = [_diagonals(t, labels) for t, labels in zip(tensors, lists, strict=True)]
    tensors, lists = [t for t, _ in pairs], [labels for _, labels in pairs]
    _check_extents(lists, tensors)
    if len(tensors) == 1 and set(lists[0]) == set(result) and common == tensors[0].dtype and tensors[0].kind == ARRAY:
        view = np.transpose(tensors[0], [lists[0].index(label) for label in result])
        return view if out is None else _into(out, view.value())
    value = _contract([cast(t.value(), common) for t in tensors], lists, result, _order(lists, result, tensors))
    if out is not None:
        return _into(out, value)
    return finish(value).copy("F") if order == "F" else finish(value)


def _into(out: object, value: ir.Value) -> Any:
    store(out, Tensor.of_value(value))
    return out


def _contract(values: list[ir.Value], lists: list[list], result: list, order: list[tuple[int, ...]]) -> ir.Value:
    values, lists = list(values), list(lists)
    for step in order:
        if len(values) == 1:
            break
        while len(step) > 1:
            i, j = sorted(step)[:2]
            y, ys = values.pop(j), lists.pop(j)
            x, xs = values.pop(i), lists.pop(i)
            later = {*result, *(label for labels in lists for label in labels)}
            kept = [label for label in dict.fromkeys((*xs, *ys)) if label in later]
            if not values:
                kept = result
            values.append(product(x, xs, y, ys, kept))
            lists.append(kept)
            step = (*(k - 1 - (k > j) for k in step if k not in (i, j)), len(values) - 1) if len(step) > 2 else ()
    x, labels = values[0], lists[0]
    x = sum_over(x, [d for d, label in enumerate(labels) if label not in result])
    labels = [label for label in labels if label in result]
    x = ops.transpose(x, [labels.index(label) for label in result])
    return x if shape_of(x) else ops.reshape(x, ())


@implements(np.einsum_path)
def einsum_path(*operands: object, optimize: object = "greedy", einsum_call: bool = False) -> Any:
    """NumPy's own answer: only shapes matter."""
    shapes = [np.broadcast_to(np.float64(0), o.shape) if is_tensor(o) else o for o in operands]
    return np.einsum_path(*shapes, optimize=optimize)


__all__ = ["einsum", "einsum_path", "label_lists"]
