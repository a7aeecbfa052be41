"""The reference interpreter, made safe: what aborts the process there is refused or repaired here."""
import itertools

import jax
import numpy as np
import pytest
from jax import lax

from reactant.ir import modules
from reactant.ir.context import building
from reactant.ir.interpret import NotInterpretable, evaluate, interpretable


def run(text, *arguments, function="main"):
    with building():
        return evaluate(modules.parse(text), arguments, function)


def test_several_results():
    total, less = run('''func.func @main(%a: tensor<2xf32>, %b: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xi1>) {
        %0 = stablehlo.add %a, %b : tensor<2xf32>
        %1 = stablehlo.compare LT, %a, %b : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
        return %0, %1 : tensor<2xf32>, tensor<2xi1> }''', np.float32([1, 2]), np.float32([3, np.nan]))
    np.testing.assert_array_equal(total, np.float32([4, np.nan]))
    assert less.tolist() == [True, False] and less.dtype == bool


def test_complex_numbers_and_chlo():
    text = '''func.func @main(%a: tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>> {
        %0 = chlo.square %a : tensor<2xcomplex<f32>> -> tensor<2xcomplex<f32>>
        return %0 : tensor<2xcomplex<f32>> }'''
    with building():
        module = modules.parse(text)
        before = str(module)
        result, = evaluate(module, [np.complex64([1 + 2j, 3])])
        assert str(module) == before
    np.testing.assert_allclose(result, [-3 + 4j, 9])
    assert result.dtype == np.complex64


DIVISIONS = [("divide", [7, -7, 5, -128, 1], [2, 2, 0, -1, -1], [3, -3, -1, -128, -1]),
             ("remainder", [7, -7, 5, -128, 1], [2, 2, 0, -1, -1], [1, -1, 5, 0, 0])]


@pytest.mark.parametrize("op, x, y, wanted", DIVISIONS)
def test_integer_division_does_not_kill_the_process(op, x, y, wanted):
    result, = run(f'''func.func @main(%a: tensor<5xi8>, %b: tensor<5xi8>) -> tensor<5xi8> {{
        %0 = stablehlo.{op} %a, %b : tensor<5xi8>
        return %0 : tensor<5xi8> }}''', np.int8(x), np.int8(y))
    assert result.tolist() == wanted


def test_unsigned_division():
    result, = run('''func.func @main(%a: tensor<2xui8>, %b: tensor<2xui8>) -> tensor<2xui8> {
        %0 = stablehlo.divide %a, %b : tensor<2xui8>
        return %0 : tensor<2xui8> }''', np.uint8([7, 200]), np.uint8([0, 3]))
    assert result.tolist() == [255, 66]


REFUSED = {
    "'stablehlo.custom_call'": '''func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
        %0 = stablehlo.custom_call @f(%a) : (tensor<2xf32>) -> tensor<2xf32>
        return %0 : tensor<2xf32> }''',
    "'stablehlo.cholesky'": '''func.func @main(%p: tensor<i1>, %a: tensor<2x2xf32>) -> tensor<2x2xf32> {
        %0 = "stablehlo.if"(%p) ({
          %1 = stablehlo.cholesky %a : tensor<2x2xf32>
          stablehlo.return %1 : tensor<2x2xf32>
        }, { stablehlo.return %a : tensor<2x2xf32> }) : (tensor<i1>) -> tensor<2x2xf32>
        return %0 : tensor<2x2xf32> }''',
    "an order of complex numbers": '''func.func @main(%a: tensor<2xcomplex<f32>>) -> tensor<2xi1> {
        %0 = stablehlo.compare LT, %a, %a : (tensor<2xcomplex<f32>>, tensor<2xcomplex<f32>>) -> tensor<2xi1>
        return %0 : tensor<2xi1> }''',
}


@pytest.mark.parametrize("reason", sorted(REFUSED))
def test_refused(reason):
    with pytest.raises(NotInterpretable, match=f"the reference interpreter does not know {reason}"):
        run(REFUSED[reason], None)
    with building():
        assert not interpretable(modules.parse(REFUSED[reason]))


def test_arguments_are_checked():
    text = "func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> { return %a : tensor<2xf32> }"
    with pytest.raises(ValueError, match="0 arguments for 1 parameters"):
        run(text)
    with pytest.raises(ValueError, match=r"argument 0 is tensor<2xf64>, the parameter tensor<2xf32>"):
        run(text, np.zeros(2))


def test_other_functions():
    text = "func.func @other(%a: tensor<2xi32>) -> tensor<2xi32> { return %a : tensor<2xi32> }"
    assert run(text, np.int32([1, 2]), function="other")[0].tolist() == [1, 2]


def test_scatter_leaves_its_operand_alone():
    text = """func.func @main(%x: tensor<4xf64>, %u: tensor<2xf64>) -> (tensor<4xf64>, tensor<4xf64>) {
      %i = stablehlo.constant dense<[[0],[2]]> : tensor<2x1xi64>
      %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0],
        scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
      ^bb0(%a: tensor<f64>, %b: tensor<f64>):
        %s = stablehlo.add %a, %b : tensor<f64>
        stablehlo.return %s : tensor<f64> }) : (tensor<4xf64>, tensor<2x1xi64>, tensor<2xf64>) -> tensor<4xf64>
      %1 = stablehlo.add %x, %x : tensor<4xf64>
      return %0, %1 : tensor<4xf64>, tensor<4xf64> }"""
    with building():
        scattered, doubled = evaluate(modules.parse(text), [np.ones(4), np.ones(2)])
    np.testing.assert_array_equal(scattered, [2, 1, 2, 1])
    np.testing.assert_array_equal(doubled, [2, 2, 2, 2])


def test_scatter_skips_windows_that_lie_partly_outside():
    """As XLA does. The interpreter wrote the part that lies inside."""
    numbers = lax.ScatterDimensionNumbers((1,), (), (0,))

    def added(x, i, y):
        return lax.scatter_add(x, i, y, numbers)
    x, y = np.arange(5, dtype=np.int32), np.arange(10, 70, 10, dtype=np.int32).reshape(2, 3)
    for places in ([1, 3], [-1, 0], [2, -3]):
        i = np.array(places, np.int32)[:, None]
        wanted = np.asarray(jax.jit(added)(x, i, y))
        np.testing.assert_array_equal(run(jax.jit(added).lower(x, i, y).as_text(), x, i, y)[0], wanted)


def test_products_that_sum_nothing_up():
    """The interpreter ended the process."""
    product, = run("""func.func @main(%a: tensor<2x0xf32>, %b: tensor<0x3xf32>) -> tensor<2x3xf32> {
        %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
            : (tensor<2x0xf32>, tensor<0x3xf32>) -> tensor<2x3xf32>
        return %0 : tensor<2x3xf32> }""", np.zeros((2, 0), np.float32), np.zeros((0, 3), np.float32))
    np.testing.assert_array_equal(product, np.zeros((2, 3), np.float32))


@pytest.mark.parametrize("dtype", ["ui8", "ui32", "ui64"])
def test_unsigned_indices(dtype):
    """The interpreter takes them for signed ones."""
    text = f"""func.func @main(%x: tensor<300xi64>, %i: tensor<{dtype}>) -> (tensor<1xi64>, tensor<300xi64>) {{
        %0 = stablehlo.dynamic_slice %x, %i, sizes = [1] : (tensor<300xi64>, tensor<{dtype}>) -> tensor<1xi64>
        %1 = stablehlo.negate %0 : tensor<1xi64>
        %2 = stablehlo.dynamic_update_slice %x, %1, %i
            : (tensor<300xi64>, tensor<1xi64>, tensor<{dtype}>) -> tensor<300xi64>
        return %0, %2 : tensor<1xi64>, tensor<300xi64> }}"""
    x, index = np.arange(300), np.iinfo(dtype.replace("ui", "uint")).max - np.array(3, dtype.replace("ui", "uint"))
    taken, updated = run(text, x, index)
    assert taken.tolist() == [min(int(index), 299)]
    assert np.flatnonzero(updated != x).tolist() == taken.tolist()


@pytest.mark.parametrize("out", list(itertools.permutations(range(4))))
def test_convolutions_in_any_order(out):
    """The interpreter ended the process."""
    x, kernel = np.random.default_rng(3).normal(size=(2, 3, 4, 5)), np.random.default_rng(4).normal(size=(6, 3, 3, 2))

    def convolved(x, kernel):
        return lax.conv_general_dilated(x, kernel, (2, 1), ((0, 2), (1, -1)), (1, 2), (2, 1),
                                        lax.ConvDimensionNumbers((0, 1, 2, 3), (0, 1, 2, 3), out))
    with jax.enable_x64(True):
        text, wanted = jax.jit(convolved).lower(x, kernel).as_text(), np.asarray(convolved(x, kernel))
    np.testing.assert_allclose(run(text, x, kernel)[0], wanted, rtol=1e-12, atol=1e-12)


def test_convolutions_add_up_in_the_dtype_of_the_result():
    x, kernel = np.full((1, 1, 8), 100, np.int8), np.full((1, 1, 3), 100, np.int8)
    text = jax.jit(lambda x, kernel: lax.conv_general_dilated(x, kernel, (1,), "VALID", preferred_element_type=np.int32)
                   ).lower(x, kernel).as_text()
    np.testing.assert_array_equal(run(text, x, kernel)[0], np.full((1, 1, 6), 30_000, np.int32))
