"""Source files without a test file of their own are found, counted, and more of them than are allowed are refused."""
import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LONG = "x = 1\n" * 81


@pytest.fixture
def mirrored():
    spec = importlib.util.spec_from_file_location("mirrored", ROOT / "tools" / "mirrored.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def repository(tmp_path, mirrored, monkeypatch):
    """Four source files: one with tests, one without, one with tests of its name elsewhere, one that needs none."""
    texts = {"src/reactant/a/tested.py": LONG, "src/reactant/a/untested.py": LONG, "src/reactant/top.py": LONG,
             "src/reactant/a/short.py": "x = 1\n" * 80, "tests/a/test_tested.py": "", "tests/b/test_top.py": ""}
    for name, text in texts.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    monkeypatch.setattr(mirrored, "ROOT", tmp_path)
    return tmp_path


def test_files_without_tests_at_their_path_are_listed(mirrored, repository, capsys):
    assert [str(file) for file in mirrored.lacking(repository)] == ["src/reactant/a/untested.py", "src/reactant/top.py"]
    assert mirrored.main([]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "src/reactant/a/untested.py  ->  tests/a/test_untested.py"
    assert printed[-1] == "2 of 3 source files of more than 80 lines have no test file of their own"


@pytest.mark.parametrize("most, code", [(3, 0), (2, 0), (1, 1), (0, 1)])
def test_more_than_are_allowed_fail(mirrored, repository, most, code):
    assert mirrored.main(["--most", str(most)]) == code


def test_this_repository_is_looked_at(mirrored):
    assert mirrored.mirror(Path("src/reactant/ir/ops.py")) == Path("tests/ir/test_ops.py")
    assert len(list(mirrored.sources(ROOT))) > 100
