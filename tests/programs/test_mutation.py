"""Programs that write through views, masks and index arrays."""
import numpy as np
import pytest

FLOATS = ["float32", "float64"]


def settle_sandpile(pile):
    """Abelian sandpile: every cell above 3 topples, until none does; grains fall off the edge."""
    iterations = 0
    while (pile > 3).any():
        toppling = pile > 3
        pile[toppling] -= 4
        grains = toppling.astype(pile.dtype)
        pile[1:, :] += grains[:-1, :]
        pile[:-1, :] += grains[1:, :]
        pile[:, 1:] += grains[:, :-1]
        pile[:, :-1] += grains[:, 1:]
        iterations += 1
    return iterations


@pytest.mark.parametrize("dtype", ["int16", "int64", "float64"])
@pytest.mark.parametrize("shape", [(5, 5), (3, 8)])
def test_sandpile(agree, random, shape, dtype):
    start = random.integers(0, 9, shape).astype(dtype)
    agree(settle_sandpile, lambda: (start.copy(),))


def game_of_life(board, generations):
    for _ in range(generations):
        neighbours = np.zeros(board.shape, dtype=np.uint8)
        for dy in (-1, 0, 1):
            for dx in (-1, 0, 1):
                if (dy, dx) != (0, 0):
                    neighbours += np.roll(board, (dy, dx), axis=(0, 1))
        board[:] = (neighbours == 3) | ((neighbours == 2) & board)


@pytest.mark.parametrize("shape", [(6, 6), (4, 9)])
def test_game_of_life(agree, random, shape):
    start = random.random(shape) < 0.4
    agree(game_of_life, lambda: (start.copy(), 5))


def write_through_views(a):
    """Row, column, reversed, transposed, reshaped and diagonal views of one array, all written through."""
    row = a[1]
    column = a[:, 2]
    backwards = a[::-1, ::-2]
    row += 10
    column[:] = row[: len(column)].copy()
    backwards[0] *= 2
    a.T[0, 1] = -7
    flat = a.reshape(-1)
    flat[::3] -= 1
    view = a[1:][:, 1:]
    view[...] = view.max() - view
    return column.copy(), backwards.sum(), row


@pytest.mark.parametrize("dtype", ["int32", *FLOATS])
@pytest.mark.parametrize("shape", [(4, 5), (3, 3)])
def test_write_through_views(agree, random, shape, dtype):
    start = random.integers(-9, 9, shape).astype(dtype)
    agree(write_through_views, lambda: (start.copy(),))


def swap_rows_by_tuple(a, i, j):
    """The classic mistake: both names are views, so the second assignment reads what the first has written."""
    a[i], a[j] = a[j], a[i]
    return a


def swap_rows_by_index(a, i, j):
    a[[i, j]] = a[[j, i]]
    return a


@pytest.mark.parametrize("swap", [swap_rows_by_tuple, swap_rows_by_index])
@pytest.mark.parametrize("dtype", ["int64", "float32"])
def test_swap_rows(agree, swap, dtype):
    agree(swap, lambda: (np.arange(12, dtype=dtype).reshape(4, 3), 0, 2))


def relax_in_place(field, sweeps):
    """Red-black relaxation through strided views of the interior."""
    inner = field[1:-1, 1:-1]
    for _ in range(sweeps):
        average = 0.25 * (field[:-2, 1:-1] + field[2:, 1:-1] + field[1:-1, :-2] + field[1:-1, 2:])
        inner[::2, ::2] = average[::2, ::2]
        inner[1::2, 1::2] = average[1::2, 1::2]
    return inner.mean()


@pytest.mark.slow
@pytest.mark.parametrize("dtype", FLOATS)
def test_argument_is_a_strided_view_of_a_bigger_array(agree, random, dtype):
    start = random.random((9, 14)).astype(dtype)
    bigger = []

    def make():
        bigger.append(start.copy())
        return bigger[-1][1:, ::2], 4

    agree(relax_in_place, make)
    for after in bigger[1:]:  # what lies between the strides is untouched, what is in the view is written
        np.testing.assert_allclose(after, bigger[0], rtol=1e-5)
        np.testing.assert_array_equal(after[:, 1::2], start[:, 1::2])


def shift_and_add(target, source):
    target[1:] += source[:-1]
    source *= 2
    return target.sum()


@pytest.mark.parametrize("overlap", ["same", "shifted", "apart"])
def test_overlapping_arguments_are_honoured_or_refused(agree, overlap):
    from reactant.errors import ReactantError

    def make():
        base = np.arange(12.0)
        second = {"same": base[:8], "shifted": base[3:11], "apart": np.arange(12.0)[:8]}[overlap]
        return base[:8], second

    if overlap == "apart":
        agree(shift_and_add, make)
        return
    try:
        agree(shift_and_add, make)
    except ReactantError as error:
        assert "overlap" in str(error)


@pytest.mark.parametrize("target, source", [
    (slice(0, 8), slice(0, 8)), (slice(0, 8), slice(3, 11)), (slice(0, 6), slice(6, 12)),
    (slice(0, 12, 2), slice(1, 12, 2)), (slice(0, 0), slice(0, 3))])
def test_views_of_one_device_array_that_overlap_are_refused(target, source):
    import reactant

    plain, device = np.arange(12.0), reactant.array(np.arange(12.0))
    shared = np.shares_memory(plain[target], plain[source])
    for _ in range(2):      # the second call is another way in
        if shared:
            with pytest.raises(reactant.ReactantError, match="overlap in memory"):
                reactant.jit(shift_and_add)(device[target], device[source])
        elif plain[target].size:
            found = reactant.jit(shift_and_add)(device[target], device[source])
            assert found == shift_and_add(plain[target], plain[source])
            np.testing.assert_array_equal(device, plain)


def clean_signal(signal, limit):
    """Masks: clip the peaks, zero the negative part, count, and lift what is small."""
    peaks = np.abs(signal) > limit
    signal[peaks] = limit
    signal[signal < 0] = 0
    small = (signal > 0) & (signal < 0.1)
    signal[small] += 0.1
    return peaks.sum(), signal[~peaks].sum(), np.where(small, 1, 0)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(17,), (4, 6), (2, 3, 4)])
def test_masks(agree, random, shape, dtype):
    start = random.standard_normal(shape).astype(dtype)
    agree(clean_signal, lambda: (start.copy(), 1.25))


def group_sums(values, groups, count):
    """Unbuffered addition at repeated indices, then a gather back."""
    sums = np.zeros(count, dtype=values.dtype)
    members = np.zeros(count, dtype=np.int64)
    np.add.at(sums, groups, values)
    np.add.at(members, groups, 1)
    means = sums / np.maximum(members, 1)
    values -= means[groups].astype(values.dtype)
    return means, members


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("length", [1, 30])
def test_group_sums(agree, random, length, dtype):
    values = random.standard_normal(length).astype(dtype)
    groups = random.integers(0, 4, length)
    agree(group_sums, lambda: (values.copy(), groups.copy(), 5))


def eliminate_with_pivoting(a, b):
    """Gaussian elimination; the pivot row is known only at run time."""
    n = len(b)
    for k in range(n):
        pivot = k + np.argmax(np.abs(a[k:, k]))
        a[[k, pivot]] = a[[pivot, k]]
        b[[k, pivot]] = b[[pivot, k]]
        for i in range(k + 1, n):
            factor = a[i, k] / a[k, k]
            a[i, k:] -= factor * a[k, k:]
            b[i] -= factor * b[k]
    x = np.zeros_like(b)
    for i in range(n - 1, -1, -1):
        x[i] = (b[i] - a[i, i + 1:] @ x[i + 1:]) / a[i, i]
    return x


@pytest.mark.parametrize("n", [1, 2, 6])
def test_elimination_with_pivoting(agree, random, n):
    a = random.standard_normal((n, n))
    b = random.standard_normal(n)
    agree(eliminate_with_pivoting, lambda: (a.copy(), b.copy()))
