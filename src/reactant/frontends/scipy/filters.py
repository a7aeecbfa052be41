"""`scipy.ndimage`: the C functions below its filters (gaussian, sobel, laplace, uniform, minimum, maximum, median...).

As in C, sums are taken in double precision and converted to the dtype of the output at the end. What is written is the
`output` array that SciPy's Python code has made.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from reactant.errors import UnsupportedError
from reactant.frontends.arrays.implements import concretely
from reactant.frontends.arrays.tensor import Tensor, is_tensor, wrap
from reactant.frontends.session.abstract import certain

MODES = {0: "edge", 1: "wrap", 2: "symmetric", 3: "reflect", 4: "constant", 5: "wrap", 6: "constant"}
"""SciPy's numbers of boundary modes, as modes of `np.pad`."""
_NEAR = float(np.finfo(np.float64).eps)
"""SciPy's C code leaves weights out that are not larger, and takes filters for symmetric within it."""
TAPS = 128
"""Sums of at most this many shifted slices are written out; longer filters become a product with the windows."""


def _known(x: Any, what: str) -> np.ndarray:
    """Weights and footprints decide the program."""
    x = certain(x)
    if is_tensor(x):
        if not x.is_concrete():
            raise UnsupportedError(f"scipy.ndimage with {what} that are known only at run time is not supported in "
                                   "compiled code.", hint="Use np.convolve or slices.", code="argument-must-be-static")
        x = concretely(x)
    return np.asarray(x)


def _padded(x: Any, before: list[int], after: list[int], mode: int, cval: float) -> Any:
    widths = list(zip(before, after, strict=True))
    options = {"constant_values": cval} if MODES[mode] == "constant" else {}
    return np.pad(x, widths, mode=MODES[mode], **options)


def _shifted(x: Any, offset: tuple[int, ...], shape: tuple[int, ...]) -> Any:
    return x[tuple(slice(o, o + n) for o, n in zip(offset, shape, strict=True))]


def _store(output: Any, value: Any, exact: bool = False) -> None:
    if not is_tensor(output):
        raise UnsupportedError("scipy.ndimage with an `output` array from outside is not supported in compiled code.",
                               hint="Use what it returns.", code="argument-not-supported")
    if output.dtype.kind in "iub" and not exact:
        raise UnsupportedError("Sums of scipy.ndimage that are cut to integers are not supported in compiled code: "
                               "the last place of the sum would decide.",
                               hint="Give the filter floating-point numbers.", code="argument-not-supported")
    if is_tensor(value):
        if output.dtype.kind in "iub" and value.dtype.kind == "f":
            value = value.astype(np.int64)  # negative sums wrap around in unsigned outputs, as in C
        value = value.astype(output.dtype)
    output[...] = value


def _whole(x: Tensor, w: Any) -> bool:
    """Whether the sums are whole numbers which float64 holds exactly."""
    if x.dtype.kind not in "iu" or is_tensor(w) or np.any(w != np.round(w)):
        return False
    return np.abs(w).sum() * 2.0 ** (8 * x.dtype.itemsize) < 2.0 ** 53


def _reach(size: int, origin: int) -> tuple[int, int]:
    """How far the window of an element goes before and after it."""
    before = size // 2 + origin
    return before, size - 1 - before


def _along(rank: int, axis: int, number: int) -> list[int]:
    return [number if d == axis else 0 for d in range(rank)]


def _line(x: Any, size: int, axis: int, mode: int, cval: float, origin: int) -> tuple[list | None, Any]:
    """The elements of every window along `axis`, as shifted arrays, or else (many of them) as one array of windows."""
    before, after = _reach(size, origin)
    wide = _padded(x, _along(x.ndim, axis, before), _along(x.ndim, axis, after), mode, cval)
    if size > TAPS:
        return None, np.lib.stride_tricks.sliding_window_view(wide, size, axis=axis)
    return [_shifted(wide, tuple(_along(x.ndim, axis, k)), x.shape) for k in range(size)], None


def correlate1d(x: Any, weights: Any, axis: int, output: Any, mode: int, cval: float, origin: int) -> None:
    x, w = wrap(x), _weights(weights)
    taps, windows = _line(x.astype(np.float64), w.size, axis, mode, cval, origin)
    _store(output, windows @ wrap(w) if taps is None else _weighted(taps, w), exact=_whole(x, w))


def _weights(weights: Any) -> Any:
    """In double precision; known ones as an ndarray."""
    weights = certain(weights)
    runs = is_tensor(weights) and not weights.is_concrete()
    return (weights if runs else _known(weights, "weights")).astype(np.float64)


def _weighted(taps: list, w: Any) -> Any:
    """In the order of SciPy's loops: symmetric and antisymmetric filters add (subtract) opposite elements first, where
    the weights are known."""
    half, sign = w.size // 2, 0
    if w.size % 2 and not is_tensor(w):
        sign = 1 if np.all(np.abs(w - w[::-1]) <= _NEAR) else -1 if np.all(np.abs(w + w[::-1]) <= _NEAR) else 0
    if not sign:
        total = taps[0] * w[0]
        for k in range(1, w.size):
            total = total + taps[k] * w[k]
        return total
    total = taps[half] * w[half]
    for k in range(half):
        far = taps[-1 - k]
        total = total + (taps[k] + far if sign > 0 else taps[k] - far) * w[k]
    return total


def correlate(x: Any, weights: Any, output: Any, mode: int, cval: float, origins: Any) -> None:
    x, w = wrap(x), _weights(weights)
    wide, offsets = _windows(x.astype(np.float64), w.shape, origins, mode, cval)
    runs = is_tensor(w)
    used = [offset for offset in offsets if runs or abs(w[offset]) > _NEAR]
    if len(used) > 4 * TAPS:
        raise UnsupportedError(f"scipy.ndimage.correlate with {len(used)} weights is not supported in compiled code.",
                               hint="Use scipy.signal.fftconvolve, or filter along one axis after the other.",
                               code="argument-not-supported")
    total = None
    for offset in used:
        term = _shifted(wide, offset, x.shape) * w[offset]
        term = np.where(abs(w[offset]) > _NEAR, term, 0.0) if runs else term
        total = term if total is None else total + term
    _store(output, np.zeros(x.shape) if total is None else total, exact=_whole(x, w))


def _windows(x: Any, shape: tuple[int, ...], origins: Any, mode: int, cval: float) -> tuple[Any, list]:
    reach = [_reach(n, int(o)) for n, o in zip(shape, origins, strict=True)]
    wide = _padded(x, [r[0] for r in reach], [r[1] for r in reach], mode, cval)
    return wide, list(np.ndindex(*shape))


def uniform_filter1d(x: Any, size: int, axis: int, output: Any, mode: int, cval: float, origin: int) -> None:
    taps, windows = _line(wrap(x).astype(np.float64), size, axis, mode, cval, origin)
    _store(output, (windows.sum(axis=-1) if taps is None else sum(taps)) / float(size))


def min_or_max_filter1d(x: Any, size: int, axis: int, output: Any, mode: int, cval: float, origin: int,
                        minimum: int) -> None:
    taps, windows = _line(wrap(x), size, axis, mode, cval, origin)
    if taps is None:
        found = windows.min(axis=-1) if minimum else windows.max(axis=-1)
    else:
        found = _extreme(taps, minimum)
    _store(output, found, exact=True)


def _extreme(items: list, minimum: int) -> Any:
    found = items[0]
    for item in items[1:]:
        found = np.minimum(found, item) if minimum else np.maximum(found, item)
    return found


def min_or_max_filter(x: Any, footprint: Any, structure: Any, output: Any, mode: int, cval: float, origins: Any,
                      minimum: int) -> None:
    x, inside = wrap(x), _known(footprint, "footprints").astype(bool)
    wide, offsets = _windows(x, inside.shape, origins, mode, cval)
    items = [_shifted(wide, o, x.shape) for o in offsets if inside[o]]
    if structure is not None:
        heights = _known(structure, "structures").astype(np.float64)
        items = [item.astype(np.float64) + (-1 if minimum else 1) * heights[o]
                 for item, o in zip(items, (o for o in offsets if inside[o]), strict=True)]
    _store(output, _extreme(items, minimum), exact=structure is None)


def rank_filter(x: Any, rank: int, footprint: Any, output: Any, mode: int, cval: float, origins: Any) -> None:
    x, inside = wrap(x), _known(footprint, "footprints").astype(bool)
    wide, offsets = _windows(x, inside.shape, origins, mode, cval)
    items = np.stack([_shifted(wide, o, x.shape) for o in offsets if inside[o]], axis=-1)
    _store(output, np.sort(items, axis=-1)[..., int(rank)], exact=True)


FUNCTIONS: dict[str, Callable] = {f.__name__: f for f in (
    correlate1d, correlate, uniform_filter1d, min_or_max_filter1d, min_or_max_filter, rank_filter)}

__all__ = ["FUNCTIONS", "MODES"]
