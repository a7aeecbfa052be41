"""Kernels become what a person would write with slices, contractions and reductions: by operation counts."""
import numpy as np
import pytest

from reactant.ir import modules
from reactant.ir.context import building
from reactant.kernels.form.interpret import OutOfBounds
from reactant.kernels.lockstep.tensors import NotRaised, raised
from tests.kernels.raising import check
from tests.kernels.writing import Kernel

rng = np.random.default_rng(0)


def numbers(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def guarded(k, *conditions):
    first, *others = conditions
    for other in others:
        first = first & other
    return first


# ---- maps and stencils ---------------------------------------------------------------------------------------------

@pytest.mark.parametrize("n", [96, 100, 128])
def test_guard_larger_than_the_data_leaves_no_mask(n):
    k = Kernel(4, 32)
    x, y, a = k.array("x", "f32", n), k.array("y", "f32", n), k.number("a", "f32")
    i = k.at()
    k.if_(i < n, lambda: y.__setitem__(i, a * x[i] + y[i]))
    assert check(k.text(), [numbers(n), numbers(n), np.float32(2)]) == {"broadcast_in_dim": 1, "multiply": 1, "add": 1}


def test_stencil_is_slices_and_one_update():
    k = Kernel((2, 2), (16, 16))
    u, v = k.array("u", "f32", (27, 30)), k.array("v", "f32", (27, 30))
    j, i = k.at("x"), k.at("y")
    here = i * 30 + j
    k.if_(guarded(k, i > 0, i < 26, j > 0, j < 29),
          lambda: v.__setitem__(here, u[here - 1] + u[here + 1] + u[here - 30] + u[here + 30] - 4.0 * u[here]))
    counts = check(k.text(), [numbers(27, 30), numbers(27, 30)])
    assert counts == {"slice": 5, "add": 3, "subtract": 1, "multiply": 1, "constant": 2, "dynamic_update_slice": 1}


def test_flat_thread_index_is_split_into_rows_and_columns():
    k = Kernel(4, 32)
    u, v = k.array("u", "f32", (12, 10)), k.array("v", "f32", (12, 10))
    g = k.at()
    row, column = g // 10, g % 10

    def body():
        k.if_((row > 0) & (column < 9), lambda: v.__setitem__(g, u[g - 10] + u[g + 1]))
    k.if_(g < 120, body)
    counts = check(k.text(), [numbers(12, 10), numbers(12, 10)])
    assert counts["slice"] == 2 and "gather" not in counts and "select" not in counts


@pytest.mark.parametrize("wrap", [True, False])
def test_edges_that_wrap_or_stay_are_two_slices_side_by_side(wrap):
    k = Kernel(2, 32)
    u, v = k.array("u", "f32", 50), k.array("v", "f32", 50)
    i = k.at()

    def body():
        left, right = ((i + 49) % 50, (i + 1) % 50) if wrap else ((i - 1).maximum(0), (i + 1).minimum(49))
        v[i] = u[left] - u[right]
    k.if_(i < 50, body)
    counts = check(k.text(), [numbers(50), numbers(50)])
    assert counts["concatenate"] == 2 and "gather" not in counts


def test_neighbour_in_the_order_of_memory_is_reversed():
    k = Kernel(1, 40)
    x, y = k.array("x", "f32", 40), k.array("y", "f32", 40)
    i = k.thread()
    y[i] = x[(i * -1) + 39]
    assert check(k.text(), [numbers(40), numbers(40)]) == {"reverse": 1}


def test_every_other_element():
    k = Kernel(1, 20)
    x, y = k.array("x", "f32", 40), k.array("y", "f32", 41)
    i = k.thread()
    y[i * 2 + 1] = x[i * 2] * 3.0
    counts = check(k.text(), [numbers(40), numbers(41)])
    assert "scatter" not in counts and "gather" not in counts


def test_diagonal_is_a_strided_slice():
    k = Kernel(1, 8)
    x, y = k.array("x", "f32", (8, 8)), k.array("y", "f32", 8)
    i = k.thread()
    y[i] = x[i * 8 + i]
    counts = check(k.text(), [numbers(8, 8), numbers(8)])
    assert "gather" not in counts


def test_grid_stride_loop_is_a_launch_of_all():
    k = Kernel(2, 16)
    x, y = k.array("x", "f32", 100), k.array("y", "f32", 100)
    k.for_(k.at(), 100, lambda i: y.__setitem__(i, x[i] * 2.0 + y[i]), step=32)
    counts = check(k.text(), [numbers(100), numbers(100)])
    assert set(counts) <= {"constant", "multiply", "add", "broadcast_in_dim"}


def test_branches_that_halve_the_lanes_stand_side_by_side():
    k = Kernel(1, 40)
    x, y = k.array("x", "f32", 40), k.array("y", "f32", 40)
    i = k.thread()
    y[i] = k.if_(i < 15, lambda: x[i] * 2.0, lambda: x[i] + 1.0, types=("f32",))
    counts = check(k.text(), [numbers(40), numbers(40)])
    assert counts["concatenate"] == 1 and "select" not in counts


# ---- contractions, transposes ------------------------------------------------------------------------------------

def matmul(m, n, k_, tile):
    k = Kernel((-(-n // tile), -(-m // tile)), (tile, tile))
    a, b, c = k.array("a", "f32", (m, k_)), k.array("b", "f32", (k_, n)), k.array("c", "f32", (m, n))
    sa, sb = k.shared("f32", tile * tile), k.shared("f32", tile * tile)
    tx, ty, row, column = k.thread("x"), k.thread("y"), k.at("y"), k.at("x")

    def step(t, total):
        ka, kb = t * tile + tx, t * tile + ty
        sa[ty * tile + tx] = k.if_((row < m) & (ka < k_), lambda: a[row * k_ + ka], lambda: 0.0, types=("f32",))
        sb[ty * tile + tx] = k.if_((column < n) & (kb < k_), lambda: b[kb * n + column], lambda: 0.0, types=("f32",))
        k.barrier()
        total = k.for_(0, tile, lambda i, s: s + sa[ty * tile + i] * sb[i * tile + tx], inits=[total])
        k.barrier()
        return total
    total = k.for_(0, -(-k_ // tile), step, inits=[k.value(0, "f32")])
    k.if_((row < m) & (column < n), lambda: c.__setitem__(row * n + column, total))
    return k.text()


def test_tiled_matrix_multiplication_is_one_dot_general():
    counts = check(matmul(8, 12, 16, 4), [numbers(8, 16), numbers(16, 12), numbers(8, 12)])
    assert counts == {"dot_general": 1}


def test_odd_sizes_of_tiles_only_pad():
    counts = check(matmul(9, 11, 14, 4), [numbers(9, 14), numbers(14, 11), numbers(9, 11)])
    assert counts.pop("dot_general") == 1 and set(counts) <= {"pad", "slice", "constant"}


def test_row_times_column_in_a_loop_is_one_dot_general():
    k = Kernel((2, 2), (8, 8))
    a, b, c = k.array("a", "f64", (13, 20)), k.array("b", "f64", (20, 15)), k.array("c", "f64", (13, 15))
    i, j = k.at("y"), k.at("x")

    def body():
        c[i * 15 + j] = k.for_(0, 20, lambda m, s: s + a[i * 20 + m] * b[m * 15 + j], inits=[k.value(0, "f64")])
    k.if_((i < 13) & (j < 15), body)
    arrays = [rng.standard_normal(s) for s in ((13, 20), (20, 15), (13, 15))]
    assert check(k.text(), arrays, 1e-12) == {"dot_general": 1}


def test_matrix_times_vector():
    k = Kernel(2, 8)
    a, x, y = k.array("a", "f64", (13, 20)), k.array("x", "f64", 20), k.array("y", "f64", 13)
    i = k.at()
    k.if_(i < 13, lambda: y.__setitem__(i, k.for_(0, 20, lambda m, s: s + a[i * 20 + m] * x[m],
                                                  inits=[k.value(0, "f64")])))
    arrays = [rng.standard_normal(s) for s in ((13, 20), 20, 13)]
    assert check(k.text(), arrays, 1e-12) == {"dot_general": 1}


@pytest.mark.parametrize("m, n, padding", [(8, 12, 0), (8, 12, 1), (7, 9, 1)])
def test_transpose_through_shared_memory_is_one_transpose(m, n, padding):
    k = Kernel((-(-n // 4), -(-m // 4)), (4, 4))
    a, b = k.array("a", "f32", (m, n)), k.array("b", "f32", (n, m))
    s = k.shared("f32", 4 * (4 + padding), (4, 4 + padding))
    tx, ty, x, y = k.thread("x"), k.thread("y"), k.at("x"), k.at("y")
    k.if_((x < n) & (y < m), lambda: s.__setitem__(ty * (4 + padding) + tx, a[y * n + x]))
    k.barrier()
    u, w = k.block_id("y") * 4 + tx, k.block_id("x") * 4 + ty
    k.if_((u < m) & (w < n), lambda: b.__setitem__(w * m + u, s[tx * (4 + padding) + ty]))
    assert check(k.text(), [numbers(m, n), numbers(n, m)]) == {"transpose": 1}


# ---- reductions, atomics -------------------------------------------------------------------------------------------

def tree(n, atomic, interleaved, element="f32"):
    k = Kernel(4, 16)
    x, y = k.array("x", element, n), k.array("y", element, 1 if atomic else 4)
    s, t, i = k.shared(element, 16), k.thread(), k.at()
    s[t] = k.if_(i < n, lambda: x[i], lambda: 0, types=(element,))
    k.barrier()

    def halve(h):
        k.if_(t < h, lambda: s.__setitem__(t, s[t] + s[t + h]))
        k.barrier()
        return [h // 2]

    def double(h):
        k.if_((t % (h * 2)).equals(0), lambda: s.__setitem__(t, s[t] + s[t + h]))
        k.barrier()
        return [h * 2]
    if interleaved:
        k.while_([k.value(1, "index")], lambda h: h < 16, double)
    else:
        k.while_([k.value(8, "index")], lambda h: h > 0, halve)
    k.if_(t.equals(0), lambda: y.atomic("addf" if element[0] == "f" else "addi", 0, s[0]) if atomic
          else y.__setitem__(k.block_id(), s[0]))
    return k.text()


@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize("n, atomic", [(64, False), (60, True), (64, True)])
def test_tree_in_shared_memory_is_one_reduce(n, atomic, interleaved):
    counts = check(tree(n, atomic, interleaved), [numbers(n), numbers(1 if atomic else 4)])
    assert counts["reduce"] == 1 and set(counts) <= {"reduce", "reshape", "constant", "add", "pad"}


def test_tree_of_integers_is_one_reduce():
    counts = check(tree(64, False, False, "i32"), [rng.integers(0, 9, 64).astype(np.int32), np.zeros(4, np.int32)])
    assert counts["reduce"] == 1 and "slice" not in counts


@pytest.mark.parametrize("mode", ["down", "xor"])
def test_warp_tree_is_one_reduce(mode):
    k = Kernel(2, 64)
    x, y = k.array("x", "f32", 128), k.array("y", "f32", 4)
    t = k.thread()
    v = x[k.at()]
    for offset in (16, 8, 4, 2, 1):
        v = v + k.shuffle(mode, v, offset)
    k.if_((t % 32).equals(0), lambda: y.__setitem__(k.at() // 32, v))
    counts = check(k.text(), [numbers(128), numbers(4)])
    assert counts["reduce"] == 1 and set(counts) <= {"reshape", "constant", "reduce", "add"}


@pytest.mark.parametrize("grid_stride", [False, True])
def test_histogram_is_one_scatter(grid_stride):
    k = Kernel(2, 64)
    x, h = k.array("x", "i32", 128), k.array("h", "i32", 16)

    def count(i):
        h.atomic("addi", x[i].index(), 1)
    if grid_stride:
        k.for_(k.at(), 128, count, step=128)
    else:
        count(k.at())
    counts = check(k.text(), [rng.integers(0, 16, 128).astype(np.int32), np.zeros(16, np.int32)])
    assert counts["scatter"] == 1 and set(counts) <= {"scatter", "constant", "convert", "reshape", "add"}


def test_atomics_of_all_lanes_in_one_place_count_each():
    k = Kernel(3, 8)
    x, y = k.array("x", "f64", 24), k.array("y", "f64", 2)
    y.atomic("addf", 0, x[k.at()])
    y.atomic("addf", 1, 0.5)
    check(k.text(), [rng.standard_normal(24), np.array([1.0, 2.0])], 1e-12)


@pytest.mark.parametrize("kind", ["addi", "maxs", "mins", "andi", "ori"])
@pytest.mark.parametrize("masked", [False, True])
def test_atomics_combine(kind, masked):
    k = Kernel(2, 8)
    x, p, y = k.array("x", "i32", 16), k.array("p", "i32", 16), k.array("y", "i32", 4)
    i = k.at()

    def body():
        y.atomic(kind, p[i].index(), x[i])
        y.atomic(kind, i // 4, x[i])
        y.atomic(kind, 1, x[i])
    k.if_(x[i] > 0, body) if masked else body()
    check(k.text(), [rng.integers(-9, 9, 16).astype(np.int32), rng.integers(0, 4, 16).astype(np.int32),
                     rng.integers(-9, 9, 4).astype(np.int32)])


@pytest.mark.parametrize("place", ["one", "some", "any"])
@pytest.mark.parametrize("kind", ["addi", "maxs", "assign"])
def test_value_before_an_atomic_is_that_of_some_order(place, kind):
    k = Kernel(1, 16)
    x, p, y, o = k.array("x", "i32", 16), k.array("p", "i32", 16), k.array("y", "i32", 4), k.array("o", "i32", 16)
    i = k.thread()
    at = {"one": lambda: k.value(2, "index"), "some": lambda: i // 4, "any": lambda: p[i].index()}[place]()
    k.if_(x[i] > -3, lambda: o.__setitem__(i, y.atomic(kind, at, x[i])))
    check(k.text(), [rng.integers(-9, 9, 16).astype(np.int32), rng.integers(0, 4, 16).astype(np.int32),
                     rng.integers(-9, 9, 4).astype(np.int32), np.zeros(16, np.int32)])


def test_tickets_fill_a_list():
    """The usual compaction: `out[atomicAdd(count, 1)] = x`."""
    k = Kernel(2, 16)
    x, count, out = k.array("x", "f32", 32), k.array("count", "i32", 1), k.array("out", "f32", 32)
    i = k.at()

    def keep():
        out[count.atomic("addi", 0, 1).index()] = x[i]
    k.if_(x[i] > 0.0, keep)
    check(k.text(), [numbers(32), np.zeros(1, np.int32), numbers(32)])


# ---- races ---------------------------------------------------------------------------------------------------------

def test_all_lanes_writing_one_value_is_no_race():
    k = Kernel(2, 16)
    x, y = k.array("x", "f32", 32), k.array("y", "i32", 1)
    k.if_(x[k.at()] > 1.0, lambda: y.__setitem__(0, 1))
    for scale in (1, 0.01):
        check(k.text(), [numbers(32) * np.float32(scale), np.zeros(1, np.int32)])


def test_of_lanes_that_race_one_wins():
    k = Kernel(1, 32)
    x, y = k.array("x", "i32", 32), k.array("y", "i32", 4)
    i = k.thread()
    k.if_(x[i] > 3, lambda: y.__setitem__(i % 4, i.to("i32")))
    from tests.kernels.raising import run_raised
    values = rng.integers(0, 9, 32).astype(np.int32)
    results, _ = run_raised(k.text(), [values, np.full(4, -1, np.int32)])
    for place, winner in enumerate(results[1]):
        candidates = [n for n in range(32) if n % 4 == place and values[n] > 3]
        assert winner in candidates if candidates else winner == -1


# ---- refusals ------------------------------------------------------------------------------------------------------

def test_reads_outside_are_errors():
    k = Kernel(1, 32)
    x, y = k.array("x", "f32", 30), k.array("y", "f32", 32)
    y[k.thread()] = x[k.thread()]
    with building(), pytest.raises(OutOfBounds, match="reads element 31 of a buffer of 30 elements"):
        raised(modules.parse(k.text()))


def test_writes_outside_are_errors():
    k = Kernel(1, 32)
    y = k.array("y", "f32", 32)
    y[k.thread() - 1] = 0.0
    with building(), pytest.raises(OutOfBounds, match="writes element -1 of a buffer of 32 elements"):
        raised(modules.parse(k.text()))


def test_barriers_of_both_branches_are_refused():
    k = Kernel(1, 32)
    x, s, t = k.array("x", "f32", 32), k.shared("f32", 32), k.thread()

    def arm(other):
        def body():
            s[t] = x[t]
            k.barrier()
            x[t] = s[(t * -1) + 31] + other
        return body
    k.if_(t < 16, arm(1.0), arm(2.0))
    with building(), pytest.raises(NotRaised, match="meet at barriers in both branches"):
        raised(modules.parse(k.text()))


@pytest.mark.parametrize("block", [(12, 4), (10, 10), (5, 2, 3), (24, 8), (3, 11, 2)])
@pytest.mark.parametrize("mode, width", [("down", 32), ("xor", 8), ("up", 16), ("idx", 4)])
def test_shuffles_in_blocks_that_do_not_divide_into_warps(block, mode, width):
    x, y, z, d = block = (*block, 1)[:3] + (0,)
    k = Kernel(2, block[:3])
    a, b = k.array("a", "f32", 2 * x * y * z), k.array("b", "f32", 4 * x * y * z)
    t = k.thread() + k.thread("y") * x + k.thread("z") * (x * y) + k.block_id() * (x * y * z)
    b[t * 2] = k.shuffle(mode, a[t], 3, width)
    b[t * 2 + 1] = k.shuffle(mode, a[t], k.thread() & 3, width)
    check(k.text(), [numbers(2 * x * y * z), numbers(4 * x * y * z)])


@pytest.mark.parametrize("name", ["addi", "subi", "muli", "andi", "ori", "xori", "maxsi", "minsi", "maxui", "minui"])
def test_arithmetic_of_truth_values(name):
    k = Kernel(2, 8)
    a, b, out = k.array("a", "f32", 16), k.array("b", "f32", 16), k.array("out", "i32", 32)
    t = k.at()
    affine, read = t < 5, a[t] < b[t]
    for place, (x, y) in enumerate([(affine, read), (affine, k.thread() < 3)]):
        made = k.op(f"arith.{name} {x.name}, {y.name} : i1", "i1")
        out[t * 2 + place] = made.select(k.value(1, "i32"), k.value(0, "i32"))
    check(k.text(), [numbers(16), numbers(16), np.zeros(32, np.int32)])


def test_lock_that_others_release_is_refused():
    k = Kernel(1, 8)
    lock, x = k.array("lock", "i32", 1), k.array("x", "f32", 8)

    def wait(_):
        return [lock.atomic("assign", 0, 1)]
    k.while_([k.value(1, "i32")], lambda taken: taken.differs(0), wait)
    x[k.thread()] = 1.0
    lock[0] = 0
    with building(), pytest.raises(NotRaised, match="wait in a loop for what others do"):
        raised(modules.parse(k.text()))


def test_flag_that_nobody_sets_in_the_loop_is_refused():
    k = Kernel(1, 8)
    flag, x = k.array("flag", "i32", 1), k.array("x", "f32", 8)
    k.while_([k.value(0, "i32")], lambda zero: (flag[0] + zero).equals(0), lambda zero: [zero])
    x[k.thread()] = 1.0
    with building(), pytest.raises(NotRaised, match="wait in a loop for what others do"):
        raised(modules.parse(k.text()))


# ---- shared memory that only stages --------------------------------------------------------------------------------

def halo(n, m, tile):
    """A five-point stencil on tiles with their neighbours' edges in shared memory."""
    k = Kernel((-(-m // tile), -(-n // tile)), (tile, tile))
    u, v = k.array("u", "f32", (n, m)), k.array("v", "f32", (n, m))
    width = tile + 2
    s = k.shared("f32", width * width, (width, width))
    tx, ty, j, i = k.thread("x"), k.thread("y"), k.at("x"), k.at("y")
    here, mine = i * m + j, (ty + 1) * width + tx + 1

    def fetch():
        s[mine] = u[here]
        k.if_(tx.equals(0) & (j > 0), lambda: s.__setitem__(mine - 1, u[here - 1]))
        k.if_(tx.equals(tile - 1) & (j < m - 1), lambda: s.__setitem__(mine + 1, u[here + 1]))
        k.if_(ty.equals(0) & (i > 0), lambda: s.__setitem__(mine - width, u[here - m]))
        k.if_(ty.equals(tile - 1) & (i < n - 1), lambda: s.__setitem__(mine + width, u[here + m]))
    k.if_((i < n) & (j < m), fetch)
    k.barrier()
    k.if_(guarded(k, i > 0, i < n - 1, j > 0, j < m - 1),
          lambda: v.__setitem__(here, s[mine - 1] + s[mine + 1] + s[mine - width] + s[mine + width] - 4.0 * s[mine]))
    return k.text()


@pytest.mark.parametrize("n, m", [(27, 30), (32, 24), (17, 9)])
def test_tiles_with_their_edges_disappear(n, m):
    counts = check(halo(n, m, 8), [numbers(n, m), numbers(n, m)])
    assert counts["slice"] == 5 and set(counts) <= {"slice", "add", "subtract", "multiply", "constant",
                                                    "dynamic_update_slice"}


def test_what_was_staged_is_kept_when_the_array_changes():
    k = Kernel(2, 8)
    u, s, t, i = k.array("u", "f32", 16), k.shared("f32", 8), k.thread(), k.at()
    s[t] = u[i]
    k.barrier()
    u[i] = 0.0
    k.barrier()
    u[i] = s[(t * -1) + 7]
    check(k.text(), [numbers(16)])


def test_memory_that_is_staged_and_then_changed():
    k = Kernel(2, 8)
    u, v, s, t, i = k.array("u", "f32", 16), k.array("v", "f32", 16), k.shared("f32", 8), k.thread(), k.at()
    s[t] = u[i]
    k.barrier()
    k.if_(t < 3, lambda: s.__setitem__(t, u[i + 1]))
    k.barrier()
    v[i] = s[(t * -1) + 7]
    check(k.text(), [numbers(16), numbers(16)])


def test_swap_if_equal_goes_lane_by_lane():
    """A compare-and-swap of many lanes in few places: each sees what the ones before it left."""
    k = Kernel(2, 8)
    p, slots, won = k.array("p", "i32", 16), k.array("slots", "i32", 3), k.array("won", "i32", 16)
    i = k.at()
    place, mine = p[i].index(), i.to("i32") + 1
    old = k.fresh()
    zero = k.value(0, "i32")
    k.line(f"""{old} = memref.generic_atomic_rmw {slots.name}[{place.name}] : {slots.type} {{
^bb0(%old: i32):
  %same = arith.cmpi eq, %old, {zero.name} : i32
  %new = arith.select %same, {mine.name}, %old : i32
  memref.atomic_yield %new : i32
}}""")
    won[i] = type(i)(k, old, "i32")
    check(k.text(), [rng.integers(0, 3, 16).astype(np.int32), np.zeros(3, np.int32), np.zeros(16, np.int32)])


def test_offsets_in_a_local_array_are_known():
    """`const int shift[3] = {-1, 0, 1}` in the kernel: slices, not gathers."""
    k = Kernel(1, 40)
    x, y, shift = k.array("x", "f32", 42), k.array("y", "f32", 40), k.local("i32", 3)
    i = k.thread()
    for place in range(3):
        shift[place] = 0
    for place, value in ((0, -1), (2, 1)):
        shift[place] = value
    y[i] = k.for_(0, 3, lambda j, s: s + x[i + 1 + shift[j].index()], inits=[k.value(0, "f32")])
    counts = check(k.text(), [numbers(42), numbers(40)])
    assert counts["slice"] == 3 and "gather" not in counts


def test_wrapping_in_two_dimensions_needs_no_gather():
    k = Kernel((2, 2), (8, 8))
    u, v = k.array("u", "f32", (13, 11)), k.array("v", "f32", (13, 11))
    j, i = k.at("x"), k.at("y")
    k.if_((i < 13) & (j < 11), lambda: v.__setitem__(i * 11 + j, u[((i + 12) % 13) * 11 + (j + 1) % 11]))
    counts = check(k.text(), [numbers(13, 11), numbers(13, 11)])
    assert counts["concatenate"] <= 3 and "gather" not in counts
