"""Each step of a view against NumPy's view of a known array: elements, strides, what is written through it."""
import numpy as np
import pytest

from reactant.frontends.arrays.view_steps import (
    BroadcastStep,
    ComplexPartStep,
    DiagonalStep,
    ReshapeStep,
    SliceStep,
    TransposeStep,
    followed,
    row_steps,
)
from reactant.frontends.session.trace import tracing
from reactant.ir import interpret, ops
from reactant.ir.context import building

STEPS = {
    "slice": (SliceStep((1, 0), (2, 3), (1, 1)), lambda a: a[1:3, :3]),
    "backwards": (SliceStep((2, 3), (3, 2), (-1, -2)), lambda a: a[::-1, ::-2]),
    "transposed": (TransposeStep((1, 0), (4, 3)), lambda a: a.T),
    "reshaped": (ReshapeStep((2, 6), (6, 1)), lambda a: a.reshape(2, 6)),
    "diagonal": (DiagonalStep(1, (3,)), lambda a: a.diagonal(1)),
    "repeated": (BroadcastStep((2, 3, 4), (1, 2)), lambda a: np.broadcast_to(a, (2, 3, 4))),
    "imaginary": (ComplexPartStep("imag", (3, 4)), lambda a: a.imag),
}


@pytest.mark.parametrize("name", STEPS)
def test_a_step_is_the_view_that_numpy_has(name):
    step, view = STEPS[name]
    whole = np.arange(12.0).reshape(3, 4) * (1 + 2j if name == "imaginary" else 1)
    seen, new = view(whole), -view(whole) - 1
    assert step.shape == seen.shape and step.writable == (name not in ("repeated", "diagonal"))
    np.testing.assert_array_equal(step.numpy(whole), seen)
    assert step.strides((3, 4), (4, 1)) == tuple(s // seen.itemsize for s in seen.strides)
    with building(), tracing() as trace:
        parent = ops.constant(whole)
        made = [step.read(parent), *([step.write(parent, ops.constant(new), (3, 4))] if step.writable else [])]
        found = interpret.evaluate(trace.finish(made), [])
    np.testing.assert_array_equal(found[0], seen)
    if step.writable:
        seen[...] = new
        np.testing.assert_array_equal(found[1], whole)


def test_equal_slices_are_one_key():
    first, second = (SliceStep((1, 0), (2, 3), (1, 1)) for _ in range(2))
    assert first == second and hash(first) == hash(second) and {first: 1}[second] == 1
    assert first != SliceStep((0, 0), (2, 3), (1, 1))


def test_a_step_that_undoes_the_last_one_takes_it_away():
    there, back = TransposeStep((1, 0), (4, 3)), TransposeStep((1, 0), (3, 4))
    assert followed((there,), [back], (3, 4)) == () and followed((), [there], (3, 4)) == (there,)
    row = row_steps((3, 4), 1)
    whole = np.arange(12).reshape(3, 4)
    np.testing.assert_array_equal(row[1].numpy(row[0].numpy(whole)), whole[1])
