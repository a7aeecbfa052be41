"""The page of `explain`, in a real browser where there is one."""
import numpy as np
import pytest

import reactant
from tests.browser import look


def model(w, x):
    h = np.tanh(x @ w)
    for _ in range(3):
        h = h @ w + np.exp(-h) * 0
    return (h.T.T ** 2).mean()


def branches(x, k):
    if x.sum() > 0:
        return np.sort(x)
    while x[0] < k:
        x = x * 2 + 1
    return x


W, X = np.ones((8, 8)), np.ones((5, 8))


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_in_a_browser(tmp_path, scheme):
    account = reactant.explain(reactant.grad(model), W, X)
    seen = look(account.html(), tmp_path, scheme)
    assert "What became of grad_model" in seen.text and "h = np.tanh(x @ w)" in seen.text
    assert "reverse mode of" in seen.text and "Memory over time" in seen.text and "Not fused" in seen.text
    assert seen.is_dark == (scheme == "dark") and not seen.scrolls_sideways and seen.requests == []
    assert seen.faint == [] and seen.nameless == []
    assert "As traced" in seen.opened and "As traced" not in seen.text, "graphs open at a click or a key"
    assert "transpose_of_dot_general" in seen.opened or "rules" in seen.opened


@pytest.mark.slow
def test_a_narrow_window(tmp_path):
    seen = look(reactant.explain(branches, np.arange(5.0), 3.0).html(), tmp_path, width=500)
    assert not seen.scrolls_sideways and "if x.sum() > 0:" in seen.opened


@pytest.mark.parametrize("function, arguments", [
    (branches, (np.arange(5.0), 3.0)), (lambda x: x, (np.zeros(0),)), (lambda x: 3, (1.5,)),
    (lambda x: x.astype(complex) @ x, (np.ones((3, 3), np.float32),))])
def test_whatever_is_compiled_has_a_page(function, arguments, tmp_path):
    account = reactant.explain(function, *arguments)
    page = account.html(str(tmp_path / "page.html"))
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert text.startswith("<!DOCTYPE html>") and text.count("<main") == page.count("<main") == 1
    assert account._repr_html_().startswith("<style>") and "<main" not in account._repr_html_()


@pytest.mark.devices8
def test_a_program_on_several_devices():
    mesh = reactant.mesh(x=8)
    u = reactant.array(np.arange(8000.0), sharding=mesh.sharding("x"))

    def smoothed(u):
        return 0.5 * (u[:-2] + u[2:])
    page = reactant.explain(smoothed, u).html()
    assert "Between 8 devices" in page and "collective-permute" in page
    assert "reads elements that other devices own" in page
