"""Settings of the documentation site: `python -m sphinx -W --keep-going docs site` (`pip install -e ".[docs]"`).

The pages are the Markdown files of this folder, the API reference is made from docstrings. Everything that a page needs
lies in the site: it works without a network, from a folder or a server.
"""
from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "src"))
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ["COLUMNS"] = "80"                    # argparse wraps its help by the terminal

import reactant  # noqa: E402

project = "Reactant for Python"
author = "Reactant for Python contributors"
project_copyright = author
version = release = reactant.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton", "sphinx_design",
              "sphinxarg.ext"]
exclude_patterns = ["conf.py", "_static"]
root_doc = "index"

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4

default_role = "py:obj"                         # `jit` in a docstring is a link where there is a page of it
autodoc_member_order = "bysource"
autodoc_typehints = "none"                      # the text says them, with shapes and units
autodoc_preserve_defaults = True
smartquotes_action = "D"                         # dashes; quotes stay as code has them
napoleon_numpy_docstring = False
napoleon_use_rtype = False
napoleon_custom_sections = [("Source", "notes_style")]
maximum_signature_line_length = 80
python_use_unqualified_type_names = True
add_module_names = False
toc_object_entries_show_parents = "hide"

pygments_style, pygments_dark_style = "a11y-high-contrast-light", "a11y-high-contrast-dark"
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
html_theme = "furo"
html_title = f"{project} {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = html_show_sourcelink = False
html_theme_options: dict[str, Any] = {"navigation_with_keys": True, "top_of_page_buttons": []}


COPIED = {"changelog": "CHANGELOG.md", "contributing": "CONTRIBUTING.md"}
"""Pages that are files of the repository's root."""
GENERATED = ("errors", "xla")
"""Pages that commands make, and that need not be there."""
LINKS = {"](docs/": "](", "](CHANGELOG.md": "](changelog.md"}
"""How links from there are written here."""


def _edit(app: Any, docname: str, source: list[str]) -> None:
    """What is the same file in the repository and a little more on the site."""
    if docname in COPIED:
        file = ROOT / COPIED[docname]
        app.env.note_dependency(str(file))
        source[0] = file.read_text()
        for there, here in LINKS.items():
            source[0] = source[0].replace(there, here)
    elif docname == "decisions/README":         # the records are pages below their index
        source[0] += "\n```{toctree}\n:hidden:\n:glob:\n\n0*\n```\n"
    elif docname == root_doc:
        app.env.note_reread()
        for name in GENERATED:
            if not (ROOT / "docs" / f"{name}.md").exists():
                source[0] = source[0].replace(f"\n{name}\n", "\n")


def _signature(app: Any, what: str, name: str, thing: Any, options: Any, signature: str, result: str) -> Any:
    """Classes that users do not make themselves have none."""
    if signature and what in ("class", "exception") and "\n    Args:\n" not in (thing.__doc__ or ""):
        return "", ""
    return None


def setup(app: Any) -> None:
    """Called by Sphinx."""
    app.connect("source-read", _edit)
    app.connect("autodoc-process-signature", _signature)
