from reactant.__main__ import main

SCRIPT = """
import numpy as np

def tiny(x):
    more = np.float32(x) + np.float32(1)
    return more - np.float32(x)
"""


def test_a_function_of_a_script(tmp_path, capsys):
    script, page = tmp_path / "script.py", tmp_path / "page.html"
    script.write_text(SCRIPT)
    assert main(["accuracy", f"{script}:tiny", "--args", "1e8", "--html", str(page)]) == 0
    printed = capsys.readouterr().out
    assert "0 of 24 bits are right" in printed and "script.py:6   return more - np.float32(x)" in printed
    assert "color-mix" in page.read_text()


def test_mistakes(tmp_path, capsys):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    assert main(["accuracy", str(script)]) == 2
    assert "say script.py:function" in capsys.readouterr().err
    assert main(["accuracy", f"{script}:tiny", "--seconds", "-1"]) == 2
    assert "--seconds" in capsys.readouterr().err
