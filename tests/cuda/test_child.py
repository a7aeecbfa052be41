"""What runs in the process of host code."""
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "reactant" / "cuda" / "child.py"


def test_imports_nothing_of_ours():
    """It starts in milliseconds, without site-packages."""
    imported = [line.split()[1] for line in SOURCE.read_text().splitlines() if line.startswith(("import ", "from "))]
    assert set(imported) == {"__future__", "ctypes", "os", "pickle", "signal", "socket", "struct", "sys", "typing"}
