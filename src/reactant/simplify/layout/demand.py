"""What reads a part of a result makes its producer compute that part: ops that treat some dimensions as a batch.

slicing does this for elementwise ops, reductions of one array and products, views do it among themselves; here are
the rest: windows and convolutions, sorts, transforms, factorizations, reductions of several arrays, and loops whose
carried array is read in part afterwards and whose iterations do not mix its rows.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import attributes as attr
from reactant.ir import convolution, creation, modules, ops
from reactant.ir.types import dtype_of, shape_of, tensor_type
from reactant.rewrite import Site, captures, match, once, one_of, rest, rewrite, users, variables
from reactant.rewrite.site import uses
from reactant.simplify.facts.while_loops import BODY, CONDITION, counted

x, y, v, d, n = variables("x y v d n")
low, high, interior = variables("low high interior")
MOST = 8
"""How many carried arrays of one shape are tried, that might be carried in part."""
Bounds = tuple[list[int], list[int], list[int]]
"""Starts, limits and strides of a slice."""


def _whole(shape: Sequence[int]) -> Bounds:
    return [0] * len(shape), list(shape), [1] * len(shape)


def _bounds(site: Site) -> Bounds:
    return tuple(list(site.attribute(name)) for name in ("start_indices", "limit_indices", "strides"))  # type: ignore


def _cut(given: Bounds, shape: Sequence[int]) -> list[int]:
    """The dimensions of which not everything is taken."""
    return [k for k, m in enumerate(shape) if len(range(given[0][k], given[1][k], given[2][k])) != m]


def _producer(site: Site, *names: str) -> ir.Operation | None:
    """The op that makes what is sliced, where nothing else reads any of its results."""
    owner = site.operands[0].owner
    if isinstance(owner, ir.Block) or owner.operation.name not in names:
        return None
    op = owner.operation
    return op if sum(map(users, op.results)) == 1 and 0 not in shape_of(site.results[0]) else None


def _again(site: Site, op: ir.Operation, operands: Sequence[ir.Value], **attributes: ir.Attribute) -> ir.Value:
    """The same op on other operands; the result that is sliced, as it is then."""
    copy = site.clone(op, {})
    for k, operand in enumerate(operands):
        copy.operands[k] = operand
    for name, attribute in attributes.items():
        copy.attributes[name] = attribute
    shape, position = shape_of(site.results[0]), list(op.results).index(site.operands[0])
    for result in copy.results:
        result.set_type(tensor_type(shape, dtype_of(result)))
    return copy.results[position]


# ---- ops that leave dimensions alone -------------------------------------------------------------------------------

def _sorted(a):
    return ops.slice(ops.sort([a(5, 4)], 1)[0], (1, 0), (4, 4), (2, 1))


@rewrite("stablehlo.slice", example=(_sorted, lambda a: ops.slice(ops.sort([a(5, 4), a(5, 4)], 0)[1], (0, 1), (5, 3))),
         counter=lambda a: ops.slice(ops.sort([a(5, 4)], 1)[0], (0, 1), (5, 3)), of="stablehlo.sort")
def slice_of_sort(site: Site):
    """slice(sort(x)) = sort(slice(x)) along dimensions that are not sorted"""
    op = _producer(site, "stablehlo.sort")
    given = _bounds(site)
    if op is None or attr.decode(op.attributes["dimension"]) in _cut(given, shape_of(site.operands[0])):
        return None
    return _again(site, op, [ops.slice(each, *given) for each in op.operands])


@rewrite("stablehlo.slice", changes="rounding",
         example=lambda a: ops.slice(ops.fft(a(5, 4, dtype="complex64"), "FFT", (4,)), (1, 0), (4, 4), (2, 1)),
         counter=lambda a: ops.slice(ops.fft(a(5, 4, dtype="complex64"), "FFT", (4,)), (0, 1), (5, 3)),
         of="stablehlo.fft")
def slice_of_fft(site: Site):
    """slice(fft(x)) = fft(slice(x)) along dimensions that are not transformed"""
    op = _producer(site, "stablehlo.fft")
    if op is None:
        return None
    given, fixed = _bounds(site), len(attr.decode(op.attributes["fft_length"]))
    shape, inner = shape_of(site.operands[0]), shape_of(op.operands[0])
    if any(k >= len(shape) - fixed for k in _cut(given, shape)):
        return None
    bounds = [[*mine[:len(shape) - fixed], *whole[len(shape) - fixed:]]
              for mine, whole in zip(given, _whole(inner), strict=True)]
    return _again(site, op, [ops.slice(op.operands[0], *bounds)])


def _two_reductions(a):
    def body(p, i, q, j):
        return [ops.maximum(p, q), ops.minimum(i, j)]
    return ops.reduce([a(4, 5), a(4, 5)], [0, 1], (1,), body)


@rewrite("stablehlo.slice", example=lambda a: ops.slice(_two_reductions(a)[1], (1,), (3,)),
         counter=lambda a: [(r := _two_reductions(a))[0], ops.slice(r[1], (1,), (3,))], dtypes="real",
         of="stablehlo.reduce")
def slice_of_reductions(site: Site):
    """slice(reduce(x, y, ...)) = reduce(slice(x), slice(y), ...)"""
    op = _producer(site, "stablehlo.reduce")
    if op is None or len(op.results) < 2:
        return None
    given, inputs = _bounds(site), list(op.operands)[:len(op.results)]
    extents, reduced = shape_of(inputs[0]), attr.decode(op.attributes["dimensions"])
    kept = [k for k in range(len(extents)) if k not in reduced]
    bounds = _whole(extents)
    for j, k in enumerate(kept):
        for bound, mine in zip(bounds, given, strict=True):
            bound[k] = mine[j]
    return _again(site, op, [*(ops.slice(each, *bounds) for each in inputs), *list(op.operands)[len(inputs):]])


# ---- windows -------------------------------------------------------------------------------------------------------

def _reach(given: Bounds, k: int, extent: int, window: int, stride: int, dilation: int,
           padding: tuple[int, int]) -> tuple[int, int, int, int] | None:
    """(start, limit, low, high): the part of an array that the windows of a slice see, and its padding then."""
    first = given[0][k] * stride - padding[0]
    last = (given[1][k] - 1) * stride - padding[0] + (window - 1) * dilation
    start, limit = min(max(first, 0), extent), min(max(last + 1, 0), extent)
    return (start, limit, max(0, -first), max(0, last + 1 - extent)) if start < limit else None


def _windows(a, **keywords):
    return ops.reduce_window(a(8, 9), 0, "add", (1, 3), **keywords)


@rewrite("stablehlo.slice", dtypes="real",
         example=(lambda a: ops.slice(_windows(a), (2, 1), (4, 5)),
                  lambda a: ops.slice(_windows(a, padding=((0, 0), (2, 1))), (0, 0), (8, 3)),
                  lambda a: ops.slice(_windows(a, padding=((1, 1), (1, 1)), window_strides=(1, 2)), (1, 2), (3, 5)),
                  lambda a: ops.slice(_windows(a, window_dilations=(1, 2)), (1, 1), (3, 3))),
         counter=lambda a: ops.slice(_windows(a, base_dilations=(1, 2)), (0, 1), (8, 5)), of="stablehlo.reduce_window")
def slice_of_windows(site: Site):
    """slice(reduce_window(x)) = reduce_window(the part of x that the windows see)"""
    op = _producer(site, "stablehlo.reduce_window")
    given = _bounds(site)
    if op is None or len(op.results) != 1 or any(s != 1 for s in given[2]):
        return None
    extents, ones = shape_of(op.operands[0]), (1,) * len(given[0])

    def read(name: str, default: object) -> list:
        return attr.decode(op.attributes[name]) if name in op.attributes else default  # type: ignore[return-value]
    window, stride, dilation, spread = (read(name, ones) for name in (
        "window_dimensions", "window_strides", "window_dilations", "base_dilations"))
    padding = [tuple(map(int, row)) for row in read("padding", [(0, 0)] * len(ones))]
    parts = [_reach(given, k, m, window[k], stride[k], dilation[k], padding[k]) for k, m in enumerate(extents)]
    if any(part is None for part in parts) or any(s != 1 for s in spread) or 0 in extents:
        return None
    start, limit, low, high = zip(*parts, strict=True)  # type: ignore[arg-type]
    return _again(site, op, [ops.slice(op.operands[0], start, limit), op.operands[1]],
                  padding=attr.integer_matrix(tuple(zip(low, high, strict=True))))


def _convolved(a, padding=((0, 0),), strides=(1,), shape=(3, 2, 9), kernel=(4, 2, 3)):
    layout = convolution.Layout(0, 1, (2,))
    numbers = convolution.Convolution(layout, layout, layout, strides, padding, (1,), (1,), (False,))
    return convolution.build(a(*shape), a(*kernel), numbers)


@rewrite("stablehlo.slice", dtypes="float", changes="rounding",
         example=(lambda a: ops.slice(_convolved(a), (1, 1, 2), (2, 3, 5)),
                  lambda a: ops.slice(_convolved(a, ((2, 1),), (2,)), (0, 0, 0), (3, 4, 2))),
         counter=lambda a: [r := _convolved(a), ops.slice(r, (0, 0, 1), (3, 4, 2))], of="stablehlo.convolution")
def slice_of_convolution(site: Site):
    """slice(convolution(x, k)) = convolution of the images, places and kernels that are needed"""
    op = _producer(site, "stablehlo.convolution")
    given = _bounds(site)
    if op is None:
        return None
    image, kernel = op.operands
    if any(s != 1 for s in given[2]) or dtype_of(image) != dtype_of(site.results[0]) \
            or dtype_of(kernel) != dtype_of(image):
        return None
    numbers = convolution.of(op)
    if numbers.feature_groups != 1 or numbers.batch_groups != 1 or any(s != 1 for s in numbers.dilation):
        return None
    extents, taps = _whole(shape_of(image)), _whole(shape_of(kernel))
    cut = _cut(given, shape_of(site.operands[0]))
    for bounds, place, k in ((extents, numbers.x.first, numbers.out.first),
                             (taps, numbers.kernel.first, numbers.out.second)):
        bounds[0][place], bounds[1][place] = given[0][k], given[1][k]
    padding = []
    for i, k in enumerate(numbers.out.spatial):
        place = numbers.x.spatial[i]
        if k not in cut:    # what the last stride does not reach costs nothing: a copy without it would
            padding.append(numbers.padding[i])
            continue
        part = _reach(given, k, shape_of(image)[place], shape_of(kernel)[numbers.kernel.spatial[i]],
                      numbers.strides[i], numbers.kernel_dilation[i], numbers.padding[i])
        if part is None:
            return None
        extents[0][place], extents[1][place] = part[:2]
        padding.append(part[2:])
    precision = op.attributes["precision_config"] if "precision_config" in op.attributes else None
    return convolution.build(ops.slice(image, *extents), ops.slice(kernel, *taps),
                             replace(numbers, padding=tuple(padding)), precision)


# ---- places known at run time --------------------------------------------------------------------------------------

@rewrite(match.dynamic_slice(once(one_of(("stablehlo.reduce",), x, v, dimensions=d, template="t")), rest("at"),
                             slice_sizes=n), dtypes="number", changes="rounding",
         example=lambda a: ops.dynamic_slice(ops.reduce(a(4, 3, 5), 0, (1,), "add"), [a(dtype="int32")] * 2, (2, 3)))
def dynamic_slice_of_reduce(x, v, d, t, at, n):
    """dynamic_slice(reduce(x), i) = reduce(dynamic_slice(x, i))"""
    if t.body is None:
        return None
    extents, zero = shape_of(x), ops.constant(0, dtype_of(at[0])) if at else None
    starts, sizes = iter(at), iter(n)
    where = [zero if k in d else next(starts) for k in range(len(extents))]
    return ops.reduce(ops.dynamic_slice(x, where, [m if k in d else next(sizes) for k, m in enumerate(extents)]), v, d,
                      t.body)


@rewrite(match.dynamic_slice(once(one_of(("stablehlo.dot_general",), x, y, dot_dimension_numbers=d, template="t")),
                             rest("at"), slice_sizes=n), dtypes="number", changes="rounding",
         example=(lambda a: ops.dynamic_slice(ops.dot_general(a(4, 3), a(3, 5), contracting_dims=((1,), (0,))),
                                              [a(dtype="int32")] * 2, (1, 5)),
                  lambda a: ops.dynamic_slice(ops.dot_general(
                      a(2, 4, 3), a(2, 3, 5), contracting_dims=((2,), (1,)), batching_dims=((0,), (0,))),
                      [a(dtype="int64")] * 3, (1, 2, 3))))
def dynamic_slice_of_dot_general(x, y, d, t, at, n, result_shape):
    """dynamic_slice(dot_general(x, y), i) = dot_general(dynamic_slice(x, i), dynamic_slice(y, i))"""
    if not at:
        return None
    zero, parts, offset = ops.constant(0, dtype_of(at[0])), [], len(d.batching_dims[0])
    for operand, batching, contracting in zip((x, y), d.batching_dims, d.contracting_dims, strict=True):
        extents = shape_of(operand)
        free = [k for k in range(len(extents)) if k not in {*batching, *contracting}]
        place = {k: j for j, k in enumerate(batching)} | {k: offset + j for j, k in enumerate(free)}
        offset += len(free)
        sizes = [n[place[k]] if k in place else m for k, m in enumerate(extents)]
        parts.append(operand if tuple(sizes) == extents else ops.dynamic_slice(
            operand, [at[place[k]] if k in place else zero for k in range(len(extents))], sizes))
    return t.build(parts, result_shape)


_UNMIXED = {"stablehlo.sort": lambda op: [attr.decode(op.attributes["dimension"])],
            "stablehlo.fft": lambda op: list(range(len(shape_of(op.results[0])) - len(
                attr.decode(op.attributes["fft_length"])), len(shape_of(op.results[0])))),
            "stablehlo.reduce_window": lambda op: _windowed(op)}
"""Ops that treat dimensions as a batch, and the dimensions that they mix."""


def _windowed(op: ir.Operation) -> list[int]:
    """The dimensions along which a windowed reduction does anything."""
    rank, found = len(shape_of(op.results[0])), set()
    for name in ("window_dimensions", "window_strides", "window_dilations", "base_dilations"):
        if name in op.attributes:
            found |= {k for k, n in enumerate(attr.decode(op.attributes[name])) if n != 1}
    if "padding" in op.attributes:
        found |= {k for k, row in enumerate(attr.decode(op.attributes["padding"])) if any(row)}
    return [k for k in range(rank) if k in found]


def _at(a, value, *sizes):
    return ops.dynamic_slice(value, [a(dtype="int32") for _ in sizes], sizes)


def _unmixed(site: Site, name: str) -> ir.Value | None:
    """A part, at a place known at run time, of what an op makes that leaves the dimensions cut alone."""
    op = _producer(site, name)
    sizes: Sequence[int] = site.attribute("slice_sizes")  # type: ignore[assignment]
    shape = shape_of(site.operands[0])
    if op is None or any(sizes[k] != shape[k] for k in _UNMIXED[name](op)) or len(op.operands) > 2:
        return None
    places, zero = list(site.operands)[1:], None
    parts = []
    for operand in op.operands:
        extents = shape_of(operand)
        if len(extents) != len(shape):      # what a windowed reduction starts from
            parts.append(operand)
            continue
        cut = [k for k, extent in enumerate(sizes) if extent != shape[k]]
        zero = zero or ops.constant(0, dtype_of(places[0]))
        parts.append(ops.dynamic_slice(operand, [places[k] if k in cut else zero for k in range(len(extents))],
                                       [sizes[k] if k in cut else n for k, n in enumerate(extents)]))
    return _again(site, op, parts)


@rewrite("stablehlo.dynamic_slice", example=(lambda a: _at(a, ops.sort([a(5, 4)], 1)[0], 2, 4),
                                             lambda a: _at(a, ops.sort([a(5, 4), a(5, 4)], 0)[1], 5, 1)),
         counter=lambda a: _at(a, ops.sort([a(5, 4)], 1)[0], 5, 2), of="stablehlo.sort")
def dynamic_slice_of_sort(site: Site):
    """dynamic_slice(sort(x), i) = sort(dynamic_slice(x, i)) along dimensions that are not sorted"""
    return _unmixed(site, "stablehlo.sort")


@rewrite("stablehlo.dynamic_slice", changes="rounding",
         example=(lambda a: _at(a, ops.fft(a(5, 4, dtype="complex64"), "FFT", (4,)), 2, 4),
                  lambda a: _at(a, ops.fft(a(5, 4, dtype="float32"), "RFFT", (4,)), 1, 3)),
         counter=lambda a: _at(a, ops.fft(a(5, 4, dtype="complex64"), "FFT", (4,)), 5, 2), of="stablehlo.fft")
def dynamic_slice_of_fft(site: Site):
    """dynamic_slice(fft(x), i) = fft(dynamic_slice(x, i)) along dimensions that are not transformed"""
    return _unmixed(site, "stablehlo.fft")


@rewrite("stablehlo.dynamic_slice", dtypes="real",
         example=(lambda a: _at(a, _windows(a), 2, 7), lambda a: _at(a, _windows(a, padding=((0, 0), (2, 0))), 1, 9)),
         counter=lambda a: _at(a, _windows(a), 8, 2), of="stablehlo.reduce_window")
def dynamic_slice_of_windows(site: Site):
    """dynamic_slice(reduce_window(x), i) = reduce_window(dynamic_slice(x, i)) along dimensions without windows"""
    return _unmixed(site, "stablehlo.reduce_window") if len(site.operands[0].owner.results) == 1 else None


@rewrite("stablehlo.dynamic_slice", dtypes="real", example=lambda a: _at(a, _two_reductions(a)[1], 2),
         counter=lambda a: [(r := _two_reductions(a))[0], _at(a, r[1], 2)], of="stablehlo.reduce")
def dynamic_slice_of_reductions(site: Site):
    """dynamic_slice(reduce(x, y, ...), i) = reduce(dynamic_slice(x, i), dynamic_slice(y, i), ...)"""
    op = _producer(site, "stablehlo.reduce")
    if op is None or len(op.results) < 2:
        return None
    inputs, reduced = list(op.operands)[:len(op.results)], attr.decode(op.attributes["dimensions"])
    places, sizes = iter(list(site.operands)[1:]), iter(site.attribute("slice_sizes"))
    extents, zero = shape_of(inputs[0]), ops.constant(0, dtype_of(site.operands[1]))
    where = [zero if k in reduced else next(places) for k in range(len(extents))]
    wanted = [m if k in reduced else next(sizes) for k, m in enumerate(extents)]
    return _again(site, op, [*(ops.dynamic_slice(v, where, wanted) for v in inputs), *list(op.operands)[len(inputs):]])


@rewrite(match.dynamic_slice(once(one_of(("stablehlo.concatenate",), rest("xs"), dimension=d)), rest("at"),
                             slice_sizes=n),
         example=lambda a: ops.dynamic_slice(ops.concatenate([a(5, 2), a(5, 3)], 1), [a(dtype="int32")] * 2, (2, 5)),
         counter=lambda a: ops.dynamic_slice(ops.concatenate([a(5, 2), a(5, 3)], 1), [a(dtype="int32")] * 2, (2, 4)))
def dynamic_slice_of_concatenate(xs, d, at, n):
    """dynamic_slice(concatenate(x, y), i) = concatenate(dynamic_slice(x, i), dynamic_slice(y, i)) along others"""
    if n[d] != sum(shape_of(v)[d] for v in xs) or len(xs) > 4:
        return None
    zero = ops.constant(0, dtype_of(at[0]))
    where = [zero if k == d else v for k, v in enumerate(at)]
    return ops.concatenate([ops.dynamic_slice(v, where, [shape_of(v)[d] if k == d else m for k, m in enumerate(n)])
                            for v in xs], d)


@rewrite(match.dynamic_slice(once(match.pad(x, v, edge_padding_low=low, edge_padding_high=high,
                                            interior_padding=interior)), rest("at"), slice_sizes=n),
         example=lambda a: ops.dynamic_slice(ops.pad(a(5, 3), a(), (0, 2), (0, 1), (0, 1)), [a(dtype="int32")] * 2,
                                             (2, 8)),
         counter=(lambda a: ops.dynamic_slice(ops.pad(a(5, 3), a(), (0, 2), (0, 1)), [a(dtype="int32")] * 2, (2, 5)),
                  lambda a: ops.dynamic_slice(ops.pad(a(5, 3), a(), (1, 2), (0, 1)), [a(dtype="int32")] * 2, (2, 6))))
def dynamic_slice_of_pad(x, v, low, high, interior, at, n):
    """dynamic_slice(pad(x), i) = pad(dynamic_slice(x, i)) where the dimensions that are padded are read as a whole"""
    extents = shape_of(x)
    padded = [k for k in range(len(extents)) if low[k] or high[k] or interior[k]]
    wide = [m + low[k] + high[k] + interior[k] * max(m - 1, 0) for k, m in enumerate(extents)]
    if any(n[k] != wide[k] for k in padded) or len(padded) == len(extents) or 0 in extents:
        return None
    zero = ops.constant(0, dtype_of(at[0]))
    part = ops.dynamic_slice(x, [zero if k in padded else place for k, place in enumerate(at)],
                             [m if k in padded else n[k] for k, m in enumerate(extents)])
    return ops.pad(part, v, low, high, interior)


@rewrite(match.dynamic_slice(match.reverse(x, dimensions=d), rest("at"), slice_sizes=n),
         example=lambda a: ops.dynamic_slice(ops.reverse(a(5, 4), (0,)), [a(dtype="int32")] * 2, (2, 4)),
         counter=lambda a: ops.dynamic_slice(ops.reverse(a(200, 4), (0,)), [a(dtype="int8")] * 2, (2, 4)))
def dynamic_slice_of_reverse(x, d, at, n):
    """dynamic_slice(reverse(x), i) = reverse(dynamic_slice(x, as far from the other end))"""
    extents = shape_of(x)
    if any(extents[k] > np.iinfo(dtype_of(at[k])).max for k in d):
        return None
    where = [ops.subtract(ops.splat(extents[k] - n[k], place), ops.clamp(0, place, extents[k] - n[k]))
             if k in d and extents[k] != n[k] else place for k, place in enumerate(at)]
    return ops.reverse(ops.dynamic_slice(x, where, n), d)


# ---- loops ---------------------------------------------------------------------------------------------------------

class _Rows:
    """Which dimension of the values of a loop's body runs over the rows of carried arrays: the iterations do not mix
    rows if every value that is made from them has one. Arrays that are made of rows of others join them (`carried`)."""

    def __init__(self, site: Site, carried: dict[int, int]):
        self.carried = carried
        self.place: dict[ir.Value, int] = {}
        self.apart = False
        for _ in site.operands:
            self.place = {site.arguments(BODY)[i]: k for i, k in self.carried.items()}
            if not all(map(self._follow, site.body(BODY))):
                return
            returned = [self.place.get(value) for value in site.returned(BODY)]
            if any(returned[i] != k for i, k in self.carried.items()):
                return
            joining = {i: k for i, k in enumerate(returned) if k is not None}
            if joining == self.carried:
                self.apart = True
                return
            self.carried = joining

    def _follow(self, op: ir.Operation) -> bool:
        made = [v for v in op.operands if v in self.place]
        if not made:
            return not any(v in self.place for v in _inner(op))
        if len(op.results) != 1 or len(op.regions):
            return False
        found = self._elementwise(op, made) if op.name in ops.ELEMENTWISE else \
            self._product(op) if op.name == "stablehlo.dot_general" else None
        if found is None:
            return False
        self.place[op.results[0]] = found
        return True

    def _elementwise(self, op: ir.Operation, made: Sequence[ir.Value]) -> int | None:
        places = {self.place[v] for v in made}
        same = all(shape_of(v) == shape_of(op.results[0]) or not shape_of(v) for v in op.operands)
        return places.pop() if len(places) == 1 and same else None

    def _product(self, op: ir.Operation) -> int | None:
        """Rows that are a free dimension of the left factor alone."""
        left, right = op.operands
        if left not in self.place or right in self.place:
            return None
        numbers = attr.decode(op.attributes["dot_dimension_numbers"])
        k, batch, contracted = self.place[left], numbers.batching_dims[0], numbers.contracting_dims[0]
        if k in batch or k in contracted:
            return None
        return len(batch) + [j for j in range(len(shape_of(left))) if j not in (*batch, *contracted)].index(k)


def _inner(op: ir.Operation) -> list[ir.Value]:
    return captures(op) if len(op.regions) else []


_A = "tensor<3xf32>"
_STEPS = counted([("%a", "%x", "%b", _A)], f"%s = stablehlo.sine %a : {_A}\n%b = stablehlo.multiply %s, %y : {_A}",
                 "%o", "tensor<1xf32>", trips=9,
                 after=f"%o = stablehlo.slice %r#1 [1:2] : ({_A}) -> tensor<1xf32>")
_TWO = counted([("%a", "%x", "%b", _A), ("%u", "%y", "%v", _A)],
               f"%s = stablehlo.sine %a : {_A}\n%b = stablehlo.multiply %s, %u : {_A}\n"
               f"%v = stablehlo.add %a, %u : {_A}", "%o", "tensor<1xf32>", trips=9,
               after=f"%o = stablehlo.slice %r#1 [1:2] : ({_A}) -> tensor<1xf32>")
_SOURCE = _TWO.replace("stablehlo.multiply %s, %u", "stablehlo.multiply %s, %s").replace("%r#1 [", "%r#2 [")


@rewrite("stablehlo.while", example=(_STEPS, _TWO, _SOURCE),
         counter=(_STEPS.replace("stablehlo.sine %a", "stablehlo.reverse %a, dims = [0]"),
                  _TWO.replace("stablehlo.add %a, %u", "stablehlo.reverse %a, dims = [0]"),
                  _STEPS.replace("[1:2]", "[0:3]").replace("tensor<1xf32>", _A)))
def while_carries_what_is_read(site: Site):
    """slice(the arrays that a loop carries) = the arrays that it carries when it starts from the slices, where
    iterations do not mix their rows"""
    for index, value in enumerate(site.results):
        readers = [use.owner.operation for use in uses(value)]
        if len(readers) != 1 or readers[0].name != "stablehlo.slice" or users(site.arguments(CONDITION)[index]):
            continue
        given, shape = _read(readers[0]), shape_of(value)
        for k in _cut(given, shape):
            if given[0][k] >= given[1][k]:
                continue
            bounds = [bound[k] for bound in given]
            rows = _apart(site, {index: k}, bounds)
            if rows is not None:
                return _narrowed(site, _with_sources(site, rows, k, bounds), bounds)
    return None


def _apart(site: Site, carried: dict[int, int], bounds: Sequence[int]) -> _Rows | None:
    rows = _Rows(site, carried)
    return rows if rows.apart and all(_wanted(site, i, at, bounds) for i, at in rows.carried.items()) else None


def _with_sources(site: Site, rows: _Rows, k: int, bounds: Sequence[int]) -> _Rows:
    """Also the arrays of the same shape that others are made of, where only those rows of them are needed, too."""
    shape = site.operands[next(iter(rows.carried))].type
    for i in [i for i, value in enumerate(site.operands) if value.type == shape][:MOST]:
        if i not in rows.carried and users(site.arguments(BODY)[i]):
            rows = _apart(site, rows.carried | {i: k}, bounds) or rows
    return rows


def _read(op: ir.Operation) -> Bounds:
    return tuple(list(attr.decode(op.attributes[name]))  # type: ignore[return-value]
                 for name in ("start_indices", "limit_indices", "strides"))


def _wanted(site: Site, index: int, k: int, bounds: Sequence[int]) -> bool:
    """Whether of a carried array only those rows are read after the loop, and nothing by its condition."""
    readers = [use.owner.operation for use in uses(site.results[index])]
    return not users(site.arguments(CONDITION)[index]) and all(
        op.name == "stablehlo.slice" and [bound[k] for bound in _read(op)] == list(bounds) for op in readers)


def _narrowed(site: Site, rows: _Rows, bounds: Sequence[int]) -> list[ir.Value]:
    """The loop with some rows of carried arrays; the others are padding that nobody reads."""
    def part(value: ir.Value, dimension: int) -> ir.Value:
        cut = _whole(shape_of(value))
        for bound, number in zip(cut, bounds, strict=True):
            bound[dimension] = number
        return ops.slice(value, *cut)

    def body(*arguments: ir.Value) -> list[ir.Value]:
        mapping = dict(zip(site.arguments(BODY), arguments, strict=True))
        for op in site.body(BODY):
            made = op.results[0] if len(op.results) else None
            if made not in rows.place:
                site.clone(op, mapping)
                continue
            dimension = rows.place[made]
            operands = [mapping.get(v, v) for v in op.operands]
            if op.name in ops.ELEMENTWISE:
                operands = [part(new, dimension) if old not in rows.place and shape_of(old) else new
                            for old, new in zip(op.operands, operands, strict=True)]
            copy = modules.clone_with(op, {})
            creation.note(copy)
            for i, operand in enumerate(operands):
                copy.operands[i] = operand
            shape = list(shape_of(made))
            shape[dimension] = len(range(*bounds))
            copy.results[0].set_type(tensor_type(tuple(shape), dtype_of(made)))
            mapping[made] = copy.results[0]
        return [mapping.get(v, v) for v in site.returned(BODY)]

    def condition(*arguments: ir.Value) -> ir.Value:   # it does not read the arrays
        return site.inline(CONDITION, [site.operands[i] if i in rows.carried else a
                                       for i, a in enumerate(arguments)])[0]

    inits = [part(v, rows.carried[i]) if i in rows.carried else v for i, v in enumerate(site.operands)]
    found = ops.while_(inits, condition, body)
    (first, _, stride), count = bounds, len(range(*bounds))
    for i, k in rows.carried.items():
        shape = shape_of(site.operands[i])
        low = [first if j == k else 0 for j in range(len(shape))]
        high = [shape[j] - first - ((count - 1) * stride + 1) if j == k else 0 for j in range(len(shape))]
        found[i] = ops.pad(found[i], ops.constant(0, dtype_of(found[i])), low, high,
                           [stride - 1 if j == k else 0 for j in range(len(shape))])
    return found
