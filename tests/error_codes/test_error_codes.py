"""The table of codes: complete, up to date on its page, and its examples do what they say."""
import ast
import functools
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
SLUG = re.compile(r"[a-z]+(-[a-z]+)+")


def name_of(function):
    """What is called, without what it is an attribute of."""
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


@functools.cache
def read():
    """The classes, name -> (bases, own code), and the calls, (line, name, arguments, named arguments), of which the
    constants alone are told: with all trees in memory the collector takes longer than reading them."""
    classes, calls = {}, []
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                own = next((s.value.value for s in node.body if isinstance(s, ast.Assign)
                            and ast.unparse(s.targets[0]) == "code"), None)
                classes.setdefault(node.name, ([name_of(base) for base in node.bases], own))
            elif isinstance(node, ast.Call):
                calls.append((f"{path}:{node.lineno}", name_of(node.func),
                              [each.value if isinstance(each, ast.Constant) else None
                               for each in node.args],
                              {each.arg: each.value.value if isinstance(each.value, ast.Constant) else None
                               for each in node.keywords}))
    return classes, calls


@functools.cache
def error_classes():
    """Name of a class of errors -> (its bases, its own code)."""
    found, _ = read()
    names = {"ReactantError"}
    while more := {name for name, (bases, _) in found.items() if names & set(bases)} - names:
        names |= more
    return {name: found[name] for name in names}


def code_of(name):
    """The code that all errors of a class have."""
    classes = error_classes()
    bases, own = classes[name]
    return own or next(filter(None, (code_of(base) for base in bases if base in classes)), None)


def raised():
    """Codes that are raised somewhere, and the lines that raise without one."""
    codes, without = set(), []
    for line, name, arguments, given in read()[1]:
        if name == "Reason" and len(arguments) == 3:
            codes.add(arguments[2])
        if given.get("code") is not None:
            codes.add(given["code"])
        elif name.endswith("error") and arguments and SLUG.fullmatch(str(arguments[-1])):
            codes.add(arguments[-1])
        elif name in error_classes() and "code" not in given:
            if code_of(name) is None:
                without.append(line)
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
