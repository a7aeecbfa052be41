"""The benchmark of this room runs, and says what the tests do."""
import precision
import precision_mpmath
import precision_programs
import pytest


def test_operations(capsys):
    precision.main(["operations"])
    lines = capsys.readouterr().out.splitlines()
    assert any("add" in line and " 23 " in line and " 43 " in line for line in lines)


def test_bits_of_hard_cases():
    random, hard = precision.bits("add", 50)
    assert min(random, hard) > 45


@pytest.mark.slow
@pytest.mark.parametrize("name", ["standardised", "black_scholes", "leapfrog", "running_sums"])
def test_whole_programs_agree_with_float64(name):
    bits, condition = precision_programs.measure(name, 0.05, "float32x2")
    assert bits >= precision_programs.WANTED and condition >= 1


@pytest.mark.slow
@pytest.mark.parametrize("name", precision_mpmath.PROGRAMS)
def test_whole_programs_agree_with_mpmath(name):
    assert precision_mpmath.measure(name) >= 98
