"""The page of a profile in a real browser: `tests/browser.py` says what is looked at."""
import pytest

from reactant.profiling import page
from reactant.profiling.machine import Rates
from reactant.profiling.records import Loop, Measured, Operation, Work
from tests.browser import look

RATES = Rates("box", 1e10, 2e10, 1e9, ((1e4, 1e11), (1e8, 1e10)), 1e-6)


@pytest.mark.sampled(100)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_in_a_browser(tmp_path, scheme):
    operations = [Operation(f"op{k}", "native", "add", 0.1, 2, {f"{__file__}:{k + 1}": 1.0}, Work(bytes=8e6))
                  for k in range(5)]
    found = Measured("f", 9, 1.0, 0.8, operations, [Loop(f"{__file__}:3", "native", 2, 10, 0.5)], RATES, 0.4, 0.1)
    seen = look(page.page(found), tmp_path, scheme)
    assert "Profile of f" in seen.text and "Loops of a run" in seen.text and "op4" in seen.text
    assert seen.is_dark == (scheme == "dark") and not seen.scrolls_sideways and seen.requests == []
    assert seen.faint == [] and seen.nameless == []
