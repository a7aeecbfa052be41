"""Convolutions with every number: both modes, and second derivatives (bilinear: mixed ones)."""
from dataclasses import replace

import numpy as np
import pytest

from reactant.differentiate.modes.reverse import vjp
from reactant.ir import convolution as conv
from reactant.ir import interpret
from reactant.ir.context import building
from tests.differentiate.derivative_checks import check, compiled, module_of

RNG = np.random.default_rng(9)
PLAIN = conv.Layout(0, 1, (2, 3))
LINE = conv.Convolution(conv.Layout(0, 1, (2,)), conv.Layout(0, 1, (2,)), conv.Layout(0, 1, (2,)), (1,), ((0, 0),),
                        (1,), (1,), (False,))
PLANE = conv.Convolution(PLAIN, PLAIN, PLAIN, (1, 1), ((0, 0), (0, 0)), (1, 1), (1, 1), (False, False))
LAST = conv.Layout(0, 3, (1, 2))


def real(*shape):
    return RNG.standard_normal(shape)


ROWS = {
    "plain": (LINE, real(2, 3, 6), real(4, 3, 3)),
    "strided": (replace(LINE, strides=(2,), padding=((1, 0),)), real(2, 2, 6), real(3, 2, 3)),
    "rest_of_stride": (replace(LINE, strides=(3,)), real(1, 1, 9), real(1, 1, 2)),
    "padded_and_cropped": (replace(LINE, padding=((2, -1),)), real(1, 2, 5), real(2, 2, 3)),
    "cropped": (replace(LINE, padding=((-2, -1),)), real(1, 2, 8), real(2, 2, 3)),
    "spread": (replace(LINE, dilation=(2,), padding=((2, 3),)), real(1, 2, 4), real(2, 2, 3)),
    "dilated_kernel": (replace(LINE, kernel_dilation=(2,), strides=(2,)), real(1, 2, 9), real(2, 2, 3)),
    "everything": (replace(LINE, kernel_dilation=(3,), strides=(2,), dilation=(2,), padding=((4, 1),),
                           reversal=(True,)), real(2, 2, 7), real(3, 2, 2)),
    "reversed": (replace(LINE, reversal=(True,), padding=((1, 1),)), real(1, 2, 5), real(2, 2, 3)),
    "feature_groups": (replace(LINE, feature_groups=2, padding=((1, 1),)), real(2, 4, 5), real(6, 2, 3)),
    "depthwise": (replace(LINE, feature_groups=3), real(2, 3, 5), real(6, 1, 2)),
    "batch_groups": (replace(LINE, batch_groups=2), real(4, 3, 5), real(6, 3, 2)),
    "point": (LINE, real(2, 3, 4), real(2, 3, 1)),
    "plane": (replace(PLANE, strides=(2, 1), padding=((1, 0), (0, 2)), kernel_dilation=(1, 2)), real(2, 2, 5, 4),
              real(3, 2, 2, 2)),
    "channels_last": (replace(PLANE, x=LAST, kernel=conv.Layout(3, 2, (0, 1)), out=LAST, padding=((1, 1), (1, 1))),
                      real(2, 4, 3, 2), real(3, 3, 2, 3)),
    "odd_layouts": (replace(PLANE, x=conv.Layout(2, 0, (3, 1)), kernel=conv.Layout(1, 3, (2, 0)),
                            out=conv.Layout(3, 1, (0, 2)), feature_groups=2, strides=(1, 2)), real(4, 5, 2, 4),
                    real(3, 6, 2, 2)),
    "without_space": (conv.Convolution(conv.Layout(0, 1, ()), conv.Layout(1, 0, ()), conv.Layout(0, 1, ()), (), (), (),
                                       (), ()), real(3, 2), real(2, 4)),
}
INTERPRETED = {"batch_groups", "dilated_kernel", "reversed"}
"""Also by the reference interpreter, which is independent of XLA (and aborts on some others)."""


@pytest.mark.sampled(100)
@pytest.mark.parametrize("name", ROWS)
def test_derivatives(name):
    numbers, x, kernel = ROWS[name]
    module = module_of(lambda a, b: conv.build(a, b, numbers), [x, kernel])
    check(module, [x, kernel], evaluate=compiled, order=2 if name in ("everything", "odd_layouts") else 1)


@pytest.mark.parametrize("name", sorted(INTERPRETED))
def test_derivatives_interpreted(name):
    numbers, x, kernel = ROWS[name]
    check(module_of(lambda a, b: conv.build(a, b, numbers), [x, kernel]), [x, kernel], evaluate=interpret.evaluate,
          order=1)


def test_nothing_reached():
    x, kernel = real(1, 1, 2), real(1, 1, 3)
    with building():
        module = vjp(module_of(lambda a, b: conv.build(a, b, LINE), [x, kernel]), [0, 1], [0])
        _, gx, gk = compiled(module, [x, kernel, np.zeros((1, 1, 0))])
    assert not gx.any() and not gk.any()


def test_numbers_survive_the_op():
    numbers, x, kernel = ROWS["odd_layouts"]
    with building():
        module = module_of(lambda a, b: conv.build(a, b, numbers), [x, kernel])
        op = next(op for op in module.body.operations[0].regions[0].blocks[0] if op.name == "stablehlo.convolution")
        assert conv.of(op.operation) == numbers
