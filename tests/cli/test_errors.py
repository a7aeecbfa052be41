import pytest

from reactant import error_codes
from reactant.__main__ import main


def test_list(capsys):
    assert main(["errors"]) == 0
    printed = capsys.readouterr().out
    for code in error_codes.codes().values():
        assert f"  {code.name} " in printed and code.title in printed


def test_code(capsys):
    assert main(["errors", "leaked-value", "branches-differ"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("leaked-value: A traced value is used outside of what made it.\n\n")
    assert "Raises:\n\n    kept = []\n" in printed and "\n\nbranches-differ: " in printed


@pytest.mark.parametrize(("given", "message"), [
    ("leaked-values", "unknown code 'leaked-values'; did you mean leaked-value"),
    ("zzz", "unknown code 'zzz'; `reactant errors` lists them"),
])
def test_unknown_code(given, message, capsys):
    assert main(["errors", given]) == 2
    assert message in capsys.readouterr().err
