"""The process of a program's host code."""
import pytest

from reactant.cuda.process import ProgramEnded


def test_ends_of_the_process(heat, capfd):
    """They are errors of the call, and the next call begins anew."""
    with pytest.raises(ProgramEnded, match=r"called exit\(3\) while 'quits' ran"):
        heat.quits(3)
    with pytest.raises(ProgramEnded, match="ended by SIGSEGV while 'crashes' ran"):
        heat.crashes()
    assert heat.title("heat") == "heat"
    assert heat.main(10, 2) == 0
    assert capfd.readouterr().out.strip()
