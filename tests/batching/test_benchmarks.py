"""The benchmark of loops runs, at tiny sizes; it compares the results of its forms itself."""
import loops
import pytest


@pytest.mark.slow
def test_loops(capsys):
    assert loops.main(["--tiny", "--repeats", "1", "--only", "branches", "matrix_product", "recurrent"]) == 0
    assert "matrix_product" in capsys.readouterr().out
