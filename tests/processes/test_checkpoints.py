"""Checkpoints: what is saved comes back, in another way if wanted, and what cannot be saved harms nothing."""
import errno
import json
import time
import warnings

import jax
import ml_dtypes
import numpy as np
import pytest

import reactant
from reactant.processes import checkpoint_files

pytestmark = pytest.mark.devices8


@pytest.fixture(autouse=True)
def orbax():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("orbax.checkpoint")


def random(shape, dtype):
    bits = np.random.default_rng(0).integers(0, 256, (*shape, np.dtype(dtype).itemsize), np.uint8)
    return (bits[..., 0] > 127) if np.dtype(dtype) == bool else bits.reshape(-1).view(dtype).reshape(shape)


def rows(count):
    return reactant.mesh(x=count).sharding("x")


DTYPES = ["bool", "int8", "uint8", "int16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64",
          "complex64", "complex128", ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn]


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda each: np.dtype(each).name)
@pytest.mark.parametrize("shape", [(1021, 3), (16,), (5, 0), (3, 2, 2)], ids=str)
def test_every_bit_comes_back_on_another_mesh(tmp_path, dtype, shape):
    given = random(shape, dtype)
    saved = reactant.Checkpoints(tmp_path)
    saved.save(0, {"divided": reactant.array(given, sharding=rows(8)), "host": given,
                   "one": reactant.array(given), "whole": reactant.array(given, sharding=rows(4).mesh and
                                                                         reactant.mesh(x=4).sharding())})
    for like in (rows(8), rows(5), reactant.mesh(x=2, y=3).sharding(("y", "x")), reactant.mesh(x=4).sharding()):
        for name in ("divided", "host", "one", "whole"):
            found = reactant.Checkpoints(tmp_path).restore({name: like})[name]
            assert found.sharding == like and found.dtype == given.dtype and found.shape == shape
            assert found.gather().tobytes() == given.tobytes()
    assert saved.restore({"divided": given})["divided"].tobytes() == given.tobytes()


def test_the_padding_is_not_in_the_files(tmp_path):
    reactant.Checkpoints(tmp_path).save(3, reactant.array(np.ones(1021, np.int8), sharding=rows(8)))
    (told,) = json.loads(next(tmp_path.rglob("tree.json")).read_text())
    assert told["shape"] == [1021]
    assert json.loads(next(tmp_path.rglob("zarr.json")).read_text())["shape"] == [1021]


def test_every_kind_of_leaf(tmp_path):
    u = reactant.array(np.arange(24.0).reshape(12, 2), sharding=rows(8))
    state = {"u": u, "view": u[2:9, 1], "jax": jax.device_put(np.arange(8.0), rows(8)), "host": np.arange(3),
             "key": jax.random.key(7), "numbers": [1, -2.5, True, "text", 1 - 2j, 10**30, float("inf")],
             "scalar": np.float32(2.5), "pair": (np.int8(3), {"deep": np.array(-0.0)})}
    saved = reactant.Checkpoints(tmp_path)
    saved.save(1, state)
    for found in (saved.restore(state), saved.restore()):
        for name in ("u", "view", "jax", "host", "scalar"):
            np.testing.assert_array_equal(np.asarray(found[name]), np.asarray(state[name]))
        assert found["numbers"] == state["numbers"]
        assert list(map(type, found["numbers"])) == list(map(type, state["numbers"]))
        assert jax.random.bits(found["key"]) == jax.random.bits(state["key"])
        assert np.signbit(found["pair"][1]["deep"]) and type(found["pair"][0]) is np.int8
    found = saved.restore(state)
    assert isinstance(found["u"], reactant.DeviceArray) and found["u"].sharding == u.sharding
    assert isinstance(found["jax"], jax.Array) and found["jax"].sharding == state["jax"].sharding
    assert isinstance(found["pair"], tuple)
    struct = jax.ShapeDtypeStruct((12, 2), np.float64, sharding=rows(4))
    assert saved.restore({"u": struct})["u"].sharding == rows(4)


def test_the_last_ones_stay(tmp_path):
    saved = reactant.Checkpoints(tmp_path, keep=2)
    assert saved.latest is None and saved.steps == []
    for step in (5, 10, 15):
        saved.save(step, {"step": step})
    assert saved.steps == [10, 15] and saved.latest == 15
    assert saved.restore(step=10) == {"step": 10} and saved.restore() == {"step": 15}
    assert repr(reactant.Checkpoints(tmp_path)) == f"reactant.Checkpoints({str(tmp_path)!r}): steps [10, 15]"


def test_a_full_disk_loses_nothing(tmp_path, monkeypatch):
    saved = reactant.Checkpoints(tmp_path)
    u = reactant.array(np.arange(1021.0), sharding=rows(8))
    saved.save(1, {"u": u})
    write = checkpoint_files.write

    def full(directory, parts):
        write(directory, parts)
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(checkpoint_files, "write", full)
    with pytest.raises(reactant.CheckpointError, match="Process 0 of 1 .*No space left on device.*they were") as told:
        saved.save(2, {"u": u + 1})
    assert told.value.rank == 0
    assert saved.steps == reactant.Checkpoints(tmp_path).steps == [1]
    monkeypatch.undo()
    saved.save(2, {"u": u + 1})
    np.testing.assert_array_equal(saved.restore()["u"], np.arange(1.0, 1022.0))


def test_what_was_not_completed_is_not_the_last(tmp_path):
    saved = reactant.Checkpoints(tmp_path)
    saved.save(1, {"step": 1})
    saved.close()
    done = tmp_path / "1"
    torn = tmp_path / "2.orbax-checkpoint-tmp"      # as a process that is killed leaves it
    torn.mkdir()
    (torn / "tree.json").write_text("[")
    assert reactant.Checkpoints(tmp_path).latest == 1
    until = time.monotonic() + 30
    while torn.exists() and time.monotonic() < until:       # orbax clears up beside
        time.sleep(0.01)
    assert done.exists() and not torn.exists()


@pytest.mark.parametrize("call, message", [
    (lambda saved: saved.restore({"v": rows(8)}), r"has no \['v'\]; it has \['u'\]"),
    (lambda saved: saved.restore({"u": np.zeros((3, 3))}), r"\['u'\] was saved as float64\[4\] and is wanted as "),
    (lambda saved: saved.restore({"u": np.zeros(4, np.float32)}), r"float64\[4\] and is wanted as float32\[4\]"),
    (lambda saved: saved.restore(step=7), "no checkpoint of step 7 in .*; there are 1"),
    (lambda saved: saved.save(1, {"u": 1}), "is a checkpoint of step 1 in .* already"),
    (lambda saved: saved.save(2, {"f": print}), r"\['f'\] cannot be saved: a builtin_function_or_method"),
    (lambda saved: saved.save(2, [np.array(["a"], object)]), r"\[0\] cannot be saved: a ndarray of dtype object"),
])
def test_mistakes(tmp_path, call, message):
    saved = reactant.Checkpoints(tmp_path)
    saved.save(1, {"u": np.arange(4.0)})
    with pytest.raises(reactant.CheckpointError, match=message):
        call(saved)


def test_a_directory_is_needed(monkeypatch, tmp_path):
    monkeypatch.delenv("REACTANT_CHECKPOINT", raising=False)
    with pytest.raises(reactant.CheckpointError, match="no directory is named"):
        reactant.Checkpoints()
    with pytest.raises(reactant.CheckpointError, match="at least one"):
        reactant.Checkpoints(tmp_path, keep=0)
    monkeypatch.setenv("REACTANT_CHECKPOINT", str(tmp_path))
    assert reactant.Checkpoints().directory == tmp_path
