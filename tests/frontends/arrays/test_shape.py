"""Shape manipulation compiled against NumPy."""
from __future__ import annotations

import numpy as np
import pytest

import reactant
from tests.frontends.agreement import agree
from tests.frontends.numpy.tables import check_table
from tests.oracle import check

X = np.random.default_rng(11).normal(size=(2, 3, 4))
TABLE = [
    lambda x: x.T, lambda x: np.transpose(x, (1, 0, 2)), lambda x: x.transpose(2, -3, 1),
    lambda x: np.transpose(x, (0, 0, 1)),
    lambda x: x.transpose(0, 1), lambda x: x.mT, lambda x: np.swapaxes(x, 0, -1), lambda x: x.swapaxes(0, 3),
    lambda x: np.moveaxis(x, 0, -1),
    lambda x: np.moveaxis(x, [0, 1], [-1, 0]), lambda x: np.moveaxis(x, [0, 1], [0]),
    lambda x: np.rollaxis(x, 2), lambda x: np.rollaxis(x, 0, 3),
    lambda x: x.reshape(6, 4), lambda x: x.reshape((-1, 8)), lambda x: np.reshape(x, (4, 6), order="F"),
    lambda x: x.reshape(5, -1),
    lambda x: x.reshape(-1, -1), lambda x: x.reshape(3, 3), lambda x: x.T.reshape(-1),
    lambda x: x.reshape(2, 3, 4, 1, 1),
    lambda x: np.reshape(x, (4, 6), order="A"), lambda x: x.T.reshape(24, copy=False), lambda x: x.ravel(),
    lambda x: x.ravel("F"),
    lambda x: x.T.ravel("K"), lambda x: x.flatten("F"), lambda x: x.T.flatten(), lambda x: x[None].squeeze(),
    lambda x: x[None].squeeze(0),
    lambda x: x.squeeze(0), lambda x: np.squeeze(x[:, :1], axis=(1,)), lambda x: np.expand_dims(x, 1),
    lambda x: np.expand_dims(x, (0, -1)),
    lambda x: np.expand_dims(x, (0, 0)), lambda x: np.expand_dims(x, 7),
    lambda x: np.broadcast_to(x, (5, 2, 3, 4)), lambda x: np.broadcast_to(x, (2, 3)),
    lambda x: np.broadcast_to(x[0, 0, 0], (2, 2)), lambda x: np.diagonal(x), lambda x: x.diagonal(1, 1, 2),
    lambda x: np.diagonal(x, -1, 2, 0),
    lambda x: np.diagonal(x, 9), lambda x: np.diagonal(x, axis1=1, axis2=1), lambda x: np.diagonal(x[0, 0]),
    lambda x: (np.shape(x), np.ndim(x), np.size(x), np.size(x, 1)),
    lambda x: (x.shape, x.ndim, x.size, x.nbytes, x.itemsize, len(x)),
    lambda x: (x.flags.c_contiguous, x.T.flags.f_contiguous),
    lambda x: [row * 2 for row in x], lambda x: np.iscomplexobj(x), lambda x: x.astype("i2"),
    lambda x: x.astype("f4", order="F").T]


@pytest.mark.parametrize("dtype", ["f8", "i4", "c8"])
def test_table(dtype):
    check_table(TABLE, (X * 9).astype(dtype))


def test_strides():
    check_table([lambda x: x.strides, lambda x: x.T[::2].strides, lambda x: np.copy(x.T[::2]).strides,
                 lambda x: x.transpose(1, 2, 0).astype("f4").strides, lambda x: x.T.copy().strides,
                 lambda x: np.zeros_like(x.transpose(2, 0, 1)).strides, lambda x: (x.T + x.T).strides], X)


def test_layouts():
    check_table(TABLE, np.asfortranarray(X))
    check_table(TABLE, np.zeros((2, 0, 4)))


def test_layout_of_results_decides_what_is_a_view():
    """A result keeps its operands' order, so that ravel of it is a view or a copy as in NumPy."""
    def work(x):
        y = x.T * 2
        v = y.ravel("K")
        v[0] = 100
        w = y.ravel()
        w[1] = 200
        z = np.concatenate([x, x]).T + x[0, 0, 0]
        u = z.reshape(-1)
        u[0] = 300
        return y, z, np.zeros_like(x.T).ravel("K")
    check(work, X)


LAYOUTS = {
    "repeated rows": lambda x: np.broadcast_to(x[0], (5, 3, 4)).transpose(1, 0, 2),
    "repeated numbers": lambda x: np.broadcast_to(x[:, :1], (2, 3, 4)).transpose(2, 1, 0),
    "repeated in the middle": lambda x: np.broadcast_to(x.transpose(2, 0, 1)[:, None], (4, 5, 2, 3)),
    "repeated twice": lambda x: np.broadcast_to(x.transpose(2, 1, 0)[:, None, :, None], (4, 2, 3, 2, 2)),
    "one long": lambda x: x.transpose(2, 0, 1)[:, :, :1], "backwards": lambda x: x.transpose(1, 2, 0)[::-1, ::2],
    "every second": lambda x: x.transpose(2, 0, 1)[::2], "empty": lambda x: x.transpose(2, 0, 1)[:, :0],
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_order_of_memory(name):
    """Dimensions of stride 0 come where NumPy's iterators put them."""
    check(lambda x: (np.ravel(x, "K"), x.flatten("K")), LAYOUTS[name](X))
    check(lambda x: (np.ravel(LAYOUTS[name](x), "K"), LAYOUTS[name](x).flatten("K")), X)


# ---- attributes that are set -----------------------------------------------------------------------------------

def flattened_in_place(x):
    x = x * 1
    alias, view = x, x[1:]
    x.shape = 12
    alias[5] = 100
    return x, alias.shape, view


def several_shapes(x):
    a, b = np.mgrid[0:4, 0:3]
    a.shape = b.shape = a.size
    c = x[:, ::2] + 0
    c.shape = -1, 4
    c.shape += (1,)
    for name, value in (("shape", (2, 2, 2)),):
        setattr(c, name, value)
    return a, b, c


def other_dtype(x):
    x = x * 1
    x.dtype = np.int64
    return x


def written_after(x):
    a = x * 1
    for i in range(20):
        a[i % 4] += i
    a.shape = a.size // 2, 2
    for i in range(6):
        a[i] *= i
    return a


def impossible(x):
    x = x.T
    x.shape = 12
    return x


def wrong_size(x):
    x = x * 1
    x.shape = 5,
    return x


@pytest.mark.filterwarnings("ignore:Setting the (shape|dtype|strides) on a NumPy array:DeprecationWarning")
@pytest.mark.parametrize("program", [flattened_in_place, several_shapes, other_dtype, written_after, impossible,
                                     wrong_size], ids=lambda p: p.__name__)
def test_setting_an_attribute_changes_how_the_array_is_seen(program):
    agree(program, [(np.arange(12.0).reshape(4, 3),)])


def test_setting_the_shape_where_it_cannot_be_known_is_refused():
    def of_argument(x):
        x.shape = -1
        return x

    def in_a_branch(x):
        y = x * 1
        if x[0, 0] > 0:
            y.shape = -1
        return y

    x = np.ones((2, 3))
    with pytest.raises(reactant.UnsupportedError, match="changes the caller's array"):
        reactant.jit(of_argument)(x)
    with pytest.raises(reactant.ControlFlowError, match="shape of an array from before"):
        reactant.jit(in_a_branch)(x)


def turned_round(x, iterations):
    for k in range(iterations):
        x += k
        x = x.T[::-1]
        x = x.reshape(2, -1).reshape(-1)
    return x


def test_views_that_undo_each_other():
    """Each iteration made the chain of views longer, and programs grew with the square of the iterations."""
    assert check(turned_round, np.arange(6.0), 4).tolist() == [6, 7, 8, 9, 10, 11]
    operations = reactant.jit(turned_round).lower(np.arange(6.0), 4).operations(optimized=False)
    assert operations["stablehlo.reverse"] <= 4
    check(lambda x: (x.T.T, x[::-1, 1:][::-1], x[:, ::-1][:, ::-1][1]), X[0])


def test_what_has_no_diagonal_or_imaginary_part():
    def imaginary(x):
        x.imag = 2
    check(lambda x: x.diagonal(), np.ones(3))
    check(imaginary, np.ones(3))
    check(imaginary, np.ones(3, complex))
    with pytest.raises(AttributeError, match="attribute 'imag' of 'complex128' objects is not writable"):
        reactant.jit(lambda x: imaginary(x[0]))(np.ones(3, complex))


def shapes_in_arrays(x):
    new = np.append(1, np.array([3, 2]))
    return (x.reshape(np.array([2, 3])), x.reshape(new), np.zeros(6).reshape(np.array([6, 1])), np.ones(new),
            x.reshape(2, 3).transpose(np.array([1, 0])), np.roll(x.reshape(2, 3), np.array([1]), np.array([0])),
            x.reshape(np.array(6)), np.broadcast_to(x, np.array([2, 6])))


def test_shapes_may_be_arrays():
    check(shapes_in_arrays, np.arange(6.0))
