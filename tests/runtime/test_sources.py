"""Arrays read from elsewhere part by part: only what this process's devices hold, each part once, little in memory."""
import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest

import reactant

pytestmark = pytest.mark.devices8

PLACES = {"rows": ({"x": 8}, ("x",)), "both": ({"x": 4, "y": 2}, ("x", "y")),
          "columns": ({"x": 4, "y": 2}, (None, "y")),
          "joined": ({"x": 4, "y": 2}, (("x", "y"), None)), "whole": ({"x": 8}, ())}
SHAPES = [(16, 6), (13, 5), (3, 4), (1021, 1), (0, 3)]


class Counting:
    """An array elsewhere that notes what is read of it."""

    def __init__(self, content):
        self.content, self.shape, self.dtype, self.read = content, content.shape, content.dtype, []

    def __getitem__(self, index):
        self.read.append(tuple((s.start, s.stop) for s in index))
        return self.content[index]

    def __array__(self, *args, **kwargs):
        raise AssertionError("read as a whole")


def numbers(shape, dtype=np.float64):
    return (np.random.default_rng(0).random(shape) * 100).astype(dtype)


def sharding(name, rank=2):
    sizes, axes = PLACES[name]
    return reactant.mesh(**sizes).sharding(*axes[:rank])


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("place", PLACES)
def test_each_part_is_read_once(place, shape):
    source = Counting(numbers(shape))
    made = reactant.array(source, sharding=sharding(place))
    np.testing.assert_array_equal(np.asarray(made), source.content)
    assert made.sharding.is_equivalent_to(sharding(place), 2) and made.dtype == source.dtype
    elements = [np.prod([high - low for low, high in part]) for part in source.read]
    assert len(set(source.read)) == len(source.read) and sum(elements) == source.content.size
    assert 0 not in elements


def memory_map(content, path):
    np.save(path / "u.npy", content)
    return np.load(path / "u.npy", mmap_mode="r")


def name_of_file(content, path):
    np.save(path / "u.npy", content)
    return str(path / "u.npy")


def path_of_file(content, path):
    np.save(path / "f.npy", np.asfortranarray(content))
    return path / "f.npy"


def zarr_array(content, path):
    zarr = pytest.importorskip("zarr")
    made = zarr.create_array(path / "u.zarr", shape=content.shape, chunks=(4, 3), dtype=content.dtype)
    made[:] = content
    return made


def hdf5_dataset(content, path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(path / "u.h5", "w") as file:
        file["u"] = content
    return h5py.File(path / "u.h5")["u"]


SOURCES = [memory_map, name_of_file, path_of_file, zarr_array, hdf5_dataset]


@pytest.mark.parametrize("dtype", [np.float32, np.int16, ">f8", bool, np.complex64], ids=str)
@pytest.mark.parametrize("source", SOURCES)
def test_files(source, dtype, tmp_path):
    content = numbers((13, 5), dtype)
    made = reactant.array(source(content, tmp_path), sharding=sharding("both"))
    assert made.dtype == content.dtype.newbyteorder("=")
    np.testing.assert_array_equal(np.asarray(made), content)


@pytest.mark.parametrize("shape", [(), (5,), (3, 4, 5)], ids=str)
def test_ranks(shape, tmp_path):
    content = numbers(shape)
    np.save(tmp_path / "u.npy", content)
    place = reactant.mesh(x=8).sharding(*["x"][:len(shape)])
    np.testing.assert_array_equal(np.asarray(reactant.array(tmp_path / "u.npy", sharding=place)), content)


@pytest.mark.parametrize("dtype", [np.float32, np.int32, ml_dtypes.bfloat16], ids=str)
def test_another_dtype(dtype):
    source = Counting(numbers((13, 5)))
    made = reactant.array(source, dtype, sharding=sharding("both"))
    assert made.dtype == dtype and len(source.read) == 8
    np.testing.assert_array_equal(np.asarray(made), source.content.astype(dtype))


def test_it_is_its_own(tmp_path):
    source = np.lib.format.open_memmap(tmp_path / "u.npy", "w+", np.float64, (16, 4))
    source[:] = 1
    made = reactant.array(source, sharding=sharding("rows"))
    source[:] = 2
    assert (np.asarray(made) == 1).all()


def test_programs_take_it(tmp_path):
    np.save(tmp_path / "u.npy", content := numbers((1021, 3)))
    made = reactant.array(tmp_path / "u.npy", sharding=sharding("rows"))
    assert np.isclose(float(reactant.jit(lambda u: (u[1:] - u[:-1]).max())(made)), np.diff(content, axis=0).max())


@pytest.mark.parametrize("case, error, text", [
    (lambda path: path / "missing.npy", FileNotFoundError, "missing.npy"),
    (lambda path: (path / "u.txt").write_text("1 2 3") and path / "u.txt", TypeError, "is no .npy file.*zarr.open"),
    (lambda path: Counting(np.array([["a"]])), TypeError, "cannot hold"),
    (lambda path: Counting(np.zeros(3)), reactant.ShardingError, "dimensions"),
], ids=["missing", "text", "strings", "rank"])
def test_errors(case, error, text, tmp_path):
    with pytest.raises(error, match=text):
        reactant.array(case(tmp_path), sharding=sharding("both"))


def test_a_source_that_gives_another_shape():
    source = Counting(numbers((16, 6)))
    source.shape = (32, 6)
    with pytest.raises(reactant.ShardingError, match=r"shape \(0, 3\) for the part"):
        reactant.array(source, sharding=sharding("both"))


MEASURED = """
import sys
import numpy as np
import reactant

class Large:
    shape, dtype = (8 * 4 * 1024, 1024), np.dtype(np.float64)       # 256 MiB, 32 MiB for each device
    def __getitem__(self, index):
        return np.full([s.stop - s.start for s in index], float(index[0].start))

def most():
    # not getrusage: that begins with what the process that started this one had
    return int(open("/proc/self/status").read().partition("VmHWM:")[2].split()[0]) // 1024

place = reactant.mesh(x=8).sharding("x")
reactant.array(np.ones(64), sharding=place)
sources = [Large()]
if len(sys.argv) > 1:
    np.lib.format.open_memmap(sys.argv[1], "w+", np.float64, Large.shape).flush()
    sources = [sys.argv[1]]
before = most()
for source in sources:
    made = reactant.array(source, sharding=place)
    made.jax.block_until_ready()
print(most() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux how much memory a process had")
@pytest.mark.parametrize("file", [False, True], ids=["counting", "file"])
def test_memory(file, tmp_path):
    """The CPU's devices hold the 256 MiB themselves; beside them are two parts of 32 MiB, and one as it was read."""
    found = subprocess.run([sys.executable, "-c", MEASURED, *([str(tmp_path / "u.npy")] if file else [])],
                           capture_output=True, text=True, check=True)
    assert 250 < int(found.stdout) < 256 + 4 * 32, found.stdout
