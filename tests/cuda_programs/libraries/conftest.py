"""Programs of this folder: compiled once, run once, their results as arrays."""
import subprocess
from pathlib import Path

import pytest

from reactant.cuda_programs.driver import command
from tests.cuda_programs.libraries.series import results

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """`made("fft", "-lcufft")`: what the program writes."""
    known = {}

    def make(name, *libraries):
        if name not in known:
            folder = tmp_path_factory.mktemp(name)
            assert command.main(["-O1", str(HERE / f"{name}.cu"), *libraries, "-o", str(folder / "program")]) == 0
            done = subprocess.run([folder / "program", folder / "results"], capture_output=True, text=True, timeout=120)
            assert done.returncode == 0, done.stdout + done.stderr
            known[name] = results(folder / "results")
        return known[name]
    return make
