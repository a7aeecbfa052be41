"""Exceptions that depend on run-time values and the handlers that wait for them, against plain Python."""
from __future__ import annotations

import ast
import contextlib
import itertools
from types import SimpleNamespace

import numpy as np
import pytest

import reactant
from reactant.frontends.source import try_statements
from tests.frontends.agreement import MANY, UP, agree
from tests.oracle import check

LOG = (np.array([4.0, 5.0]), np.zeros(2)), (np.array([-1.0, 9.0]), np.zeros(2)), (np.array([7.0, 1.0]), np.zeros(2))
NUMBERS = (np.array([3.0, -1.0, 4.0, -1.0, 5.0]),), (np.array([3.0, 1.0, 4.0]),)


class NoConvergence(Exception):
    pass


def root(v, log):
    """Raises on some arguments, and leaves a mark at every step."""
    if v.min() < 0:
        raise ValueError("negative")
    log[0] += 1
    if v.max() > 6:
        raise KeyError("big")
    log[1] += 1
    return np.sqrt(v)


def raised_here(x):
    try:
        if x[0] < 0:
            raise ValueError("negative")
        y = np.sqrt(x)
    except ValueError:
        y = np.zeros_like(x)
    return y


def raised_in_a_function(x, log):
    n = 0
    try:
        n = 1
        y = root(x, log)
        n = 2
        log[0] += root(x + 0.1, log).sum()
        n = 3
    except ValueError:
        return n, x
    except KeyError:
        n = n + 10
        y = x * 0
    else:
        n += 100
    return n, y


def raised_in_a_local_function(x):
    def inverse(v):
        if v == 0:
            raise ZeroDivisionError
        return 1 / v
    total, zeros = 0.0, 0
    for v in x:
        try:
            total += inverse(v)
        except ZeroDivisionError:
            zeros += 1
            continue
        total += 1
    return total, zeros


def nested(x, log):
    n = 0
    try:
        try:
            root(x, log)
            n += 1
        except ValueError as error:
            n += 5
            raise RuntimeError("again") from error
        finally:
            n += 50
        n += 2
    except (RuntimeError, KeyError):
        n += 1000
    return n


def passed_on(x, log):
    try:
        y = root(x, log)
    except KeyError:
        y = x
    return y


def raised_again(x, log):
    try:
        y = root(x, log)
    except ValueError:
        log[1] = 7
        raise
    except Exception:
        y = x
    return y


def with_else_and_finally(x):
    n = 0
    try:
        if x.sum() > 3:
            raise RuntimeError("big")
        n = 1
    except (ValueError, RuntimeError):
        n = 2
    else:
        n += 10
    finally:
        x += 1
    return n


def out_of_a_loop(x):
    try:
        for i in range(50):  # noqa: B007
            x = x * 0.5
            if np.abs(x).max() < 0.1:
                raise StopIteration
    except StopIteration:
        return i, x
    return -1, x


def in_a_long_loop(x):
    out, bad = np.zeros(300), 0
    for i in range(300):
        try:
            if x[i % 3] < 0:
                raise ValueError
            out[i] = np.sqrt(x[i % 3])
        except ValueError:
            bad += 1
            out[i] = -1
    return out, bad


def asserted(x):
    try:
        assert (x > 0).all(), "negative"
        return x.sum()
    except AssertionError:
        return x.min()


def both_sides_raise(x):
    n = 0
    try:
        if x[0] > 0:
            n += 1
            raise KeyError
        else:
            n += 2
            raise ValueError
        n += 4
    except LookupError:
        n += 10
    except ValueError:
        n += 20
    return n


def nothing_after_is_run(x, log):
    caught = 0
    try:
        x[0] = root(x, log)[0]
        x[1] = np.add(root(x * 2, log), 1)[1]
        log += root(x, log)
    except Exception:
        caught = x.sum()
    return caught, x


def old_value_is_kept(x):
    y = x
    try:
        y = root(x * 1.5, np.zeros(2))
        y = root(y * 4, np.zeros(2))
    except (ValueError, KeyError):
        pass
    return y


@pytest.mark.parametrize("program", [raised_here, with_else_and_finally, out_of_a_loop, in_a_long_loop, asserted,
                                     both_sides_raise, old_value_is_kept], ids=lambda f: f.__name__)
def test_raised(program):
    agree(program, MANY)


@pytest.mark.parametrize("program", [raised_in_a_function, nested, passed_on, raised_again, nothing_after_is_run],
                         ids=lambda f: f.__name__)
def test_raised_in_functions(program):
    agree(program, LOG)


def unbound_on_one_path(x):
    if x[0] > 0:
        part = x[1:]
    try:
        x += 1
        found = part
        x += 1
    except UnboundLocalError:
        x += 5
        found = x[:2] + 3
    else:
        x[0] = 7
    try:
        part *= 2
    except NameError:
        found[0] -= 4
    return found


def test_a_variable_that_one_path_does_not_bind():
    agree(unbound_on_one_path, MANY)


def test_raised_in_a_local_function():
    agree(raised_in_a_local_function, [(np.array([1.0, 0.0, 2.0, 0.0, 4.0]),), (np.array([1.0, 2.0, 4.0, 3.0, 9.0]),)])


# ---- checks of NumPy and Python --------------------------------------------------------------------------------

def out_of_range(x, k):
    y = x[0]
    try:
        y = x[k]
        found = True
    except IndexError:
        found = False
    return y, found


def divided(a, b):
    q = a
    try:
        q //= b
    except ZeroDivisionError:
        q += 1
    return q


def jittered(a):
    jitter = 0.0
    for _ in range(8):
        try:
            factor = np.linalg.cholesky(a + jitter * np.eye(3))
            break
        except np.linalg.LinAlgError:
            jitter = max(2 * jitter, 1.0)
    else:
        factor = np.zeros((3, 3))
    return factor, jitter


def solve_or_fit(a, b):
    try:
        return np.linalg.solve(a, b)
    except np.linalg.LinAlgError:
        return np.linalg.lstsq(a, b, rcond=None)[0]


def first_positive(x):
    try:
        return np.where(x > 2)[0][0]
    except IndexError:
        return np.int64(-1)


def greatest_or_zero(x):
    try:
        m = x[x > 2].max()
    except ValueError:
        m = np.float64(0)
    return m


def until_the_end(x):
    k = 0
    while True:
        try:
            if x[k] < 0:
                raise LookupError
            k += 1
        except IndexError:
            k = 100
            break
        except LookupError:
            break
    return k


def test_checks():
    agree(out_of_range, [(UP, np.int64(k)) for k in (1, 7, -1, -9)])
    agree(divided, [(7, 2), (7, 0), (-7, 2)], traced_argnames=("a", "b"))
    agree(jittered, [(np.eye(3) * 2,), (np.eye(3) - 2,)])
    agree(solve_or_fit, [(np.eye(3) * 2, np.ones(3)), (np.ones((3, 3)), np.ones(3))])
    agree(first_positive, MANY)
    agree(greatest_or_zero, MANY)
    agree(until_the_end, NUMBERS)
    agree(out_of_range, [(UP, np.int64(1)), (UP, np.int64(7))], check=False)


# ---- programs --------------------------------------------------------------------------------------------------

def newton(f, df, x, tolerance=1e-10):
    for _ in range(50):
        slope = df(x)
        if abs(slope) < 1e-14:
            raise ZeroDivisionError("flat")
        step = f(x) / slope
        x = x - step
        if abs(step) < tolerance:
            return x
    raise NoConvergence("50 steps")


def cube_root(k):
    try:
        return newton(lambda x: x * x * x - k - 1, lambda x: 3 * x * x, k)
    except NoConvergence:
        return -1.0
    except ZeroDivisionError:
        return 99.0


class Stack:
    def __init__(self, n):
        self.items = np.zeros(n)
        self.count = 0

    def push(self, v):
        if self.count >= len(self.items):
            raise OverflowError("full")
        self.items[self.count] = v
        self.count += 1

    def pop(self):
        if self.count == 0:
            raise IndexError("empty")
        self.count -= 1
        return self.items[self.count]


def stack_machine(program):
    stack, errors, out = Stack(4), 0, 0.0
    for op in program:
        try:
            if op > 0:
                stack.push(op)
            else:
                out = out * 10 + stack.pop()
        except IndexError:
            errors += 1
        except OverflowError:
            errors += 100
    return out, errors, stack.items, stack.count


def test_programs():
    agree(cube_root, [(2.0,), (0.0,), (-3.0,)])
    agree(stack_machine, [(np.array([1.0, 2, -1, -1, -1, 3, 4, 5, 6, 7]),), (np.ones(10),)])


def uncaught_type(x):
    try:
        if x[0] > 0:
            raise KeyError("positive")
    except (TypeError, ValueError):
        x = x * 0
    return x


def test_a_handler_of_something_else_does_not_catch():
    agree(uncaught_type, MANY)


def ambiguous_exception(x):
    try:
        if x[0] > 0:
            raise ValueError("up")
        if x[1] < 0:
            raise ValueError("down")
    except ValueError as error:
        return len(str(error))
    return 0


def raises_or_is_known_to_fail(x, i):
    total = 1.0
    for k in range(5):
        try:
            if x[k] < 0:
                raise ValueError("negative")
            total += x[i + k]
            total = total * 2
        except ValueError:
            total = total - 1
            continue
        except IndexError:
            break
        total = total + x[0]
    return total


def looks_up_in_a_branch(x, i):
    values = {"there": 1.0}
    try:
        if x[i] < 0:
            found = values["missing"]
        else:
            found = values["there"]
        found = found + 1
    except KeyError:
        found = -2.0
    return found


@pytest.mark.parametrize("program", [raises_or_is_known_to_fail, looks_up_in_a_branch], ids=lambda f: f.__name__)
def test_what_surely_raises_in_a_branch_raises_where_that_is_taken(program):
    agree(program, [(x, i) for x in (np.arange(1.0, 6.0), np.array([1.0, -2.0, 3.0, -4.0, 5.0])) for i in (0, 2, 4)])


def written_outside(x, i):
    for k in range(40):
        try:
            x[i[0] + k % 2] = 50.0
            x[i[0], ...] += 1.0
        except IndexError:
            x[0] = x[0] + 1
    try:
        x[i * 2] = 7.0
    except IndexError:
        x[1] = 9.0
    return x


def test_nothing_is_written_at_places_that_are_not_there():
    agree(written_outside, [(np.arange(1.0, 6.0), np.array([i, 1])) for i in (0, 2, 4, 5, -6)])


def test_which_exception_it_is_must_be_known():
    with pytest.raises(reactant.ControlFlowError, match="Which exception this is"):
        reactant.jit(ambiguous_exception)(UP)


class Entered:
    """Notes in a dict that it was entered and left."""

    def __init__(self, notes):
        self.notes = notes

    def __enter__(self):
        self.notes["left"] = 0.0

    def __exit__(self, *error):
        self.notes["left"] += 1.0


@contextlib.contextmanager
def changed(notes):
    old = dict(notes)
    notes["changed"] = True
    try:
        yield
    finally:
        notes.update(old)


def leaves_what_it_entered(x, log):
    notes = {"changed": False}
    try:
        with Entered(notes), changed(notes):
            r = root(x, log).sum()
    except ValueError:
        r = 7.0
    except KeyError:
        r = 8.0
    return r, notes["left"], notes["changed"]


def test_what_was_entered_is_left_whatever_was_raised():
    agree(leaves_what_it_entered, LOG)


def generator(x):
    for v in x:
        if v < 0:
            raise ValueError
        yield v


def raises_in_a_generator(x):
    try:
        return sum(generator(x))
    except ValueError:
        return 0.0


def raises_in_its_first_element(x):
    try:
        return next(generator(x))
    except ValueError:
        return 0.0


def test_handlers_out_of_reach():
    agree(raises_in_a_generator, MANY)
    with pytest.raises(reactant.ControlFlowError, match="whose handlers compiled code cannot reach"):
        reactant.jit(raises_in_its_first_element)(UP)


class Watching:
    """Its `__exit__` asks for the exception, and may end it."""

    def __init__(self, ends):
        self.ends, self.caught = ends, 0

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if kind is not None:
            self.caught += 1
        return self.ends


def watched(x, log):
    watching, r = Watching(False), 1.0
    try:
        with watching:
            r = root(x, log).sum()
    except ValueError:
        r = 7.0
    return r, watching.caught


def ended(x, log):
    watching = Watching(True)
    with watching:
        root(x, log)
    return watching.caught


def ended_around(x, log):
    with Watching(True), Watching(False):       # the outer one does not hear of what is refused
        root(x, log)
    return x


@pytest.mark.parametrize("program", [watched, ended, ended_around])
def test_what_leaving_a_context_depends_on(program):
    with pytest.raises(reactant.ControlFlowError, match="__exit__ of Watching asks for it"):
        reactant.jit(program)(*LOG[0])


def suppressed(x):
    total = x[0]
    with contextlib.suppress(ValueError):
        if x[1] > 1.5:
            raise ValueError
        total += 10
    with contextlib.suppress(IndexError, ZeroDivisionError), contextlib.nullcontext(3.0) as three:
        for k in range(int(x[0]) + 2):
            total += x[k] * three
        total += float(x[0]) / float(x[2])
        total += 100
    return total


def test_suppress():
    agree(suppressed, [*MANY, (UP * 2,), (UP[:2].repeat(2),)])


# ---- what may be None --------------------------------------------------------------------------------------------

def half(x):
    y = x * 0.5
    z = y + 1
    return z


OPERATIONS = [lambda x: x + 1.0, lambda x: -x, lambda x: 1.0 if x > 0.2 else 2.0, lambda x: float(x) * 2,
              lambda x: np.sqrt(x), half, lambda x: x.real, lambda x: abs(x), lambda x: max(x, 0.25)]


@pytest.mark.parametrize("operation", OPERATIONS)
def test_none_in_an_operation(operation):
    def program(x):
        found, y = None, 5.0
        if x[0] > 1.5:
            found = x[1]
        try:
            y = operation(found)
        except (TypeError, AttributeError):
            y = -y
        return y, found
    agree(program, [(UP,), (UP * 2,), (-UP,)])


def added_up(x):
    total, made, last = 0.0, [], None
    for v in x:
        try:
            total += last
            made.append(last * 2)
        except TypeError:
            total -= 1.0
            made.append(-1.0)
        last = v if v > 1.5 else None
    return total, sum(made)


def counted(x):
    count, total = None, 0
    if x[0] > 1.5:
        count = 3
    try:
        for k in range(count):
            total += k
    except TypeError:
        total = -1
    return total


def no_integer(x):
    kinds = 0
    for v in x:
        try:
            kinds = kinds * 4 + int(v)
        except ValueError:
            kinds = kinds * 4 + 2
        except OverflowError:
            kinds = kinds * 4 + 3
    return kinds


def written(x):
    array, part, box = None, None, None
    held = SimpleNamespace(value=x[0])
    if x[0] > 1.5:
        array, part, box = x, x[1:], held
    failed = 0
    for change in (0, 1, 2, 3, 4):
        try:
            if change == 0:
                array[0] = 8.0
            elif change == 1:
                part *= 2
            elif change == 2:
                box.value = 9.0
            elif change == 3:
                box.value += 1
            else:
                part.fill(7.0)
        except (TypeError, AttributeError):
            failed += 1
    return failed, held.value


def test_nothing_is_written_into_none():
    agree(written, [(UP.copy(),), (UP * 2,), (-UP,)])


def test_none_in_statements():
    agree(added_up, [(UP,), (UP * 2,), (-UP,)])
    agree(counted, [(UP,), (UP * 2,)])


def test_floats_that_are_no_integers():
    agree(no_integer, [(np.array(x),) for x in ([1.0, 0, 1], [np.nan, 1, np.inf], [-np.inf, np.nan, 0])])
    agree(lambda x: int(x[0]), [(np.array([x]),) for x in (1.5, np.nan, np.inf, -np.inf)])
    with pytest.raises(reactant.UnsupportedError, match="2\\*\\*62 or more"):
        reactant.jit(no_integer)(np.array([1e30]))


# ---- the rewriting ---------------------------------------------------------------------------------------------

@pytest.mark.parametrize("text, expected", [
    ("f(x)", True), ("len(x)", True), ("a[0]", True), ("a / b", True), ("a + b * c", True), ("-a", True), ("a.b", True),
    ("a < b", True), ("lambda: f(x)", False), ("not a", False), ("a is None", False), ("isinstance(a, f)", False)])
def test_what_may_raise(text, expected):
    assert try_statements.may_raise(ast.parse(text, mode="eval").body) is expected


def test_functions_without_handlers_stay_as_they_are():
    text = "def f(x):\n    if x > 0:\n        raise ValueError\n    return g(x)"
    node = ast.parse(text).body[0]
    try_statements.lower(node, itertools.count(1), catching=False)
    assert ast.unparse(node) == text


def returns_at_the_end(x):
    y = x * 0
    try:
        y = np.frompyfunc(abs, 1, 1)(x)
    finally:
        return y                # noqa: B012


def goes_on_at_the_end(x):
    y = x * 0
    for _ in range(3):
        try:
            y = y + np.frompyfunc(abs, 1, 1)(x)
        finally:
            continue            # noqa: B012
    return y


def discards_its_own(x):
    for k in range(5):
        try:
            if k == 2:
                raise KeyError
            x = x + 1
        finally:
            if k > 1:
                return x * k    # noqa: B012
    return x


@pytest.mark.parametrize("program", [returns_at_the_end, goes_on_at_the_end])
def test_jumps_in_finally_discard_no_refusal(program):
    """The program went on with what it had before."""
    with pytest.raises(reactant.UnsupportedError, match="frompyfunc"):
        reactant.jit(program)(np.ones(3))


def test_jumps_in_finally_discard_what_the_program_raises():
    check(discards_its_own, np.ones(3))
