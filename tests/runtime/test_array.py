"""Device arrays against ndarrays: the same program run on both must give the same values, dtypes, views and errors."""
from __future__ import annotations

import copy
import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from reactant.runtime import array as array_module
from reactant.runtime import array_functions
from reactant.runtime.array import DeviceArray, array
from reactant.runtime.storage import DeletedArrayError

DTYPES = "bool int8 int32 int64 uint8 uint64 float16 float32 float64 complex64 complex128".split()


@pytest.fixture(params=[False, True], ids=["x32", "x64"])
def jax_default(request):
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", request.param)
    yield request.param
    assert jax.config.jax_enable_x64 == request.param
    jax.config.update("jax_enable_x64", before)


def same(mine, right, exact=True):
    """Equal in kind (array or scalar), dtype, shape and value."""
    if isinstance(right, (tuple, list)):
        assert len(mine) == len(right)
        for one, other in zip(mine, right, strict=True):
            same(one, other, exact)
        return
    assert isinstance(mine, DeviceArray) == isinstance(right, np.ndarray), (type(mine), type(right))
    if not isinstance(right, np.ndarray):
        assert type(mine) is type(right)
    if hasattr(right, "dtype"):
        assert mine.dtype == right.dtype and mine.shape == right.shape
    compare = np.testing.assert_array_equal if exact else lambda a, b: np.testing.assert_allclose(a, b, rtol=2e-3)
    compare(np.asarray(mine), np.asarray(right))


def matrix(dtype="float64"):
    return np.arange(12).reshape(3, 4).astype(dtype)


EXPRESSIONS = {
    "operators": lambda x: (x + 1) * 2 - x / 3,
    "reflected": lambda x: 1 - x + 2 ** (x / 4),
    "floor and remainder": lambda x: [x // 3, x % 3, divmod(x, 3)],
    "matmul": lambda x: x @ x.T,
    "negative": lambda x: [-x, +x, abs(x - 5)],
    "compare": lambda x: [x > 3, x == 3, x <= 2, x != 1],
    "with ndarray": lambda x: [x + np.ones((3, 4), np.float32), np.ones((3, 4), np.float32) * x],
    "weak scalars": lambda x: [x + 1, x + 1.5, x * True, x + np.float32(1), x + np.float64(1)],
    "single": lambda x: [x[1, 2], x[-1, -1], x[1][2]],
    "slices": lambda x: [x[1], x[:, 1], x[::-1, ::2], x[..., None, 1], x[1:1]],
    "arrays as indices": lambda x: [x[[0, 2]], x[np.array([1]), 1:], x[x > 4], x[np.ix_([0, 1], [2, 3])]],
    "reductions": lambda x: [x.sum(), x.sum(0), x.mean(1), x.max(), x.min(axis=1, keepdims=True), x.prod(), x.std(),
                             x.var(0), x.any(), x.all(1), x.argmax(), x.argmin(0), x.cumsum(), x.cumprod(1)],
    "functions": lambda x: [np.sum(x), np.mean(x, axis=0), np.concatenate([x, x]), np.stack([x, x], 1),
                            np.where(x > 3, x, 0), np.sort(x[::-1], axis=0), np.tile(x, 2), np.roll(x, 1),
                            np.outer(x[0], x[1]), np.dot(x, x[0]), np.tensordot(x, x.T, 1), np.pad(x, 1),
                            np.unique(x), np.diff(x), np.interp(1.5, x[0], x[1]), np.histogram(x, 3)],
    "creation": lambda x: [np.zeros_like(x), np.full_like(x, 3), np.ones_like(x, dtype=int)],
    "shapes": lambda x: [x.T, x.reshape(4, 3), x.reshape(2, -1), x.ravel(), x.flatten(), x.swapaxes(0, 1),
                         x[None].squeeze(), np.expand_dims(x, 0), np.moveaxis(x, 0, 1), np.flip(x), np.rot90(x),
                         np.atleast_3d(x), x.T.ravel(), x.T.reshape(-1), np.split(x, 2, axis=1),
                         np.broadcast_to(x[0], (2, 4)),
                         x.diagonal(), np.diagonal(x, 1), x.transpose(1, 0), np.transpose(x)],
    "conversions": lambda x: [x.astype("float32"), x.astype(int), x.copy(), x.round(1), x.clip(1, 5), x.repeat(2),
                              x.take([0, 5]), x.nonzero(), x.argsort(), x.trace(), x.dot(x.T)],
    "ufunc methods": lambda x: [np.add.reduce(x), np.maximum.accumulate(x), np.multiply.outer(x[0], x[1]),
                                np.add.reduceat(x[0], [0, 2])],
    "two results": lambda x: [np.modf(x / 3), np.frexp(x + 0.5)],
    "where": lambda x: np.add(x, 1, where=x > 3, out=np.zeros((3, 4))) if isinstance(x, np.ndarray) else
    np.add(x, 1, where=x > 3, out=array(np.zeros((3, 4)))),
    "linear algebra": lambda x: [np.linalg.norm(x), np.linalg.solve(x[:3, :3] + np.eye(3), x[:, 0]), np.fft.fft(x)],
    "statistics": lambda x: [np.median(x), np.percentile(x, 30, axis=0), np.cov(x)],
    "einsum": lambda x: np.einsum("ij,kj->ik", x, x),
    "python": lambda x: [float(x[1, 1]), int(x[1, 1]), complex(x[0, 1]), bool(x[0, 1]), len(x), [3.0 in x], x.tolist(),
                         x[1:2, 1:2].item(), f"{x[0, 1]:.2f}", str(x), [row.sum() for row in x], list(x[0]),
                         x.tobytes()],
    "attributes": lambda x: [x.shape, x.ndim, x.size, x.itemsize, x.nbytes, x.T.strides, x[1:, ::2].strides],
}


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_expressions(name, jax_default):
    same(EXPRESSIONS[name](array(matrix())), EXPRESSIONS[name](matrix()))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("operation", [lambda x: x + x, lambda x: x * 2, lambda x: x == x, lambda x: x.sum(), np.sqrt,
                                       lambda x: x[1:, ::2], lambda x: x.max(), lambda x: np.where(x, x, x)])
@pytest.mark.filterwarnings("ignore:overflow")
def test_dtypes(dtype, operation):
    same(operation(array(matrix(dtype))), operation(matrix(dtype)))


def _in_place(x):
    x += 1
    x[1:] *= 2
    x[0, 0] = 50
    x[..., -1] -= 3


def _through_views(x):
    y = x[1:, ::2]
    y[0] = 9
    y.T[1] += 5
    flat = x.reshape(-1)
    flat[3] = -1
    x.T[0] = 7
    x[:2].view()[1, 1:] = 6
    first, second = np.split(x, [2])
    second[:] = 4
    x.diagonal()
    np.flip(x)[0, 0] = 33


def _arrays_as_indices(x):
    x[[0, 2]] = 1
    x[x > 5] = 0
    x[np.array([0, 1]), np.array([1, 2])] += 10


def _functions_that_write(x):
    np.add.at(x, (np.array([0, 0]), 1), 1)
    np.fill_diagonal(x, 8)
    np.copyto(x[1], x[0])
    np.put(x, [5], 3)
    np.multiply(x, 2, out=x)
    np.cumsum(x, axis=0, out=x)
    np.putmask(x, x > 20, 20)
    np.clip(x, 1, 15, out=x)
    x.sort(axis=1)
    x.fill(2)
    np.put_along_axis(x, np.array([[1]]), 5, axis=1)


def _views_that_functions_give(x):
    np.einsum("ij->ji", x)[1] = 9
    np.real(x.real)[0, 0] = 8
    x.astype(int).conj()[0] = 7
    whole = x.real.round(1) if x.dtype.kind == "f" else x
    whole[0, 1] = 5
    np.broadcast_arrays(x, x)[0][2, 2] = 6


def _places_of_out(x):
    np.clip(x, 2, 9, x)
    x.clip(3, 8, x)
    np.sum(x, 0, None, x[0])
    x.cumsum(1, None, x)
    np.round(x, 1, x[:])
    np.dot(x[:, :3], x[:, :3].copy(), y := x[:, :3].copy())
    x[:, :3] = y
    np.modf(x, out=(None, x)) if x.dtype.kind == "f" else None
    np.nan_to_num(x, copy=False)
    counts = np.zeros(4, x.dtype)
    np.add.at(counts, np.array([0, 0, 1]) + x[0, :3].astype(int) * 0, x[0, :3])
    x[1] = counts


def _overlapping(x):
    x[1:] = x[:-1]
    x[0] += x[1]
    x += x[0]


@pytest.mark.parametrize("change", [_in_place, _through_views, _arrays_as_indices, _functions_that_write, _overlapping,
                                    _views_that_functions_give, _places_of_out])
@pytest.mark.parametrize("dtype", ["float64", "int32", "complex128"])
def test_changes(change, dtype):
    if dtype == "complex128" and change in (_functions_that_write, _places_of_out, _views_that_functions_give):
        pytest.skip("NumPy does not order complex numbers; parts of them are copies")
    x, right = array(matrix(dtype)), matrix(dtype)
    view, right_view = x[::2, 1:], right[::2, 1:]
    change(x)
    change(right)
    same(x, right)
    same(view, right_view)


def test_output_arrays_without_a_name_are_left_to_numpy():
    """jax.numpy, which computes on other devices, takes none."""
    x = array(matrix()).jax
    for name, arguments in (("sum", (x, 0, None, x[0])), ("dot", (x, x.T, x)), ("cumsum", (x, 1, None, x)),
                            ("concatenate", ([x, x], 0, x)), ("max", (x, 0, x[0]))):
        assert array_functions.function_on_device(name, arguments, {}) is None
        assert array_functions.function_on_device(name, arguments[:2], {}) is not None


def test_read_only_is_said_by_flags():
    x, z = array(matrix()), array(matrix("complex64"))
    for read_only in (np.diag(x), x.diagonal(), np.broadcast_to(x, (2, 3, 4)), z.real, np.imag(z), np.real(z),
                      np.lib.stride_tricks.sliding_window_view(x, (2, 2))):
        assert not read_only.flags.writeable and not read_only.flags["WRITEABLE"]
        with pytest.raises(ValueError, match="read-only"):
            read_only[...] = 1
    assert x.flags.writeable and x.T.flags.f_contiguous
    x.flags.writeable = False
    z.setflags(write=False)
    for locked in (x, x[1:], z):
        with pytest.raises(ValueError, match="read-only"):
            locked += 1
    with pytest.raises(ValueError, match="cannot set WRITEABLE"):
        x.setflags(write=True)
    with pytest.raises(AttributeError, match="'owndata' of a device array cannot be set"):
        x.flags.owndata = False


def test_results_in_plain_arrays_are_those():
    x, plain, other = array(matrix()), np.zeros((3, 4)), np.zeros((3, 4))
    assert np.clip(x, 0, 5, plain) is plain and np.add(x, 1, out=other) is other
    part = np.modf(x / 3, out=(None, plain))
    assert isinstance(part[0], DeviceArray) and part[1] is plain
    same(np.clip(x, 0, 5, out=x), np.clip(matrix(), 0, 5))


def test_named_tuples_like_and_texts():
    square = matrix()[:3, :3] + np.eye(3)
    same(np.hstack(np.linalg.qr(array(square))), np.hstack(np.linalg.qr(square)))
    same([np.zeros(3, like=array(1.0)), np.arange(3, like=array(1.0))], [np.zeros(3), np.arange(3)])
    same([array(square) == "a", array(square) != "a"], [square == "a", square != "a"])
    assert bytes(array(np.arange(3))) == bytes(np.arange(3))
    assert type(np.unstack(array(square))) is tuple


def test_names_that_only_ndarrays_have():
    with pytest.raises(AttributeError, match=r"has no 'resize'; np.asarray\(x\).resize is that"):
        _ = array(1.0).resize
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = array(1.0).nonsense


def test_copies_do_not_alias():
    x = array(matrix())
    for other in (x.copy(), x.flatten(), x[[0, 1]], copy.copy(x), copy.deepcopy(x), x.T.reshape(-1), array(x),
                  x.astype(float), np.array(x)):
        other[0] = -9
    same(x, matrix())
    host = np.asarray(x)
    with pytest.raises(ValueError, match="read-only"):
        host[0] = 1
    x[0] = 1
    assert host[0, 1] == 1 and host[0, 0] == 0, "a snapshot"


@pytest.mark.parametrize(("action", "error", "message"), [
    (lambda x: x[3], IndexError, "out of bounds"),
    (lambda x: x[[7]], IndexError, "out of bounds"),
    (lambda x: x[0, 0, 0], IndexError, "too many indices"),
    (lambda x: x + np.ones(3), ValueError, "could not be broadcast"),
    (lambda x: x.__setitem__(0, [1, 2]), ValueError, "could not broadcast"),
    (lambda x: x.reshape(5), ValueError, "cannot reshape"),
    (lambda x: x.astype(int).__itruediv__(2), TypeError, "Cannot cast ufunc"),
    (lambda x: bool(x), ValueError, "ambiguous"),
    (lambda x: np.broadcast_to(x, (2, 3, 4)).__setitem__(0, 1), ValueError, "read-only"),
    (lambda x: x.diagonal().__setitem__(0, 1), ValueError, "read-only"),
    (lambda x: (x * 1j).real.__setitem__(0, 1), ValueError, r"assign.* to the array itself|Assign to the array itself"),
    (lambda x: array([object()]), TypeError, "cannot hold object"),
    (lambda x: array(np.array("2020", "datetime64[D]")), TypeError, "cannot hold datetime64"),
    (lambda x: hash(x), TypeError, "unhashable"),
    (lambda x: x.view(np.int64), TypeError, "cannot be viewed as int64"),
    (lambda x: len(x[0, 0:1].reshape(())), TypeError, "unsized"),
    (lambda x: np.asarray(x, dtype=int, copy=False), ValueError, "without a copy|avoid copy"),
])
def test_errors(action, error, message):
    with pytest.raises(error, match=message):
        action(array(matrix()))


def test_deleted_buffers():
    x = array(matrix())
    x.jax.delete()
    for use in (lambda: x + 1, lambda: np.asarray(x), lambda: x.jax, lambda: x[0], lambda: x.__setitem__(0, 1)):
        with pytest.raises(DeletedArrayError, match=r"float64\[3, 4\].*donated"):
            use()


def test_jax_and_dlpack():
    x = array(matrix())
    assert isinstance(x.jax, jax.Array) and x.jax.dtype == np.float64
    assert array(x, copy=False).jax is x.jax and array(x.jax, copy=False).jax is x.jax
    np.testing.assert_array_equal(np.from_dlpack(x), matrix())
    np.testing.assert_array_equal(np.from_dlpack(x[1:]), matrix()[1:])
    assert x.__dlpack_device__()[1] == 0
    with jax.enable_x64(True):
        np.testing.assert_array_equal(jnp.asarray(x.jax) + 1, matrix() + 1)
    assert x.block_until_ready() is x
    assert x.device in jax.devices() and x.to_device(x.device) is x


def test_replace():
    x = array(matrix())
    view = x[1:]
    with jax.enable_x64(True):
        new = jax.device_put(matrix() * 2)
        x.replace(new)
        assert x.jax is new
        view.replace(new[:2])
    same(x, np.concatenate([matrix()[:1] * 2, matrix()[:2] * 2]))
    with pytest.raises(ValueError, match=r"float64\[3, 4\] device array cannot become float32\[3\]"):
        x.replace(jnp.zeros(3, jnp.float32))


def test_complex_parts():
    x, right = array(matrix("complex128")), matrix("complex128")
    x.imag, x.real = 2, [1, 2, 3, 4]
    right.imag, right.real = 2, [1, 2, 3, 4]
    same(x, right)
    same(x.imag, right.imag)
    assert array(matrix()).real is not None


def test_shape_in_place_repr_and_pickle():
    x = array(matrix())
    x.shape = 2, 6
    assert x.shape == (2, 6)
    with pytest.raises(AttributeError, match="Incompatible shape"):
        x.T.shape = (12,)
    assert repr(array([1.0, 2.0])) == "reactant.array([1., 2.])"
    assert repr(array([[1.0], [2.0]])) == "reactant.array([[1.],\n                [2.]])"
    same(pickle.loads(pickle.dumps(x)), matrix().reshape(2, 6))


@pytest.mark.parametrize("given", [3, 2.5, 1j, True, [1, 2], [[1.0], [2.0]], np.float32(2), range(3), (1, 2)])
def test_array_of_anything(given):
    same(array(given), np.array(given))
    same(array(given, dtype=complex), np.array(given, dtype=complex))


def _operands(kind):
    return {"b": [np.array([True, False, True])],
            "i": [np.array([3, -2, 7], np.int32), np.array([1, 2, 3], np.int64)],
            "u": [np.array([3, 2, 7], np.uint8)],
            "c": [np.array([1 + 2j, -0.5, 3], np.complex64)],
            "f": [np.array(values, dtype) for dtype, values in (
                ("float64", [0.5, 0.25, 0.75]), ("float32", [0.25, 0.5, 1]), ("float16", [1, 0.5, 2]))]}[kind]


@pytest.mark.sampled(10)
@pytest.mark.parametrize("name", array_functions.UFUNCS)
@pytest.mark.filterwarnings("ignore")
def test_ufuncs_by_jax_agree_with_numpy(name):
    ufunc, device, tried = getattr(np, name), jax.devices()[0], 0
    for kind in "biufc":
        for x in _operands(kind):
            for rest in ([[]] if ufunc.nin == 1 else [[x[::-1].copy()], [2], [0.5], [np.float64(0.5)], [np.int8(3)]]):
                try:
                    right = ufunc(x, *rest)
                except (TypeError, ValueError):  # complex numbers have no order, integers no negative powers
                    continue
                with jax.enable_x64(True):
                    found = array_functions.ufunc_on_device(ufunc, [jax.device_put(x), *rest], device, None)
                if found is not None:
                    tried += 1
                    assert found.dtype == right.dtype, (x.dtype, rest)
                    rtol = 2e-3 if right.dtype.itemsize < 4 else 1e-5
                    np.testing.assert_allclose(np.asarray(found), right, rtol=rtol)
    assert tried, "the table promises something it never does"


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", array_functions.FUNCTIONS)
def test_functions_by_jax_agree_with_numpy(name):
    calls = {"concatenate": [(([0, 1],), {})], "tile": [((0, 2), {})], "roll": [((0, 1), {})],
             "where": [((2, 0, 1), {})], "tensordot": [((0, 1), {"axes": 1})]}
    pair = name in ("dot", "vdot", "inner", "outer", "tensordot")
    calls = calls.get(name, [((0, 1) if pair else ([0, 1],), {})] if pair or "stack" in name else [
        ((0,), {}), ((0,), {"axis": 0})])
    tried = 0
    for kind in "biufc":
        for x in _operands(kind):
            values = [x, x[::-1].copy(), x > 1]
            for places, options in calls:
                def pick(place, values=values):
                    return [values[p] for p in place] if isinstance(place, list) else values[place]
                arguments = [pick(place) if name not in ("tile", "roll") or i == 0 else place
                             for i, place in enumerate(places)]
                with jax.enable_x64(True):
                    found = array_functions.function_on_device(name, jax.tree.map(
                        lambda v: jax.device_put(v) if isinstance(v, np.ndarray) else v, arguments), options)
                if found is not None:
                    right = getattr(np, name)(*arguments, **options)
                    tried += 1
                    assert found.dtype == right.dtype, (name, x.dtype, found.dtype, right.dtype)
                    np.testing.assert_allclose(np.asarray(found), right, rtol=2e-3 if x.dtype.itemsize < 4 else 1e-5)
    assert tried


def test_the_way_of_other_devices(monkeypatch):
    """The branch for devices that are not CPUs, taken on the CPU."""
    class Elsewhere:
        platform = "gpu"

        def __init__(self, device):
            self.real = device

    monkeypatch.setattr("reactant.runtime.array._device_among", lambda values: Elsewhere(jax.devices()[0]))
    monkeypatch.setattr("reactant.runtime.array_functions.jax.device_put",
                        lambda value, device=None, put=jax.device_put: put(value))
    monkeypatch.setattr("reactant.runtime.array.buffer_of",
                        lambda host, device, buffer=array_module.buffer_of: buffer(host, None))
    x, right = array(matrix()), matrix()
    same(x + 1, right + 1)
    x += 2
    right += 2
    np.multiply(x, 3, out=x)
    same(x, right * 3)
    same(np.sum(x), np.sum(right * 3), exact=False)
    same(np.concatenate([x, x]), np.concatenate([right * 3] * 2))
    with jax.enable_x64(True):
        same(np.median(x, axis=0), np.median(right * 3, axis=0))


FLAT_WRITES = {
    "one": lambda x: x.flat.__setitem__(3, 4), "all": lambda x: setattr(x, "flat", 0.0),
    "repeated": lambda x: x.flat.__setitem__(slice(1, 8), [1, 2]), "ellipsis": lambda x: x.flat.__setitem__(..., 5),
    "of a view": lambda x: x.T[::2].flat.__setitem__([0, 3], 9), "mask": lambda x: x.flat.__setitem__(x.ravel() > 3, 0),
}


@pytest.mark.parametrize("write", FLAT_WRITES.values(), ids=FLAT_WRITES)
def test_flat_writes_through(write):
    plain = np.arange(12.0).reshape(3, 4)
    device = array(plain)
    write(plain)
    write(device)
    np.testing.assert_array_equal(np.asarray(device), plain)


def test_flat_reads():
    plain = np.arange(12.0).reshape(3, 4).T
    device = array(plain)
    for read in (lambda f: list(f), lambda f: f[5], lambda f: f[2:7:2], lambda f: f[[1, 3]], lambda f: f[...], len,
                 lambda f: f == 3.0, lambda f: f != 3.0, lambda f: np.asarray(f), lambda f: np.array(f, np.float32),
                 lambda f: f.copy(), lambda f: (next(f), next(f)), lambda f: np.sin(f), sum):
        np.testing.assert_array_equal(read(device.flat), read(plain.flat))


def test_there_are_no_subclasses():
    with pytest.raises(TypeError, match="cannot be subclassed"):
        type("Own", (DeviceArray,), {})
