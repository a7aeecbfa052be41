"""Compiled functions where functions are used: classes, decorators, threads, coroutines, pickles, types."""
import abc
import asyncio
import contextvars
import copy
import functools
import inspect
import multiprocessing
import pickle
import pydoc
import subprocess
import sys
import threading
import typing
import weakref
from pathlib import Path

import numpy as np
import pytest

import reactant

X = np.arange(1.0, 4.0)


@reactant.jit
def scale(x: np.ndarray, n: int = 2, *, k: float = 1.0) -> np.ndarray:
    """Docs of scale."""
    return x * n * k


class Model:
    factor = 3.0

    def __init__(self, w):
        self.w = w

    @reactant.jit
    def step(self, x):
        """Docs of step."""
        return self.w * x

    @classmethod
    @reactant.jit
    def class_inside(cls, x):
        return x * cls.factor

    @reactant.jit
    @classmethod
    def class_outside(cls, x):
        return x * cls.factor

    @staticmethod
    @reactant.jit
    def static_inside(x):
        return x + 1

    @reactant.jit
    @staticmethod
    def static_outside(x):
        return x + 1

    @property
    @reactant.jit
    def twice(self):
        return self.w * 2

    @functools.cached_property
    @reactant.jit
    def pair(self):
        return self.w * np.ones(2)

    thrice = functools.partialmethod(reactant.jit(lambda self, x, k: self.w * x * k), k=3.0)

    @functools.singledispatchmethod
    def either(self, x):
        return "other"

    @either.register
    @reactant.jit
    def _(self, x: np.ndarray):
        return x * self.w

    @reactant.jit
    def __call__(self, x):
        return x - self.w

    @reactant.jit
    def keep(self, x):
        self.kept = x * 2


class Derived(Model):
    factor = 5.0

    @reactant.jit
    def step(self, x):
        return super().step(x) + 1


@functools.singledispatch
def dispatched(x):
    return "other"


@dispatched.register
@reactant.jit
def _(x: np.ndarray):
    return x * 2


MODEL, DERIVED = Model(2.0), Derived(3.0)


def test_calls():
    DERIVED.keep(X)
    for found, expected in [
            (MODEL.step(X), 2 * X), (Model.step(MODEL, X), 2 * X), (DERIVED.step(X), 3 * X + 1), (MODEL(X), X - 2),
            (Model.class_inside(X), 3 * X), (DERIVED.class_inside(X), 5 * X), (Model.class_outside(X), 3 * X),
            (DERIVED.class_outside(X), 5 * X), (Model.static_inside(X), X + 1), (MODEL.static_outside(X), X + 1),
            (MODEL.twice, 4.0), (MODEL.pair, 2 * np.ones(2)), (MODEL.thrice(X), 6 * X), (MODEL.either(X), 2 * X),
            (dispatched(X), 2 * X), (functools.partial(scale, n=3)(X), 3 * X), (DERIVED.kept, 2 * X),
            (reactant.jit(MODEL.step)(X), 2 * X), (reactant.jit(DERIVED.class_inside)(X), 5 * X),
            (reactant.jit(functools.partial(scale, k=3.0))(X), 6 * X),
            (reactant.grad(lambda w: Model(w).step(X).sum())(2.0), 6.0),
            (reactant.grad(lambda x: MODEL.step(x).sum())(X), [2.0, 2.0, 2.0]),
            (reactant.vmap(MODEL.step)(np.ones((2, 3))), 2 * np.ones((2, 3)))]:
        np.testing.assert_array_equal(found, expected)
    assert MODEL.pair is MODEL.pair

    def everything(model, x):
        return (model.step(x) + model.class_inside(x) + model.class_outside(x) + model.static_inside(x)
                + model.static_outside(x) + model.twice + model.pair[0] + dispatched(x) + model(x) + model.either(x)
                + scale(x, 3))
    assert reactant.verify(everything, Derived(3.0), X)


def test_what_can_be_read():
    @functools.wraps(scale)
    def wrapped(*args, **kwargs):
        return scale(*args, **kwargs)

    for function in (scale, wrapped):
        assert inspect.signature(function).parameters.keys() == {"x", "n", "k"}
        assert (function.__doc__, function.__name__) == ("Docs of scale.", "scale")
    assert typing.get_type_hints(scale)["n"] is int and inspect.unwrap(scale).__name__ == "scale"
    assert "Docs of scale." in pydoc.render_doc(scale)
    method = MODEL.step
    assert (method.__doc__, method.__name__, str(inspect.signature(method))) == ("Docs of step.", "step", "(x)")
    assert method.__self__ is MODEL and method == MODEL.step and hash(method) == hash(MODEL.step)
    assert inspect.ismethod(method) and not inspect.iscoroutinefunction(scale)

    class Abstract(abc.ABC):
        @reactant.jit
        @abc.abstractmethod
        def work(self): ...
    assert Abstract.__abstractmethods__ == {"work"}


def test_copies_and_pickles():
    for found, expected in [
            (pickle.loads(pickle.dumps(MODEL.step))(X), 2 * X), (pickle.loads(pickle.dumps(MODEL)).step(X), 2 * X),
            (pickle.loads(pickle.dumps(DERIVED.class_inside))(X), 5 * X),
            (pickle.loads(pickle.dumps(DERIVED.class_outside))(X), 5 * X),
            (pickle.loads(pickle.dumps(reactant.jit(MODEL.step)))(X), 2 * X),
            (pickle.loads(pickle.dumps(functools.partial(scale, n=3)))(X), 3 * X),
            (copy.deepcopy(MODEL).step(X), 2 * X), (copy.copy(MODEL.step)(X), 2 * X),
            (weakref.WeakMethod(MODEL.step)()(X), 2 * X)]:
        np.testing.assert_array_equal(found, expected)
    assert pickle.loads(pickle.dumps(scale)) is scale and copy.copy(scale) is scale and copy.deepcopy(scale) is scale
    assert copy.deepcopy(MODEL.step).__self__ is not MODEL and weakref.ref(scale)() is scale


def test_cloudpickle():
    cloudpickle = pytest.importorskip("cloudpickle")
    factor = 7.0
    local = reactant.jit(lambda x: x * factor)
    local(X)
    np.testing.assert_array_equal(cloudpickle.loads(cloudpickle.dumps(local))(X), 7 * X)


@pytest.mark.slow
def test_another_process_of_multiprocessing(tmp_path, monkeypatch):
    (tmp_path / "of_a_pool.py").write_text("import reactant\n@reactant.jit\ndef double(x):\n    return x * 2\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    import of_a_pool
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        np.testing.assert_array_equal(pool.map(of_a_pool.double, [X])[0], 2 * X)


def test_threads_and_coroutines():
    shared = reactant.jit(lambda x: np.sin(x) * 2 + x.sum())
    others = [reactant.jit(lambda x, k=k: x * k) for k in range(3)]
    together, found = threading.Barrier(6), [None] * 6

    def work(i):
        together.wait()
        found[i] = shared(X), others[i % 3](X)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i, (one, other) in enumerate(found):
        np.testing.assert_array_equal(one, shared(X))
        np.testing.assert_array_equal(other, X * (i % 3))
    assert shared.cache_size() == 1

    async def several():
        return scale(X), *await asyncio.gather(*(asyncio.to_thread(scale, np.ones(n)) for n in range(1, 4)))
    for one in asyncio.run(several()):
        assert one.sum() == (12 if one.size == 3 and one[0] != one[1] else 2 * one.size)
    np.testing.assert_array_equal(contextvars.copy_context().run(scale, X), 2 * X)


def test_asynchronous_functions_are_refused():
    async def work(x):
        return x * 2

    with pytest.raises(reactant.UnsupportedError, match="'work' is asynchronous") as caught:
        reactant.jit(work)
    assert "asyncio.to_thread" in caught.value.hint


TYPED = """
import reactant
@reactant.jit
def scale(x: float, n: int = 2, *, k: str = "a") -> float: return x * n
@reactant.jit(static_argnames="n")
def told(x: float, n: int) -> list[float]: return [x] * n
class Model:
    @reactant.jit
    def step(self, x: float) -> float: return x
    @classmethod
    @reactant.jit
    def made(cls, x: int) -> str: return ""
    @staticmethod
    @reactant.jit
    def pure(x: int) -> bytes: return b""
reveal_type(scale)              # Jitted[[x: float, n: int =, *, k: str =], float]
reveal_type(scale(1.0))         # float
reveal_type(told)               # Jitted[[x: float, n: int], list[float]]
reveal_type(Model().step)       # def (x: float) -> float
reveal_type(Model.pure(1))      # bytes
scale("no")                     # incompatible type "str"; expected "float"
Model().step("no")              # incompatible type "str"; expected "float"
told(1.0)                       # Missing positional argument "n"
"""


@pytest.mark.slow
def test_mypy_sees_the_types(tmp_path):
    pytest.importorskip("mypy")
    (tmp_path / "typed.py").write_text(TYPED)
    assert (Path(reactant.__file__).parent / "py.typed").exists()
    done = subprocess.run([sys.executable, "-m", "mypy", "--no-error-summary", "--follow-imports=silent",
                           "--ignore-missing-imports", "typed.py"], cwd=tmp_path, capture_output=True, text=True)
    said = done.stdout.splitlines()
    for number, line in enumerate(TYPED.splitlines(), 1):
        if " # " in line:
            assert any(each.startswith(f"typed.py:{number}:") and line.split("# ")[1] in each.replace(
                "reactant.calling.jitted.", "") for each in said), (line, said)
