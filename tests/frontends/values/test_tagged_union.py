"""Texts, functions and members of enumerations that run-time values choose, against plain Python."""
from __future__ import annotations

import enum

import numpy as np
import pytest

import reactant
from tests.frontends.agreement import agree

UP, DOWN, MIXED = np.array([3.0, 2, 0.5, 2, 9]), np.array([-3.0, 0.2, 5, 8, 8]), np.array([1.0, 1, 1, 0.3, 1])
ALL = [(UP,), (DOWN,), (MIXED,)]


class State(enum.Enum):
    FINE = 1
    LOST = 2


def text_that_decides(x):
    kind = "up" if x.sum() > 10 else "down"
    if kind == "up":
        return x * 2, kind != "down", kind in ("up", "over")
    return x - 1, kind == "over", kind in ("over", "under")


def function_that_is_called(x):
    f = np.sin if x[0] > 0 else np.cos
    step = (lambda v: v * 3) if x[1] > 1 else None
    return step(f(x)) if step is not None else f(x)


def status_of_a_loop(x):
    status = "running"
    for _ in range(50):
        x = x * 0.5
        if x.max() < 0.1:
            status = "converged"
            break
        if x.min() < -0.5:
            status = "diverged"
            break
    return x, 1 if status == "converged" else 2 if status == "running" else 3


def machine(x):
    state, iterations = "A", 0
    for v in x:
        if state == "A":
            state = "B" if v > 1 else state
        elif state == "B":
            if v < 1:
                state = "C"
                iterations += 1
        else:
            state = "A"
            iterations += 10
    return iterations


def member_of_an_enumeration(x):
    state = State.FINE
    while x[0] > 1:
        x = x / 3
        if x[1] < 0.1:
            state = State.LOST
    return x, state is State.FINE, state == State.LOST, state is not State.LOST, state in (State.FINE,)


def text_that_is_used(x):
    found = {"a": 1.0, "b": x.sum()}
    key = "a" if x[0] > 1 else "b"
    mode = "edge" if x[0] > 1 else "reflect"
    return (found[key] + len(key) + (2 if key.upper() == "A" else 5), isinstance(key, str), np.pad(x, 2, mode=mode),
            1 if key + "x" == "ax" else 2, "a" in key, key[0] == "b")


def none_or_text(x):
    why = "large" if x[0] > 1 else None
    if x[1] > 1 and why is None:
        why = "second"
    return 0 if why is None else 1 if why == "large" else 2, x.sum() if why else x.mean()


def counted_by_name(x):
    counts, sums = {"low": 0, "high": 0, "other": 7}, {"low": 0.0, "high": 1.0}
    for v in np.tile(x, 40):
        name = "low" if v < 1.5 else "high"
        counts[name] += 1
        sums[name] = sums[name] * 0.5 + v
    return counts, sums


def arrays_by_name(x):
    held = {"low": np.zeros(3), "high": np.ones(3)}
    for k, v in enumerate(x):
        name = "low" if v < 1.5 else "high"
        held[name][k % 3] += v
        held[name] *= 0.5
    return held


def table_of_states(x):
    table = {("A", "low"): "A", ("A", "high"): "B", ("B", "low"): "C", ("B", "high"): "B", ("C", "high"): "A"}
    counts = {key: 0 for key in table}
    state = "A"
    for v in x:
        kind = "low" if v < 1.5 else "high"
        if (state, kind) in table:
            counts[state, kind] += 1
            state = table[state, kind]
    return state, list(counts.values())


def places_in_a_table(x):
    sums = {(name, k): 0.0 for name in "ab" for k in range(2)}
    for v in x:
        sums["a" if v < 2.5 else "b", int(v > 1)] += v
    return list(sums.values())


def missing_in_a_table(x):
    table = {("A", 0): x[1]}
    table["A" if x[0] > 0 else "B", 0] += 1
    return table["A" if x[2] > 1 else "B", 0]


class Code(enum.IntEnum):
    FINE = 0
    BAD = 4


class Bits(enum.Flag):
    A = 1
    B = 2


def numbers_by_name(x):
    code, bits, k = Code.BAD if x[0] > 1 else Code.FINE, Bits.A, int(x[1])
    if x[1] > 0:
        bits |= Bits.B
    tests = [code > 2, 2 > code, code <= k, k < code, code == k, k != code]
    return (code + 1, 10 - code, code * x[0], x[0] / (code + 1), -code, code // 3, 2**code, tests,
            (bits & Bits.B).value, (bits ^ Bits.A).value, k + Code.BAD, k == Code.BAD)


@pytest.mark.parametrize("program", [
    text_that_decides, function_that_is_called, status_of_a_loop, machine, member_of_an_enumeration, text_that_is_used,
    none_or_text, counted_by_name, arrays_by_name, places_in_a_table, numbers_by_name], ids=lambda f: f.__name__)
def test_programs(program):
    agree(program, ALL)


@pytest.mark.parametrize("program", [table_of_states, missing_in_a_table])
def test_keys_that_one_path_adds_are_refused(program):
    """Also where Python would raise a KeyError on that path."""
    with pytest.raises(reactant.ControlFlowError, match="changes a dict of [0-9] elements differently"):
        reactant.jit(program)(UP)


def named(x, notes):
    kind = "up" if x[0] > 1 else "down"
    notes["kind"] = kind
    print(f"it is {kind}", kind)
    return x, kind, {"state": State.FINE if kind == "up" else State.LOST}


def test_results_updates_and_what_is_printed(capsys):
    compiled = reactant.jit(named)
    for x in (UP, DOWN):
        mine, theirs = {"kind": ""}, {"kind": ""}
        (_, kind, states), (_, *wanted) = compiled(x, mine), named(x, theirs)
        assert [kind, states] == wanted and mine == theirs
        said = capsys.readouterr().out.splitlines()
        assert said[0] == said[1]


def raising(x):
    what = "NaN" if np.isnan(x).any() else "infinity"
    if not np.isfinite(x).all():
        raise ValueError(f"Input has {what}.")
    return x


def test_messages_say_which_it_was():
    assert reactant.jit(raising)(UP).shape == UP.shape
    with pytest.raises(ValueError, match="Input has infinity"):
        reactant.jit(raising)(UP * np.inf)
    with pytest.raises(ValueError, match="Input has NaN"):
        reactant.jit(raising)(UP * np.nan)


def longer_message(x):
    if not np.isfinite(x).all():
        what = f"{'NaN' if np.isnan(x).any() else 'infinity'} among {x.size}"
        if x[0] > 1:
            what += ", the first is large"
        raise ValueError(what)
    return x


def test_messages_that_grow():
    assert reactant.jit(longer_message)(UP).shape == UP.shape
    with pytest.raises(ValueError, match="NaN or infinity among 5, the first is large or NaN or infinity among 5>"):
        reactant.jit(longer_message)(UP * np.inf)


def in_a_set(x):
    kind = "up" if x[0] > 1 else "down"
    return {kind: x}


def looped_over(x):
    kind = "up" if x[0] > 1 else "down"
    return sum(1 for letter in kind if letter == "p")


def many_texts(x):
    text = ""
    for v in x:
        text = text + ("a" if v > 1 else "b")
    return text


MODE = {"name": "start"}


def changes_mode(x):
    MODE["name"] = "up" if x[0] > 1 else "down"
    return x


@pytest.mark.parametrize("program, words", [(in_a_set, "is put into a set or a dict"), (many_texts, "one of 16 texts"),
                                            (looped_over, "is looped over"),
                                            (changes_mode, "gives 'MODE\\['name'\\]', which was made outside")])
def test_refusals(program, words):
    with pytest.raises(reactant.ReactantError, match=words):
        reactant.jit(program)(np.resize(UP, 8))
    assert MODE == {"name": "start"}


class Answer(dict):
    """A dict with a name of its own, as SciPy's OptimizeResult."""


def kept_in_dicts(x):
    message = "many" if x.sum() > 10 else "few"
    answer, plain = Answer(message=message, value=x * 2), dict(message=message)
    return answer["message"], answer["value"], plain["message"], len(answer), plain


def test_dicts_hold_them():
    agree(kept_in_dicts, ALL)


def test_batches_and_derivatives():
    def chosen(x):
        return (np.sin if x.sum() > 1 else np.cos)(x).sum()

    rows = np.ones((3, 2)) * np.arange(3.0)[:, None]
    np.testing.assert_allclose(reactant.vmap(chosen)(rows), [chosen(row) for row in rows])
    np.testing.assert_allclose(reactant.grad(chosen)(rows[1]), np.cos(rows[1]))
    with pytest.raises(reactant.UnsupportedError, match="returns one of several texts"):
        reactant.grad(lambda x: (x, "a" if x > 1 else "b"), has_aux=True)(2.0)
    with pytest.raises(ValueError, match="returns one of several texts"):
        reactant.vmap(lambda x: "a" if x > 1 else "b")(np.arange(3.0))


class Circle:
    kind = "round"

    def __init__(self, size):
        self.size = size


class Square(Circle):
    kind = "angular"


def names_of_types(x):
    one, other = Circle(x[0]), Square(x[1])
    shape = one if x[1] > 0 else other
    return type(shape).__name__, shape.__class__.__name__ == "Square", type(shape).kind, shape.size


def missing(x):
    one, other = Circle(x[0]), Square(x[1])
    return (one if x[1] > 0 else other).area


@pytest.mark.parametrize("program", [names_of_types, missing])
def test_types_of_objects(program):
    agree(program, [(np.array([1.0, 2.0]),), (np.array([1.0, -2.0]),)])
