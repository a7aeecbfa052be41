"""Pages: what is put in is escaped, tables and what opens can be reached by everybody."""
from html.parser import HTMLParser

import pytest

from reactant.support import html


class Tags(HTMLParser):
    """Checks that tags are closed in order; notes them and their attributes."""

    EMPTY = {"meta", "br", "input", "path", "line", "rect", "polyline", "circle"}

    def __init__(self):
        super().__init__()
        self.open, self.seen = [], []

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in self.EMPTY:
            assert self.open.pop() == tag


def tags(text):
    reader = Tags()
    reader.feed(text)
    assert not reader.open
    return reader.seen


def test_a_page_is_one_file_without_network():
    page = html.document("a <b> & c", html.facts([("x", "1 < 2")]) + html.listed(["a & b"]))
    found = tags(page)
    assert "<title>a &lt;b&gt; &amp; c</title>" in page and "1 &lt; 2" in page and "a &amp; b" in page
    assert ("html", {"lang": "en"}) in found and any(tag == "main" for tag, _ in found)
    assert not any("src" in attrs or attrs.get("href", "#").startswith("http") for _, attrs in found)
    assert "prefers-color-scheme: dark" in page and tags(html.fragment("<p>x</p>"))


def test_tables_say_what_they_are():
    made = html.table(("name", "time"), [("<code>a</code>", "1"), ("b", "2")], "Times", (1,), hot=[1])
    found = tags(made)
    assert [attrs.get("scope") for tag, attrs in found if tag == "th"] == ["col", "col"]
    region = next(attrs for tag, attrs in found if attrs.get("role") == "region")
    assert region["tabindex"] == "0" and region["aria-label"] == "Times"
    assert [attrs.get("class") for tag, attrs in found if tag == "tr"] == [None, None, "hot"]
    assert sum(tag == "caption" for tag, _ in found) == 1


@pytest.mark.parametrize("part, width", [(0.5, "50.0%"), (-1, "0.0%"), (7, "100.0%")])
def test_bars_are_beside_numbers(part, width):
    assert f"width:{width}" in html.bar(part) and 'aria-hidden="true"' in html.bar(part)


def test_what_opens_does_so_without_a_script():
    found = tags(html.folded("<b>more</b>", "inside", opened=True))
    assert [tag for tag, _ in found] == ["details", "summary", "b", "div"] and found[0][1] == {"open": None}
