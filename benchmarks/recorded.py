"""What a package's own examples and tests call its functions and methods with: each call made again, compiled.

    python benchmarks/recorded.py PACKAGE ... [--seconds 100] [--tests] [--staged] [--reasons] [--json FILE]

While the examples of all docstrings run (with --tests also the test modules that the package has installed), the first
calls of each function with numbers, arrays, texts and containers of them are recorded, those that the package makes
itself among them. `alike`, `differs`, `refused` and `slow` are as in `benchmarks/docstrings.py`; `state`: another plain
call gave another result. --staged: also with every loop staged (`unroll_limit=0`). --reasons: the most frequent
reasons of refusals.
"""
import argparse
import collections
import contextlib
import copy
import doctest
import functools
import importlib
import inspect
import io
import json
import pkgutil
import time
import types
import unittest
import warnings

import docstrings
import numpy as np
from docstrings import Call, TookTooLong, difference

from reactant.support.time_limits import limited

MOST_CALLS = 3          # of one function
ONE_CALL = 15           # seconds
CALLED_BY_OPERATORS = ("__call__", "__add__", "__sub__", "__mul__", "__matmul__", "__getitem__")


def kinds_of(value, depth=0):
    """(whether it can be given to a compiled function, whether floats are in it)."""
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "biufc" and value.size < 20_000, value.dtype.kind in "fc"
    if isinstance(value, (float, complex, np.inexact)):
        return True, True
    if value is None or isinstance(value, (int, str, np.generic, types.FunctionType)):
        return True, False
    if isinstance(value, (list, tuple, dict)):
        inside = list(value.values() if isinstance(value, dict) else value)
    elif depth == 0 and hasattr(value, "__dict__") and not isinstance(value, (type, types.ModuleType)):
        inside = list(vars(value).values())
    else:
        return False, False
    found = [kinds_of(part, depth + 1) for part in inside] if len(inside) < 500 and depth < 4 else [(False, False)]
    return all(good for good, _ in found), any(floats for _, floats in found)


class Recorder:
    """Puts functions in the place of a package's that note what they are called with."""

    def __init__(self, package):
        self.package, self.busy, self.put_back = package, False, []
        self.calls = collections.defaultdict(list)
        self.wrappers = {}

    def __enter__(self):
        self.modules = list(docstrings.modules_of(self.package))
        for module in self.modules:
            for name, found in list(vars(module).items()):
                if not (getattr(found, "__module__", None) or "").startswith(self.package):
                    continue
                if type(found) is types.FunctionType:
                    self.replace(module, name, found)
                elif isinstance(found, type) and not issubclass(found, BaseException):
                    for attribute, method in list(vars(found).items()):
                        if type(method) is types.FunctionType and (
                                not attribute.startswith("__") or attribute in CALLED_BY_OPERATORS):
                            self.replace(found, attribute, method)
        return self

    def __exit__(self, *_):
        self.busy = True
        for holder, name, original in self.put_back:
            setattr(holder, name, original)

    def replace(self, holder, name, function):
        if function in self.wrappers.values():
            return
        with contextlib.suppress(AttributeError, TypeError):
            wrapper = self.wrappers.setdefault(function, self.recording(function))
            setattr(holder, name, wrapper)
            self.put_back.append((holder, name, function))

    def recording(self, function):
        @functools.wraps(function)
        def recorded(*args, **kwargs):
            before = self.copied((args, kwargs)) if len(self.calls[function]) < MOST_CALLS and not self.busy else None
            result = function(*args, **kwargs)
            if before is not None and not inspect.isgenerator(result) \
                    and (after := self.copied(((args, kwargs), result), look=False)) is not None:
                self.calls[function].append(Call(f"{function.__module__}.{function.__qualname__}", function, before,
                                                 *after))
            return result
        return recorded

    def copied(self, values, look=True):
        """A copy of arguments; None where they cannot be copied, or hold what compiled functions do not take."""
        self.busy = True
        try:
            if look:
                kinds = [kinds_of(x) for x in (*values[0], *values[1].values())]
                if not all(good for good, _ in kinds) or not any(floats for _, floats in kinds):
                    return None
            return bare(copy.deepcopy(values), self.wrappers)
        except Exception:
            return None
        finally:
            self.busy = False


def bare(value, wrappers):
    """Containers in which functions are the package's own again."""
    if type(value) in (list, tuple):
        return type(value)(bare(part, wrappers) for part in value)
    if type(value) is dict:
        return {key: bare(part, wrappers) for key, part in value.items()}
    return inspect.unwrap(value) if type(value) is types.FunctionType and value in wrappers.values() else value


def run(action):
    """Run code of the package, whatever it does."""
    with contextlib.suppress(BaseException), limited(ONE_CALL, TookTooLong), \
            contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        action()


def run_examples(modules, until):
    finder, seen = doctest.DocTestFinder(), set()
    for module in modules:
        for test in finder.find(module, module.__name__):
            if test.docstring in seen or time.monotonic() > until:
                continue
            seen.add(test.docstring)
            scope = {**vars(module), "np": np, "__name__": "__main__"}
            for example in test.examples:
                if "plt" not in example.source and "plot" not in example.source:
                    run(functools.partial(exec, example.source, scope))


def run_tests(package, wrappers, until):
    whole = importlib.import_module(package)
    for info in pkgutil.walk_packages(getattr(whole, "__path__", ()), package + ".", onerror=lambda name: None):
        if "test" not in info.name.rpartition(".")[2] or info.ispkg:
            continue
        modules = []
        run(lambda info=info, modules=modules: modules.append(importlib.import_module(info.name)))
        for module in modules:
            for name, found in list(vars(module).items()):
                if type(found) is types.FunctionType and found in wrappers:
                    setattr(module, name, wrappers[found])
            for action in tests_of(module):
                if time.monotonic() > until:
                    return
                run(action)


def tests_of(module):
    """The tests without fixtures."""
    for name, found in list(vars(module).items()):
        if name.startswith("test") and type(found) is types.FunctionType:
            if not inspect.signature(found).parameters:
                yield found
        elif isinstance(found, type) and issubclass(found, unittest.TestCase):
            yield from (found(method).debug for method in dir(found) if method.startswith("test"))
        elif isinstance(found, type) and name.startswith("Test"):
            for method in dir(found):
                if method.startswith("test"):
                    yield functools.partial(_run_method, found, method)


def _run_method(kind, method):
    made = kind()
    getattr(made, "setup_method", lambda: None)()
    getattr(made, method)()


def repeats(call):
    """Whether another plain call gives what the recorded one has given."""
    args, kwargs = copy.deepcopy(call.before)
    found = []
    run(lambda: found.append(call.function(*args, **kwargs)))
    return bool(found) and not difference(found[0], call.result)


def verdict_of(call, **options):
    return docstrings.verdict_of(call, 2 * ONE_CALL, **options) if repeats(call) else ("state", "")


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("packages", nargs="+", metavar="PACKAGE")
    parser.add_argument("--seconds", type=int, default=100, help="for examples, for tests, and for compiled calls each")
    parser.add_argument("--tests", action="store_true")
    parser.add_argument("--staged", action="store_true")
    parser.add_argument("--reasons", action="store_true")
    parser.add_argument("--json", help="write every call's verdict to this file")
    chosen = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    rows = []
    for package in chosen.packages:
        with Recorder(package) as recorder:
            run_examples(recorder.modules, time.monotonic() + chosen.seconds)
            if chosen.tests:
                run_tests(package, recorder.wrappers, time.monotonic() + chosen.seconds)
        np.seterr(all="ignore")
        counts, reasons, until = collections.Counter(), collections.Counter(), time.monotonic() + chosen.seconds
        for call in (call for calls in recorder.calls.values() for call in calls):
            for options in ({}, {"unroll_limit": 0})[:1 + chosen.staged]:
                if time.monotonic() > until:
                    break
                verdict, why = verdict_of(call, **options)
                counts[verdict] += 1
                why = " ".join(why.split())
                reasons[why[:110]] += verdict == "refused"
                rows.append({"package": package, "call": call.name, "options": options, "verdict": verdict, "why": why})
                if verdict in ("differs", "slow"):
                    print(f"{verdict}: {call.name}{' (staged)' if options else ''}: {why[:250]}", flush=True)
        print(f"{package}: {sum(counts.values())} calls of {len(recorder.calls)} functions, {dict(counts)}", flush=True)
        if chosen.reasons:
            for why, count in reasons.most_common(12):
                print(f"  {count}: {why}")
    if chosen.json:
        with open(chosen.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)
    return rows


if __name__ == "__main__":
    main()
