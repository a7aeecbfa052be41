import subprocess
import sys
from importlib import metadata

import pytest

from reactant.__main__ import main


def test_help_names_every_command(capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["--help"])
    assert stopped.value.code == 0
    printed = capsys.readouterr().out
    for command in ("demo", "opt", "run", "patterns", "info"):
        assert f"\n    {command} " in printed


def test_version(capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["--version"])
    assert stopped.value.code == 0
    assert capsys.readouterr().out == f"reactant-py {metadata.version('reactant-py')}\n"


@pytest.mark.parametrize(("arguments", "message"), [
    ([], "the following arguments are required: COMMAND"),
    (["fly"], "invalid choice: 'fly'"),
    (["info", "--loud"], "unrecognized arguments: --loud"),
])
def test_wrong_arguments(capsys, arguments, message):
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    assert message in capsys.readouterr().err


@pytest.mark.slow
def test_runs_as_a_module_and_survives_a_closed_pipe():
    for command in ("info", "patterns --markdown"):
        pipeline = f"{sys.executable} -m reactant {command} | true; exit ${{PIPESTATUS[0]}}"
        done = subprocess.run(["bash", "-c", pipeline], capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (1, "")


@pytest.mark.slow
def test_the_command_line_itself_imports_nothing_heavy():
    code = ("import sys; before = set(sys.modules); import reactant.cli; "
            "print([name for name in ('rich', 'skimage', 'PIL') if name in set(sys.modules) - before])")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
