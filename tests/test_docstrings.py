"""Public docstrings have one form, and their examples run. What is public is what the pages of docs/api/ name."""
import doctest
import functools
import importlib
import inspect
import re
from pathlib import Path

import numpy as np
import pytest

import reactant

PAGES = sorted((Path(__file__).parents[1] / "docs" / "api").glob("*.md"))
DIRECTIVE = re.compile(r"^\.\. auto(?:function|class|exception):: (\S+)\n(?:   :members: (.*)\n)?", re.M)
SECTION = re.compile(r"^(Args|Returns|Raises|Example|Source|Attributes):\n((?:(?:    .*)?\n)+)", re.M)
ORDER = ("Args", "Attributes", "Returns", "Raises", "Example", "Source")


def named_in(page):
    """The names of a page, methods as `Class.method`."""
    for name, members in DIRECTIVE.findall(page.read_text() + "\n"):
        yield name
        yield from (f"{name}.{member.strip()}" for member in members.split(",") if member.strip())


PUBLIC = [name for page in PAGES for name in named_in(page)]


def found(name):
    """The object that a page names."""
    parts = name.split(".")
    for count in range(len(parts), 0, -1):
        try:
            module = importlib.import_module(".".join(parts[:count]))
        except ModuleNotFoundError:
            continue
        try:
            return functools.reduce(getattr, parts[count:], module)
        except AttributeError:
            continue
    raise LookupError(name)


def sections(text):
    return {title: inspect.cleandoc(body) for title, body in SECTION.findall(text + "\n")}


def documented(body):
    """The names that a section of arguments describes."""
    return [name.strip("*") for names in re.findall(r"^(\*{0,2}\w+(?:, \*{0,2}\w+)*): ", body, re.M)
            for name in names.split(", ")]


def parameters(thing):
    made = thing.fget if isinstance(thing, property) else thing
    return [p for name, p in inspect.signature(made).parameters.items() if name != "self"]


def test_all_public_names_are_on_a_page():
    listed = {name.removeprefix("reactant.").partition(".")[0] for name in PUBLIC}
    missing = set(reactant.__all__) - listed
    assert not missing, f"add them to a page of docs/api/: {', '.join(sorted(missing))}"
    assert len(PUBLIC) == len(set(PUBLIC)), "a name is on two pages"


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", PUBLIC)
def test_form(name):
    """A first line that is a sentence; what arguments, results and errors are; an example of all but methods."""
    thing = found(name)
    text = inspect.getdoc(thing)
    assert text, "no docstring"
    first, *rest = text.splitlines()
    assert first.endswith((".", ":")) and (not rest or not rest[0]), f"the summary is one line: {first}"
    parts = sections(text)
    assert [title for title in ORDER if title in parts] == list(parts), f"sections in this order: {', '.join(ORDER)}"
    if isinstance(thing, (property, functools.cached_property)):
        return
    is_class = inspect.isclass(thing)
    is_method = not is_class and len(name.split(".")) > 2 and inspect.isclass(found(name.rpartition(".")[0]))
    if not is_method:
        assert ">>> " in parts.get("Example", ""), "no example"
    assert ": " not in re.split(r"[.;]\s|$", parts.get("Returns", ""), maxsplit=1)[0], "a colon would make it a type"
    if is_class and "Args" not in parts:
        return
    wanted = [p.name for p in parameters(thing)]
    assert documented(parts.get("Args", "")) == wanted, "Args names each argument, in order"
    if not is_class and inspect.signature(thing).return_annotation not in (None, "None"):
        assert is_method and not wanted or "Returns" in parts, "no Returns"


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", PUBLIC)
def test_example_runs(name, tmp_path, monkeypatch):
    """What an example prints is what it says. (Members without one are skipped by having nothing to run.)"""
    text, said = inspect.getdoc(found(name)) or "", []
    monkeypatch.chdir(tmp_path)
    test = doctest.DocTestParser().get_doctest(text, {"np": np, "reactant": reactant}, name, name, 0)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    result = runner.run(test, out=said.append)
    assert result.attempted == text.count(">>> ") and not result.failed, "".join(said)
