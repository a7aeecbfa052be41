"""`%load_ext reactant` in an IPython shell."""
import numpy as np
import pytest

import reactant

interactive = pytest.importorskip("IPython.core.interactiveshell", reason="needs IPython")


@pytest.fixture(scope="module")
def shell():
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("VIRTUAL_ENV", raising=False)      # of whoever runs the tests, which may be another one
        made = interactive.InteractiveShell.instance()
    made.run_line_magic("load_ext", "reactant")
    made.user_ns.update(np=np, reactant=reactant, data=np.array([1.0, 2.0, 4.0]))
    yield made
    interactive.InteractiveShell.clear_instance()


def test_a_cell_is_compiled_and_compared(shell, capsys):
    shell.run_cell_magic("reactant", "", "def clip(x):\n    while x.max() > 1:\n        x *= 0.5\n    return x.sum()\n"
                                         "total = clip(data)\n")
    assert isinstance(shell.user_ns["clip"], reactant.Jitted)
    assert shell.user_ns["total"] == 1.75
    np.testing.assert_array_equal(shell.user_ns["data"], [0.25, 0.5, 1.0])      # written once
    assert "clip: compiled and plain agree" in capsys.readouterr().out
    shell.user_ns["clip"](np.ones(3))
    assert capsys.readouterr().out == ""            # a signature that has been compared
    assert "__reactant_checked__" not in shell.user_ns and not shell.ast_transformers
    np.testing.assert_allclose(reactant.grad(shell.user_ns["clip"])(np.array([0.5, 0.25])), [1.0, 1.0])


def test_differences_are_errors(shell):
    shell.run_cell_magic("reactant", "", "calls = []\ndef odd(x):\n    return x + len(calls)\n")
    odd, calls = shell.user_ns["odd"], shell.user_ns["calls"]
    plain = odd.function

    def changing(x):
        calls.append(1)
        return plain(x)
    from reactant import notebooks
    made = notebooks.checked(changing, None)
    with pytest.raises(reactant.ReactantError, match="does not do what Python does") as caught:
        made(np.ones(2))
    assert caught.value.code == "differs-from-python"


def test_without_comparison(shell, capsys):
    shell.run_cell_magic("reactant", "--no-verify", "def double(x):\n    return 2 * x\ntwo = double(np.ones(2))\n")
    assert capsys.readouterr().out == ""
    np.testing.assert_array_equal(shell.user_ns["two"], [2.0, 2.0])


def test_explanations(shell):
    shell.user_ns["f"] = reactant.jit(lambda x, n: np.log(np.exp(x)) * n)
    found = shell.run_line_magic("reactant_explain", "f(np.ones(3), n=2.0)")
    assert "operations" in str(found) and "<html" in found.html()
    from IPython.core.error import UsageError
    with pytest.raises(UsageError, match="takes a call"):
        shell.run_line_magic("reactant_explain", "f")
