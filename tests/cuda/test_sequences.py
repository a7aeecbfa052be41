"""Sequences of steps as Python functions."""
import struct
from types import SimpleNamespace

import numpy as np

from reactant.cuda.sequences import Unit, Writer, floats_of, repeated, without_floats
from reactant.cuda.steps import CopyStep, FillStep, Float, Integer, LaunchStep, View
from reactant.kernels.launch.launch import Launch

F8 = np.dtype(np.float64)
HOW = Launch((1, 1, 1), (8, 1, 1))


def view(base, offset=0):
    return View(base, offset, 8 - offset // 8, F8, F8)


def launch(kernel, base, *numbers, identity=0):
    floats = tuple(Float(F8, struct.pack("=d", x), identity) for x in numbers)
    return LaunchStep(kernel, HOW, (view(base), Integer(8, np.dtype(np.int32)), *floats), ())


def test_patterns():
    a, b, c = launch("a", 0), launch("b", 64), launch("c", 0)
    parts = repeated([c, *[a, b] * 5, a, c, c])
    assert [(p.period, p.count) for p in parts] == [(1, 1), (2, 5), (1, 1), (1, 1), (1, 1)]
    assert [(p.period, p.count) for p in repeated([launch("a", 0, float(k)) for k in range(9)])] == [(1, 9)]
    assert [p.count for p in repeated([a, a])] == [1, 1] and repeated([]) == []
    assert without_floats(launch("a", 0, 1.0, identity=4)) == without_floats(launch("a", 0, 2.0))


def test_functions():
    """Loops, numbers that change in them, copies and fills; other memory and numbers are the same function."""
    def written(base, first):
        steps = [launch("a", base, 2.5, first + k) for k in range(4)]
        steps += [CopyStep(view(base + 64, 16), view(base, 16)), FillStep(view(base + 64), 0)]
        return Writer(lambda symbol: SimpleNamespace(name=symbol)).written(repeated(steps))
    one = written(0, 1.0)
    assert one.text == """\
def program(r0, r1, x0, x1):
    for i in range(4):
        a(seen(r0, 0, 8, float64), 8, x0, x1[i])
    r1[2:8] = r0[2:8]
    r1[0:8] = v
"""
    assert one.values[0] == 2.5 and one.values[1].tolist() == [1, 2, 3, 4] and list(one.roots) == [0, 64]
    assert one.key() == written(640, 9.0).key() != written(0, 1.0).text
    assert one.identities == [(0,), (0, 0, 0, 0)] and len(floats_of(launch("a", 0, 1.0, 2.0))) == 2


def test_units():
    """The same steps over other memory are one unit."""
    def unit(base):
        parts = repeated([launch("a", base), launch("b", base + 64)])
        return Unit(parts, [(s, None) for p in parts for s in p.steps])
    assert unit(0).key() == unit(512).key() and unit(0).length == 2
    assert [len(u.done) for u in unit(0).split()] == [1, 1]
