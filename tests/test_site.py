"""The documentation site builds without a warning, its links lead somewhere, and nothing in it comes from elsewhere."""
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import reactant

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
MARKDOWN = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted(DOCS.rglob("*.md"))]
FENCE = re.compile(r"^(`{3,}|:{3,}).*?^\1", re.S | re.M)
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.M)


def anchor(heading):
    """The anchor of a heading, as GitHub and the site make it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


@pytest.mark.sampled(1)
@pytest.mark.parametrize("page", MARKDOWN, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files_and_headings(page):
    """In the repository itself, where the pages are read as they are."""
    text = FENCE.sub("", page.read_text())
    for link in LINK.findall(re.sub(r"`[^`]*`", "", text)):
        if urlsplit(link).scheme:
            continue
        path, _, part = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        if part:
            found = {anchor(title) for title in HEADING.findall(FENCE.sub("", target.read_text()))}
            assert part in found, f"{link}: no such heading"


def test_commands_of_the_figures_exist():
    """Scripts that docs/performance.md and the README name, and the options that they are given."""
    text = (DOCS / "performance.md").read_text() + (ROOT / "README.md").read_text()
    commands = re.findall(r"python (benchmarks/\w+\.py)([^`\n]*)", text)
    assert len(commands) > 15
    for script, options in commands:
        source = (ROOT / script).read_text()
        for option in re.findall(r"--\w[\w-]*", options):
            assert option in source, f"{script} has no {option}"


def test_all_environment_variables_are_listed():
    read = {name for file in (ROOT / "src").rglob("*.py")
            for name in re.findall(r"\bREACTANT_[A-Z]+(?:_[A-Z]+)*\b", file.read_text())}
    read |= {name for file in (ROOT / "src" / "reactant" / "cuda_programs" / "runtime").glob("*.cpp")
             for name in re.findall(r'getenv\("(REACTANT_CUDA_\w+)"', file.read_text())}
    listed = set(re.findall(r"^\| `(REACTANT_\w+)", (DOCS / "cli.md").read_text(), re.M))
    assert read and read == listed


class Page(HTMLParser):
    """The links, the sources and the ids of a page."""

    def __init__(self, file):
        super().__init__()
        self.links, self.loaded, self.ids = [], [], set()
        self.feed(file.read_text())

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.ids |= {given[name] for name in ("id", "name") if given.get(name)}
        if tag in ("script", "img", "source", "iframe") and given.get("src"):
            self.loaded.append(given["src"])
        elif tag == "link" and given.get("rel") != "canonical" and given.get("href"):
            self.loaded.append(given["href"])
        elif tag == "a" and given.get("href"):
            self.links.append(given["href"])


def made_in(folder):
    """The site, by the command that the README names; in a folder."""
    for module in ("sphinx", "myst_parser", "furo", "sphinx_copybutton", "sphinx_design", "sphinxarg"):
        pytest.importorskip(module, reason='pip install -e ".[docs]" brings what makes the site')
    paths = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), *filter(None, sys.path)])}
    done = subprocess.run([sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-d", folder / "doctrees", DOCS,
                           folder / "site"], env=paths, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder / "site"


def test_the_site_is_whole(tmp_path):
    """Every page of docs/ is there, and whatever it links to or loads; the API has every public name."""
    site = made_in(tmp_path)
    pages = {file: Page(file) for file in site.rglob("*.html")}
    for source in DOCS.rglob("*.md"):
        assert site / source.relative_to(DOCS).with_suffix(".html") in pages
    for file, page in pages.items():
        for link in page.loaded + page.links:
            parts = urlsplit(link)
            if parts.scheme or link.startswith("//"):
                assert link in page.links, f"{file.name} loads {link} from elsewhere"
                continue
            target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            target = target / "index.html" if target.is_dir() else target
            assert target.exists(), f"{file.name}: {link}"
            if parts.fragment and target in pages and file.name not in ("search.html", "genindex.html"):
                assert unquote(parts.fragment) in pages[target].ids, f"{file.name}: {link}"
    everything = set().union(*(page.ids for page in pages.values()))
    names = {name for name in reactant.__all__ if name not in ("c", "cuda", "llvm", "cache")}
    names |= {f"cache.{name}" for name in reactant.cache.__all__}       # of a module, what is in it
    assert {f"reactant.{name}" for name in names} <= everything
    for style in site.rglob("*.css"):
        assert not re.search(r"url\(\s*['\"]?(https?:)?//", style.read_text()), f"{style.name} loads from elsewhere"
    search = (site / "searchindex.js").read_text()      # a script, which a browser loads from a folder as well
    assert search.startswith("Search.setIndex(") and "value_and_grad" in search
