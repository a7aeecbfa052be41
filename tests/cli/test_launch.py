import pytest

from reactant.__main__ import main


@pytest.mark.parametrize("arguments, message", [
    (["-n", "0", "a.py"], "--processes must be at least 1, not 0"),
    (["-n", "2", "--devices-per-process", "0", "a.py"], "--devices-per-process must be at least 1"),
    (["-n", "2", "--restart", "a.py"], "give --checkpoint DIR"),
    (["-n", "2", "--max-restarts", "2", "a.py"], "give --restart, too"),
    (["-n", "2", "--restart", "--checkpoint", "d", "--min-processes", "3", "a.py"],
     "--min-processes 3 is more than -n 2"),
    (["-n", "2", "--patience", "0", "a.py"], "--patience must be at least 1 second"),
    (["-n", "2", "none.py"], "cannot read 'none.py': there is no such file")])
def test_mistakes(tmp_path, monkeypatch, capsys, arguments, message):
    monkeypatch.chdir(tmp_path)
    assert main(["launch", *arguments]) == 2
    error = capsys.readouterr().err
    assert error.startswith("reactant launch: error: ") and message in error and error.count("\n") == 1
