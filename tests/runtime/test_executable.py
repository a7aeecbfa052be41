"""Executables: every dtype and kind of argument, NumPy in and out, memory that nobody shares, threads, errors."""
from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxlib.mlir import ir

from reactant.ir import context
from reactant.runtime import buffers, executable, pool
from reactant.runtime.executable import Executable

BIG = 300_000  # elements: above facts.BIG for every dtype of 4 bytes or more
DTYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32",
          "float64", "complex64", "complex128"]


def module_of(function, *arguments) -> ir.Module:
    """The StableHLO jax makes of `function`, in 64 bits."""
    with jax.enable_x64(True):
        text = jax.jit(function).lower(*arguments).as_text()
    with context.building():
        return ir.Module.parse(text)


def compiled(function, *arguments, **options) -> Executable:
    return Executable(module_of(function, *arguments), **options)


def sample(shape, dtype, seed=0) -> np.ndarray:
    generator = np.random.default_rng(seed)
    numbers = generator.integers(0, 100, shape)
    if np.dtype(dtype).kind == "c":
        return (numbers + 1j * generator.integers(0, 9, shape)).astype(dtype)
    return (numbers % 2 == 0) if dtype == "bool" else numbers.astype(dtype)


def shifted(array: np.ndarray, shift: int) -> np.ndarray:
    """The same numbers at an address `shift` bytes after a multiple of 64."""
    raw = np.zeros(array.nbytes + 192, np.uint8)
    start = -raw.ctypes.data % 64 + shift
    view = raw[start:start + array.nbytes].view(array.dtype).reshape(array.shape)
    view[...] = array
    return view


@pytest.fixture(params=[False, True], ids=["x32", "x64"])
def jax_default(request):
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", request.param)
    yield request.param
    assert jax.config.jax_enable_x64 == request.param, "the user's setting was changed"
    jax.config.update("jax_enable_x64", before)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 3), (BIG,), (1000, 300)])
def test_dtypes_and_shapes(dtype, shape):
    x = sample(shape, dtype)
    run = compiled(lambda a: (jnp.flip(a), a.reshape(-1)), x)
    flipped, flat = run([x])
    for result, expected in ((flipped, np.flip(x)), (flat, x.reshape(-1))):
        assert type(result) is np.ndarray and result.flags.writeable and result.flags.aligned
        assert result.dtype == expected.dtype and result.shape == expected.shape
        np.testing.assert_array_equal(result, expected)


CONSUMERS = {"elementwise": lambda a: a + a[::-1], "reduction": lambda a: a.real.max(keepdims=True),
             "library": lambda a: a.reshape(-1, 4)[:4].T @ a.reshape(-1, 4)[:4]}


@pytest.mark.sampled(10)
@pytest.mark.parametrize("dtype", ["int8", "float16", "float32", "float64", "complex128"])
@pytest.mark.parametrize("consumer", CONSUMERS)
@pytest.mark.parametrize("first", [16, 0])
def test_addresses_at_any_alignment(dtype, consumer, first):
    """One executable for all of them: forms, copies and the form for any alignment take iterations."""
    aligned = sample((BIG * 4,), dtype)
    run = compiled(CONSUMERS[consumer], aligned)
    for shift in [first, *range(0, 64, 8), 0, 16, 1, 2, 4, 12, 63, *range(0, 64, 16)]:
        x = shifted(aligned, shift)
        np.testing.assert_allclose(run([x])[0], CONSUMERS[consumer](x), rtol=1e-6 if dtype != "float16" else 1e-2)


@pytest.mark.parametrize("dtype", ["int64", "float64", "complex128", "uint64", "float32"])
def test_64_bits_whatever_the_default(dtype, jax_default):
    x = sample((5,), dtype) + np.array(2**40 + 1 if dtype != "float32" else 1).astype(dtype)
    for result in compiled(lambda a: (a, a + a), x)([x]):
        assert result.dtype == x.dtype
    np.testing.assert_array_equal(result, x + x)


LAYOUTS = {
    "strided": lambda x: np.repeat(x, 2, axis=0)[::2],
    "reversed": lambda x: x[::-1].copy()[::-1],
    "transposed": lambda x: x.T.copy().T,
    "broadcast": lambda x: np.broadcast_to(x[:1], x.shape),
    "byte swapped": lambda x: x.astype(x.dtype.newbyteorder()),
    "read only": lambda x: np.lib.stride_tricks.as_strided(x, writeable=False),
    "inner of a bigger": lambda x: np.pad(x, 3)[3:-3, 3:-3],
    "list": lambda x: x.tolist(),
    "jax array": lambda x: jax.device_put(x),
    "subclass": lambda x: x.view(np.matrix),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("rows", [4, 1000])
@pytest.mark.parametrize("fused", [True, False])
def test_layouts(layout, rows, fused):
    with jax.enable_x64(True):
        x = LAYOUTS[layout](sample((rows, 300), "float64"))
    function = (lambda a: a * 2 + 1) if fused else (lambda a: a @ a.T)
    result, = compiled(function, np.zeros((rows, 300)))([x])
    np.testing.assert_allclose(result, function(np.asarray(x, np.float64)))


@pytest.mark.parametrize("size", [4, BIG])
def test_results_never_share_memory(size):
    x = sample((size,), "float64")
    run = compiled(lambda a: (a, a, a + 1, a + 1, jnp.zeros_like(a)), x)
    first, second = run([x]), run([x])
    arrays = [x, *first, *second]
    for i, one in enumerate(arrays):
        for other in arrays[i + 1:]:
            assert not np.shares_memory(one, other)
    for result in first:
        result[:] = -7
    for result, expected in zip(second, (x, x, x + 1, x + 1, 0 * x), strict=True):
        np.testing.assert_array_equal(result, expected)
    np.testing.assert_array_equal(x, sample((size,), "float64"))


@pytest.mark.parametrize("size", [4, BIG])
def test_arguments_may_change_after_the_call(size):
    run = compiled(lambda a, b: a * 2 + b, *[np.zeros(size)] * 2)
    for shift in (0, 16):
        x = shifted(sample((size,), "float64"), shift)
        expected = x * 3
        result, = run([x, x])
        x[:] = -1
        np.testing.assert_array_equal(result, expected)


@pytest.mark.slow
def test_results_outlive_the_call_and_are_recycled():
    pool.release_memory()
    x = sample((BIG,), "float64")
    run = compiled(lambda a: a + 1, x)
    kept = [run([x * i])[0] for i in range(4)]
    for i, result in enumerate(kept):
        np.testing.assert_array_equal(result, x * i + 1)
    part, address = kept[0][5:10], kept[0].ctypes.data
    del result
    kept.clear()
    gc.collect()
    assert pool.POOL.held_bytes == 3 * x.nbytes, "a view keeps its memory"
    part[:] = 3
    others = [run([x])[0] for _ in range(3)]
    assert address not in [other.ctypes.data for other in others]
    assert (part == 3).all()
    del part
    assert run([x])[0].ctypes.data == address
    others.clear()
    assert pool.release_memory() >= 3 * x.nbytes
    assert pool.POOL.held_bytes == 0


@pytest.mark.parametrize("size", [4, BIG])
def test_write_back(size):
    x = sample((size,), "float64")
    run = compiled(lambda a: (a + 1, a * 2), x)
    whole = np.zeros(2 * size)
    results = run([x], write_back={1: x, 0: whole[::2]})
    np.testing.assert_array_equal(x, sample((size,), "float64") * 2)
    np.testing.assert_array_equal(whole[::2], sample((size,), "float64") + 1)
    assert results[1] is x and not whole[1::2].any()
    with pytest.raises(TypeError, match="Cannot cast"):
        run([x], write_back={0: np.zeros(size, np.float32)})


@pytest.mark.parametrize(("arguments", "message"), [
    ([np.zeros(3)], "plus takes 2 arguments, 1 were given"),
    ([np.zeros(3), np.zeros(4)], r"Argument 1 of plus is float64\[4\]; it was compiled for float64\[3\]"),
    ([np.zeros(3), np.zeros(3, np.float32)], r"Argument 1 of plus is float32\[3\]; it was compiled for float64\[3\]"),
    ([2, np.zeros(3)], r"Argument 0 of plus is float64\[\]"),
])
def test_arguments_that_do_not_fit(arguments, message):
    run = compiled(lambda a, b: a + b, np.zeros(3), np.zeros(3), name="plus")
    for way in (run, run.on_device):
        with pytest.raises(TypeError, match=message):
            way(arguments)


@pytest.mark.parametrize("scalar", [2, 2.5, True, np.float64(2.5), np.float32(2)])
def test_python_scalars(scalar, jax_default):
    run = compiled(lambda a, s: a + s, np.ones(3), np.float64(0))
    if isinstance(scalar, np.float32):
        with pytest.raises(TypeError, match="float32"):
            run([np.ones(3), scalar])
    else:
        np.testing.assert_array_equal(run([np.ones(3), scalar])[0], 1 + np.full(3, float(scalar)))


@pytest.mark.parametrize("size", [4, BIG])
def test_on_device(size, jax_default):
    x = sample((size,), "float64")
    run = compiled(lambda a, b: (a + b, a), x, x)
    with jax.enable_x64(True):
        on_device = jax.device_put(x)
    for arguments in ([on_device, on_device], [x, on_device], [x.astype(">f8"), x]):
        total, same = run.on_device(arguments)
        assert isinstance(total, jax.Array) and total.dtype == np.float64
        np.testing.assert_array_equal(np.asarray(total), 2 * x)
        np.testing.assert_array_equal(np.asarray(same), x)


@pytest.mark.slow
def test_on_device_finishes_before_a_lent_array_can_change():
    x = shifted(sample((BIG * 10,), "float64"), 0)
    run = compiled(lambda a: jnp.sort(a), x)
    result, = run.on_device([x])
    x[:] = 0
    np.testing.assert_array_equal(np.asarray(result), np.sort(sample((BIG * 10,), "float64")))


def test_donation_on_device():
    run = compiled(lambda a: a + 1, np.zeros(BIG), donate=(0,))
    with jax.enable_x64(True):
        x = jax.device_put(np.zeros(BIG)) + 0
    address = x.unsafe_buffer_pointer()
    result, = run.on_device([x])
    assert x.is_deleted() and result.unsafe_buffer_pointer() == address
    x = np.zeros(BIG)
    run([x])
    assert not x.any()


def test_inside_an_outer_jit(jax_default):
    x = np.linspace(0, 1, 5)
    run = compiled(lambda a: (jnp.sin(a),), x)
    outer = jax.jit(lambda a: run.traced([a])[0] * 2)
    with jax.enable_x64(True):
        np.testing.assert_allclose(outer(x), np.sin(x) * 2, rtol=1e-15)
        np.testing.assert_allclose(run.traced([x])[0], np.sin(x), rtol=1e-15)


@pytest.mark.slow
def test_threads():
    x = sample((BIG,), "float64")
    run = compiled(lambda a, b: (a + b, a.sum()), x, x)
    failures = []

    def work(seed):
        for i in range(20):
            y = sample((BIG,), "float64", seed * 100 + i)
            total, summed = run([x, y])
            if not (total == x + y).all() or summed != x.sum():
                failures.append((seed, i))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_reports():
    run = compiled(lambda a: a + 1, np.zeros(8), name="increment")
    assert run.compile_seconds == 0
    run.compile()
    assert 0 < run.compile_seconds < 60
    assert "HloModule jit_increment" in run.as_text()
    assert run.cost_analysis()["flops"] == 8
    assert run.memory_analysis().output_size_in_bytes == 64
    assert repr(run) == "<Executable increment(float64[8]) -> (float64[8])>"


def test_modules_that_cannot_run():
    with context.building():
        nameless = ir.Module.parse("func.func @other() { return }")
        dynamic = ir.Module.parse("func.func @main(%a: tensor<?xf32>) -> tensor<?xf32> { return %a : tensor<?xf32> }")
    with pytest.raises(ValueError, match="has no function @main"):
        Executable(nameless)
    with pytest.raises(ValueError, match="only tensors of static shape"):
        Executable(dynamic)


def test_changing_the_module_afterwards_changes_nothing():
    module = module_of(lambda a: a + 1, np.zeros(3))
    run = Executable(module)
    with context.building():
        module.operation.attributes["sym_name"] = ir.StringAttr.get("gone")
    np.testing.assert_array_equal(run([np.zeros(3)])[0], np.ones(3))


def test_no_big_copies():
    """What the whole file is for: neither the argument nor the result is copied."""
    x = shifted(sample((BIG * 10,), "float64"), 16)
    run = compiled(lambda a: a + 1.5, x).compile()
    assert buffers.offset_of(x, 8) == 2
    view = buffers.borrowed_view(x, run.inputs[0], 2, 2)
    assert view.ctypes.data == x.ctypes.data - 16 and view.size == x.size + 2
    analysis = run.memory_analysis()
    assert analysis.temp_size_in_bytes < 1024
    assert analysis.alias_size_in_bytes == x.nbytes
    result, = run([x])
    assert type(result.base) is buffers.Lease
    assert executable.POOL is pool.POOL


@pytest.mark.slow
def test_jax_compile_cache_across_processes(tmp_path):
    program = """
import numpy as np
from jaxlib.mlir import ir
from reactant.ir import context
from reactant.runtime.executable import Executable
with context.building():
    module = ir.Module.parse('''func.func @main(%a: tensor<200000xf64>) -> tensor<200000xf64> {
      %0 = stablehlo.add %a, %a : tensor<200000xf64> return %0 : tensor<200000xf64> }''')
ones = np.ones(200008)
ones = ones[-ones.ctypes.data // 8 % 8:][:200000]       # programs differ by where arrays begin, and NumPy's vary
print(Executable(module)([ones])[0].sum())
"""
    settings = {**os.environ, "JAX_COMPILATION_CACHE_DIR": str(tmp_path),
                "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0", "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "0"}
    kept = []
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=settings)
        assert done.stdout == "400000.0\n"
        kept.append(sorted(path.name for path in tmp_path.iterdir() if path.name.endswith("cache")))
    assert kept[0] and kept[0] == kept[1]


def test_a_named_device():
    device = jax.devices("cpu")[0]
    run = compiled(lambda a: a + 1, np.zeros(BIG), device=device)
    np.testing.assert_array_equal(run([np.zeros(BIG)])[0], np.ones(BIG))
    assert run.on_device([np.zeros(BIG)])[0].devices() == {device}


def test_results_given_back_as_arguments():
    """x = f(x) many times over: aligned results as arguments, recycled buffers, each result right."""
    x = first = shifted(sample((BIG,), "float64"), 16)
    run = compiled(lambda a, b: (a + 1, b), x, x)
    for iteration in range(1, 30):
        x, same = run([x, first])
        assert x[0] == first[0] + iteration and x[-1] == first[-1] + iteration
        np.testing.assert_array_equal(same, first)


HANDED_OVER = 20_000    # elements of 8 bytes: between `arguments.HANDED_OVER` and `facts.BIG`


@pytest.mark.parametrize("beside", [1, BIG], ids=["alone", "beside a big argument"])
def test_arguments_that_xla_would_copy_in_another_thread(beside, monkeypatch):
    copies = []
    monkeypatch.setattr(pool.SCRATCH, "give_back", lambda memory: copies.append([m.nbytes for m in memory]))
    x, y = sample((HANDED_OVER,), "float64"), sample((beside,), "float64")
    run = compiled(lambda a, b: (a * 2, b + 1), x, y)
    made = {"aligned": (shifted(x, 0), 0), "by 16": (shifted(x, 16), 1), "by 3": (shifted(x, 3), 1),
            "strided": (np.repeat(x, 2)[::2], 1), "of fields": (np.repeat(x, 2).view("f8,f8")["f1"], 1),
            "list": (list(x), None)}
    for name, (given, count) in made.items():
        copies.clear()
        doubled, more = run([given, y])
        np.testing.assert_array_equal(doubled, x * 2, name)
        np.testing.assert_array_equal(more, y + 1, name)
        if count is not None:
            assert [sizes.count(x.nbytes) for sizes in copies] == [count], name


def test_arguments_of_that_size_that_do_not_fit():
    run = compiled(lambda a: a + 1, sample((HANDED_OVER,), "float64"))
    for wrong in (np.ones(HANDED_OVER + 1), np.ones(HANDED_OVER, np.complex128)):
        with pytest.raises(TypeError):
            run([wrong])
    with pytest.raises(TypeError):
        run([])
