"""What is clocked in loop nests, and what is known of it: lines, operations, bytes."""
import numpy as np
import pytest

import reactant
from reactant.native import clocks


def sweeps(u, n):
    v = u.copy()
    for _ in range(n):
        v[1:-1] = 0.5 * (v[:-2] + v[2:])
    return np.exp(v).sum()


def small(u):
    return u * 2 + 1


def strips(z):
    for _ in range(50):
        z = z * z + 0.25
    return z


def iterated_sine(x):
    y = x
    for _ in range(9):
        y = np.sin(y) + x[::-1] * 0.1
    return y


def sites(function, *args, **options):
    """Lines (from the function's own on) of each site, its count and what it does; the iterations of loops."""
    first = function.__code__.co_firstlineno
    with clocks.marked():
        compiled = reactant.jit(function, native="always", **options).lower(*args).compile()
    assert compiled.executable.straight is not None
    functions = [step.function for step in compiled.executable.straight.steps]
    assert reactant.verify(function, *args)
    compiled(*args)
    found = []
    for each in functions:
        counted = each.measured(again=True)
        for site, count in [(clocks.site(n), c.count) for n, c in counted.items()]:
            if site is not None:
                lines = {int(line.rpartition(":")[2]) - first for line in site.lines if line}
                found.append((site, lines, count,
                              counted[site.iterations].count if site.iterations in counted else None))
    return found


def test_a_loop_its_iterations_and_what_it_does():
    found = sites(sweeps, np.arange(4000.0), 12, unroll_limit=0)
    (loop, lines, count, iterations), = [row for row in found if row[3] is not None]
    assert (count, iterations) == (1, 12) and 2 in lines
    (nest, lines, count, _), = [row for row in found if row[0].parent == loop.number]
    assert (lines, count) == ({3}, 12) and nest.flops == 2 * 3998
    assert nest.bytes == pytest.approx(8 * (4000 + 3998), rel=0.01)
    after, = [row for row in found if row[1] == {4}]
    assert after[0].special == 4000 and after[0].flops == 4000 and after[2] == 1


def test_steps_of_little_work_are_counted_where_they_are():
    (site, lines, count, iterations), = sites(small, np.ones(8))
    assert site.parent is None and lines == {1} and (count, iterations) == (1, None) and site.flops == 16


@pytest.mark.parametrize("function, flops, special", [
    (strips, 50 * 2 * 5000, 0),
    (iterated_sine, 9 * 5000 + 5000, 45000),        # the product does not change from iteration to iteration
])
def test_loops_written_in_ways_of_their_own_are_known_too(function, flops, special):
    found = sites(function, np.linspace(0.0, 0.4, 5000), unroll_limit=0)
    assert sum(site.flops * (iterations or count) for site, _, count, iterations in found) == pytest.approx(flops,
                                                                                                            rel=0.01)
    assert sum(site.special * (iterations or count) for site, _, count, iterations in found) == special


def test_programs_that_nobody_measures_have_no_marks():
    compiled = reactant.jit(sweeps, native="always").lower(np.arange(4000.0), 12).compile()
    assert all(not step.function.sites for step in compiled.executable.straight.steps)
