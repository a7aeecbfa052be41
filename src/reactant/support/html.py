"""Pages of HTML that need nothing else: one file, no network, light and dark, for keyboards and screen readers too."""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

LIGHT = """--ground: #ffffff; --paper: #f5f6f8; --text: #1b1f24; --soft: #57606a; --line: #d0d7de; --bar: #4a7bd0;
  --accent: #0b5cad; --mark: #fff3c4; --node: #e8effa; --edge: #6e7781; color-scheme: light;"""
DARK = """--ground: #14171a; --paper: #1d2126; --text: #e6e8eb; --soft: #a2abb5; --line: #3a424b; --bar: #5b8de0;
  --accent: #8ab8f5; --mark: #4a4220; --node: #243349; --edge: #8b949e; color-scheme: dark;"""
"""Colours as the system wants them, or the notebook around (JupyterLab says so in an attribute)."""
STYLE = f"""
.rx {{ {LIGHT} color: var(--text); background: var(--ground); font: 15px/1.45 system-ui, sans-serif; }}
@media (prefers-color-scheme: dark) {{ .rx {{ {DARK} }} }}
[data-jp-theme-light="true"] .rx {{ {LIGHT} }} [data-jp-theme-light="false"] .rx {{ {DARK} }}
""" + """
body.rx { margin: 0; }
.rx main { max-width: 76rem; margin: 0 auto; padding: 1rem 1.5rem 3rem; }
.rx h1 { font-size: 1.5rem; margin: .6rem 0; } .rx h1 code { font-size: inherit; }
.rx h2 { font-size: 1.15rem; margin: 1.8rem 0 .5rem; }
.rx h3 { font-size: 1rem; margin: .8rem 0 .3rem; }
.rx p { max-width: 62rem; margin: .4rem 0; } .rx .soft { color: var(--soft); }
.rx a { color: var(--accent); }
.rx .skip { position: absolute; left: -999rem; } .rx .skip:focus { left: 1rem; top: .5rem; background: var(--paper); }
.rx :focus-visible { outline: 3px solid var(--accent); outline-offset: 1px; }
.rx .wide { overflow-x: auto; }
.rx table { border-collapse: collapse; font-size: .92rem; width: 100%; }
.rx caption { text-align: left; color: var(--soft); padding: .2rem 0; }
.rx th, .rx td { padding: .22rem .6rem; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }
.rx thead th { background: var(--paper); border-bottom: 2px solid var(--line); white-space: nowrap; }
.rx th.n, .rx td.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.rx td.source, .rx code, .rx pre { font-family: ui-monospace, "DejaVu Sans Mono", monospace; font-size: .86rem; }
.rx td.what { min-width: 15rem; }
.rx td.w, .rx th.w { white-space: nowrap; }
.rx td.source { white-space: pre; width: 99%; } .rx tr.hot td { background: var(--mark); }
.rx pre { background: var(--paper); padding: .6rem; overflow-x: auto; margin: .3rem 0; }
.rx .bar { display: inline-block; height: .7em; background: var(--bar); vertical-align: baseline; border-radius: 1px; }
.rx .track { display: inline-block; width: 6rem; text-align: left; }
.rx details { margin: .15rem 0; } .rx summary { cursor: pointer; } .rx details > div { padding: .2rem 0 .5rem 1.2rem; }
.rx ul { margin: .2rem 0; padding-left: 1.3rem; }
.rx dl.facts { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1rem; margin: .5rem 0; }
.rx dl.facts dt { color: var(--soft); } .rx dl.facts dd { margin: 0; }
.rx svg { max-width: 100%; height: auto; } .rx svg text { fill: var(--text); font: 12px ui-monospace, monospace; }
.rx svg .node { fill: var(--node); stroke: var(--edge); } .rx svg .given { fill: var(--paper); stroke: var(--line); }
.rx svg .edge { stroke: var(--edge); fill: none; } .rx svg .area { fill: var(--bar); opacity: .35; }
.rx svg .curve { stroke: var(--bar); fill: none; stroke-width: 1.5; } .rx svg .axis { stroke: var(--line); }
.rx .pair { display: flex; flex-wrap: wrap; gap: 1.5rem; } .rx .pair > div { min-width: 16rem; }
@media print { .rx details > div { display: block; } }
"""
"""Colours have a contrast of 4.5 and more in both schemes (WCAG 2.2, 1.4.3)."""


def written(content: str, file: str | None) -> str:
    """The same, and in a file where one is named."""
    if file is not None:
        with open(file, "w", encoding="utf-8") as opened:
            opened.write(content)
    return content


def document(title: str, body: str) -> str:
    """A page, whose `body` is HTML."""
    return (f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{escape(title)}</title>\n'
            f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<style>{STYLE}</style>\n</head>\n'
            f'<body class="rx">\n<a class="skip" href="#main">Skip to the content</a>\n<main id="main">\n{body}\n'
            f"</main>\n</body>\n</html>\n")


def fragment(body: str) -> str:
    """The same as a part of another page: what notebooks show."""
    return f'<style>{STYLE}</style><div class="rx">{body}</div>'


def table(headings: Sequence[str], rows: Iterable[Sequence[str]], caption: str, numbers: Sequence[int] = (),
          kinds: Sequence[str] = (), hot: Iterable[int] = ()) -> str:
    """A table of cells that are HTML. numbers: columns of numbers. kinds: classes of columns. hot: rows to mark."""
    marked = set(hot)

    def kind(column: int) -> str:
        own = "n" if column in numbers else kinds[column] if column < len(kinds) else ""
        return f' class="{own}"' if own else ""
    head = "".join(f'<th scope="col"{kind(k)}>{escape(h)}</th>' for k, h in enumerate(headings))
    body = "\n".join(
        f"<tr{' class=' + chr(34) + 'hot' + chr(34) if k in marked else ''}>"
        + "".join(f"<td{kind(c)}>{cell}</td>" for c, cell in enumerate(row)) + "</tr>" for k, row in enumerate(rows))
    # what scrolls can be reached by the keyboard
    return (f'<div class="wide" role="region" aria-label="{escape(caption, True)}" tabindex="0"><table>'
            f"<caption>{escape(caption)}</caption>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>")


def bar(part: float) -> str:
    """A bar beside a number that says the same, which is why screen readers pass over it."""
    width = 100 * min(max(part, 0.0), 1.0)
    return f'<span class="track" aria-hidden="true"><span class="bar" style="width:{width:.1f}%"></span></span>'


def folded(summary: str, inside: str, opened: bool = False) -> str:
    """What opens at a click or a key. summary, inside: HTML."""
    return f"<details{' open' if opened else ''}><summary>{summary}</summary><div>{inside}</div></details>"


def facts(pairs: Iterable[tuple[str, str]]) -> str:
    """Names and values, as texts."""
    return '<dl class="facts">' + "".join(
        f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in pairs) + "</dl>"


def listed(items: Iterable[str]) -> str:
    """A list of texts."""
    return "<ul>" + "".join(f"<li>{escape(item)}</li>" for item in items) + "</ul>"
