"""The benchmark programs at their smallest size: they run, their Numba twins and compiled forms agree with them."""
import copy
import json

import compile_time
import docstrings
import import_time
import numpy as np
import numpy_call_table
import numpy_calls
import numpy_programs
import pytest
import rewrite_speed
import run
import tv_by_hand


@pytest.mark.parametrize("name", run.PROGRAMS)
def test_compiled_program_agrees(agree, name):
    function, arguments = run.load(name).make("tiny")
    agree(function, lambda: copy.deepcopy(arguments))


@pytest.mark.parametrize("name", run.PROGRAMS)
def test_full_size_is_larger_than_tiny(name):
    def elements(arguments):
        return sum(np.size(argument) for argument in arguments)

    module = run.load(name)
    tiny, full = (module.make(size)[1] for size in ("tiny", "full"))
    assert elements(full) > elements(tiny)
    assert module.__doc__


@pytest.mark.slow
@pytest.mark.parametrize("name", run.PROGRAMS)
def test_numba_twin_agrees(name):
    pytest.importorskip("numba")
    from reactant.demos.measure import largest_difference

    module = run.load(name)
    twin = run.numba_twin(module, "tiny")
    if twin is None:
        assert name in ("spectral", "image_filters")  # Numba has no FFT, no np.pad
        return
    function, arguments = module.make("tiny")
    plain, mine = copy.deepcopy(arguments), copy.deepcopy(arguments)
    assert largest_difference((twin(*mine), mine), (function(*plain), plain)) < 1e-10


@pytest.mark.slow
def test_driver_prints_a_table_and_writes_json(tmp_path, capsys):
    file = tmp_path / "figures.json"
    assert run.main(["--tiny", "--only", "floyd_warshall", "lu", "--repeats", "2", "--json", str(file)]) == 0
    assert "geometric mean" in capsys.readouterr().out
    figures = json.loads(file.read_text())
    assert [row["program"] for row in figures["programs"]] == ["floyd_warshall", "lu"]
    assert figures["failures"] == {}
    row = figures["programs"][0]
    assert row["over_numpy"] == pytest.approx(row["numpy"] / row["compiled"])


def test_driver_reports_a_failing_program_and_still_shows_the_others(monkeypatch, capsys):
    import reactant

    def refuse_lu(function):
        if function.__name__ == "solve":
            raise RuntimeError("not today")
        return function

    monkeypatch.setattr(reactant, "jit", refuse_lu)
    assert run.main(["--tiny", "--only", "lu", "floyd_warshall", "--repeats", "1"]) == 1
    printed = capsys.readouterr().out
    assert "lu failed: RuntimeError: not today" in printed
    assert "floyd_warshall" in printed


@pytest.mark.slow
def test_denoiser_by_hand_agrees_with_the_library():
    pytest.importorskip("skimage")
    from reactant.demos import tv

    image = tv.noisy_photograph(24)
    np.testing.assert_allclose(tv_by_hand.denoise(image), tv.denoise(image), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(("limit", "status"), [([], 0), (["--limit", "60"], 0), (["--limit", "40"], 1)])
def test_import_time_against_its_limit(monkeypatch, capsys, limit, status):
    monkeypatch.setattr(import_time, "import_seconds", {"jax": 1.0, "reactant": 1.05}.get)
    monkeypatch.setattr(import_time, "first_seconds", {"jax": 0.25, "reactant": 0.5}.get)
    assert import_time.main(["--repeats", "1", *limit]) == status
    assert capsys.readouterr().out == ("import, milliseconds: jax 1000, reactant 1050, difference 50\n"
                                       "first program, milliseconds: jax 250, reactant 500, difference 250\n")


def test_import_seconds_runs_a_new_interpreter():
    assert 0 < import_time.import_seconds("json") < 10


@pytest.mark.slow
def test_compile_time_programs_are_large_and_agree(agree):
    """Above 500 operations each, but for chains that native code once multiplied; one of them also compiled here, the
    others by the driver."""
    import reactant

    for make in (make for name, make in compile_time.PROGRAMS.items() if name not in compile_time.CHAINS):
        function, arguments = make()
        assert sum(reactant.jit(function).lower(*arguments).operations(optimized=False).values()) > 500
    function, arguments = compile_time.make_reactor(cells=3)
    agree(function, lambda: copy.deepcopy(arguments))


@pytest.mark.slow
def test_numpy_calls_are_right(capsys):
    """Some single calls at their smallest size, of which one tells its number at run time, and small programs."""
    assert numpy_calls.main(["calls", "--only", "sort", "mask", "put", "product", "bytes masked", "--sizes", "small",
                             "--repeats", "1"]) == 0
    assert numpy_calls.main(["programs", "--only", "line_likelihood", "ocean_step", "first_crossing", "--repeats",
                             "1", "--clock", "cpu"]) == 0
    told = capsys.readouterr().out
    assert "12 cases" in told and "3 cases" in told and "WRONG" not in told


def test_the_table_of_numpy_calls_holds_what_it_says():
    assert len(numpy_call_table.CALLS) == 151 and len(numpy_programs.PROGRAMS) == 60
    for function, dtypes in numpy_call_table.CALLS.values():
        for dtype in dtypes:
            function(*numpy_call_table.arguments(function, 100, dtype))


def test_the_rewriter_beside_that_of_mlir():
    row = rewrite_speed.mlir_at_rest(2)
    assert len(row) == 2 and min(row.values()) > 0


EXAMPLES = '''
import numpy as np

SCALE = 1.0


def doubled(x):
    """
    >>> doubled(np.arange(3.0))
    array([0., 2., 4.])
    """
    x *= 2
    return x


def selected(x):
    """
    >>> selected(np.array([1.0, -1.0]))
    array([1.])
    """
    return x[x > 0]


def scaled(x):
    """
    >>> import examples_of_a_package
    >>> examples_of_a_package.SCALE = 5.0
    >>> scaled(np.ones(2))
    array([5., 5.])
    >>> examples_of_a_package.SCALE = 1.0
    """
    return x * SCALE
'''


def test_examples_of_docstrings(tmp_path, monkeypatch, capsys):
    (tmp_path / "examples_of_a_package.py").write_text(EXAMPLES)
    monkeypatch.syspath_prepend(tmp_path)
    rows = docstrings.main(["examples_of_a_package", "--all"])
    assert [(row["call"].rpartition(".")[2], row["verdict"]) for row in rows] == [
        ("doubled", "alike"), ("scaled", "differs"), ("selected", "refused")]
    shown = capsys.readouterr().out
    assert "differs: examples_of_a_package.scaled" in shown and "refused: examples_of_a_package.selected" in shown
    assert [row["verdict"] for row in docstrings.main(["examples_of_a_package", "--only", "doubled"])] == ["alike"]
