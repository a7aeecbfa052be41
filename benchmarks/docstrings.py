"""The examples in the docstrings of any installed package: its functions as they are beside the compiled ones.

    python benchmarks/docstrings.py PACKAGE ... [--only NAME ...] [--seconds 60] [--all] [--json FILE]

Every call of one of the package's own Python functions that an example makes is made again through `reactant.jit`,
with copies of the arguments that the example gave. `alike`: results (and arguments afterwards) agree; `differs`: they
do not, or another exception than ours was raised; `refused`: an error of reactant that says why; `slow`: no answer
within `--seconds`. Examples that plot are left out; where one depends on global state that it has set before the call,
`differs` is no fault of the compiled function.
--all: also list what was refused.
"""
import argparse
import collections
import contextlib
import copy
import doctest
import importlib
import inspect
import io
import json
import pkgutil
import re
import sys
import types
import warnings
from dataclasses import dataclass

import numpy as np

import reactant
from reactant.support.time_limits import limited

MOST_CALLS = 6          # of one function
NOT_LOOKED_AT = re.compile(r"\.(tests?|testing|conftest|_build|plotting|examples)(\.|$)|\.test_")


class TookTooLong(BaseException):
    """Not an Exception: examples catch those."""


@dataclass
class Call:
    """What an example has called, with its arguments before and after, and what came out."""

    name: str
    function: types.FunctionType
    before: tuple
    after: tuple
    result: object


def modules_of(package):
    """The package and all modules in it that can be imported."""
    whole = importlib.import_module(package)
    yield whole
    for info in pkgutil.walk_packages(getattr(whole, "__path__", ()), package + "."):
        if not NOT_LOOKED_AT.search(info.name):
            with contextlib.suppress(Exception, SystemExit), contextlib.redirect_stdout(io.StringIO()):
                yield importlib.import_module(info.name)


def functions_of(package, only):
    """(name, function, module), each function once, with an example in its docstring."""
    seen = set()
    for module in modules_of(package):
        for name, function in sorted(vars(module).items()):
            if type(function) is types.FunctionType and (function.__module__ or "").startswith(package) \
                    and ">>>" in (function.__doc__ or "") and (real := inspect.unwrap(function)) not in seen \
                    and (not only or name in only):
                seen.add(real)
                yield name, function, sys.modules.get(function.__module__, module)


def calls_of(name, function, module, seconds):
    """Run the examples; the calls of `function` that worked."""
    found = []

    def recorded(*args, **kwargs):
        before = copy.deepcopy((args, kwargs))
        result = function(*args, **kwargs)
        found.append(Call(f"{function.__module__}.{name}", function, before, *copy.deepcopy(((args, kwargs), result))))
        return result

    scope = {**vars(module), "np": np, "__name__": "__main__", name: recorded}
    try:
        examples = doctest.DocTestParser().get_examples(function.__doc__)
    except ValueError:
        return []
    with contextlib.suppress(TookTooLong), limited(seconds, TookTooLong), contextlib.redirect_stdout(io.StringIO()):
        for example in examples:
            if "plt" in example.source or "import" in example.source and name in example.source:
                continue
            source = re.sub(rf"\b[\w.]+\.{re.escape(name)}\(", f"{name}(", example.source)
            with contextlib.suppress(Exception):
                exec(compile(source, "<docstring>", "single"), scope)
    return found[:MOST_CALLS]


def leaves_of(x, depth=0):
    """Arrays, numbers and texts in nested containers and objects."""
    if x is None or isinstance(x, (np.ndarray, np.generic, bool, int, float, complex, str)):
        return [x]
    inside = x.values() if isinstance(x, dict) else x if isinstance(x, (list, tuple)) else \
        [v for _, v in sorted(vars(x).items())] if hasattr(x, "__dict__") and not isinstance(
            x, (types.ModuleType, types.FunctionType, type)) else []
    return [leaf for part in inside for leaf in leaves_of(part, depth + 1)] if depth < 5 else []


def difference(plain, compiled):
    """How two results differ; None where they agree to rounding."""
    first, second = leaves_of(plain), leaves_of(compiled)
    if len(first) != len(second):
        return f"{len(first)} and {len(second)} values"
    for a, b in zip(first, second, strict=True):
        if a is None or isinstance(a, str) or b is None or isinstance(b, str):
            if a != b:
                return f"{a!r} and {b!r}"
            continue
        a, b = np.asarray(a), np.asarray(b)
        if a.dtype.kind in "OSUMmV":
            continue
        if (a.shape, a.dtype) != (b.shape, b.dtype):
            return f"{a.dtype}{list(a.shape)} and {b.dtype}{list(b.shape)}"
        single = a.dtype.itemsize <= {"f": 4, "c": 8}.get(a.dtype.kind, 0)
        size = np.abs(np.where(np.isfinite(a), a, 0)).max(initial=0)
        if not np.allclose(a, b, rtol=1e-4 if single else 1e-8, atol=float(size) * (1e-4 if single else 1e-8) + 1e-300,
                           equal_nan=True):
            return f"{a.ravel()[:4]} and {b.ravel()[:4]}"
    return None


def verdict_of(call, seconds, **options):
    """(what became of it, why)."""
    args, kwargs = copy.deepcopy(call.before)
    try:
        with limited(seconds, TookTooLong), contextlib.redirect_stdout(io.StringIO()), \
                contextlib.redirect_stderr(io.StringIO()):
            result = reactant.jit(call.function, **options)(*args, **kwargs)
    except TookTooLong:
        return "slow", f"no answer in {seconds} s"
    except reactant.ReactantError as error:
        return "refused", str(error)
    except Exception as error:  # the package's own would have been raised by the plain call
        return "differs", f"{type(error).__name__}: {error}"
    found = difference(call.result, result) or difference(call.after, (args, kwargs))
    return ("differs", found) if found else ("alike", "")


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("packages", nargs="+", metavar="PACKAGE")
    parser.add_argument("--only", nargs="+", default=(), metavar="NAME", help="functions of these names")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--all", action="store_true", help="list what was refused, too")
    parser.add_argument("--json", help="write every call's verdict to this file")
    chosen = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    rows = []
    for package in chosen.packages:
        counts = collections.Counter()
        for name, function, module in functions_of(package, chosen.only):
            for call in calls_of(name, function, module, chosen.seconds):
                verdict, why = verdict_of(call, chosen.seconds)
                counts[verdict] += 1
                rows.append({"package": package, "call": call.name, "verdict": verdict, "why": why})
                if verdict in ("differs", "slow") or chosen.all and verdict == "refused":
                    print(f"{verdict}: {call.name}: {' '.join(why.split())[:300]}", flush=True)
        print(f"{package}: {sum(counts.values())} calls, {dict(counts)}", flush=True)
    if chosen.json:
        with open(chosen.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)
    return rows


if __name__ == "__main__":
    main()
