"""The benchmark of this room runs, and says what the tests do."""
import precision


def test_operations(capsys):
    precision.main(["operations"])
    lines = capsys.readouterr().out.splitlines()
    assert any("add" in line and " 23 " in line and " 43 " in line for line in lines)


def test_bits_of_hard_cases():
    random, hard = precision.bits("add", 50)
    assert min(random, hard) > 45
