"""Lists that grow in a loop and are read there too, and lists that are no variables: `self.history.append(x)`."""
from __future__ import annotations

import copy

import numpy as np
import pytest

import reactant
from reactant.errors import ControlFlowError
from tests.frontends.agreement import agree

START = np.array([1.0, 2.0])


class Simulation:
    def __init__(self, x):
        self.x, self.time, self.history, self.norms = x, 0.0, [], []

    def step(self):
        self.x = self.x - 0.1 * self.x**3
        self.time += 0.1
        self.history.append(self.x.copy())
        self.norms.append(np.abs(self.x).max())

    def log(self, x, iteration):
        self.history.append(x)
        self.norms.append(iteration)


# ---- lists in attributes, dicts, closures and arguments ----------------------------------------------------------

def attributes(x, n):
    simulation = Simulation(x)
    for _ in range(n):
        simulation.step()
    return np.array(simulation.history), simulation.norms, simulation.time


def loops_inside(x, n):
    simulation = Simulation(x)
    for _ in range(n):
        for _ in range(70):
            simulation.step()
    return np.array(simulation.norms)


def known_condition(x, n):
    simulation = Simulation(x)
    for k in range(n):
        x = np.cos(x)
        if k % 10 == 0:
            simulation.log(x.copy(), k)
    return np.stack(simulation.history), np.array(simulation.norms)


def run_time_condition(x, n):
    simulation = Simulation(x)
    for _ in range(n):
        x = x * 0.99
        if x[0] > 0.5:
            simulation.norms.append(x[0])
    return len(simulation.norms), sum(simulation.norms)


def dictionary(x, n):
    history = {"loss": [], "norm": []}
    for _ in range(n):
        slope = 2 * (x - 1)
        x = x - 0.1 * slope
        history["loss"].append(((x - 1) ** 2).sum())
        history["norm"].append(np.abs(slope).max())
    return x, np.array(history["loss"]), history["norm"][-1]


def closure(x, n):
    found = []

    def note(value):
        found.append(value)

    for _ in range(n):
        x = x * 0.9
        note(x[0])
    return np.array(found)


def handed_over(x, n):
    def step(x, history):
        history.append(x.sum())
        return x * 0.9

    history = []
    for _ in range(n):
        x = step(x, history)
    return history


def of_the_caller(simulation, n):
    for _ in range(n):
        simulation.step()
    return len(simulation.norms)


def with_a_break(x, n):
    simulation = Simulation(x)
    for _ in range(n):
        simulation.step()
        if simulation.time > 9.95:
            break
    return len(simulation.norms), simulation.norms[-1]


# ---- lists that are read ------------------------------------------------------------------------------------------

def euler(x, n):
    states, times = [x], [0.0]
    for _ in range(n):
        states.append(states[-1] - 0.01 * states[-1])
        times.append(times[-1] + 0.01)
    return np.array(states), np.array(times)


def two_steps_back(x, n):
    slopes = []
    for _ in range(n):
        slopes.append(-x)
        if len(slopes) < 2:
            x = x + 0.1 * slopes[-1]
        else:
            x = x + 0.1 * (1.5 * slopes[-1] - 0.5 * slopes[-2])
    return x, len(slopes)


def recurrence(x, n):
    values = [1, x[0]]
    for k in range(2, n):
        values.append(values[k - 1] + 0.5 * values[k - 2] % 3)
    return values


def its_truth(x, n):
    found = []
    for _ in range(n):
        if found:
            x = x + 0.1 * found[-1]
        found.append(0.5 * x)
    return x


def its_sum_and_extremes(x, n):
    values = [x[0]]
    for k in range(n):
        values.append(x[0] * k - 0.01 * max(values) + 0.001 * sum(values))
        x = x * 0.9
    return values[-1]


def its_elements(x, n):
    values = [x[0]]
    for _ in range(n):
        total = 0.0
        for v in values:
            total = total + np.sin(v)
        values.append(total / len(values))
    return np.array(values)


def attribute_read_back(x, n):
    simulation = Simulation(x)
    simulation.history.append(x)
    for _ in range(n):
        simulation.history.append(simulation.history[-1] * 0.9 + 0.1)
    return np.array(simulation.history)


LOOPS = [attributes, loops_inside, known_condition, run_time_condition, dictionary, closure, handed_over, with_a_break,
         euler, two_steps_back, recurrence, its_truth, its_sum_and_extremes, its_elements, attribute_read_back]


@pytest.mark.parametrize("program", LOOPS)
def test_lists_that_grow_and_are_read_stay_in_a_loop(program):
    agree(program, [(START, 150)])
    operations = reactant.jit(program).lower(START, 150).operations()
    assert operations["stablehlo.while"] >= 1 and sum(operations.values()) < 200


def test_lists_of_arguments_grow_in_a_loop():
    compiled = agree(of_the_caller, [(Simulation(START), 150)])
    simulation = Simulation(START)
    for iterations in (100, 200):
        assert compiled(simulation, 100) == iterations
    lowered = reactant.jit(of_the_caller).lower(Simulation(START), 150)
    assert lowered.operations()["stablehlo.while"] == 1


# ---- what others see -----------------------------------------------------------------------------------------------

def known_by_two_names(x, n):
    simulation = Simulation(x)
    simulation.norms = simulation.history
    for _ in range(n):
        x = x * 0.9
        simulation.history.append(x[0])
    return np.array(simulation.norms), simulation.norms is simulation.history


def gets_another_name(x, n):
    simulation = Simulation(x)
    for _ in range(n):
        x = x * 0.9
        simulation.history.append(x[0])
        simulation.norms = simulation.history
    return len(simulation.norms), simulation.norms is simulation.history


def element_written_in_place(x, n):
    states = [x.copy()]
    for _ in range(n):
        states.append(states[-1] * 0.5)
        states[-1] += 1
    return np.array(states)


def first_element_written_by_its_name(x, n):
    states = [x]
    for _ in range(n):
        x[0] += 1
        states.append(states[0] * 2)
    return np.array(states)


def element_kept_and_written(x, n):
    states = [x * 2]
    last = x
    for _ in range(n):
        last[0] += 1
        states.append(states[-1] + last)
        last = states[-1]
    return np.array(states)


def changed_otherwise(x, n):
    states = [x]
    for k in range(n):
        states.append(states[-1] * 0.9)
        if k % 3 == 2:
            states.pop(0)
    return np.array(states)


def element_kept_for_the_next_iteration(x, n):
    states, before = [x], x
    for _ in range(n):
        states.append(states[-1] * 0.5 + before)
        before = states[-2]
    return np.array(states)


@pytest.mark.parametrize("program", [
    known_by_two_names, gets_another_name, element_written_in_place, first_element_written_by_its_name,
    element_kept_and_written, changed_otherwise, element_kept_for_the_next_iteration])
def test_lists_of_which_more_is_known_than_their_elements(program):
    agree(program, [(START, 9)])


def written_after_it_was_handed_over(x, n):
    simulation = Simulation(x)
    for k in range(n):
        x = np.cos(x)
        if k % 2 == 0:
            y = x.copy()
            simulation.log(y, k)
            y[0] = 5
    return np.stack(simulation.history)


def test_arrays_handed_over_in_a_branch_and_written_there():
    agree(written_after_it_was_handed_over, [(START, 20)])


def test_a_list_of_two_places_under_a_condition_is_refused():
    def program(x, n):
        simulation = Simulation(x)
        simulation.norms = simulation.history
        for _ in range(n):
            x = x * 0.9
            if x[0] > 0.5:
                simulation.history.append(x[0])
        return len(simulation.norms)

    with pytest.raises(ControlFlowError, match="changes a list of 0 elements differently"):
        reactant.jit(program)(copy.deepcopy(START), 20)


def quasi_newton(x, iterations):
    """L-BFGS: the two loops over the last few steps, the newest first and then last."""
    def slope(x):
        return np.array([4 * x[0] ** 3 + x[1], x[0] + 2 * x[1], 2 * x[2] - x[0]])

    steps, changes = [], []
    g = slope(x)
    for _ in range(iterations):
        if np.abs(g).max() < 1e-9:
            break
        q, factors = g.copy(), []
        for s, y in zip(reversed(steps), reversed(changes), strict=False):
            a = (s @ q) / (s @ y)
            factors.append(a)
            q -= a * y
        if steps:
            q *= (steps[-1] @ changes[-1]) / (changes[-1] @ changes[-1])
        for s, y, a in zip(steps, changes, reversed(factors), strict=False):
            q += s * (a - (y @ q) / (s @ y))
        s = -0.5 * q
        y = slope(x + s) - g
        if s @ y > 1e-12:
            steps.append(s)
            changes.append(y)
            if len(steps) > 3:
                del steps[0], changes[0]
        x, g = x + s, g + y
    return x, len(steps)


def weights_beside_a_list(x, weights):
    found, total = [], 0.0
    for v in x:
        for w, f in zip(weights, found, strict=False):
            total += w * f
        if v > 0:
            found.append(v)
    return total


@pytest.mark.slow
def test_lists_beside_lists_that_grow():
    agree(quasi_newton, [(np.array([1.0, -0.5, 2.0]), iterations) for iterations in (0, 2, 30)])
    agree(weights_beside_a_list, [(np.array([1.0, -1.0, 2.0, 3.0, 0.5, 4.0]), weights)
                                  for weights in ([], [0.5, 0.25], (1.0, 2.0, 3.0), list(range(1, 9)))])
