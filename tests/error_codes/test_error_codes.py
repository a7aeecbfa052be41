"""The table of codes: complete, up to date on its page, and its examples do what they say."""
import ast
import re
from pathlib import Path

import numpy as np
import pytest

import reactant
from reactant import error_codes
from reactant.__main__ import main
from reactant.errors import ReactantError

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "reactant"
TREES = {path: ast.parse(path.read_text()) for path in SOURCE.rglob("*.py")}
SLUG = re.compile(r"[a-z]+(-[a-z]+)+")


def error_classes():
    """Name of a class of errors -> (its bases, its own code)."""
    found = {}
    for tree in TREES.values():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                own = next((s.value.value for s in node.body if isinstance(s, ast.Assign)
                            and ast.unparse(s.targets[0]) == "code"), None)
                found.setdefault(node.name, ([ast.unparse(base).split(".")[-1] for base in node.bases], own))
    names = {"ReactantError"}
    while more := {name for name, (bases, _) in found.items() if names & set(bases)} - names:
        names |= more
    return {name: found[name] for name in names}


CLASSES = error_classes()


def code_of(name):
    """The code that all errors of a class have."""
    bases, own = CLASSES[name]
    return own or next(filter(None, (code_of(base) for base in bases if base in CLASSES)), None)


def raised():
    """Codes that are raised somewhere, and the places that raise without one."""
    codes, without = set(), []
    for path, tree in TREES.items():
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call):
                continue
            name = ast.unparse(node.func).split(".")[-1]
            given = {k.arg: k.value for k in node.keywords}
            if name == "Reason" and len(node.args) == 3 and isinstance(node.args[2], ast.Constant):
                codes.add(node.args[2].value)
            if isinstance(given.get("code"), ast.Constant) and given["code"].value is not None:
                codes.add(given["code"].value)
            elif name.endswith("error") and isinstance(node.args[-1] if node.args else None, ast.Constant) \
                    and SLUG.fullmatch(str(node.args[-1].value)):
                codes.add(node.args[-1].value)
            elif name in CLASSES and "code" not in given:
                if code_of(name) is None:
                    without.append(f"{path}:{node.lineno}")
                codes.add(code_of(name))
    return codes - {None}, without


def test_each_error_has_a_code_and_each_code_is_raised():
    codes, without = raised()
    assert not without
    assert codes == set(error_codes.codes())


def test_codes_are_readable():
    for name, code in error_codes.codes().items():
        assert SLUG.fullmatch(name) and len(name) <= 32
        assert code.title and code.text.endswith((".", "it."))
        assert not code.cure or code.wrong


@pytest.mark.parametrize("code", [code for code in error_codes.codes().values() if code.wrong], ids=lambda c: c.name)
def test_examples_do_what_they_say(code, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {"np": np, "reactant": reactant, "__name__": "examples"}

    def run(example, name):
        file = tmp_path / f"{name}.py"      # tracing reads the source
        file.write_text(example)
        exec(compile(example, str(file), "exec"), names)
    with pytest.raises(ReactantError) as caught:
        run(code.wrong, "wrong")
    assert caught.value.code == code.name
    assert caught.value.hint
    if code.cure:
        run(code.cure, "cure")


def test_page_is_up_to_date(capsys):
    """After a change of the tables: reactant errors --markdown > docs/errors.md"""
    assert main(["errors", "--markdown"]) == 0
    assert capsys.readouterr().out == (ROOT / "docs" / "errors.md").read_text()
