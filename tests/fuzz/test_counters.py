"""Random loops that count to limits of which only run-time values tell the value, as native code and plain: all
comparisons of counters and limits, in conditions, choices, masks and places."""
import linecache
import random

import numpy as np
import pytest

import reactant

UP = ("k < m", "k <= m", "m > k", "m >= k", "not k > m", "k + 1 <= m", "k - 1 < m", "k <= m and x[0, 0] < 1e9")
DOWN = ("k > 0", "k >= 0", "0 < k", "0 <= k", "k > np.clip(n[1], -3, 1)", "k >= np.clip(n[1], -3, 1)")
TESTS = ("k < m", "k <= m", "k == m", "k > m", "k >= m", "k + 1 < m", "k - 1 >= m", "k != m", "k < 3", "k >= 0",
         "k == 0", "2 * k < m", "m - k > 1")
VALUES = ("x[::-1] * 0.5", "-x[::-1]", "np.roll(x, 1, 1)", "x + 1.0", "x[:, ::-1] * 0.25", "np.sin(x)", "x - k",
          "np.roll(x, k, 0)")
STATEMENTS = ("x[:] = np.where({test}, {value}, {other})", "if {test}: x[:] = {value}\n        else: x[:] = {other}",
              "x[np.clip({place}, 0, 7)] += 1.0 + k", "x[np.arange(8) {sign} {place}] *= 0.5",
              "x += np.where(np.arange(8)[:, None] {sign} {place}, {value}, 0.25)")
PLACES, SIGNS = ("k", "m - k", "k + 1", "k - 1", "m"), ("<", "<=", ">", ">=", "==")


def loop(seed):
    """A function of x, (8, 60), which it writes into, and two integers; and its source."""
    draw = random.Random(seed)
    up, step = draw.random() < 0.6, draw.choice([1, 1, 2, 3])
    start = draw.choice(("m - m", "np.clip(n[1], 0, 3)", "np.int64(0)", "m - m - 1") if up else
                        ("m", "m + 1", "np.clip(n[1], 3, 6)"))
    lines = ["def loop(x, n):", f"    m = np.clip(n[0], {draw.choice([0, 1, -2])}, {draw.choice([5, 7, 9])})",
             f"    k = {start}", f"    while {draw.choice(UP if up else DOWN)}:"]
    for _ in range(draw.randint(1, 3)):
        lines.append("        " + draw.choice(STATEMENTS).format(
            test=draw.choice(TESTS), value=draw.choice(VALUES), other=draw.choice(VALUES), place=draw.choice(PLACES),
            sign=draw.choice(SIGNS)))
    lines += [f"        k = k {'+' if up else '-'} {step}", "    return k, x.sum()"]
    text, name = "\n".join(lines), f"<counters {seed}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    scope = {"np": np}
    exec(compile(text, name, "exec"), scope)
    return scope["loop"], text


def check(seed):
    function, text = loop(seed)
    compiled = reactant.jit(function, native="always")
    for n in ([3, 1], [0, 5], [12, -4], [7, 2]):
        mine = np.random.default_rng(seed).uniform(-1.0, 1.0, (8, 60))
        theirs = mine.copy()
        iterations, total = function(mine, np.array(n))
        found = compiled(theirs, np.array(n))
        assert found[0] == iterations, text
        np.testing.assert_allclose(found[1], total, rtol=1e-9, atol=1e-9, err_msg=text)
        np.testing.assert_allclose(theirs, mine, rtol=1e-9, atol=1e-9, err_msg=text)


@pytest.mark.parametrize("seed", range(12))
def test_loops_that_count(seed):
    check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12, 300))
def test_many_loops_that_count(seed):
    check(seed)
