"""Native functions out of a cache: machine code by name, and what fails in it."""
import numpy as np
import pytest

import reactant
from reactant.native import objects
from reactant.native.argument import NativeError
from reactant.native.recalled import CannotKeep, Code, RecalledFunction

pytestmark = pytest.mark.skipif(not objects.usable(), reason="object files of another system")


def test_a_function_under_its_name(monkeypatch):
    compiled = reactant.jit(lambda x: np.exp(x) + x[::-1], native="always").lower(np.ones(50)).compile()
    step, = compiled.executable.straight.steps
    function = step.function
    function.entry()
    code = Code.of([function.target])
    monkeypatch.setattr(objects, "_LOADED", {})
    made = RecalledFunction(function.name, function.target, function.arguments, function.messages, function.workspace,
                            function.threaded)
    with pytest.raises(NativeError, match="not there"):
        made.entry()
    code.load()
    assert made.entry() not in (0, function.entry()) and made.arguments == function.arguments
    made.register()
    made.register()


def test_messages_and_what_cannot_be_kept(monkeypatch):
    made = RecalledFunction("f", "reactant.native.f.0", (), ["first", "second"], 0, False)
    assert made.failure(2).fact == "second" and made.failure(2).code == "native-check"
    assert type(made.failure(1)) is NativeError
    monkeypatch.setitem(objects._LOADED, "reactant.native.f.0", objects.Loaded(b"rubbish", {}))
    with pytest.raises(CannotKeep):
        Code.of(["reactant.native.f.0"])
    with pytest.raises(objects.UnknownObject):
        Code({"reactant.native.g.0": (b"rubbish", ())}).load()
