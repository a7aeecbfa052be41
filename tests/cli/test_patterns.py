import subprocess
import sys
from pathlib import Path

import pytest

from reactant.__main__ import main
from reactant.cli import patterns


def test_every_rule_is_listed_once(capsys):
    from reactant.rewrite import registry

    assert main(["patterns", "--markdown"]) == 0
    page = capsys.readouterr().out
    rules = registry.rules()
    assert len(rules) > 20
    assert page.startswith(f"# Rewrite rules\n\n{len(rules)} rules in {len(registry.families())} families")
    for rule in rules:
        assert page.count(f"\n| `{rule.name}` |") == 1
    for line in page.splitlines():
        if line.startswith("|"):
            assert line.replace("\\|", "").count("|") == 5


@pytest.mark.slow
def test_page_is_up_to_date():
    """After a change of the rules: reactant patterns --markdown > docs/patterns.md

    In a process of its own, because other tests declare rules."""
    printed = subprocess.run([sys.executable, "-m", "reactant", "patterns", "--markdown"],
                             capture_output=True, text=True, check=True).stdout
    assert (Path(__file__).parents[2] / "docs" / "patterns.md").read_text() == printed


def test_table(capsys):
    assert main(["patterns", "--family", "arithmetic"]) == 0
    printed = capsys.readouterr().out
    assert "rules in 1 family " in printed
    assert "negate_of_negate" in printed and "transpose_of_transpose" not in printed


def test_names_stand_in_one_piece(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["patterns"]) == 0
    printed = capsys.readouterr().out
    assert all(f" {rule.name} " in printed for rules in patterns.catalogue().values() for rule in rules)


def test_condition_names_what_a_rule_asks_for():
    rules = [rule for family in patterns.catalogue().values() for rule in family]
    for rule in rules:
        words = patterns.condition(rule)
        assert bool(words) == bool(rule.dtypes or rule.assumes or rule.changes)
        for word in filter(None, (rule.dtypes, rule.assumes, rule.changes)):
            assert word in words


@pytest.mark.parametrize(("family", "message"), [
    ("aritmetic", "unknown family 'aritmetic'; did you mean arithmetic"),
    ("zzz", "unknown family 'zzz'; families are arithmetic, "),
])
def test_unknown_family(capsys, family, message):
    assert main(["patterns", "--family", family]) == 2
    assert message in capsys.readouterr().err
