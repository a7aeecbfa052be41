"""Programs are compiled once for a run of the tests, and kept between runs, as a user's are."""
from pathlib import Path

import pytest

import reactant

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def heat():
    """The program of heat.cu; what repeats is compiled."""
    program = reactant.cuda.program(HERE / "heat.cu")
    yield program
    program.close()


@pytest.fixture(scope="session")
def more():
    """The program of more.cu; nothing is compiled but what is differentiated."""
    program = reactant.cuda.program(HERE / "more.cu", lower="native")
    yield program
    program.close()
