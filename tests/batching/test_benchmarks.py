"""The benchmark of loops runs, at tiny sizes; it compares the results of its forms itself."""
import importlib.util
from pathlib import Path


def test_loops(capsys):
    path = Path(__file__).parents[2] / "benchmarks" / "loops.py"
    found = importlib.util.spec_from_file_location("benchmark_loops", path)
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    assert module.main(["--tiny", "--repeats", "1", "--only", "branches", "matrix_product", "recurrent"]) == 0
    assert "matrix_product" in capsys.readouterr().out
