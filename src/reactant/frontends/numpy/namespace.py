"""NumPy's public namespace, function by function: compiled, run while tracing, or refused and why.

`python -m reactant.frontends.numpy.namespace > docs/numpy.md` writes the page; the tests fail when a public function is
in none of the three groups, when a compiled one is compared with NumPy nowhere, or when the page is out of date.
"""
from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from reactant.frontends.arrays import elementwise, implements
from reactant.frontends.arrays.tensor import Tensor
from reactant.frontends.arrays.ufunc_methods import METHODS
from reactant.frontends.numpy import contraction, families, legacy_random, random, refused
from reactant.support.records import dataclass

COMPILED, WHILE_TRACING, REFUSED = "compiled", "while tracing", "refused"


@dataclass(frozen=True)
class Entry:
    """One public name. `reason`: of a refusal."""

    section: str
    name: str
    status: str
    reason: str = ""


RUNS_WHILE_TRACING = """
    broadcast_shapes dtype errstate finfo get_include get_printoptions getbufsize geterr geterrcall iinfo info isdtype
    isscalar issubdtype iterable mintypecode ndindex printoptions promote_types row_stack seterr show_config
    show_runtime test typename ufunc""".split()
"""Functions of dtypes, shapes and settings, and Python wrappers around compiled functions: called as they are."""

DIFFERENCES = {
    "np.empty, np.empty_like": "The elements NumPy leaves undefined are 0, also where `where=` leaves some.",
    "np.linalg.eig, np.linalg.eigvals, np.roots": "The result is always complex; NumPy makes it real when every "
        "eigenvalue happens to be. `np.roots` is refused for the same reason.",
    "np.linalg.lstsq": "The residuals are those of full rank. Using them raises after the call if the rank was not "
        "full, where NumPy would give an empty array; `np.polyfit(..., full=True)` likewise.",
    "np.random.default_rng": "Reproducible for a seed, known or traced, but not NumPy's numbers. The state starts "
        "again at every call: give the seed as an argument. `multivariate_normal(check_valid='warn')` does not check.",
    "np.random.seed, np.random.RandomState, and np.random.randn and relatives after them": "NumPy's own numbers, as "
        "constants, where the seed is known; outside of branches and loops that run-time values decide. The hidden "
        "state is left as the plain function leaves it.",
    "np.nonzero, np.flatnonzero, np.argwhere, np.where(condition), np.unique, np.intersect1d and relatives": "How many "
        "elements they find is known only at run time: they may be counted, reduced, indexed, looped over and stored, "
        "not returned; so may `a[mask]` and `np.extract`.",
    "np.power of complex numbers": "Through logarithms: integer exponents are not exact to the last place.",
    "np.may_share_memory": "True for any two views of one array.",
    "np.errstate, np.seterr, warnings": "Compiled code does not warn about overflow, division by zero or invalid "
        "values, nor where a warning depends on run-time values. `np.seterr(all='raise')` is refused, in the function "
        "and around its first call, and so are filters that make errors of warnings and looks at recorded ones.",
    "Python integers known at run time": "64 bits wide; where a result needs more, the program raises OverflowError "
        "when it runs.",
}


# ---- the walk --------------------------------------------------------------------------------------------------

def entries() -> list[Entry]:
    """Every public function, class, method and attribute of NumPy that takes or makes arrays."""
    families.load()
    return [*_functions(), *_ufuncs(), *_scalar_types(), *_submodule("linalg"), *_submodule("fft"), *_random(),
            *_generator(), *_methods(), *_other_modules()]


def undeclared() -> list[str]:
    """Names that are in no group."""
    return [entry.name for entry in entries() if not entry.status]


def _entry(section: str, name: str, function: Any) -> Entry:
    if function in implements.REFUSED:
        return Entry(section, name, REFUSED, str(implements.REFUSED[function]))
    if function in implements.TABLE or function is np.vectorize:
        return Entry(section, name, COMPILED)
    if name.removeprefix("np.") in RUNS_WHILE_TRACING:
        return Entry(section, name, WHILE_TRACING)
    return Entry(section, name, "")


def _public(owner: Any) -> Iterator[tuple[str, Any]]:
    for name in sorted(dir(owner)):
        if not name.startswith("_"):
            yield name, getattr(owner, name, None)


def _functions() -> Iterator[Entry]:
    for name, found in _public(np):
        scalar = isinstance(found, type) and issubclass(found, np.generic)
        if callable(found) and not isinstance(found, (types.ModuleType, np.ufunc)) and not scalar:
            yield _entry("Functions", f"np.{name}", found)
    for name in ("sliding_window_view", "as_strided"):
        yield _entry("Functions", f"np.lib.stride_tricks.{name}", getattr(np.lib.stride_tricks, name))


def _ufuncs() -> Iterator[Entry]:
    for name, found in _public(np):
        if isinstance(found, np.ufunc):
            known = found in elementwise.LOOPS or found in contraction.GENERALISED
            yield Entry("Ufuncs", f"np.{name}", COMPILED) if known else _entry("Ufuncs", f"np.{name}", found)
    for name, found in _public(np.ufunc):
        if callable(found) and name != "resolve_dtypes":
            yield Entry("Ufuncs", f"np.ufunc.{name}", COMPILED if name in METHODS else "")


def _scalar_types() -> Iterator[Entry]:
    for name, found in _public(np):
        sized = found in (np.longdouble, np.clongdouble) and "long" not in name     # float128, float96...: as compiled
        if isinstance(found, type) and issubclass(found, np.generic) and not sized:
            yield _entry("Scalar types", f"np.{name}", found)


def _submodule(module: str) -> Iterator[Entry]:
    owner = getattr(np, module)
    for name in sorted(owner.__all__):
        found = getattr(owner, name)
        if not (isinstance(found, type) and issubclass(found, Exception)):
            yield _entry(f"np.{module}", f"np.{module}.{name}", found)


def _random() -> Iterator[Entry]:
    for name in sorted(np.random.__all__):
        found = getattr(np.random, name)
        if found is np.random.BitGenerator:     # the abstract base
            continue
        if name in legacy_random.NAMES:
            yield Entry("np.random", f"np.random.{name}", WHILE_TRACING)
        else:
            yield _entry("np.random", f"np.random.{name}", getattr(found, "__func__", found))


def _generator() -> Iterator[Entry]:
    for name, _ in _public(np.random.Generator):
        qualified = f"np.random.Generator.{name}"
        if name in random.UNSUPPORTED_METHODS:
            yield Entry("np.random", qualified, REFUSED, str(random.NOT_COMPILED.named(name)))
        else:
            yield Entry("np.random", qualified, COMPILED if hasattr(random.Generator, name) else "")


def _methods() -> Iterator[Entry]:
    for name, _ in _public(np.ndarray):
        reason = refused.METHOD_REASONS.get(name)
        status = REFUSED if reason else COMPILED if hasattr(Tensor, name) else ""
        yield Entry("ndarray", f"ndarray.{name}", status, str(reason or ""))


def _other_modules() -> Iterator[Entry]:
    for name, found in _public(np.emath):
        if callable(found):
            yield _entry("Other modules", f"np.emath.{name}", found)
    for module in refused.MODULES:
        getattr(np, module)     # loads it
    refused.refuse_loaded()
    for module, reason in refused.MODULES.items():
        for name, found in refused.of_module(module):
            if found in implements.TABLE:
                continue
            if refused.FOLLOWED.fullmatch(name):
                yield Entry(f"np.{module}", f"np.{name}", COMPILED)
            else:
                yield Entry("Other modules", f"np.{name}", REFUSED if found in implements.REFUSED else "",
                            str(reason.named(f"np.{module}")))


# ---- the page --------------------------------------------------------------------------------------------------

HEAD = """# NumPy in compiled code

<!-- Generated by `python -m reactant.frontends.numpy.namespace > docs/numpy.md`; do not edit. NumPy {version}. -->

What of NumPy's public interface is compiled, what runs as plain Python while a function is traced, and what is refused
(and what to do instead). Every compiled function is compared with NumPy by `tests/frontends/numpy/test_namespace.py`,
every refusal text is pinned there. Arguments a compiled function does not take are refused by name.
"""


def page() -> str:
    """The documentation page."""
    found = entries()
    parts = [HEAD.format(version=_version()), "## Compiled\n"]
    for section in dict.fromkeys(entry.section for entry in found):
        names = [e.name for e in found if e.section == section and e.status == COMPILED]
        if names:
            parts.append(f"### {section}\n\n{_listed(names)}\n")
    parts.append("## Where results differ from NumPy's\n\n"
                 + "\n".join(f"- **{name}**: {text}" for name, text in DIFFERENCES.items()) + "\n")
    parts.append("## Run while tracing\n\nFunctions of dtypes, shapes and settings: their results are known before the "
                 "program is compiled.\n\n" + _listed([e.name for e in found if e.status == WHILE_TRACING]) + "\n")
    parts.append("## Refused\n\nGiven something traced, these raise `reactant.errors.UnsupportedError` with the text "
                 "beside them (methods and attributes of arrays raise `AttributeError`).\n")
    parts.append(_refusals([e for e in found if e.status == REFUSED]))
    return "\n".join(parts)


def _version() -> str:
    return ".".join(np.__version__.split(".")[:2])


def _listed(names: list[str]) -> str:
    return _wrapped(", ".join(f"`{name}`" for name in names))


def _wrapped(text: str, width: int = 120) -> str:
    lines, line = [], ""
    for word in text.split(" "):
        if line and len(line) + 1 + len(word) > width:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    return "\n".join([*lines, line])


def _refusals(found: list[Entry]) -> str:
    """Names under their reason, with `{name}` in place of the function's."""
    groups: dict[str, list[str]] = {}
    for entry in found:
        reason = entry.reason.replace(entry.name, "...").replace(entry.name.replace("np.", "numpy.", 1), "...")
        groups.setdefault(reason, []).append(entry.name)
    return "\n".join(f"- {reason}\n  {', '.join(f'`{n}`' for n in _shortened(names))}" for reason, names in
                     groups.items()) + "\n"


def _shortened(names: list[str]) -> list[str]:
    """Whole submodules as one name."""
    modules = [f"np.{m}." for m in refused.MODULES]
    kept = [n for n in names if not n.startswith(tuple(modules))]
    return kept + [f"{m}*" for m in modules if any(n.startswith(m) for n in names)]


def main(write: Callable[[str], Any] = sys.stdout.write) -> None:
    """Print the page. Raises where a public function is in no group."""
    if missing := undeclared():
        raise SystemExit(f"neither compiled nor refused: {', '.join(missing)}")
    write(page())


if __name__ == "__main__":
    main()
