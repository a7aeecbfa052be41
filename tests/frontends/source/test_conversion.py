"""Converted functions behave as the plain ones: a table of Python's constructs, each run both ways."""
from __future__ import annotations

import contextlib
import dataclasses
import functools
import pathlib
import threading
import traceback
import types
import warnings

import numpy as np
import pytest

from reactant.frontends.session import calls
from reactant.frontends.source import conversion, operators, source_map
from reactant.frontends.source.operators import ag__

SCALE = 3


# ---- the table -------------------------------------------------------------------------------------------------

def branches(n):
    if n < 0:
        return "negative"
    elif n == 0:
        kind = "zero"
    else:
        kind = "positive"
        if n > 100:
            return "large"
    return kind


def nested_returns(n):
    for i in range(10):
        if i == n:
            for j in range(10):
                if j * i > 20:
                    return i, j
            return "inner end", i
    return "outer end"


def falls_off(n):
    if n > 0:
        return n


def loops(n):
    total, seen = 0, []
    for i in range(n):
        if i == 2:
            continue
        if i == 7:
            break
        total += i
        seen.append(i)
    else:
        total += 1000
    k = 0
    while k < n:
        k += 1
        if k % 2:
            continue
        if k > 6:
            break
        total -= k
    else:
        total *= 2
    return total, seen, i if n else None, k


def continue_in_else_of_inner(n):
    out = []
    for i in range(n):
        for j in range(3):
            if j == i:
                break
        else:
            out.append(("none", i))
            continue
        out.append(("found", i, j))
    return out


def middle_once(n):
    calls_made = []

    def middle():
        calls_made.append(1)
        return n

    first = 0 < middle() < 10
    second = 5 > n > 3 > middle()
    return first, second, len(calls_made)


def short_circuit(n):
    log = []

    def note(value):
        log.append(value)
        return value

    a = note(n) and note(0) and note(2)
    b = note(0) or note(n) or note(3)
    c = not note(n)
    d = note(1) if note(n) else note(2)
    return a, b, c, d, log


def walrus(n):
    out = []
    while (k := n - len(out)) > 0:
        out.append(k)
    if (m := len(out)) > 2 and (q := m * 2) > 5:
        out.append(q)
    return out, m, [z := v + 1 for v in out], z if out else None


def subscripts(n):
    a = list(range(10))
    order = []

    def at(i):
        order.append(i)
        return i

    a[at(1)] = at(100)
    a[at(2)] += at(5)
    a[1:3], b = [n, n], a[at(4)]
    i = 0
    i, a[i] = 5, "i"
    a[i], i = "j", 6
    del a[at(7)]
    d = {"x": {"y": [1, 2]}}
    d["x"]["y"][0] += n
    *a[0:2], last = 1, 2, 3
    m = np.arange(12.0).reshape(3, 4)
    m[1:, ::2] *= 2
    m[..., -1] = m[0, None, :].sum()
    return a, b, i, d, last, order, m.tolist()


def augmented(n):
    text, number, items = "a", 5, [1]
    same = items
    text *= n
    number **= 2
    number //= 3
    number <<= 1
    number |= 1
    items += [n]
    array = np.ones(3)
    alias = array
    array /= 2
    array @= np.eye(3)
    return text, number, items is same, alias.tolist()


class Account:
    rate = 2

    def __init__(self, amount, *, log=None):
        self.amount = amount
        self.__secret = amount + 1
        self.log = log if log is not None else []

    def add(self, n):
        if n > 0:
            self.amount += n
            self.__secret += 1
        else:
            self.log.append(n)
        return self

    @property
    def double(self):
        if self.amount > 10:
            return "rich"
        return self.amount * 2

    @double.setter
    def double(self, value):
        self.amount = value // 2 if value > 0 else 0

    @classmethod
    def make(cls, n):
        return cls(n if n else 1)

    @staticmethod
    def helper(n):
        return n + 1 if n else -1

    def __call__(self, n):
        return self.amount + n if n else self.amount

    def __getitem__(self, key):
        if key == "secret":
            return self.__secret
        return key

    def __iter__(self):
        for i in range(self.amount):
            if i % 2:
                yield i


class Savings(Account):
    def add(self, n):
        if n > 1:
            super().add(n)
            return super().add(1)
        return super().add(n)


def classes(n):
    a = Account(n, log=[0]).add(n).add(-1)
    b = Savings.make(n)
    b.add(5)
    first = a.double
    a.double = 8
    return (a.amount, a.log, a(n), a["secret"], first, a.double, b.amount, b.double, b["secret"], Account.helper(n),
            list(a), type(b).rate)


@dataclasses.dataclass
class Point:
    x: float
    y: float = 2.0
    norm: float = dataclasses.field(init=False, default=0.0)

    def __post_init__(self):
        if self.x > 0:
            self.norm = (self.x ** 2 + self.y ** 2) ** 0.5


@dataclasses.dataclass(frozen=True)
class Frozen:
    x: int


def dataclass_values(n):
    p = Point(n)
    p.x += 1
    moved = dataclasses.replace(p, y=5.0)
    return p, moved, Frozen(n), Frozen(n) == Frozen(n)


def closures(n):
    count = 0

    def step(by=1, *rest, scale=2, **more):
        nonlocal count
        if by > 0:
            count += by * scale + len(rest) + len(more)
        return count

    step()
    step(n, 1, 2, scale=3, key=4)
    makers = [lambda v, i=i: v * i if i else -v for i in range(3)]
    return count, [m(n) for m in makers], step(*[1, 2], **{"scale": 5})


def global_reads(n):
    return n * SCALE if SCALE > 1 else n


COUNTER = 0


def global_writes(n):
    global COUNTER
    COUNTER = 0
    for i in range(n):
        if i % 2 == 0:
            COUNTER += i
    return COUNTER


def exceptions(n):
    log = []
    for k in range(3):
        try:
            if k == n:
                raise ValueError(f"k={k}")
            if k == 1:
                log.append({}["missing"])
            log.append("fine")
        except KeyError as error:
            log.append(repr(error))
            if n == 5:
                return log
        except ValueError as error:
            log.append(str(error))
            continue
        else:
            log.append("else")
        finally:
            log.append("finally")
    return log


def return_in_try(n):
    log = []

    def inner():
        try:
            if n > 2:
                return "early"
            log.append("late")
        except ValueError:
            return "never"
        else:
            log.append("else")
        finally:
            log.append("finally")
        return "end"

    return inner(), log


def return_in_finally(n):
    for i in range(3):
        try:
            if i == n:
                raise RuntimeError("swallowed")
        finally:
            if i == n:
                return i  # noqa: B012 - what is tested
    return "none"


def contexts(n):
    log = []

    @contextlib.contextmanager
    def entered(name):
        log.append(name)
        try:
            yield len(log)
        finally:
            log.append("-" + name)

    holder = {}
    with entered("a") as x, entered("b") as holder["y"]:
        if n > 2:
            return x, holder, log
        log.append("body")
    with contextlib.suppress(ZeroDivisionError):
        log.append(1 / (n - 1))
        return "divided", log
    return "end", log


def generators(n):
    def evens(k):
        for i in range(k):
            if i % 2:
                continue
            if i > 6:
                return
            extra = 10 if i > 2 else 0
            got = yield i + extra
            if got:
                yield got

    def chained():
        yield from evens(n)
        yield "end"

    g = evens(4)
    return list(chained()), next(g), g.send("sent"), sum(x for x in evens(n) if x > 1)


def comprehensions(n):
    base = 2
    return ([i * base for i in range(n) if i % base], {i: [j for j in range(i)] for i in range(n)},
            {i % 3 for i in range(n)}, sum(i if i > 1 else -i for i in range(n)),
            [(i, j) for i in range(n) for j in range(i) if i != j])


def matches(n):
    out = []
    for value in (n, [n, 1, 2], {"k": n, "z": 0}, Point(1.0), "text", None):
        match value:
            case int() if n > 2:
                out.append("int")
            case [first, *rest]:
                out.append((first, rest))
                if first == 3:
                    continue
            case {"k": k, **others}:
                out.append((k, others))
                if k == 4:
                    break
            case Point(x=1.0):
                out.append("point")
            case "text" | None:
                out.append("word")
            case _:
                out.append("other")
    return out


def callbacks(n):
    return (sorted(range(n), key=lambda v: -v if v % 2 else v), list(map(lambda v: v + 1 if v else 0, range(n))),
            list(filter(lambda v: v > 1, range(n))), functools.reduce(lambda a, b: a + b if b else a, range(n), 0),
            max(range(1, n + 2), key=lambda v: v % 3), functools.partial(branches, n)())


@functools.lru_cache(maxsize=100)
def cached(n):
    return n if n < 2 else cached(n - 1) + cached(n - 2)


def wrapped(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        if kwargs.get("skip"):
            return "skipped"
        return function(*args, **kwargs)
    return wrapper


@wrapped
def decorated(n, skip=False):
    """Words."""
    return n + 1 if n else 0


def decorations(n):
    @wrapped
    @wrapped
    def inner(k, skip=False):
        return k if k > 2 else -k
    return decorated(n), decorated(n, skip=True), cached(n + 5), inner(n), inner(n, skip=n > 3), decorated.__doc__


@functools.singledispatch
def described(value):
    return "thing"


@described.register
def _(value: int):
    return "small" if value < 3 else "big"


def dispatched(n):
    return described(n), described("x")


def scoping(n):
    x: int = 0
    y: int
    if n > 1:
        import math as m
        y = m.floor(2.5)

        def local():
            return y + n

        class Inner:
            factor = 2

            def get(self):
                if n > 2:
                    return self.factor * y
                return __class__.__name__
        del x
        x = local(), Inner().get()
    values = [x for x in range(3)]
    return x, values


def frames(n):
    k = 5
    if n:
        k = 6
    return sorted(set(locals()) - {"ag__"}), "SCALE" in globals(), eval("k + n")


def strings(n):
    width = 6
    return f"{n if n > 1 else 'few'!r:>{width}}" + "".join(str(i) for i in range(n)) + (f"{n=}" if n else "")


def star_arguments(n):
    def show(*args, first=0, **kwargs):
        return args, first, sorted(kwargs.items())
    a, *b, c = range(n + 2)
    return show(*b, a, *[c], first=n, **{"z": 1}, y=2), [*b, *b], {**{"k": n}}


def deleted(n):
    x = 1
    if n > 1:
        del x
    try:
        return x
    except NameError:
        return "deleted"


def membership(n):
    return n in (1, 2, 3), n not in {2: 3}, "a" in "abc", 0 < n in [1, 5], n is not None


def assertions(n):
    assert n < 5, f"n is {n if n else 0}"
    assert n < 4, "four"
    return n


def raising(n):
    try:
        if n > 2:
            raise KeyError("inner")
    except KeyError as error:
        if n > 3:
            raise RuntimeError("outer") from error
        raise
    raise ValueError


def unpacking_targets(n):
    holder = types.SimpleNamespace(items=[0, 0])
    for holder.last, holder.items[0] in enumerate(range(n)):
        if holder.last == 3:
            break
    (a, [b, holder.items[1]]) = 1, (2, 3)
    c = holder.x = holder.items[0]
    return holder, a, b, c


def infinite(n):
    i = 0
    while True:
        try:
            i += 1
            if i > n:
                break
            if i == 2:
                continue
        finally:
            i += 1
    return i


CASES = [branches, nested_returns, falls_off, loops, continue_in_else_of_inner, middle_once, short_circuit, walrus,
         subscripts, augmented, classes, dataclass_values, closures, global_reads, global_writes, exceptions,
         return_in_try, return_in_finally, contexts, generators, comprehensions, matches, callbacks, decorations,
         dispatched, scoping, frames, strings, star_arguments, deleted, membership, assertions, raising,
         unpacking_targets, infinite]


def outcome(run):
    try:
        return run()
    except Exception as error:
        return type(error), str(error).split("\nassert ")[0], type(error.__cause__)  # pytest adds to asserts


@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 5, 8, 150])
@pytest.mark.parametrize("function", CASES, ids=lambda f: f.__name__)
def test_behaves_as_python(function, n):
    plain = outcome(lambda: function(n))
    assert conversion.is_converted(conversion.convert(function).__code__)
    assert repr(outcome(lambda: calls.call(function, n))) == repr(plain)


# ---- what goes through the operators ---------------------------------------------------------------------------

@pytest.fixture
def recorded():
    """The names of the operators that run, in order."""
    log = []

    def recording(name, function):
        def record(*args, **kwargs):
            log.append(name)
            return function(*args, **kwargs)
        return record

    before = operators.install(**{n: recording(n, f) for n, f in vars(ag__).items()})
    yield log
    operators.install(**before)


def everything(a, b):
    if a[0] > 1 and not b:
        a[1:2] = [a[0]]
    a[0] += 1
    b += 1
    while 0 < b < 3:
        b = b + 1 if b in (1, 2) else 9
    for _ in range(1):
        a.append(b)
    assert b
    del a[0]
    return a


def test_operators_are_used(recorded):
    assert calls.call(everything, [5, 6], 0) == [5, 3]
    wanted = {"if_stmt", "and_", "not_", "set_item", "get_item", "inplace", "while_stmt", "chain", "if_exp", "contains",
              "for_stmt", "iterate", "call", "get_attr", "call_bound", "assert_stmt", "del_item", "slice", "ld"}
    assert wanted <= set(recorded), wanted - set(recorded)


def test_live_and_dead_variables_reach_the_operator():
    seen = {}

    def if_stmt(test, then, orelse, live, dead, left=(None, None)):
        seen["if"] = live, dead, left
        operators.if_stmt(test, then, orelse, live, dead)

    def for_stmt(iterable, body, flags, live, dead, rebound, left):
        seen["for"] = flags, live, dead, rebound, left
        operators.for_stmt(iterable, body, flags, live, dead, rebound)

    def program(xs):
        total = 0
        last = None
        for i, x in enumerate(xs):  # noqa: B007
            square = x * x
            if square > 10:
                total += square
                scratch = total
                last = scratch
            if x > 5:
                break
        return total, last

    before = operators.install(if_stmt=if_stmt, for_stmt=for_stmt)
    try:
        assert calls.call(program, [1, 4, 6, 7]) == program([1, 4, 6, 7])
    finally:
        operators.install(**before)
    flags, live, dead, rebound, left = seen["for"]
    assert flags == ("ag__broke_1",)
    assert {"total", "last"} <= set(left) and set(left) <= {"total", "last", "ag__"}
    assert seen["if"][2] == (left, None)
    assert set(live) == {"total", "last", "ag__broke_1"}
    assert set(dead) == {"i", "x", "square", "scratch"}
    assert rebound == ("ag__broke_1", "i", "last", "scratch", "square", "x")


def test_replacements_and_library_functions(monkeypatch):
    monkeypatch.setattr(calls, "REPLACEMENTS", dict(calls.REPLACEMENTS))

    @calls.replace(np.zeros)
    def zeros(*args):
        return "ours"

    try:
        assert calls.call(lambda: np.zeros(3)) == "ours"
        assert calls.call(lambda: (lambda f: f(3))(np.zeros)) == "ours"
        assert calls.call(lambda: functools.partial(np.zeros, 3)()) == "ours"
    finally:
        monkeypatch.undo()
    assert calls.call(lambda: np.zeros(2).tolist()) == [0.0, 0.0]


def test_bound_methods_of_c_types_pass_the_hook():
    seen = []

    def call_bound(function, owner, *args, **kwargs):
        seen.append((function.__name__, type(owner), args))
        return function(*args, **kwargs)

    before = operators.install(call_bound=call_bound)
    try:
        calls.call(lambda a: a.sum(0) + a.reshape(-1)[0], np.ones((2, 2)))
    finally:
        operators.install(**before)
    assert seen == [("sum", np.ndarray, (0,)), ("reshape", np.ndarray, (-1,))]


# ---- sources ---------------------------------------------------------------------------------------------------

def test_without_source_runs_as_it_is():
    namespace = {}
    exec("def straight(x): return x + 1\ndef bent(x):\n    if x: return 1\n    return 2", namespace)
    for name in ("straight", "bent"):
        function = namespace[name]
        assert calls.call(function, 1) == function(1)
        assert conversion.convert(function) is function
        assert conversion.is_followed(conversion.followed(function).__code__)
    assert conversion.reason_unconverted(namespace["bent"].__code__) == (
        "the source of 'bent' cannot be found (it was made in '<string>')")
    assert conversion.has_jumps(namespace["bent"].__code__)
    assert not conversion.has_jumps(namespace["straight"].__code__)


def test_notebook_cells():
    import linecache
    text = "def cell(x):\n    while x > 3:\n        x -= 1\n    return x\n"
    linecache.cache["<ipython-input-1>"] = (len(text), None, text.splitlines(True), "<ipython-input-1>")
    namespace = {}
    exec(compile(text, "<ipython-input-1>", "exec"), namespace)
    assert conversion.is_converted(conversion.convert(namespace["cell"]).__code__)
    assert calls.call(namespace["cell"], 9) == 3


def test_lambdas_on_one_line():
    pair = [lambda x: x + 1 if x else 0, lambda x: x - 1 if x else 9, lambda x: (lambda y: y * x if x else 3)]
    assert [calls.call(f, n) for f in pair[:2] for n in (0, 4)] == [0, 5, 9, 3]
    inner = pair[2](2)
    assert conversion.is_converted(conversion.convert(inner).__code__)
    assert calls.call(inner, 5) == 10


def test_changed_source_is_noticed(tmp_path):
    path = tmp_path / "changing.py"
    path.write_text("def f(a, b):\n    return a\n")
    namespace = {}
    exec(compile(path.read_text(), str(path), "exec"), namespace)
    path.write_text("def g(c):\n    return c\n")
    assert conversion.convert(namespace["f"]) is namespace["f"]
    assert "changed after it was loaded" in conversion.reason_unconverted(namespace["f"].__code__)


def test_odd_layouts(tmp_path):
    path = tmp_path / "layout.py"
    path.write_text('class A:\n    def f(self, x):\n        text = """\nno margin\n"""\n        if x:\n'
                    "            return (\nx)\n        # comment\n# comment at the margin\n        return text\n\n"
                    "def g(\n    a, b=(\n1),\n):\n  if a: return b\n  return a\n"
                    "def h(x):\n\tif x:\n\t\treturn 'tab'\n\treturn 'none'\n"
                    "def dead():\n    return iter(())\n    yield\n")
    namespace = {"__name__": "layout"}
    exec(compile(path.read_text(), str(path), "exec"), namespace)
    for function, args in ((namespace["A"]().f, (0,)), (namespace["A"]().f, (2,)), (namespace["g"], (0,)),
                           (namespace["g"], (3,)), (namespace["h"], (1,)), (namespace["h"], (0,))):
        plain = getattr(function, "__func__", function)
        assert conversion.is_converted(conversion.convert(plain).__code__)
        assert calls.call(function, *args) == function(*args)
    assert isinstance(calls.call(namespace["dead"]), types.GeneratorType)


def test_asynchronous_functions_run_as_they_are():
    async def work():
        return 1

    assert conversion.convert(work) is work
    with contextlib.closing(calls.call(work)) as coroutine:
        assert isinstance(coroutine, types.CoroutineType)


def test_libraries():
    assert not conversion.is_user_file(np.__file__)
    assert not conversion.is_user_file(contextlib.__file__)
    assert not conversion.is_user_file(conversion.__file__)
    assert conversion.is_user_file(__file__)
    assert conversion.is_user_file(pytest.__file__)
    demo = conversion.__file__.replace("frontends/source/conversion.py", "demos/heat.py")
    assert conversion.is_user_file(demo)


def test_scikit_image_is_converted():
    restoration = pytest.importorskip("skimage.restoration")
    image = np.random.default_rng(0).random((16, 16))
    plain = restoration.denoise_tv_chambolle(image, max_num_iter=5)
    assert np.array_equal(calls.call(restoration.denoise_tv_chambolle, image, max_num_iter=5), plain)
    assert conversion.is_converted(conversion.convert(restoration._denoise._denoise_tv_chambolle_nd).__code__)


def test_once_for_each_code_object():
    def make(k):
        def f(x):
            return x + k if x else k
        return f

    one, two = conversion.convert(make(1)), conversion.convert(make(2))
    assert one.__code__ is two.__code__
    assert (one(0), two(0), one(3), two(3)) == (1, 2, 4, 5)


def test_threads():
    def f(n):
        return sum(i for i in range(n) if i % 2) if n else -1

    results = []
    threads = [threading.Thread(target=lambda: results.append(calls.call(f, 10))) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert results == [f(10)] * 8


def test_no_state_is_left_changed():
    filters = list(warnings.filters)
    calls.call(loops, 4)
    assert warnings.filters == filters


# ---- the user's line -------------------------------------------------------------------------------------------

def where(n):
    for i in range(n):
        if i == 1:
            return probe()  # the line
    return None


def probe():
    raise AssertionError("replaced below")


def _line(text):
    lines = pathlib.Path(__file__).read_text().splitlines()
    return next(i for i, line in enumerate(lines, 1) if line.strip() == text)


def test_user_frame_and_location():
    @calls.replace(probe)
    def frame():
        location = source_map.location()
        return _outside(), location

    def _outside():
        import sys
        caller = sys._getframe(1)
        while caller.f_code.co_name != "where" and "ag__" not in caller.f_code.co_name:
            caller = caller.f_back
        return caller.f_lineno, source_map.function_name(caller.f_code), caller.f_code.co_filename

    try:
        place, location = calls.call(where, 3)
    finally:
        del calls.REPLACEMENTS[probe]
    assert place == (_line("return probe()  # the line"), "where", __file__)
    assert location is not None


def test_user_frame_is_this_one():
    frame = source_map.user_frame()
    assert frame.file == __file__
    assert frame.function == "test_user_frame_is_this_one"
    assert frame.text == "frame = source_map.user_frame()"
    assert str(source_map.location()).startswith(f'loc("{__file__}":')


def failing(n):
    total = 0
    for i in range(n):
        if i == 2:
            total += [1][i]
    return total


def test_errors_keep_type_and_show_the_line():
    with pytest.raises(IndexError) as caught:
        calls.call(failing, 4)
    source_map.annotate(caught.value)
    source_map.annotate(caught.value)
    line = _line("total += [1][i]")
    assert caught.value.__notes__ == [f"in {__file__}:{line}: total += [1][i]"]
    assert f'line {line}' in "".join(traceback.format_exception(caught.value))


def test_install_names_unknown_operators():
    with pytest.raises(TypeError, match="no operator named nonsense"):
        operators.install(nonsense=len)


def test_unusable_variables_raise_when_read():
    def if_stmt(test, then, orelse, live, dead):
        operators.if_stmt(test, then, orelse, live, dead)
        operators.cells_of(then)["x"].cell_contents = operators.Unusable(lambda: TypeError("two types"))

    def program(n):
        x = 1
        if n:
            x = 2
        if n > 5:
            x = 3
        return x

    before = operators.install(if_stmt=if_stmt)
    try:
        with pytest.raises(TypeError, match="two types"):
            calls.call(program, 1)
    finally:
        operators.install(**before)
