"""Every public name of NumPy is compiled and compared, runs while tracing, or is refused with a pinned text."""
from __future__ import annotations

import inspect
import pathlib
import re

import numpy as np
import pytest

import reactant
from reactant.errors import UnsupportedError
from reactant.frontends.arrays import implements
from reactant.frontends.numpy import namespace, refused
from tests.frontends.numpy import namespace_rows as rows
from tests.oracle import check

ENTRIES = namespace.entries()
PAGE = pathlib.Path(__file__).parents[3] / "docs" / "numpy.md"
OF_THIS_NUMPY = f"NumPy {namespace._version()}."
DTYPES = {"?": bool, "i": np.int64, "B": np.uint8, "f": np.float32, "d": np.float64, "D": np.complex128}


def names(section, status=namespace.COMPILED):
    return [e.name for e in ENTRIES if e.section == section and e.status == status]


# ---- completeness ----------------------------------------------------------------------------------------------

def test_every_public_name_is_declared():
    assert namespace.undeclared() == []


def test_every_compiled_function_has_a_row():
    wanted = [n.removeprefix("np.") for s in ("Functions", "np.linalg", "np.fft") for n in names(s)]
    wanted += [n.removeprefix("np.") for n in names("Ufuncs") if n.startswith("np.ufunc.")]
    assert sorted(set(wanted) - set(rows.FUNCTIONS)) == []
    assert sorted({n.removeprefix("ndarray.") for n in names("ndarray")} - set(rows.METHODS)) == []


def test_every_compiled_method_of_generators_is_tested():
    """Their results are compared with laws, not with NumPy's numbers."""
    tests = (pathlib.Path(__file__).parent / "test_random.py").read_text()
    methods = [n.removeprefix("np.random.").removeprefix("Generator.") for n in names("np.random")]
    assert [m for m in methods if not re.search(rf'"{m}"|\.{m}[(,\]]', tests)] == []


def test_the_page_is_up_to_date():
    text = PAGE.read_text()
    if OF_THIS_NUMPY not in text:
        pytest.skip("the page was made with another NumPy")
    assert text == namespace.page(), "run python -m reactant.frontends.numpy.namespace > docs/numpy.md"


@pytest.mark.skipif(np.lib.NumpyVersion(np.__version__) < "2.4.0", reason="older NumPy lacks some parameters")
def test_parameters_have_numpys_names():
    """Ours may have fewer, never others."""
    free = {inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL}
    invented = {(implements.name_of(function), name) for function, ours in implements.TABLE.items()
                if (theirs := implements.parameters(function)) is not None
                for name, p in inspect.signature(ours).parameters.items() if name not in theirs and p.kind not in free}
    assert invented == set()


# ---- compiled --------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("name", [n for n in rows.FUNCTIONS if hasattr(np, n.split(".")[0])])
def test_functions(name):
    check(rows.FUNCTIONS[name], *rows.ARGUMENTS, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", [n for n in rows.METHODS if hasattr(np.ndarray, n)])
def test_methods(name):
    check(rows.METHODS[name], *rows.ARGUMENTS, rtol=1e-12)


@pytest.mark.parametrize("name", rows.WHILE_TRACING)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")      # np.typename, from NumPy 2.5 on
def test_functions_that_run_while_tracing(name):
    check(rows.WHILE_TRACING[name], *rows.ARGUMENTS)


VALUES = np.array([0.0, -0.0, 0.3, -0.7, 1.0, -1.0, 2.5, 100.0, np.inf, -np.inf, np.nan])
UFUNCS = sorted({getattr(np, n.removeprefix("np.")) for n in names("Ufuncs") if not n.startswith("np.ufunc.")},
                key=lambda f: f.__name__)


def loops(ufunc):
    """The input dtypes among those we try for which NumPy has a loop of just these."""
    return [t.split("->")[0] for t in ufunc.types if set(t.split("->")[0]) <= set(DTYPES) | {"l"}
            and len(set(t.split("->")[0].replace("l", "i"))) == 1]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("ufunc", UFUNCS, ids=lambda f: f.__name__)
def test_ufuncs(ufunc):
    """Each loop on special values (one-dimensional operands suit the generalised ones too)."""
    assert loops(ufunc) or ufunc is np.ldexp
    for types in loops(ufunc) or ["dl"]:
        dtype = DTYPES[types[0].replace("l", "i")]
        with np.errstate(all="ignore"):
            a = VALUES.astype(dtype) if np.dtype(dtype).kind in "fc" else np.arange(11).astype(dtype)
        b = a[::-1].copy()
        if types == "dl":
            b = np.arange(11)
        if ufunc.signature is not None:
            a, b = _matrices(ufunc, a[:6], b[:6])
        arguments = (a, b)[:ufunc.nin]
        # XLA flushes subnormal numbers to zero; complex powers go through logarithms
        powers = dtype is np.complex128 and ufunc in (np.power, np.float_power)
        if powers:
            arguments = (a[3:8], b[3:8])
        check(lambda *arrays: ufunc(*arrays), *arguments, rtol=1e-5 if dtype is np.float32 else 1e-12,
              atol=1e-12 if powers else 1e-40)


def _matrices(ufunc, a, b):
    """Operands of the shapes the signature asks for, of small finite numbers."""
    a, b = (np.nan_to_num(v.real).astype(v.dtype) if v.dtype.kind == "c" else np.nan_to_num(v) for v in (a, b))
    shapes = {"matvec": ((2, 3), (3,)), "vecmat": ((3,), (3, 2)), "matmul": ((2, 3), (3, 2))}
    first, second = shapes.get(ufunc.__name__, ((6,), (6,)))
    return a[:int(np.prod(first))].reshape(first), b[:int(np.prod(second))].reshape(second)


@pytest.mark.parametrize("name", names("Scalar types"))
def test_scalar_types(name):
    kind = getattr(np, name.removeprefix("np."))
    check(lambda x, i: (kind(x[3]), kind(i)), *rows.ARGUMENTS[:1], rows.ARGUMENTS[2])


# ---- refused ---------------------------------------------------------------------------------------------------

REFUSED_FUNCTIONS = [e for e in ENTRIES if e.status == namespace.REFUSED and e.section in ("Functions", "np.random")
                     and not e.name.startswith("np.random.Generator.")]
MODULE_FUNCTIONS = [e for e in ENTRIES if e.status == namespace.REFUSED and e.section == "Other modules"]


def found(name):
    return refused.find(name.removeprefix("np."))


@pytest.mark.parametrize("entry", REFUSED_FUNCTIONS, ids=lambda e: e.name)
def test_refusals_say_what_to_do(entry):
    """Called with something traced, each raises its text, which names the function or what it does."""
    function = found(entry.name)

    def call(x):
        return function(x, x)
    with pytest.raises(UnsupportedError) as caught:
        reactant.jit(call)(np.arange(3.0))
    assert caught.value.in_one_line() == entry.reason
    assert len(entry.reason) > 40 and entry.reason.endswith(".")


@pytest.mark.parametrize("module", sorted({e.name.split(".")[1] for e in MODULE_FUNCTIONS}))
def test_modules_that_are_refused(module):
    """One traced call of three functions of each module raises its text; all of them are registered."""
    inside = [e for e in MODULE_FUNCTIONS if e.name.split(".")[1] == module]
    for entry in inside[:3]:
        function = found(entry.name)

        def call(x, function=function):
            return function(x)
        with pytest.raises(UnsupportedError):
            reactant.jit(lambda x, call=call: call(x))(np.arange(3.0))


def test_reasons_are_pinned():
    """The texts users see; changing one is a decision."""
    texts = {e.name: e.reason for e in ENTRIES}
    assert texts["np.load"] == ("np.load reads or writes files, which a compiled program cannot. Load before the call "
                                "and pass the array; save what the call returns.")
    assert texts["np.random.get_state"] == (
        "np.random.get_state draws from a state that the compiled program has not seeded, so every call of it would "
        "repeat the same numbers. Call np.random.seed(k) or make np.random.RandomState(k) inside the function, or use "
        "rng = np.random.default_rng(seed) there, with the seed as an argument, and its methods.")
    assert texts["np.frompyfunc"] == ("np.frompyfunc calls a Python function for each element. Use np.vectorize, or "
                                      "write it with whole arrays and np.where.")
    assert texts["np.nditer"] == ("np.nditer walks over memory, which a traced array has not. Loop over "
                                  "np.ndindex(x.shape), or use whole arrays.")


@pytest.mark.parametrize("name", refused.METHOD_REASONS)
def test_methods_that_are_refused(name):
    def call(x):
        return getattr(x, name)
    with pytest.raises(AttributeError) as caught:
        reactant.jit(call)(np.arange(3.0))
    assert str(caught.value).startswith(refused.METHOD_REASONS[name])


def test_files_are_refused_even_with_known_arguments(tmp_path):
    path = str(tmp_path / "a.npy")
    np.save(path, np.arange(3))

    def load(x):
        return x + np.load(path)
    with pytest.raises(UnsupportedError, match="np.load reads or writes files"):
        reactant.jit(load)(np.arange(3))


def test_pure_functions_of_known_values_run():
    """Refused for traced arguments only."""
    def text(x):
        assert np.char.upper("abc") == "ABC"
        return x * len(np.unique(np.array([1, 2, 2])))
    check(text, np.arange(3))
