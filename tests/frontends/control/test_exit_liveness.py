"""Lists and objects that only one path of an `if` goes on with: the other one leaves the loop, or the function."""
import numpy as np
import pytest

import reactant

LOG = []


class Solver:
    steps = []

    def __init__(self, x):
        self.x, self.history = x, []

    def improve(self, limit, iterations):
        residuals = []
        for k in range(iterations):
            new = np.cos(self.x) + 0.1 * k
            residuals.append(new - self.x)
            if np.sum(new) > limit:
                return sum(residuals)
            self.history.append(new)
            if len(residuals) > 2:
                residuals.pop(0)
            self.x = new + 0.01 * sum(residuals)
        return self.x


def window(x, limit):
    kept, tangents = [], []
    for k in range(6):
        new = np.tanh(x) + 0.3 * k
        kept.append(new)
        tangents.append(new * x)
        if len(kept) > 3:
            kept.pop(0)
            tangents = tangents[1:]
        if np.sum(new) > limit:
            break
        gram = np.array([[np.dot(a, b) for a in kept] for b in tangents])
        x = x + 0.01 * np.sum(gram) + kept[0] * len(kept)
    return x, k


def breaks_before_its_work(x, limit):
    basis = [x / np.linalg.norm(x)]
    for k in range(4):
        w = np.roll(basis[k], 1) * np.arange(1.0, len(x) + 1)
        for b in basis:
            w = w - np.dot(b, w) * b
        if np.linalg.norm(w) * (k + 1) > limit:
            break
        basis.append(w / np.linalg.norm(w))
        x = sum(b * (j + 1) for j, b in enumerate(basis))
    return x


def triangle_of_rows(x, limit):
    rows = [[np.sum(x)]]
    for i in range(1, 6):
        row = [rows[i - 1][0] * 0.5 + np.sum(np.sin(i * x))]
        for j in range(1, i + 1):
            row.append(row[j - 1] + (row[j - 1] - rows[i - 1][j - 1]) / (4 ** j - 1))
        rows.append(row)
        if abs(rows[i][i]) > limit:
            return rows[i][i]
    return rows[-1][-1] + rows[2][1]


def dict_of_arrays(x, limit):
    memory = {"x": x}
    seen = set()
    for k in range(4):
        memory[f"step{k}"] = memory["x"] * (k + 1)
        if np.sum(memory[f"step{k}"]) > limit:
            break
        seen.add(k)
        memory["x"] = memory[f"step{k}"] + len(seen) + len(memory)
        x = memory["x"] * 2
    return x


def known_afterwards(x, limit):
    kept = []
    for _k in range(5):
        x = x * 1.5
        kept.append(x)
        if np.sum(x) > limit:
            break
        kept.append(x + 1)
    return kept[-1], len(kept)


def known_by_another_name(x, limit):
    kept = []
    other = kept
    for k in range(5):
        x = x * 1.5
        if np.sum(x) > limit:
            break
        kept.append(x + k)
    return sum(other) if other else x


def known_to_a_function(x, limit):
    kept = []

    def total():
        return sum(kept) if kept else x
    for k in range(5):
        x = x * 1.5
        if np.sum(x) > limit:
            break
        kept.append(x + k)
    return total()


def within(holder, x, limit):
    kept = holder["kept"]
    for k in range(5):
        x = x * 1.5
        if np.sum(x) > limit:
            return x
        kept.append(x + k)
    return x + 1


def known_to_the_caller(x, limit):
    holder = {"kept": [x]}
    y = within(holder, x, limit)
    return y, sum(holder["kept"]), len(holder["kept"])


def twice_in_the_outer_loop(x, limit):
    lists = [[x], [x + 1]]
    total = np.zeros_like(x)
    for current in lists + lists:
        for _k in range(3):
            x = x * 1.1
            if np.sum(x) > limit:
                break
            current.append(x)
        total = total + sum(current) + len(current)
    return total


def element_of_what_is_returned(x, limit):
    kept, result = [], []
    for _k in range(4):
        x = x * 1.5
        if np.sum(x) > limit:
            result.append(kept)
            break
        kept.append(x)
    return [sum(r) if r else x for r in result], x


def in_finally(x, limit):
    kept = []
    try:
        for _k in range(4):
            x = x * 1.5
            if np.sum(x) > limit:
                return x
            kept.append(x)
    finally:
        x[0] = len(kept)
    return x + 1


class Counted:
    def __init__(self, out):
        self.out, self.kept = out, []

    def __enter__(self):
        return self.kept

    def __exit__(self, *_):
        self.out[0] = len(self.kept)


def in_a_context(x, limit):
    out = np.zeros(1)
    with Counted(out) as kept:
        for _k in range(4):
            x = x * 1.5
            if np.sum(x) > limit:
                break
            kept.append(x)
    return x, out


def in_a_class(x, limit):
    Solver.steps = []
    steps = Solver.steps
    for _k in range(4):
        x = x * 1.5
        if np.sum(x) > limit:
            break
        steps.append(x)
    return x, len(Solver.steps)


def logged(x, limit):
    LOG.clear()
    for _k in range(4):
        x = x * 1.5
        if np.sum(x) > limit:
            break
        note(x)
    return x, noted()


def note(x):
    LOG.append(x)


def noted():
    return len(LOG)


def by_a_generator(x, limit):
    kept = []
    lengths = (len(kept) for _ in range(1))
    for _k in range(4):
        x = x * 1.5
        if np.sum(x) > limit:
            break
        kept.append(x)
    return x, next(lengths)


def goes_on(x, limit):
    kept = []
    for _k in range(5):
        x = x * 1.5
        if np.sum(x) > limit:
            x = x / 4
            continue
        kept.append(x)
        x = x + len(kept)
    return x


def of_two_loops(x, limit):
    kept = []
    for _i in range(3):
        for k in range(3):
            x = x * 1.3
            if np.sum(x) > limit:
                break
            kept.append(x * k)
        x = x * 0.5 + (sum(kept) if kept else 0.0) / 10
    return x


def several_ways_out(x, limit):
    table, best = [[x]], x
    for k in range(5):
        row = [table[-1][0] * 1.2]
        for b in table[-1]:
            row.append(b + k)
        if np.sum(row[-1]) > 2 * limit:
            return best * 2
        if np.sum(row[0]) > limit:
            best = row[-1]
            break
        table.append(row)
        if len(table) > 2:
            del table[0]
        best = table[0][-1]
    else:
        best = best + 1
    return best + k


def solver(x, limit):
    made = Solver(x)
    y = made.improve(limit, 5)
    return y, made.x, made.history[-1] if made.history else x, len(made.history)


def throwaway_solver(x, limit):
    return Solver(x).improve(limit, 5)


GOES_ON_WITH_KNOWN = [window, breaks_before_its_work, triangle_of_rows, dict_of_arrays, several_ways_out,
                      throwaway_solver]
ANYTHING = [known_afterwards, known_by_another_name, known_to_a_function, known_to_the_caller, twice_in_the_outer_loop,
            element_of_what_is_returned, in_finally, in_a_context, in_a_class, logged, by_a_generator, goes_on,
            of_two_loops, solver]
LIMITS = [-1e3, 1.0, 4.0, 8.0, 30.0, 1e6]


def leaves(tree):
    return [x for part in tree for x in leaves(part)] if isinstance(tree, (tuple, list)) else [tree]


def same(found, wanted):
    found, wanted = leaves(found), leaves(wanted)
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10)


@pytest.mark.parametrize("function", GOES_ON_WITH_KNOWN, ids=lambda f: f.__name__)
def test_programs(function):
    compiled = reactant.jit(function)
    x = np.linspace(0.3, 0.9, 6)
    for limit in LIMITS:
        same(compiled(x.copy(), limit), function(x.copy(), limit))


@pytest.mark.parametrize("function", ANYTHING, ids=lambda f: f.__name__)
def test_what_is_seen_afterwards_is_right_or_refused(function):
    compiled = reactant.jit(function)
    x = np.linspace(0.3, 0.9, 6)
    for limit in LIMITS:
        try:
            found = compiled(x.copy(), limit)
        except reactant.ReactantError as error:
            assert "test_exit_liveness.py" in str(error)
            return
        same(found, function(x.copy(), limit))


@pytest.mark.slow
def test_gradients():
    x = np.linspace(0.3, 0.9, 6)
    for function in (window, triangle_of_rows):
        def value(x, limit, function=function):
            result = function(x, limit)
            return np.sum(result[0] if isinstance(result, tuple) else result)
        gradient = reactant.grad(value)
        for limit in LIMITS[1:4]:
            found, h = gradient(x, limit), 1e-6
            wanted = [(value(x + h * e, limit) - value(x - h * e, limit)) / (2 * h) for e in np.eye(6)]
            np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-7)
