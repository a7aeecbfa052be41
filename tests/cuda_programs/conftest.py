"""Programs are compiled in this process; the runtime library is kept between runs, as a user's is."""
import subprocess
from pathlib import Path

import pytest

from reactant.cuda_programs.driver import command

PROGRAMS = Path(__file__).parent / "programs"


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    """Compile and link: `built("api.cu", ...)` is the executable, once for each command line."""
    made = {}

    def build(*arguments):
        if arguments not in made:
            target = tmp_path_factory.mktemp("program") / "program"
            words = [str(PROGRAMS / word) if (PROGRAMS / word).exists() else word for word in arguments]
            assert command.main([*words, "-o", str(target)]) == 0
            made[arguments] = target
        return made[arguments]
    return build


@pytest.fixture
def ran(built):
    """Compile, run, and what the program says."""
    def run(*arguments, given=(), env=None, status=0):
        done = subprocess.run([built(*arguments), *given], capture_output=True, text=True, env=env, timeout=120)
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout + done.stderr
    return run
