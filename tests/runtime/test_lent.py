"""Arguments that are read out of the memory around them, by calls wherever they stand."""
import jax
import numpy as np
import pytest

import reactant
from reactant.ir import context, modules
from reactant.runtime.lent import lent_operands, with_lent

CALL = ('stablehlo.custom_call @reader(%a, %starts) {api_version = 4 : i32, backend_config = {lent = 1 : i64}, '
        'operand_layouts = [dense<[1, 0]> : tensor<2xindex>, dense<0> : tensor<1xindex>], '
        'result_layouts = [dense<> : tensor<0xindex>]} : (tensor<300x500xf64>, tensor<1xi64>) -> tensor<f64>')
PLACES = {
    "top": f"%r = {CALL}",
    "loop": f"""%r = stablehlo.while(%x = %zero) : tensor<f64> cond {{
      %go = stablehlo.compare LT, %x, %zero : (tensor<f64>, tensor<f64>) -> tensor<i1>
      stablehlo.return %go : tensor<i1>
    }} do {{
      %n = {CALL}
      stablehlo.return %n : tensor<f64>
    }}""",
    "branch in a loop": f"""%r = stablehlo.while(%x = %zero) : tensor<f64> cond {{
      %go = stablehlo.compare LT, %x, %zero : (tensor<f64>, tensor<f64>) -> tensor<i1>
      stablehlo.return %go : tensor<i1>
    }} do {{
      %p = stablehlo.compare GT, %x, %zero : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %n = "stablehlo.if"(%p) ({{
        %m = {CALL}
        stablehlo.return %m : tensor<f64>
      }}, {{
        %i = stablehlo.slice %a [0:1, 0:1] : (tensor<300x500xf64>) -> tensor<1x1xf64>
        %m = stablehlo.reshape %i : (tensor<1x1xf64>) -> tensor<f64>
        stablehlo.return %m : tensor<f64>
      }}) : (tensor<i1>) -> tensor<f64>
      stablehlo.return %n : tensor<f64>
    }}"""}


@pytest.mark.parametrize("offset", [2, None], ids=["known", "any"])
@pytest.mark.parametrize("place", PLACES)
def test_calls_take_the_memory_around_an_argument(place, offset):
    """A function with uses from nowhere does not verify, and to run one is to read freed memory."""
    with context.building():
        module = modules.parse(f"""func.func @main(%a: tensor<300x500xf64>) -> (tensor<f64>, tensor<300x500xf64>) {{
          %zero = stablehlo.constant dense<0.0> : tensor<f64>
          %starts = stablehlo.constant dense<0> : tensor<1xi64>
          {PLACES[place]}
          %whole = stablehlo.negate %a : tensor<300x500xf64>
          return %r, %whole : tensor<f64>, tensor<300x500xf64>
        }}""")
        made = modules.parse(with_lent(modules.bytecode(module), {0: 150_007}, None if offset is None else [offset]))
        assert made.operation.verify()
        main = modules.function(made)
        argument, *told = main.regions[0].blocks[0].arguments
        assert str(argument.type) == "tensor<150007xf64>" and len(told) == (offset is None)
        call, = modules.ops_called("stablehlo.custom_call", made)
        assert lent_operands(call) == 1 and call.operands[0] == argument
        assert str(call.attributes["operand_layouts"][0]) == "dense<0> : tensor<1xindex>"
        if offset is not None:
            assert f"dense<{offset}> : tensor<1xi64>" in str(call.operands[1].owner)


def solved(points, a, right):
    total = np.zeros(right.shape, right.dtype)
    for z in points:
        total += np.linalg.solve(z * a + np.eye(len(a)), right)
    return total


def chosen(points, a, right):
    total = np.zeros(right.shape, right.dtype)
    for z in points:
        if np.real(z) > 0.5:
            total += np.linalg.solve(z * a + np.eye(len(a)), right)
        else:
            total -= np.exp(right * 0.001).sum() * right
    return total


def nested(points, a, right):
    total = np.zeros((), right.dtype)
    for z in points:
        for k in range(3):
            total += np.exp(right[k] * z).sum() + np.sin(right * z).sum() + np.linalg.det(a[:3, :3] * z)
    return total


def read_and_cut(points, a, right):
    return solved(points, a, right) + np.fft.fft(right)[:, ::-1].real, right[3, 5], np.tanh(right).sum(0)


def at(array, offset):
    """A copy that starts so many bytes after a multiple of 64."""
    memory = np.zeros(array.nbytes + 128, np.uint8)
    begin = -memory.ctypes.data % 64 + offset
    made = memory[begin:begin + array.nbytes].view(array.dtype).reshape(array.shape)
    made[...] = array
    return made


@pytest.mark.parametrize("dtype", ["float64", "complex128", "float32", "complex64"])
@pytest.mark.parametrize("function", [solved, chosen, nested, read_and_cut])
def test_loops_read_big_arguments_at_any_alignment(function, dtype):
    random = np.random.default_rng(3)
    scalar = random.random(5) + (1j * random.random(5) if dtype[0] == "c" else 0)
    points, a, right = (x.astype(dtype) for x in (scalar, random.random((20, 20)), random.random((20, 16_400))))
    expected = jax.tree.map(np.asarray, function(points, a, right))
    run = reactant.jit(function)
    for offset in (16, 0, 16, 32, 48, 16, 32, 48, 32, 48, 0):
        found = run(points, a, at(right, offset))
        jax.tree.map(lambda x, y: np.testing.assert_allclose(
            x, y, rtol=0, atol=np.abs(y).max() * (1e-12 if np.dtype(dtype).itemsize // (1 + (dtype[0] == "c")) == 8
                                                  else 3e-3)), found, expected)
