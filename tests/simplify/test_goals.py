"""What the rules together must reach: the program a person would have written, counted in ops, elements or products."""
import numpy as np
import pytest

from reactant import pipelines
from reactant.ir import modules, ops
from reactant.ir.context import building
from reactant.ir.interpret import evaluate
from reactant.ir.types import shape_of, size
from reactant.rewrite.selftest import build_module


def simplified(builder, dtype="float32", pipeline="simplify"):
    """The module `builder(a)` builds, simplified, checked against its own meaning before."""
    with building():
        module = build_module(builder, np.dtype(dtype))
        assert module is not None, "the example does not verify"
        rng = np.random.default_rng(0)
        inputs = [rng.normal(size=shape_of(a)).astype(ops.dtype_of(a)) if ops.dtype_of(a).kind == "f"
                  else rng.integers(0, 2, shape_of(a)).astype(ops.dtype_of(a))
                  for a in modules.function(module).regions[0].blocks[0].arguments]
        small = sum(x.size for x in inputs) < 5_000
        expected = evaluate(module, inputs) if small else None
        pipelines.run(module, pipeline, verify=True)
        if small:
            for old, new in zip(expected, evaluate(module, inputs), strict=True):
                np.testing.assert_allclose(new, old, rtol=1e-5, atol=1e-6)
    return module


def counts(builder, **keywords):
    return dict(modules.counts(simplified(builder, **keywords)))


def short(module):
    return {name.removeprefix("stablehlo."): n for name, n in modules.counts(module).items()}


def update(x, y, *at):
    return ops.dynamic_update_slice(x, y, [ops.constant(k, np.int64) for k in at])


def matmul(x, y):
    return ops.dot_general(x, y, contracting_dims=((1,), (0,)))


def test_symmetric_product_has_one_dot_general():
    def program(a):
        x = a(8, 8)
        return ops.add(matmul(x, x), ops.transpose(matmul(x, x), (1, 0)))
    assert short(simplified(program)) == {"dot_general": 1, "transpose": 1, "add": 1}


def test_slice_of_a_chain_computes_only_what_is_used():
    def program(a):
        x, y, z = a(100_000), a(100_000), a(100_000)
        return ops.slice(ops.add(ops.multiply(ops.multiply(x, y), z), 4), (0,), (10,))
    module = simplified(program)
    with building():
        computed = [size(shape_of(op.results[0])) for op in modules.walk(module) if op.name in ops.ELEMENTWISE]
    assert computed == [10, 10, 10]


def test_slice_of_products_computes_only_what_is_used():
    def program(a):
        x, y, z = a(64, 64), a(64, 64), a(64)
        product = ops.add(ops.multiply(matmul(x, y), ops.broadcast_in_dim(z, (64, 64), (1,))), 4)
        return ops.slice(ops.reshape(product, (4096,)), (0,), (10,))
    module = simplified(program)
    with building():
        sizes = {size(shape_of(op.results[0])) for op in modules.walk(module) if op.name == "stablehlo.dot_general"}
    assert sizes == {10}, module


CHAINS = {
    "transposes": lambda a: ops.transpose(ops.transpose(ops.transpose(a(2, 3, 4), (1, 2, 0)), (1, 2, 0)), (1, 2, 0)),
    "reshapes": lambda a: ops.reshape(ops.reshape(ops.reshape(a(2, 6), (3, 4)), (12,)), (2, 6)),
    "reverses": lambda a: ops.reverse(ops.reverse(a(4, 5), (0, 1)), (0, 1)),
    "transpose around elementwise": lambda a: ops.transpose(ops.negate(ops.negate(ops.transpose(a(2, 3), (1, 0)))),
                                                            (1, 0)),
    "slices put together": lambda a: ops.concatenate([ops.slice(v := a(9), (0,), (3,)), ops.slice(v, (3,), (7,)),
                                                      ops.slice(v, (7,), (9,))], 0),
    "written and read": lambda a: ops.slice(update(a(4), a(2), 1), (1,), (3,)),
}


@pytest.mark.parametrize("name", sorted(CHAINS))
def test_chains_vanish(name):
    assert short(simplified(CHAINS[name])) == {}


def element(x, *at):
    return ops.slice(x, at, [k + 1 for k in at])


def turned_by_element(a):
    """An array written element by element, as unrolled code does."""
    x, out = a(4, 6), ops.constant(0.0, "float32", (6, 4))
    for i in range(6):
        for j in range(4):
            out = update(out, element(x, 3 - j, 5 - i), i, j)
    return out


MOVED = {
    "reversed by element": (lambda a: [x := a(6, 2), ops.concatenate([ops.slice(x, (k, 0), (k + 1, 2))
                                                                      for k in range(5, -1, -1)], 0)][1],
                            {"reverse": 1}),
    "every other": (lambda a: [x := a(9), ops.concatenate([element(x, k) for k in range(1, 9, 2)], 0)][1],
                    {"slice": 1}),
    "columns": (lambda a: [x := a(3, 4), ops.concatenate([ops.reshape(ops.slice(x, (0, k), (3, k + 1)), (1, 3))
                                                          for k in range(4)], 0)][1], {"transpose": 1}),
    "halves of rows": (lambda a: [x := a(4, 6), ops.concatenate([
        ops.slice(x, (k // 2, k % 2 * 3), (k // 2 + 1, k % 2 * 3 + 3)) for k in range(8)], 0)][1], {"reshape": 1}),
    "turned": (turned_by_element, {"transpose": 1, "reverse": 1}),
}


@pytest.mark.parametrize("name", sorted(MOVED))
def test_arrays_put_together_from_parts_of_one(name):
    builder, wanted = MOVED[name]
    assert short(simplified(builder)) == wanted


def test_constants_fold_through_everything():
    def program(a):
        table = ops.multiply(ops.convert(ops.iota((4,), "int32", 0), "float32"), 0.5)
        scale = ops.exponential(ops.negate(ops.constant(0.0, "float32")))
        return ops.add(ops.multiply(a(4), ops.broadcast_in_dim(scale, (4,), ())), ops.subtract(table, table))
    left = short(simplified(program))
    assert "exponential" not in left and "multiply" not in left or left.get("multiply", 0) <= 1


@pytest.mark.parametrize("content, body, start, wanted", [
    (lambda: ops.iota((10,), "int32", 0), "add", 0, 45),
    (lambda: ops.constant(0.5, "float32", (20,)), "add", 1.0, 11.0),
    (lambda: ops.constant(np.array([2.5, np.nan, 1])), "maximum", 0.0, np.nan),
    (lambda: ops.compare(ops.iota((7,), "int32", 0), 6, "GE"), "or", False, True)])
def test_reductions_of_what_is_known_fold(content, body, start, wanted):
    with building():
        module = build_module(lambda a: ops.reduce(known := content(), ops.constant(start, ops.dtype_of(known)), (0,),
                                                   body), np.dtype("float32"))
        pipelines.run(module, "simplify", verify=True)
        assert short(module) == {"constant": 1}
        np.testing.assert_array_equal(evaluate(module, [])[0], wanted)


def test_reading_back_a_written_part_through_a_transposed_view():
    def program(a):
        base, new = a(5, 7), a(3, 5)
        view = ops.transpose(base, (1, 0))
        written = ops.transpose(update(view, new, 2, 0), (1, 0))
        return ops.slice(ops.transpose(written, (1, 0)), (2, 0), (5, 5))
    assert short(simplified(program)) == {}


def test_write_through_a_transposed_view_is_one_update():
    def program(a):
        base, new = a(5, 7), a(3, 5)
        return ops.transpose(update(ops.transpose(base, (1, 0)), new, 2, 0), (1, 0))
    left = short(simplified(program))
    assert left.pop("constant", 0) <= 2
    assert left == {"dynamic_update_slice": 1, "transpose": 1}


def test_write_through_a_reshaped_view_is_one_update():
    def program(a):
        base, new = a(6, 4), a(4)
        row = update(ops.reshape(base, (6, 1, 4)), ops.reshape(new, (1, 1, 4)), 2, 0, 0)
        return ops.reshape(row, (6, 4))
    left = short(simplified(program))
    left.pop("constant", None)
    assert left == {"dynamic_update_slice": 1, "reshape": 1}


def strided_write(base, new, start, step):
    n, m = shape_of(base)[0], shape_of(new)[0]
    last = start + (m - 1) * step
    spread = ops.pad(new, 0, (start,), (n - last - 1,), (step - 1,))
    index = np.arange(n)
    mask = ops.broadcast_in_dim(ops.constant((index >= start) & (index <= last) & ((index - start) % step == 0)), (n,),
                                (0,))
    return ops.select(mask, spread, base)


def test_reading_back_a_strided_write():
    def program(a):
        written = strided_write(a(12), a(4), 1, 3)
        return [ops.slice(written, (1,), (11,), (3,)), ops.slice(written, (0,), (12,), (3,)), written]
    left = short(simplified(program))
    assert left.get("slice", 0) == 1, left  # only the untouched elements are read, from the base itself


def test_identical_branches_and_constant_predicates_go():
    def program(a):
        x = a(6)
        return ops.if_(ops.compare(ops.constant(1), 2, "LT"), lambda: [ops.negate(x)], lambda: [ops.sine(x)], [x.type])
    assert short(simplified(program)) == {"negate": 1}


def test_pad_then_slice_is_nothing():
    assert short(simplified(lambda a: ops.slice(ops.pad(a(5, 5), 0, (1, 1), (1, 1)), (1, 1), (6, 6)))) == {}


def test_mean_of_a_transposed_view_has_no_transpose():
    def program(a):
        return ops.divide(ops.reduce(ops.transpose(a(4, 6), (1, 0)), 0.0, (0,), "add"), 6.0)
    left = short(simplified(program))
    assert "transpose" not in left and left["reduce"] == 1


@pytest.mark.parametrize("factor", [3.0, -0.5])
def test_product_with_a_multiple_of_the_identity_is_none(factor):
    def program(a):
        rows, columns = (ops.iota((8, 8), "int32", k) for k in (0, 1))
        one = ops.convert(ops.compare(rows, columns, "EQ"), "float32")
        return matmul(ops.multiply(one, factor), a(8, 6))
    left = short(simplified(program))
    assert "dot_general" not in left and left["multiply"] == 1


def test_only_the_diagonal_of_a_product_is_computed():
    def program(a):
        product = matmul(a(8, 5), a(5, 8))
        diagonal = ops.gather(product, ops.iota((8, 2), np.int32, 0), offset_dims=[], collapsed_slice_dims=[0, 1],
                              start_index_map=[0, 1], index_vector_dim=1, slice_sizes=[1, 1])
        return ops.reduce(diagonal, ops.constant(0, "float32"), (0,), "add")
    assert not {"dot_general", "gather", "slice"} & set(short(simplified(program)))
