"""Which way a launch goes by itself: the estimates put measured kernels on the right side."""
import numpy as np
import pytest

pytest.importorskip("numba.cuda", reason="needs numba-cuda")

import reactant  # noqa: E402
from reactant.ir import modules  # noqa: E402
from reactant.ir.context import building  # noqa: E402
from reactant.kernels.launch import tensor_costs  # noqa: E402
from tests.kernels.corpus import linear_algebra, science, stencils  # noqa: E402


def sparse(n, longest):
    random = np.random.default_rng(0)
    starts = np.concatenate([[0], np.cumsum(random.integers(0, longest, n))])
    return random.random(starts[-1]), random.integers(0, n, starts[-1]), starts, random.random(n), np.zeros(n), n


GRID = (np.ones((400, 400)), np.ones((400, 400)), np.zeros((400, 400)))
NATIVE = {
    "rows of a sparse matrix": (linear_algebra.spmv, 400, 128, sparse(50_000, 20)),
}
TENSOR = {
    "halo in shared memory": (stencils.hotspot, (50, 50), (8, 8), (*GRID, 400, 400, 0.5, 0.1, 0.2, 0.01)),
    "stencil": (stencils.heat2, (50, 50), (8, 8), (GRID[0], GRID[1], 400, 400, 0.1)),
    "tiled product": (linear_algebra.matmul_tiled, (25, 25), (8, 8), tuple(np.ones((200, 200)) for _ in range(3))
                      + (200, 200, 200)),
    "recurrence in every thread": (linear_algebra.tridiagonal, 40, 128,
                                   tuple(np.ones((32, 5000)) for _ in range(5)) + (32, 5000)),
    "atomics": (science.deposit, 1000, 128, (np.ones(128_000) / 2, np.ones(128_000), np.zeros(64), 128_000, 64)),
    "little work": (linear_algebra.spmv, 1, 64, sparse(50, 6)),
}


@pytest.mark.parametrize("kernel, grid, block, arguments", NATIVE.values(), ids=NATIVE)
def test_native_code_is_faster(kernel, grid, block, arguments):
    text = str(reactant.kernel(kernel)[grid, block].explain(*arguments))
    assert "compiled for the CPU" in text and "estimated at" in text


@pytest.mark.sampled(100)
@pytest.mark.parametrize("kernel, grid, block, arguments", TENSOR.values(), ids=TENSOR)
def test_a_tensor_program_is_faster(kernel, grid, block, arguments):
    assert "raised to a tensor program" in str(reactant.kernel(kernel)[grid, block].explain(*arguments))


@pytest.mark.slow
def test_numbers_of_32_bits_that_are_no_vectors_cost_as_much_as_others():
    """A bilateral filter: exponentials of gathered neighbours."""
    pytest.importorskip("ziglang", reason="needs ziglang")
    from tests.kernels.corpus import hecbench  # noqa: F401 (declares it)
    from tests.kernels.corpus.sized import PROGRAMS
    program = PROGRAMS["bilateral"]
    src, out, weights = program.make(np.random.default_rng(0), 87)
    kernel = reactant.cuda.load(program.source).bilateral
    assert "raised to a tensor program" in str(kernel[(6, 6), (16, 16)].explain(src, out, weights, 90, 87, 2))


UPDATED = """%i = stablehlo.constant dense<0> : tensor<i64>
    %u = stablehlo.constant dense<0.0> : tensor<10xf64>
    %r = stablehlo.dynamic_update_slice %x, %u, %i : (tensor<1000000xf64>, tensor<10xf64>, tensor<i64>) ->
        tensor<1000000xf64>"""
TURNED = """%a = stablehlo.reshape %x : (tensor<1000000xf64>) -> tensor<1000x1000xf64>
    %b = stablehlo.transpose %a, dims = [1, 0] : (tensor<1000x1000xf64>) -> tensor<1000x1000xf64>
    %r = stablehlo.reshape %b : (tensor<1000x1000xf64>) -> tensor<1000000xf64>"""
SHORT = """%a = stablehlo.reshape %x : (tensor<1000000xf64>) -> tensor<250000x4xf64>
    %b = stablehlo.add %a, %a : tensor<250000x4xf64>
    %r = stablehlo.reshape %b : (tensor<250000x4xf64>) -> tensor<1000000xf64>"""


SERIES = """%zero = stablehlo.constant dense<0> : tensor<i64>
    %n = stablehlo.constant dense<1000000> : tensor<i64>
    %l:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i64>, tensor<1000000xf64>
      cond { %c = stablehlo.compare LT, %i, %n : (tensor<i64>, tensor<i64>) -> tensor<i1>
        stablehlo.return %c : tensor<i1>
      } do {
        %one = stablehlo.constant dense<1> : tensor<i64>
        %a = stablehlo.dynamic_slice %x, %i, sizes = [1] : (tensor<1000000xf64>, tensor<i64>) -> tensor<1xf64>
        %b = stablehlo.multiply %a, %a : tensor<1xf64>
        %z = stablehlo.dynamic_update_slice %y, %b, %i : (tensor<1000000xf64>, tensor<1xf64>, tensor<i64>) ->
            tensor<1000000xf64>
        %j = stablehlo.add %i, %one : tensor<i64>
        stablehlo.return %j, %z : tensor<i64>, tensor<1000000xf64>
      }
    %r = stablehlo.reshape %l#1 : (tensor<1000000xf64>) -> tensor<1000000xf64>"""


@pytest.mark.parametrize("text, least, most", [
    (SERIES, 5e-4, 3e-3),
    ("%r = stablehlo.add %x, %x : tensor<1000000xf64>", 3e-4, 1.5e-3), (UPDATED, 3e-4, 1.5e-3),
    (TURNED, 6e-4, 4e-3), (SHORT, 4e-4, 4e-3),
], ids=["numbers one by one", "sum", "update", "transpose", "short rows"])
def test_estimates(text, least, most):
    with building():
        module = modules.parse(f"func.func public @main(%x: tensor<1000000xf64>) -> tensor<1000000xf64> {{\n{text}\n"
                               "return %r : tensor<1000000xf64>\n}")
        assert least < tensor_costs.tensor_seconds(module) < most


def test_loops_until_the_last_thread_is_done_count_more():
    def loop(limit):
        return f"""func.func public @main(%x: tensor<1000xf64>, %n: tensor<i64>) -> tensor<1000xf64> {{
            %zero = stablehlo.constant dense<0> : tensor<i64>
            %one = stablehlo.constant dense<1> : tensor<i64>
            %limit = stablehlo.constant dense<{tensor_costs.UNKNOWN_ITERATIONS}> : tensor<i64>
            %r:2 = stablehlo.while(%i = %zero, %a = %x) : tensor<i64>, tensor<1000xf64>
            cond {{
                %more = stablehlo.compare LT, %i, {limit} : (tensor<i64>, tensor<i64>) -> tensor<i1>
                stablehlo.return %more : tensor<i1>
            }} do {{
                %b = stablehlo.multiply %a, %a : tensor<1000xf64>
                %next = stablehlo.add %i, %one : tensor<i64>
                stablehlo.return %next, %b : tensor<i64>, tensor<1000xf64>
            }}
            return %r#1 : tensor<1000xf64>
        }}"""
    with building():
        known, unknown = (tensor_costs.tensor_seconds(modules.parse(loop(limit))) for limit in ("%limit", "%n"))
    fixed = 1e-9 * (tensor_costs.RATES["launch"] + 8000 * tensor_costs.RATES["result"])
    assert unknown - fixed == pytest.approx(tensor_costs.DIVERGENT * (known - fixed), rel=0.1)


def test_launches_in_a_loop_are_cheaper_as_parts_of_it():
    step = reactant.kernel(stencils.heat1)[800, 128]

    def loop(u, v, steps):
        for _ in range(steps):
            step(u, v, 100_000, 0.1)
            step(v, u, 100_000, 0.1)
    text = reactant.jit(loop, frontend="numpy").lower(np.ones(100_000), np.zeros(100_000), 500).as_text()
    assert "while" in text and "reactant.native" not in text


@pytest.mark.slow
def test_indices_that_are_written_out_for_each_access_are_counted_once():
    """Sums of absolute differences were 32,643 operations (more than are taken), and are 2,300."""
    from tests.kernels.corpus import hecbench, sized  # noqa: F401 (declares the program)

    kernel = reactant.cuda.load(sized.PROGRAMS["sad"].source).sad
    arrays = np.zeros((8, 8), np.uint8), np.zeros((8, 8), np.uint8), np.zeros((2, 2, 81), np.uint16)
    assert "operations" not in str(kernel[(2, 2), 32].explain(*arrays, 8, 4))

    def tensors(*arrays):
        reactant.kernel(kernel, lower="tensor")[(2, 2), 32](*arrays, 8, 4)
    traced = reactant.jit(tensors, frontend="numpy").lower(*arrays).operations(optimized=False)
    assert sum(traced.values()) < 4000
