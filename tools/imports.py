"""The import graph of `src/reactant`: its cycles, its imports inside functions, and a picture of its rooms.

    python tools/imports.py                    the largest cycle of each room, and the imports inside functions
    python tools/imports.py --check            fails where there is a cycle, or an import inside a function that
                                               `tools/deferred_imports.toml` does not list with a reason
    python tools/imports.py --picture FILE     the rooms in their layers (SVG), from `pyproject.toml`'s contract

Imports inside functions count for cycles as others do; so do those for type checkers, unless `--no-types`.
"""
from __future__ import annotations

import argparse
import ast
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src"
PACKAGE = "reactant"
LISTED = ROOT / "tools" / "deferred_imports.toml"


@dataclass(frozen=True)
class Import:
    """One module imports another one of the package."""

    importer: str
    imported: str
    deferred: bool
    """Whether it stands in a function."""
    for_types: bool
    """Whether it stands under `if TYPE_CHECKING`."""


def modules() -> dict[str, Path]:
    """Every module of the package, by its dotted name; packages are the modules of their `__init__.py`."""
    found = {}
    for path in sorted((SOURCE / PACKAGE).rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports_of(module: str, path: Path, known: dict[str, Path]) -> Iterator[Import]:
    """The imports in one file."""
    def walk(node: ast.AST, deferred: bool, for_types: bool) -> Iterator[Import]:
        for child in ast.iter_child_nodes(node):
            inside = deferred or isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
            types = for_types or isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test)
            if isinstance(child, ast.Import):
                names = [alias.name for alias in child.names]
            elif isinstance(child, ast.ImportFrom):
                names = [name if (name := f"{child.module}.{alias.name}") in known else str(child.module)
                         for alias in child.names]
            else:
                names = []
            yield from (Import(module, name, inside, types) for name in names if name in known)
            yield from walk(child, inside, types)

    yield from walk(ast.parse(path.read_text()), False, False)


def graph() -> list[Import]:
    """Every import of a module of the package by another."""
    known = modules()
    return [each for module, path in known.items() for each in imports_of(module, path, known)
            if each.imported != module]


def cycles(imports: list[Import]) -> list[list[str]]:
    """The groups of modules that import each other in a circle, the largest first."""
    names = sorted({name for each in imports for name in (each.importer, each.imported)})
    number = {name: k for k, name in enumerate(names)}
    ends = np.array([(number[each.importer], number[each.imported]) for each in imports]).reshape(-1, 2)
    arrows = coo_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(len(names),) * 2)
    _, group = connected_components(arrows, directed=True, connection="strong")
    found = [[names[k] for k in np.flatnonzero(group == g)] for g, size in enumerate(np.bincount(group)) if size > 1]
    return sorted(found, key=len, reverse=True)


def listed() -> dict[tuple[str, str], str]:
    """The imports inside functions that are allowed, each with its reason."""
    return {(importer, imported): reason for reason, pairs in tomllib.loads(LISTED.read_text()).items()
            for importer, imported in (pair.split(" -> ") for pair in pairs)}


def without_package(name: str) -> str:
    return name.removeprefix(f"{PACKAGE}.")


def deferred(imports: list[Import]) -> set[tuple[str, str]]:
    """The imports inside functions, as they are listed."""
    return {(without_package(each.importer), without_package(each.imported)) for each in imports
            if each.deferred and not each.for_types}


def report(imports: list[Import]) -> list[str]:
    """What is wrong; prints what there is."""
    problems = []
    rooms = sorted({without_package(each.importer).partition(".")[0] for each in imports})
    for room in ["", *rooms]:
        prefix = f"{PACKAGE}.{room}" if room else PACKAGE
        inside = [each for each in imports if f"{each.importer}.".startswith(f"{prefix}.")
                  and f"{each.imported}.".startswith(f"{prefix}.")]
        found = cycles(inside) if inside else []
        if not room or found:
            print(f"{room or 'all rooms':16} largest import cycle: {len(found[0]) if found else 0} files")
        if not room:
            problems += [f"import cycle: {', '.join(map(without_package, cycle))}" for cycle in found]
    known, now = listed(), deferred(imports)
    print(f"{'all rooms':16} imports inside functions: {len(now)}")
    problems += [f"import inside a function without a reason in {LISTED.name}: {a} -> {b}"
                 for a, b in sorted(now - set(known))]
    problems += [f"{LISTED.name} lists what is not there: {a} -> {b}" for a, b in sorted(set(known) - now)]
    return problems


# ---- the picture ---------------------------------------------------------------------------------------------------

WIDTH, ROW, GAP, MARGIN = 980, 64, 10, 14


def layers() -> list[list[str]]:
    """The rooms, the uppermost layer first, as `pyproject.toml` says."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    lines = next(each["layers"] for each in contracts if each["containers"] == [PACKAGE])
    there = {path.stem for path in (SOURCE / PACKAGE).iterdir()
             if path.suffix == ".py" or (path / "__init__.py").exists()}
    rows = [[name.strip(" ()") for name in line.replace(":", "|").split("|")] for line in lines]
    return [row for row in ([name for name in row if name in there] for row in rows) if row]


def said_by(room: str) -> str:
    """The first sentence of a room's docstring."""
    path = SOURCE / PACKAGE / room / "__init__.py"
    path = path if path.exists() else SOURCE / PACKAGE / f"{room}.py"
    text = " ".join((ast.get_docstring(ast.parse(path.read_text())) or "").split("\n\n")[0].split())
    return text


def size_of(room: str) -> tuple[int, int]:
    """(files, lines) of a room."""
    base = SOURCE / PACKAGE / room
    files = list(base.rglob("*.py")) if base.is_dir() else [base.with_suffix(".py")]
    return len(files), sum(len(path.read_text().splitlines()) for path in files)


def picture(imports: list[Import]) -> str:
    """The rooms as boxes, one row a layer: who stands higher imports who stands lower."""
    rows, parts, places = layers(), [], {}
    height = MARGIN + len(rows) * (ROW + GAP)
    for y, row in enumerate(rows):
        weights = [max(size_of(room)[1], 1) ** 0.25 for room in row]
        x, free = float(MARGIN), WIDTH - 2 * MARGIN - GAP * (len(row) - 1)
        for room, weight in zip(row, weights, strict=True):
            width = free * weight / sum(weights)
            places[room] = (x, MARGIN + y * (ROW + GAP), width)
            x += width + GAP
    counts: dict[tuple[str, str], int] = {}
    for each in imports:
        above, below = (without_package(name).partition(".")[0] for name in (each.importer, each.imported))
        pair = above, below
        if above != below and {above, below} <= set(places):
            counts[pair] = counts.get(pair, 0) + 1
    for (above, below), count in sorted(counts.items()):
        (x0, y0, w0), (x1, y1, w1) = places[above], places[below]
        thick = min(0.4 + count / 40, 4)
        parts.append(f'<path d="M{x0 + w0 / 2:.0f} {y0 + ROW / 2:.0f} L{x1 + w1 / 2:.0f} {y1 + ROW / 2:.0f}" '
                     f'stroke-width="{thick:.1f}"><title>{above} imports {below}: {count} times</title></path>')
    boxes = []
    for room, (x, y, width) in places.items():
        files, lines = size_of(room)
        detail = f"{files} files, {lines:,} lines" if files > 1 else f"{lines:,} lines"
        boxes.append(
            f'<g><title>{escape(said_by(room))}</title>'
            f'<rect x="{x:.0f}" y="{y}" width="{width:.0f}" height="{ROW}" rx="6"/>'
            f'<text x="{x + width / 2:.0f}" y="{y + 28}" class="room">{room}</text>'
            f'<text x="{x + width / 2:.0f}" y="{y + 46}" class="size">{detail}</text></g>')
    style = ("path{stroke:#8aa0c0;fill:none;opacity:.5}rect{fill:#eef3fb;stroke:#4a6a9c}"
             "text{font-family:sans-serif;text-anchor:middle;fill:#1c2c44}.room{font-size:14px;font-weight:600}"
             ".size{font-size:10px}")
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">'
            f'<title>The rooms of reactant: a room imports rooms below it.</title><style>{style}</style>\n'
            + "\n".join([*parts, *boxes]) + "\n</svg>\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="fail where something is wrong")
    parser.add_argument("--no-types", action="store_true", help="leave out imports for type checkers")
    parser.add_argument("--picture", type=Path, help="write the rooms as an SVG file")
    options = parser.parse_args()
    imports = [each for each in graph() if not (options.no_types and each.for_types)]
    if options.picture:
        options.picture.write_text(picture(imports))
        return 0
    problems = report(imports)
    print(*problems, sep="\n", file=sys.stderr)
    return int(options.check and bool(problems))


if __name__ == "__main__":
    sys.exit(main())
