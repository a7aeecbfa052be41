"""Structs as arguments of Numba's kernels: memory that the kernel may change, as on a GPU."""
import numpy as np
import pytest

import reactant
from reactant.errors import ConstantWriteError, UnsupportedError

cuda = pytest.importorskip("numba.cuda", reason="needs numba-cuda")

INNER = np.dtype([("a", np.float32), ("b", np.int16)], align=True)
KIND = np.dtype([("weight", np.float64), ("count", np.int32), ("place", np.complex64), ("rows", np.float32, (2, 3)),
                 ("inner", INNER), ("flag", np.bool_), ("small", np.uint8)], align=True)
PLAIN = np.dtype([("x", np.float64), ("y", np.float64)])

LOWER = pytest.mark.parametrize("lower", ["auto", "tensor", "native"])


@cuda.jit
def update(record, value):
    record.weight = 2 * value
    record.count += 3
    record.inner.a = value + 1
    record.inner.b = 7
    record.small = 200


@cuda.jit
def threads(record, values):
    i = cuda.threadIdx.x
    if i == 0:
        record.weight = values[0]
    elif i == 1:
        record.count = 5
    elif i < 8:
        record.rows[(i - 2) // 3, (i - 2) % 3] = values[i]


@cuda.jit
def read(record, out):
    out[cuda.threadIdx.x] = record.weight * cuda.threadIdx.x + record.rows[1, 2]


@cuda.jit
def read_and_change(record, out):
    out[0] = record.x
    record.x = record.y
    record.y = out[0] + 1


@cuda.jit
def from_neighbour(one, other, whole):
    one.x = other.x + whole[2].y
    whole[0].y = 9.0


@cuda.jit
def of_tuple(pair, value):
    pair[0].x = value
    pair[1].y = -value


def _array():
    a = np.zeros(4, KIND)
    a["weight"], a["count"], a["rows"] = np.arange(4.0), np.arange(4), np.arange(24).reshape(4, 2, 3)
    return a


WAYS = {"an element": lambda a: a[1], "of a record array": lambda a: a.view(np.recarray)[1],
        "a copy": lambda a: a[1].copy(), "of a slice": lambda a: a[3::-2][1], "alone": lambda a: a[1:2].reshape(())[()]}


@pytest.mark.sampled(1)
@LOWER
@pytest.mark.parametrize("way", WAYS)
def test_fields_are_written(way, lower):
    a = _array()
    record = WAYS[way](a)
    wanted = a.copy()
    for _ in range(2):
        reactant.kernel(update, lower=lower)[1, 1](record, 1.25)
    wanted[1]["weight"], wanted[1]["count"], wanted[1]["inner"], wanted[1]["small"] = 2.5, 7, (2.25, 7), 200
    np.testing.assert_array_equal(record, wanted[1])
    if way != "a copy":
        np.testing.assert_array_equal(a, wanted)


@LOWER
def test_threads_write_several_fields(lower):
    a, values = _array(), np.linspace(1, 2, 8)
    reactant.kernel(threads, lower=lower)[1, 32](a[2], values)
    wanted = _array()
    wanted[2]["weight"], wanted[2]["count"], wanted[2]["rows"] = values[0], 5, values[2:].reshape(2, 3)
    np.testing.assert_array_equal(a, wanted)


@LOWER
def test_what_is_only_read_stays_known(lower):
    a, out = _array(), np.zeros(8)
    a.flags.writeable = False
    launch = reactant.kernel(read, lower=lower)[1, 8]
    launch(a[3], out)
    np.testing.assert_array_equal(out, 3.0 * np.arange(8) + 23)
    assert [b.name for b in launch.record(a[3], out).buffers] == ["out"]


@LOWER
def test_same_memory(lower):
    """Elements of one array, the array itself and one struct twice."""
    a = np.array([(1, 2), (3, 4), (5, 6)], PLAIN)
    reactant.kernel(from_neighbour, lower=lower)[1, 1](a[0], a[1], a)
    np.testing.assert_array_equal(a, np.array([(9, 9), (3, 4), (5, 6)], PLAIN))
    one = a[1].copy()
    reactant.kernel(from_neighbour, lower=lower)[1, 1](one, one, a)
    assert one["x"] == 9
    reactant.kernel(of_tuple, lower=lower)[1, 1]((a[1], one), 0.5)
    assert a[1]["x"] == 0.5 and one["y"] == -0.5


@LOWER
def test_swapped(lower):
    a, out = np.array([(1, 2), (3, 4)], PLAIN), np.zeros(1)
    for _ in range(3):
        reactant.kernel(read_and_change, lower=lower)[1, 1](a[1], out)
    np.testing.assert_array_equal(a, np.array([(1, 2), (5, 5)], PLAIN))
    assert out[0] == 4


@LOWER
def test_in_compiled_functions(lower):
    kernel = reactant.kernel(read_and_change, lower=lower)

    @reactant.jit
    def program(a, out):
        for _ in range(3):
            kernel[1, 1](a[1], out)
        kernel[1, 1](a[:1][0], out)
        return a["x"].sum()
    a, out = np.array([(1, 2), (3, 4)], PLAIN), np.zeros(1)
    assert program(a, out) == 7
    np.testing.assert_array_equal(a, np.array([(2, 2), (5, 5)], PLAIN))


@pytest.mark.sampled(100)
@LOWER
def test_elements_at_places_of_the_run(lower):
    kernel = reactant.kernel(read_and_change, lower=lower)

    @reactant.jit
    def program(a, out, k):
        for i in range(k, k + 3):
            kernel[1, 1](a[i], out)
        kernel[1, 1](a[np.argmin(out) - 1], out)
        return a[k]["x"]
    a, wanted = (np.array([(k, 10 * k) for k in range(8)], PLAIN) for _ in range(2))
    out, other = np.zeros(1), np.zeros(1)
    for i in (2, 3, 4, -1):
        _changed(wanted[i], other)
    assert program(a, out, np.int64(2)) == wanted[2]["x"]
    np.testing.assert_array_equal(a, wanted)
    np.testing.assert_array_equal(out, other)


def _changed(record, out):
    out[0] = record["x"]
    record["x"] = record["y"]
    record["y"] = out[0] + 1


def test_copies_are_refused():
    """What would change a copy says so."""
    a, out = np.array([(1, 2), (3, 4)], PLAIN), np.zeros(1)
    one = a[1]

    @reactant.jit
    def of_struct(record, out):
        read_and_change[1, 1](record, out)

    @reactant.jit
    def captured(out):
        read_and_change[1, 1](one, out)
    for function, arguments, error in ((of_struct, (one, out), UnsupportedError),
                                       (captured, (out,), ConstantWriteError)):
        with pytest.raises(error, match="struct"):
            function(*arguments)
    np.testing.assert_array_equal(a, np.array([(1, 2), (3, 4)], PLAIN))


def test_read_only_structs():
    a = np.array([(1, 2), (3, 4)], PLAIN)
    a.flags.writeable = False
    with pytest.raises(ValueError, match="read-only|not writeable|writable"):
        reactant.kernel(read_and_change)[1, 1](a[1], np.zeros(1))


def test_the_record_says_so():
    a = np.array([(1, 2), (3, 4)], PLAIN)
    record = reactant.kernel(read_and_change)[1, 1].record(a[1], np.zeros(1))
    assert [b.written for b in record.buffers] == [True, True]
    assert "read_and_change" in reactant.kernel(read_and_change)[1, 1].explain(a[1], np.zeros(1))
