"""`accuracy` as a page of HTML: the source with colours."""
from __future__ import annotations

from html import escape

from reactant.digits.records import Found, Line
from reactant.digits.text import bits, branch, loop, output
from reactant.support.html import document, listed, table
from reactant.support.html import fragment as as_fragment
from reactant.support.source_lines import around, by_file

EXPLAINED = ("Bits that the outputs lose where a line alone has the program's precision; that its worst operation "
             "loses of right operands; by which it makes earlier errors worse. The darker, the more it is to blame.")
AROUND = 2
"""Lines of the source that are shown around those that round."""


def page(found: Found) -> str:
    """The whole page."""
    return document(f"{found.name}: how many digits are right", _body(found))


def fragment(found: Found) -> str:
    """The same within another page."""
    return as_fragment(_body(found))


def _body(found: Found) -> str:
    parts = [f"<h1>How many digits of <code>{escape(found.name)}</code> are right</h1>",
             f"<p>Beside itself in {escape(found.twin)}.</p>",
             listed([output(each, found.twin) for each in found.outputs]), "<h2>Source</h2>",
             f'<p class="soft">{EXPLAINED}</p>']
    parts += [_source(file, lines) for file, lines in by_file(found.lines).items()]
    if found.branches:
        parts += ["<h2>Other results of comparisons and conversions in more precision</h2>",
                  listed(map(branch, found.branches))]
    if found.loops:
        parts += ["<h2>Bits lost of what loops carry, by iterations</h2>", listed(map(loop, found.loops))]
    return "\n".join(parts)


def _source(file: str, lines: dict[int, Line]) -> str:
    rows = []
    for shown in around(file, lines, AROUND):
        if shown is None:
            rows.append(("", "", "", "", '<span class="soft">...</span>'))
            continue
        n, source = shown
        rows.append((str(n), *_numbers(lines.get(n)), _coloured(source, lines.get(n))))
    return table(("line", "alone", "local", "amplified", "source"), rows, file, (0, 1, 2, 3), ("", "", "", "",
                                                                                               "source"))


def _numbers(line: Line | None) -> tuple[str, str, str]:
    if line is None:
        return "", "", ""
    return "?" if line.alone is None else bits(line.alone), bits(line.local), bits(line.amplified)


def _coloured(source: str, line: Line | None) -> str:
    if line is None or line.blame < 1.0 and not line.out_of_range:
        return escape(source)
    part = 100.0 if line.out_of_range else 100.0 * min(line.blame / line.digits, 1.0)
    left = f' <span class="soft">{line.out_of_range} out of range</span>' if line.out_of_range else ""
    colour = f"color-mix(in srgb, var(--mark) {part:.0f}%, transparent)"
    return f'<span style="background: {colour}">{escape(source)}</span>{left}'
