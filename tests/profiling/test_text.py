"""Profiles as text and as pages."""
import pytest

from reactant.profiling import page, text
from reactant.profiling.machine import Rates
from reactant.profiling.records import Loop, Measured, Operation, Work

RATES = Rates("box", 1e10, 2e10, 1e9, ((1e4, 1e11), (1e8, 1e10)), 1e-6)


@pytest.fixture
def found():
    operations = [Operation(f"op{k}", "native", "add", 0.01, 2, {f"{__file__}:{k + 1}": 1.0}, Work(bytes=8e6))
                  for k in range(30)]
    operations.append(Operation("compiling f: XLA", "stage", "XLA", 0.2, 1))
    return Measured("<f>", 9, 1.0, 0.8, operations, [Loop(f"{__file__}:3", "native", 2, 10, 0.5)], RATES, 0.4, 0.1,
                    notes=["left & right"])


def test_tables_are_whole(found):
    said = text.text(found)
    for expected in ("<f>: 1 s a run, the mean of the 5 faster of 9 runs; 800 ms without the profiler, whose overhead "
                     "is +25.0 %", "10 more lines", "11 more operations", "compiling", "between operations", "100.0 %",
                     "arguments, results, Python", "test_text.py:3"):
        assert expected in said, expected
    assert max(map(len, said.splitlines())) < 170
    shown = [line for line in said.splitlines() if "native op" in line]
    assert len(shown) == 20 and "neither" in shown[0] and "4 %" in shown[0]


def test_the_page_has_the_same(found):
    made = page.page(found)
    assert "Profile of <code>&lt;f&gt;</code>" in made and "left &amp; right" in made and "<details>" not in made[:2000]
    assert "&quot;&quot;&quot;Profiles as text and as pages.&quot;&quot;&quot;" in made, "lines of the source"
    assert 'class="rx"' in page.fragment(found)


@pytest.mark.parametrize("seconds, said", [(2.5, "2.5 s"), (0.0123, "12.3 ms"), (4.56e-6, "4.56 us"), (7e-9, "7 ns"),
                                           (0.0, "0 ns")])
def test_durations(seconds, said):
    assert text.duration(seconds) == said


@pytest.mark.parametrize("value, said", [(0, ""), (float("nan"), ""), (12, "12 B"), (1500, "1.5 kB"), (2e9, "2 GB")])
def test_numbers(value, said):
    assert text.number(value, "B") == said
