"""reactant.vmap: NumPy and JAX functions over a batch, against one element after the other."""
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import reactant

RNG = np.random.default_rng(0)
A, M, B = RNG.normal(size=(5, 4)), RNG.normal(size=(3, 4)), RNG.normal(size=3)


def layer(x, m, c):
    y = np.tanh(m @ x) + c
    return y.sum(), y


def roots(x, out):
    for i in range(len(x)):
        if x[i] > 0:
            out[i] = np.sqrt(x[i])
        else:
            out[i] = -1


def newton(a):
    x, n = a, 0
    while abs(x * x - a) > 1e-10 * a:
        x, n = 0.5 * (x + a / x), n + 1
    return x, n


def outer(a, b):
    return a * b + np.sin(a)


def test_results_are_a_tree_with_the_batch_in_front():
    s, y = reactant.vmap(layer, in_axes=(0, None, None))(A, M, B)
    wanted = [layer(x, M, B) for x in A]
    np.testing.assert_allclose(s, [w[0] for w in wanted], rtol=1e-12)
    np.testing.assert_allclose(y, [w[1] for w in wanted], rtol=1e-12)
    assert type(y) is np.ndarray and y.flags.writeable


def test_what_is_written_into_a_mapped_argument_is_there_afterwards():
    out = np.zeros((4, 5))
    assert reactant.vmap(roots, in_axes=(0, 1))(A, out) is None
    np.testing.assert_allclose(out.T, np.where(A > 0, np.sqrt(np.abs(A)), -1))


def test_nested():
    table = reactant.vmap(reactant.vmap(outer, in_axes=(None, 0)), in_axes=(0, None))
    np.testing.assert_allclose(table(A[0], B), outer(A[0][:, None], B))


def test_trees_of_axes_and_keyword_arguments():
    def parts(d, *, k):
        return {"a": d["x"] * k, "b": (d["y"], 1.0)}

    got = reactant.vmap(parts, in_axes=({"x": -1, "y": None},), out_axes={"a": 1, "b": (None, 0)})(
        {"x": A, "y": B}, k=np.arange(4.0))
    np.testing.assert_allclose(got["a"], A * np.arange(4.0))
    np.testing.assert_array_equal(got["b"][0], B)
    np.testing.assert_array_equal(got["b"][1], np.ones(4))


def test_elements_leave_a_loop_at_different_times():
    a = np.array([1.0, 2.0, 50.0, 1e4])
    x, n = reactant.vmap(newton)(a)
    np.testing.assert_allclose(x, np.sqrt(a))
    assert list(n) == [newton(v)[1] for v in a]


def test_inside_jit_and_on_other_functions():
    total = reactant.jit(lambda a: reactant.vmap(lambda row: np.sort(row)[::-1])(a).sum(0))
    np.testing.assert_allclose(total(A), np.sort(A, 1)[:, ::-1].sum(0))
    np.testing.assert_allclose(reactant.vmap(np.linalg.inv)(A[None, :4]), np.linalg.inv(A[:4])[None])
    np.testing.assert_allclose(reactant.vmap(reactant.jit(np.sin))(A), np.sin(A))
    with jax.enable_x64(True):
        np.testing.assert_allclose(reactant.vmap(lambda x: jnp.sum(x ** 2))(A), (A ** 2).sum(1))


def test_sizes():
    assert reactant.vmap(lambda: np.ones(3), in_axes=(), axis_size=4)().shape == (4, 3)
    assert reactant.vmap(lambda x: x * 2)(np.zeros((0, 3))).shape == (0, 3)
    assert reactant.vmap(lambda x, i: x[i])(np.zeros((0, 3)), np.zeros(0, int)).shape == (0,)
    assert reactant.vmap(lambda x, n: x[:n], in_axes=(0, None))(A, 2).shape == (5, 2)


def test_device_arrays_stay_on_the_device():
    assert isinstance(reactant.vmap(np.sin)(reactant.array(A)), reactant.DeviceArray)


def test_run_time_checks_of_any_element_raise():
    with pytest.raises(IndexError, match="out of bounds"):
        reactant.vmap(lambda x, i: x[i])(A, np.array([0, 1, 3, 2, 9]))


def test_a_branch_that_is_not_taken_does_not_matter():
    def safe(x, n):
        if n > 0:
            while n != 1:               # never ends for n = 0
                n = n // 2 if n % 2 == 0 else 3 * n + 1
                x = x + 1
        return x

    n = np.array([7, 0, 6])
    np.testing.assert_allclose(reactant.vmap(safe)(B, n), [safe(x, k) for x, k in zip(B, n, strict=True)])


ERRORS = {
    "in_axes has 2 entries for 3 positional arguments": lambda: reactant.vmap(layer, in_axes=(0, None))(A, M, B),
    "has no axis 0": lambda: reactant.vmap(np.sin)(1.0),
    "different sizes: 3, 5": lambda: reactant.vmap(lambda x, y: x)(A, B),
    "depends on the batch": lambda: reactant.vmap(lambda x: x, out_axes=None)(A),
    "axis_size has to be given": lambda: reactant.vmap(lambda x: x, in_axes=None)(A),
    "does not fit what it is for (an array)": lambda: reactant.vmap(lambda x: x, in_axes=((0, 0),))(A),
    "a result of 2 dimensions": lambda: reactant.vmap(lambda x: x, out_axes=5)(A),
}


@pytest.mark.parametrize("text", ERRORS)
def test_errors(text):
    with pytest.raises(ValueError) as caught:
        ERRORS[text]()
    assert text in str(caught.value)


class Total:
    """An object that its methods change."""

    def __init__(self):
        self.value = A.copy()

    def add(self, x):
        self.value = self.value + x
        return self.value

    def double(self):
        self.value = self.value * 2
        return self.value.sum()


def test_a_write_into_what_is_not_mapped_raises():
    def add(x, total):
        total += x

    with pytest.raises(reactant.UnsupportedError, match="not mapped"):
        reactant.vmap(add, in_axes=(0, None))(A, np.zeros(4))

    def append(x, found):
        found.append(x)

    with pytest.raises(reactant.UnsupportedError, match="changes a list"):
        reactant.vmap(append, in_axes=(0, [None]))(A, [B])
    for number, axes in ((0, 0), (1, (None, 0))):
        with pytest.raises(reactant.UnsupportedError, match="or object among"):
            reactant.vmap(Total.add if number else Total.double, in_axes=axes)(*(Total(), A)[:number + 1])
    with pytest.raises(reactant.UnsupportedError, match="also gets as another"):
        reactant.vmap(lambda x, y: roots(x, y))(A, A)


def cube(x):
    return np.sum(np.tanh(x) ** 3)


@reactant.custom_derivative
def clipped(x):
    return np.clip(x, -1, 1)


@clipped.jvp
def _(primals, tangents):
    return np.clip(primals[0], -1, 1), tangents[0] * 2.0        # not what it is, so that it shows


def clipped_square(x):
    return clipped(x) * x


@reactant.checkpoint
def wave(x):
    return np.sin(x) * np.exp(x)


def test_gradients_of_each_element_need_no_loop():
    gradients = reactant.vmap(reactant.grad(cube))
    np.testing.assert_allclose(gradients(A), 3 * np.tanh(A) ** 2 * (1 - np.tanh(A) ** 2), rtol=1e-12)
    assert "stablehlo.while" not in gradients.lower(A).as_text()


def test_gradient_of_a_mapped_function():
    w = RNG.normal(size=(4, 2))

    def loss(w):
        return np.sum(reactant.vmap(lambda x: np.tanh(x @ w).sum())(A) ** 2)

    t = np.tanh(A @ w)
    wanted = A.T @ (2 * t.sum(1)[:, None] * (1 - t ** 2))
    np.testing.assert_allclose(reactant.grad(loss)(w), wanted, rtol=1e-10)
    np.testing.assert_allclose(reactant.jacobian(lambda x: reactant.vmap(np.sin)(x))(A[0]), np.diag(np.cos(A[0])))


def test_users_own_derivatives_are_kept():
    one = reactant.grad(lambda x: np.sum(clipped_square(x)))(A[0] * 3)
    each = reactant.vmap(reactant.grad(lambda x: np.sum(clipped_square(x))))(A * 3)
    whole = reactant.grad(lambda a: np.sum(reactant.vmap(clipped_square)(a)))(A * 3)
    np.testing.assert_allclose(each[0], one, rtol=1e-12)
    np.testing.assert_allclose(whole, each, rtol=1e-12)


def test_checkpoints_and_second_derivatives():
    found = reactant.grad(lambda a: np.sum(reactant.vmap(lambda x: wave(x) ** 2)(a)))(A)
    np.testing.assert_allclose(found, 2 * np.exp(2 * A) * np.sin(A) * (np.sin(A) + np.cos(A)), rtol=1e-10)
    found = reactant.vmap(reactant.hessian(lambda x: np.sum(x ** 3)))(A)
    np.testing.assert_allclose(found, np.stack([np.diag(6 * a) for a in A]), rtol=1e-12, atol=1e-12)


def test_what_is_written_before_a_loop_binds_the_name_anew():
    """The argument keeps it, though no variable leads to it any more: under vmap, and in the outputs of derivatives."""
    def moved(x, w):
        for k in range(30):
            x[0] += w[k % 3] * x[1]
            if x.sum() > 0.5 + 0.01 * k:
                x = x[::-1] * 0.9
        return x

    x, w = np.array([[0.3, -0.4, 0.5, 0.9], [0.1, 0.2, 0.7, -0.3], [2.0, 1.0, 0.0, 1.0]]), np.array([0.7, -0.2, 0.4])
    plain, ours = x.copy(), x.copy()
    results = np.stack([moved(each, w) for each in plain])
    np.testing.assert_allclose(reactant.vmap(moved, in_axes=(0, None))(ours, w), results, rtol=1e-12)
    np.testing.assert_allclose(ours, plain, rtol=1e-12)
    result, written = reactant.linearize(moved, x[0].copy(), w)[0]
    np.testing.assert_allclose(result, results[0], rtol=1e-12)
    np.testing.assert_allclose(written[0], plain[0], rtol=1e-12)
