"""Every Python snippet in README.md, CONTRIBUTING.md and docs/ runs; those of one file share their names, in order."""
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FENCE = re.compile(r"^```python\n(.*?)^```", re.S | re.M)
CONTRIBUTING = ROOT / "CONTRIBUTING.md"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def snippets(page):
    """(line of the first statement, source) of each ```python fence."""
    text = page.read_text()
    return [(text.count("\n", 0, match.start(1)), match[1]) for match in FENCE.finditer(text)]


ON_EIGHT_DEVICES = {"scaling.md"}


def run_snippets(page, folder):
    namespace = {"__name__": "snippets"}
    for position, (line, source) in enumerate(snippets(page)):
        # A real file, padded to the page's line numbers: tracing reads sources, and errors name the page's own line.
        file = folder / f"{page.stem}_{position}.py"
        file.write_text("\n" * line + source)
        exec(compile(file.read_text(), str(file), "exec"), namespace)


@pytest.mark.parametrize("page", [
    pytest.param(page, marks=pytest.mark.devices8 if page.name in ON_EIGHT_DEVICES else ())
    for page in PAGES if snippets(page)], ids=lambda page: page.name)
def test_snippets_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_snippets(page, tmp_path)


def test_examples_for_contributors_run(tmp_path):
    """In a process of their own: they declare rules, derivatives, functions and instructions."""
    program = ("import sys; from pathlib import Path; from tests.test_docs import run_snippets; "
               "run_snippets(*map(Path, sys.argv[1:]))")
    paths = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)])}
    done = subprocess.run([sys.executable, "-W", "error", "-c", program, CONTRIBUTING, tmp_path], env=paths,
                          cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for text in ("minimum_of_negates changed the result", "'stablehlo.cbrt' has no derivative rule",
                 "the instruction bmsk.clamp.b32"):
        assert text in done.stdout


@pytest.mark.parametrize("page", [ROOT / "README.md", ROOT / "docs" / "start.md"], ids=lambda page: page.name)
def test_errors_that_are_shown_are_those_that_are_raised(page, tmp_path, capsys):
    """But for where lines are broken, and which file it is."""
    (shown,) = re.findall(r"^```text\n(.*?)^```", page.read_text(), re.S | re.M)
    (source,) = (source for _, source in snippets(page) if "print(error)" in source)
    lines = (tmp_path / "grid.py", "import numpy as np\nimport reactant\n\n" + source)
    lines[0].write_text(lines[1])
    exec(compile(lines[1], str(lines[0]), "exec"), {"__name__": "snippets"})
    printed, shown = (" ".join(re.sub(r"\S*grid\.py:\d+", "grid.py", text).split())
                      for text in (capsys.readouterr().out, shown))
    assert printed == shown


def test_readme_has_snippets():
    assert snippets(ROOT / "README.md")


def test_what_contributors_are_sent_to_exists():
    text, package = CONTRIBUTING.read_text(), ROOT / "src" / "reactant"
    named = set(re.findall(r"\b(?:src|tests|docs|tools)/[\w/]+\.\w+", text))
    named -= {"src/reactant/a/b.py", "tests/a/test_b.py"}
    inside = set(re.findall(r"`((?:kernels|frontends|differentiate|batching)/[\w/.]+)`", text))
    assert named and inside
    assert sorted(name for name in named if not (ROOT / name).exists()) == []
    assert sorted(name for name in inside if not (package / name).exists()) == []


def test_decisions_are_listed_in_order():
    """Each record has its number, status, date and parts, and is a row of the index."""
    folder = ROOT / "docs" / "decisions"
    index = (folder / "README.md").read_text()
    records = sorted(file for file in folder.glob("*.md") if file.name != "README.md")
    assert [int(file.name[:4]) for file in records] == list(range(1, len(records) + 1))
    for number, file in enumerate(records, 1):
        title, _, status, *text = file.read_text().splitlines()
        assert re.fullmatch(rf"# {number}\. .+", title), file
        assert re.fullmatch(r"(Accepted|Superseded by \[?\d{4}.*), \d{4}-\d\d-\d\d\.", status), file
        assert f"| [{number:04d}]({file.name}) | {title.partition('. ')[2]} |" in index
        assert all(f"**{part}.**" in "\n".join(text) for part in ("Context", "Decision", "Consequences")), file
