"""What operators mean is a table, and nothing else puts operators in place."""
import subprocess
import sys
from pathlib import Path

import pytest

import reactant.frontends
from reactant.frontends import install
from reactant.frontends.source import operators


@pytest.mark.slow
def test_the_order_is_printed():
    done = subprocess.run([sys.executable, "-m", "reactant.frontends.install"], capture_output=True, text=True,
                          check=True)
    (line,) = (line for line in done.stdout.splitlines() if line.startswith("set_item"))
    assert line.split(maxsplit=1)[1] == (
        "printing.set_item > attempts.after_a_look > attempts.unless_interrupted > control_flow.changing_item > "
        "control_flow.set_item > overlay.set_item")


def test_layers_are_asked_from_the_first_to_the_last():
    met = []

    def noting(name):
        return lambda inner: lambda x: met.append(name) or inner(x)
    assert install.composed((noting("a"), noting("b"), lambda x: x + 1))(1) == 2
    assert met == ["a", "b"]
    assert install.composed((len,)) is len


def test_every_operator_is_said_once():
    assert not install.LAYERS.keys() & install.PLAIN.keys()
    assert {*install.LAYERS, *install.PLAIN} <= set(vars(operators.ag__))


def test_only_this_file_puts_operators_in_place():
    room = Path(reactant.frontends.__path__[0])
    callers = [path.relative_to(room) for path in room.rglob("*.py") if "operators.install(" in path.read_text()]
    assert callers == [Path("install.py")]
