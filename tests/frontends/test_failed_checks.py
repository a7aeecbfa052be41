"""Programs that raise: a loop behind a failed check comes to an end, and variables may be bound by earlier
iterations."""
import numpy as np
import pytest

import reactant
from tests.oracle import check


def halve(x, tolerance):
    if tolerance <= 0:
        raise ValueError("the tolerance is not positive")
    error = 1.0
    while error > tolerance:
        x = x * 0.5
        error = np.abs(x).max()
    return x


def descend(x, step):
    if not step > 0:
        raise AssertionError
    iterations = 0
    while x[0] > -1.0 and iterations >= 0:
        x = x - step
    return x


def inside_branches(x, tolerance):
    if x[1] > 0:
        if tolerance <= 0:
            raise ValueError("the tolerance is not positive")
        e = 1.0
        while e > tolerance:
            e = e * 0.5
        return e
    return 0.0


def in_the_same_iteration(x, tolerance):
    for i in range(len(x)):
        if x[i] < 0:
            raise ValueError("negative")
        y = 5.0
        while y > 1e-3:
            y = y * 0.5 + min(x[i], 0.0) * tolerance
        x[i] = y
    return x


def in_a_iteration_before(x, tolerance):
    s = 1.0
    for i in range(len(x)):
        if x[i] < 0:
            raise ValueError("negative")
        s -= 0.25
        if x[i - 1] < 0:
            s = -x[i]
        while s < 0:
            s = s + x[i - 2]
    return s


def so_many_iterations(x, tolerance):
    n = int(x[0])
    if n > 100:
        raise ValueError("too many")
    s = 0.0
    for i in range(n):
        s += np.sin(i * s + 1)
    return s


@pytest.mark.parametrize(("program", "good", "bad"), [
    (halve, (np.ones(3), 1e-3), (np.ones(3), -1.0)),
    (descend, (np.ones(3), 0.3), (np.ones(3), -1.0)),
    (inside_branches, (np.ones(2), 0.1), (np.ones(2), -1.0)),
    (in_the_same_iteration, (np.arange(12.0), 1.0), (np.arange(12.0) - 3, 1.0)),
    (in_a_iteration_before, (np.ones(30), 1.0), (np.r_[np.ones(5), -1.0, np.zeros(20)], 1.0)),
    (so_many_iterations, (np.array([20.0]), 1.0), (np.array([1e15]), 1.0)),
])
def test_a_failed_check_ends_the_loops_behind_it(program, good, bad):
    check(program, *good)
    with pytest.raises((ValueError, AssertionError)) as plain:
        program(*(np.copy(a) for a in bad))
    with pytest.raises(type(plain.value)) as compiled:
        reactant.jit(program)(*bad)
    assert compiled.value.args == plain.value.args


def test_a_counted_loop_behind_a_check_stays_counted():
    def program(x, limit):
        if limit <= 0:
            raise ValueError
        i = 0
        while i < 100:
            x = x * 0.5 + limit
            i += 1
        return x

    text = reactant.jit(program, unroll_limit=0).lower(np.ones(3), 1.0).as_text(optimized=False)
    test = text[text.index("cond"):text.index("} do {")]
    assert "stablehlo.and" not in test


def last_positive(x):
    for i in range(len(x)):
        if x[i] > 0:
            last = x[i] * 2
        else:
            x[i] = last
    return x


def last_positive_by_while(x):
    i = 0
    while i < len(x):
        if x[i] > 0:
            last = x[i] * 2
            name = "seen"
        else:
            x[i] = last if name == "seen" else 0.0
        i += 1
    return x


def stepped(x):
    i, e = 0, x[0]
    while abs(e) > 0.1:
        if i % 2 == 0:
            step, pair = e / 4, (e, {"a": np.full(2, e)})
        else:
            e = e - step + pair[1]["a"].sum() * 0.01
        e *= 0.9
        i += 1
    return e, i


def from_the_second_iteration_on(x):
    k = 0
    while k < x[-3]:
        if k > 0:
            k = k + last  # noqa: F821
        last = k
        k += 1
    return last


def read_in_a_choice(x):
    for i in range(int(x[-1])):
        if x[i] < 0:
            x[i] = seen + 1  # noqa: F821
        v = x[i] if x[i] < 3 else seen  # noqa: F821
        seen = v * 2  # noqa: F841
    return x


@pytest.mark.parametrize("program", [last_positive, last_positive_by_while, stepped, read_in_a_choice,
                                     from_the_second_iteration_on])
@pytest.mark.parametrize("options", [{}, {"unroll_limit": 0}])
def test_values_of_earlier_iterations(program, options):
    x = np.array([1.0, -2.0, -3.0, 4.0, -5.0, 6.0, 7.0, -8.0, 5.0])
    check(program, x, **options)


@pytest.mark.parametrize("program", [last_positive, last_positive_by_while, read_in_a_choice])
@pytest.mark.parametrize("options", [{}, {"unroll_limit": 0}])
def test_values_that_no_iteration_has_bound(program, options):
    with pytest.raises(UnboundLocalError, match="'last'|'seen'|'name'"):
        reactant.jit(program, **options)(np.array([-1.0, 2.0, -3.0, 4.0, -5.0, 6.0, 3.0]))


class Broken(Exception):
    def __init__(self, code, where):
        super().__init__(f"code {code} at {where}")
        self.code, self.where = code, where


def of_a_branch(x):
    if x.min() < 0:
        raise ValueError(f"smallest {x.min():.3f}")
    return x


def of_a_iteration(x):
    for i in range(400):
        if x[i % len(x)] < 0:
            raise ValueError("negative", i, x[i % len(x)])


def of_the_first_iteration_of_two_loops(x):
    for i in range(40):
        for j in range(len(x)):
            if x[j] < -i:
                raise Broken(i, (j, x[j]))


def of_an_assertion(x):
    assert x.min() >= 0, f"smallest is {x.min()}"


def of_a_while(x):
    k = 0
    while x[k] >= 0:
        k += 1
        if k == len(x) - 1:
            raise IndexError(f"none in {k}: {x[:2]}")
    raise KeyError(int(x[k]))


def of_the_first_check(x):
    for i in range(100):
        if x[i % len(x)] < -3:
            raise ValueError(f"low at {i}")
        if x[i % len(x)] < 0:
            raise TypeError(f"negative at {i}")


def of_every_run(x):
    raise ValueError(f"sum {x.sum()}")


@pytest.mark.parametrize("program", [of_a_branch, of_a_iteration, of_the_first_iteration_of_two_loops, of_an_assertion,
                                     of_a_while, of_the_first_check, of_every_run])
def test_exceptions_tell_values_of_the_run(program):
    compiled = reactant.jit(program)
    for x in ([1.0, 2.0, 3.0, 4.0], [1.0, -2.5, -7.0, 4.0], [1.0, 2.0, -7.0, -2.0]):
        found = []
        for f in (program, compiled):
            try:
                f(np.array(x))
                found.append(None)
            except Exception as error:
                held = {name: v for name, v in vars(error).items() if name != "__notes__"}
                found.append((type(error), [str(a).split("\n")[0] for a in error.args], held))    # pytest adds lines
        assert repr(found[0]) == repr(found[1])


def test_what_is_raised_while_tracing_comes_behind_the_checks_before():
    def first_negative(x):
        i = 0
        while True:
            if x[i] < 0:
                raise ValueError("negative")
            i += 1

    compiled = reactant.jit(first_negative)
    for x, kind in (([1.0, -1.0], ValueError), ([1.0, 1.0], IndexError), ([-1.0, 1.0], ValueError)):
        with pytest.raises(kind):
            compiled(np.array(x))


def test_batches_and_derivatives_raise_without_values():
    def root(x):
        if x < 0:
            raise ValueError(f"negative: {x}")
        return np.sqrt(x)

    with pytest.raises(ValueError, match="negative"):
        reactant.jit(reactant.vmap(root))(np.array([1.0, -1.0]))
    with pytest.raises(ValueError, match="negative"):
        reactant.grad(root)(-1.0)
    assert reactant.grad(root)(4.0) == 0.25


def place(rows, limit):
    k = 0
    while rows[k] < limit and rows[k + 1] < limit:
        k += 1
    return rows[k + 1]


def each_place(rows, limits):
    """Each search has checks, and a loop that asks whether all before it have held."""
    return [place(rows, limits[i]) if limits[i] > 0 else rows[0] for i in (0, 1, 2, 3, 4, 5, 6, 7, 8, 9)[:len(limits)]]


@pytest.mark.slow
def test_loops_share_what_the_checks_before_them_say():
    rows = np.arange(12.0)
    good, bad = np.arange(10.0) % 7, np.arange(10.0) * 3
    check(each_place, rows, good)
    with pytest.raises(IndexError):
        reactant.jit(each_place)(rows, bad)
    conjunctions = [reactant.jit(each_place).lower(rows, good[:n]).as_text(optimized=False).count("stablehlo.and %")
                    for n in (5, 10)]
    assert conjunctions[1] < 2.2 * conjunctions[0]      # else with the square of the loops


def raising_body(x, n):
    k = 0
    if n >= 0:
        while k < n:
            k += 1
            x[x[:3] > 1] = 0
    for _ in range(n):
        x = x + x[9]
    return x + k


def raising_body_with_handler(x, n):
    try:
        for _ in range(n):
            x = x.reshape(7)
    except ValueError:
        return x - 1
    return x


@pytest.mark.parametrize("program", [raising_body, raising_body_with_handler])
@pytest.mark.parametrize("n", [-1, 0, 2])
def test_a_body_raises_where_a_iteration_comes_to_it(program, n):
    """Loops of no iteration raised what their bodies would have raised."""
    check(program, np.arange(6.0), np.int64(n))


class Unconverged(ValueError):
    pass


class Reduced(Exception):
    def __init__(self, message, largest=None):
        super().__init__(message)
        self.largest = largest


class Stopped(Exception):
    def __init__(self, message):
        Exception.__init__(self, message)
        self.message = message


def texts_of_own_classes(x, kind):
    values = [x[0], x[1]]
    if x.sum() < 5:
        if kind == "plain":
            raise Unconverged(f"x={x}, {x[0]:g}, {float(x[1]):.3e}")
        if kind == "super":
            raise Reduced(f"values {x.sum()} and {values}" + ", %d" % x[0], largest=x.max())  # noqa: UP031
        raise Stopped(f"at {values}")
    return x * 2


@pytest.mark.parametrize("kind", ["plain", "super", "base"])
def test_exceptions_of_own_classes_take_texts_of_the_run(kind):
    compiled = reactant.jit(texts_of_own_classes)
    assert compiled(np.arange(3.0) + 5, kind).tolist() == [10, 12, 14]
    with pytest.raises(Exception) as plain:
        texts_of_own_classes(np.arange(3.0), kind)
    with pytest.raises(plain.type) as raised:
        compiled(np.arange(3.0), kind)
    found = {name: value for name, value in vars(raised.value).items() if name != "__notes__"}
    assert raised.value.args == plain.value.args and found == vars(plain.value)


def no_number(x):
    y = "a" if x[1] > 0 else None
    return x.sum() * abs(y)


def both_raise(x):
    return fail(KeyError, x) if x[0] > 0 else fail(IndexError, x)


def fail(kind, x):
    raise kind("n")


@pytest.mark.parametrize("program, kind", [(no_number, TypeError), (both_raise, KeyError)])
def test_an_expression_of_which_each_side_raises(program, kind):
    """What one raises left the function as an exception of ours."""
    with pytest.raises(kind):
        program(np.ones(3))
    with pytest.raises(kind):
        reactant.jit(program)(np.ones(3))
