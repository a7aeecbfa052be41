"""Programs that are native code alone run without XLA: right for every kind of argument and result, and only where that
pays."""
import gc
import subprocess
import sys
import threading

import numpy as np
import pytest

import reactant
from reactant.ir import modules
from reactant.ir.context import building
from reactant.native import NativeError, threads
from reactant.native.straight import straight
from reactant.runtime.pool import release_memory


def program(function, *arguments, **options):
    return reactant.jit(function, **options).lower(*arguments).program()


def runs_straight(function, *arguments, **options):
    return program(function, *arguments, **options).executable.straight is not None


X = np.linspace(-2.0, 3.0, 60)
ARGUMENTS = {
    "as it is": X, "every second": X[::2], "reversed": X[::-1], "a column": X.reshape(20, 3)[:, 1],
    "transposed": X.reshape(5, 12).T, "Fortran's order": np.asfortranarray(X.reshape(5, 12)), "read-only": X.copy(),
    "not aligned": np.frombuffer(b"x" + X.tobytes(), np.uint8)[1:].view(np.float64),
    "one": X[:1], "0-d": np.array(0.25), "a number": 0.25, "NumPy's number": np.float32(0.25),
    "other byte order": X.astype(">f8"), "float32": X.astype(np.float32), "float16": X.astype(np.float16),
    "complex": X + 1j * X[::-1], "complex64": (X - 2j).astype(np.complex64), "bool": X > 0, "int8": X.astype(np.int8),
    "uint64": np.abs(X).astype(np.uint64), "int64": X.astype(np.int64), "NaN": np.where(X > 0, np.nan, X),
    "denormal": X * 1e-310, "broadcast": np.broadcast_to(X[:4], (3, 4)),
}
ARGUMENTS["read-only"].flags.writeable = False
FUNCTIONS = (lambda x: x + x, lambda x: np.where(x == 0, x, -(x * x) if np.asarray(x).dtype != bool else x),
             lambda x: (np.sum(x), x.max() if isinstance(x, np.ndarray) and x.dtype.kind != "c" else x),
             lambda x: np.concatenate([np.ravel(x), np.ravel(x)[::-1]]))


@pytest.mark.parametrize("which", range(len(FUNCTIONS)))
@pytest.mark.parametrize("name", ARGUMENTS)
def test_arguments_of_every_kind(name, which):
    given, function = ARGUMENTS[name], FUNCTIONS[which]
    before = np.array(given)
    found, wanted = reactant.jit(function)(given), function(given)
    for mine, theirs in zip(*(x if isinstance(x, tuple) else (x,) for x in (found, wanted)), strict=True):
        assert np.asarray(mine).dtype == np.asarray(theirs).dtype and np.shape(mine) == np.shape(theirs)
        np.testing.assert_allclose(mine, theirs, rtol=1e-3 if np.asarray(theirs).dtype == np.float16 else 1e-6,
                                   atol=1e-12 if np.asarray(theirs).dtype.kind == "c" else 0)
    np.testing.assert_array_equal(before, np.array(given))


def swapped(a, b):
    a[:], b[:] = b.copy(), a.copy()
    return a.sum()


def test_results_that_are_arguments_constants_or_the_same():
    def function(x):
        y = x + 1.0
        return y, y, x.reshape(2, -1) + 0.0, np.zeros(3), y.reshape(3, -1)
    x = np.arange(6.0)
    found = reactant.jit(function)(x)
    assert runs_straight(function, x)
    for mine, theirs in zip(found, function(x), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    found[3][:] = 5.0                       # nobody else's
    np.testing.assert_array_equal(reactant.jit(function)(x)[3], np.zeros(3))
    a, b = np.arange(4.0), np.ones(4)
    assert reactant.jit(swapped)(a, b) == 4.0
    np.testing.assert_array_equal(a, np.ones(4))
    np.testing.assert_array_equal(b, np.arange(4.0))


@pytest.mark.slow
def test_results_are_their_own_and_live_as_long_as_they_are_held():
    compiled, x = reactant.jit(lambda x: x * 2.0), np.arange(5000.0)
    first = compiled(x)
    second = compiled(x + 1.0)
    del x
    gc.collect()
    np.testing.assert_array_equal(first, 2 * np.arange(5000.0))
    np.testing.assert_array_equal(second, 2 * np.arange(5000.0) + 2)
    assert first.flags.writeable and first.flags.owndata


def test_the_memory_of_big_results_is_used_again():
    compiled, x = reactant.jit(lambda x: x + 1.0), np.zeros(1 << 20)
    first = compiled(x)
    part, place = first[5:], first.ctypes.data
    del first
    second = compiled(x)                    # a view of the first result is held
    assert second.ctypes.data != place and part[0] == 1.0
    del part
    assert compiled(x + 1.0).ctypes.data == place
    assert second[-1] == 1.0 and second.flags.writeable and second.flags.c_contiguous
    del second
    assert release_memory() >= x.nbytes


def test_results_that_are_one_number():
    """Big ones are filled, and held by nobody."""
    for dtype in (np.float64, np.float16, np.int8, np.uint64, np.bool_):
        for value in (0, -0.0, np.nan, 7):
            for shape in ((), (0, 3), (1 << 20, 2)):
                if value != value and np.dtype(dtype).kind not in "fc":
                    continue
                wanted = np.full(shape, value, dtype)
                compiled = reactant.jit(lambda shape=shape, value=value, dtype=dtype: np.full(shape, value, dtype))
                found = compiled()
                assert found.dtype == wanted.dtype and found.tobytes() == wanted.tobytes()
                found[...] = 1
                assert compiled().tobytes() == wanted.tobytes()
    made = straight_of(lambda x: (np.full_like(x, 3.0), np.full_like(x, 3.0) + x), np.ones(1 << 18))
    filled = straight_of(lambda x: np.full_like(x, 3.0), np.ones(1 << 18))
    assert any(k is not None and not any(k.strides) for k in filled.kept)
    np.testing.assert_array_equal(made([np.ones(1 << 18)])[0], np.full(1 << 18, 3.0))

    def function(a):
        a.fill(2.0)
    given = np.ones((1 << 18, 2))[:, 1]
    reactant.jit(function)(given)
    assert (given == 2.0).all()


def straight_of(function, *arguments):
    return program(function, *arguments).executable.straight


PAYS = {
    "elementwise": (lambda x: x * 2 + 1, True), "a reduction": (lambda x: x.max(), True),
    "a sort": (lambda x: np.sort(x), True), "a loop": (lambda x: _loop(x), True),
    "constants alone": (lambda x: (np.zeros_like(x), np.arange(400) + 0.0), True),
    "two that have nothing to do with each other": (lambda x, y: (x + 1, y * 2), True),
    "a transform": (lambda x: np.fft.fft(x).real, False), "eigenvalues": (lambda x: np.linalg.eigvals(
        np.diag(x[:30] + 4.0) + 1.0), False), "a solve": (lambda x: np.linalg.solve(
        np.diag(x[:30] + 4.0) + 1.0, x[:30]), True),
}


def _loop(x):
    for k in range(1, x.size):
        x[k] += 0.5 * x[k - 1]
    return x


@pytest.mark.parametrize("name", PAYS)
def test_where_it_pays(name):
    function, pays = PAYS[name]
    arguments = [np.linspace(0, 1, 400)] * function.__code__.co_argcount
    assert runs_straight(function, *arguments) == pays
    assert not runs_straight(function, *arguments, native="never")
    assert not runs_straight(function, *map(reactant.array, arguments))         # on the device, it is XLA's
    for mine, theirs in zip(*(np.atleast_2d(np.asarray(f(*(a.copy() for a in arguments))))
                              for f in (reactant.jit(function), function)), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-12)


@pytest.mark.slow
def test_much_work_is_done_by_several_threads():
    big = np.linspace(0.0, 1.0, 4_000_000)
    made = program(lambda x: (x + 1.0) * x - 2.0, big).executable.straight
    alone = program(lambda x: (x + 1.0) * x - 2.0, big[:4000]).executable.straight
    assert [step.threads for step in made.steps] == [threads.pool()[1]] and alone.steps[0].threads == 1
    for _ in range(20):
        np.testing.assert_array_equal(made([big])[0], (big + 1.0) * big - 2.0)


@pytest.mark.slow
def test_a_fork_works_alone():
    """Threads do not live on in it."""
    text = """
import os
import numpy as np
import reactant
compiled, x = reactant.jit(lambda x: np.sqrt(x) * x - 2.0), np.ones(4_000_000)
assert compiled(x)[-1] == -1.0
child = os.fork()
if not child:
    os._exit(0 if compiled(x)[-1] == -1.0 else 1)
assert os.waitpid(child, 0)[1] == 0
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", text], check=True, timeout=120)


def test_explain_says_so():
    said = "runs without XLA"
    assert said in str(reactant.explain(PAYS["elementwise"][0], X))
    assert said not in str(reactant.explain(PAYS["a transform"][0], X))


def test_calls_from_several_threads():
    compiled, wrong = reactant.jit(lambda x: np.sqrt(x) + x.sum()), []
    compiled(np.ones(100))

    def many(k):
        x = np.full(100, float(k))
        for _ in range(200):
            if not np.allclose(compiled(x), np.sqrt(x) + 100.0 * k, rtol=1e-12):
                wrong.append(k)
    threads = [threading.Thread(target=many, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_bytes_that_are_seen_otherwise():
    """Results, and what begins as a copy of an argument."""
    def function(x):
        y = x.view(np.int64) + 1
        return y.view(np.float64), y.reshape(2, -1)
    for mine, theirs in zip(reactant.jit(function)(X), function(X), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    module = reactant.cuda.load("""
        extern "C" __global__ void more(float *x, const int *at, int n) {
            int i = blockIdx.x * blockDim.x + threadIdx.x;
            if (i < n) x[at[i]] += 1.0f;
        }""", lower="native")
    raw = np.zeros(4 * 100 + 1, np.uint8)[1:401]
    module.more[4, 32](raw.view(np.float32), np.arange(0, 100, 2, dtype=np.int32), 50)
    np.testing.assert_array_equal(raw.view(np.float32), np.arange(100) % 2 == 0)


def test_modules_that_need_xla_are_none():
    with building():
        for text in ("func.func @main(%a: tensor<3xf32>) -> tensor<3xf32> "
                     "{ %0 = stablehlo.add %a, %a : tensor<3xf32> return %0 : tensor<3xf32> }",
                     "func.func @main(%a: tensor<3xf32>) -> tensor<3xf32> "
                     "{ %0 = stablehlo.custom_call @somebody(%a) : (tensor<3xf32>) -> tensor<3xf32> "
                     "return %0 : tensor<3xf32> }"):
            assert straight(modules.parse(text), True) is None


def test_a_failed_check_raises():
    from reactant import native
    text = """func.func @checked(%x: memref<3xf64>, %y: memref<3xf64>) {
      %zero = arith.constant 0 : index
      %limit = arith.constant 1.0 : f64
      %value = memref.load %x[%zero] : memref<3xf64>
      %fine = arith.cmpf olt, %value, %limit : f64
      cf.assert %fine, "too big"
      memref.store %value, %y[%zero] : memref<3xf64>
      return }"""
    with building():
        function = native.compile(text, roles=("in", "out"))
        module = modules.parse("func.func @main(%a: tensor<3xf64>) -> tensor<3xf64> { return %a : tensor<3xf64> }")
        block = modules.function(module).regions[0].blocks[0]
        from jaxlib.mlir import ir
        with ir.InsertionPoint.at_block_begin(block), ir.Location.unknown():
            made = function.custom_call([block.arguments[0]])
        block.operations[len(block.operations) - 1].operands[0] = made[0]
        run = straight(module, True)
    assert run([np.array([0.5, 0.0, 0.0])])[0][0] == 0.5
    with pytest.raises(NativeError, match="too big"):
        run([np.array([1.5, 0.0, 0.0])])
