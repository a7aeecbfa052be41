import numpy as np

import reactant
from tests.digits.classics import CLASSICS


def test_the_page_has_the_source_coloured(tmp_path):
    found = reactant.accuracy(CLASSICS["absorbed"].function, np.float32(1e8))
    page = found.html(str(tmp_path / "page.html"))
    assert page == (tmp_path / "page.html").read_text()
    assert 'style="background: color-mix(in srgb, var(--mark) 100%, transparent)">    return more - x' in page
    assert "0 of 24 bits are right" in page
    assert found._repr_html_().startswith("<style>")
