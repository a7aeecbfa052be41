import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import func

from reactant.ir.context import building
from reactant.ir.types import tensor_type
from reactant.precision.accuracy import measures
from reactant.runtime.executable import Executable


def run(build, *arguments):
    """What a function of values gives of arrays."""
    with building():
        module = ir.Module.create()
        types = [tensor_type(a.shape, a.dtype) for a in arguments]
        with ir.InsertionPoint(module.body), ir.Location.unknown():
            made = func.FuncOp("main", ir.FunctionType.get(types, []))
            block = made.add_entry_block()
            with ir.InsertionPoint(block):
                results = build(*block.arguments)
                func.ReturnOp(list(results))
            made.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(types, [r.type for r in results]))
        return Executable(module)(list(arguments))


def test_rows():
    x = np.float32([[1, 0, 3], [np.nan, np.inf, 1], [np.inf, 1, 2]])
    exact = np.array([[1, 1e-60, 4], [np.nan, np.inf, 1], [5, 1, np.inf]])
    worst, of_largest, infinite, zero = run(
        lambda *v: measures.measured([measures.Row(v[k], v[3 + k]) for k in range(3)], 3), *x, *exact)
    assert worst.tolist() == [1.0, 0.0, 1.0] and of_largest.tolist() == [0.25, 0.0, 1.0]
    assert infinite.tolist() == [0, 2, 1] and zero.tolist() == [1, 0, 0]


def test_rows_with_what_is_left_and_another_scale():
    one = np.ones(2)
    worst, *_ = run(lambda x, y, low, scale: measures.measured([measures.Row(x, y, low, scale)], 2),
                    one, one, np.array([0.0, 1e-20]), np.full(2, 4.0))
    assert worst == [1e-20 / 4]


def test_picked():
    table = np.array([3.0, 1.0, 2.0, 0.0])
    assert run(lambda t: [measures.picked(t, [(1,), (), (1, 2, 0)])], table)[0].tolist() == [1.0, 0.0, 3.0]
