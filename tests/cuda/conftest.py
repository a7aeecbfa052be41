"""Programs are compiled once for a run of the tests, and kept between runs, as a user's are."""
from pathlib import Path

import pytest

import reactant

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def heat():
    """The program of heat.cu; what repeats is compiled."""
    with_process = reactant.cuda.program(HERE / "heat.cu")
    yield with_process
    with_process.close()
