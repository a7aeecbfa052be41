"""Which source files have no test file of their own.

src/reactant/a/b.py is tested by tests/a/test_b.py. Files of at most 80 lines need none of their own.

    python tools/mirrored.py             lists the files without one, by room, and how many there are
    python tools/mirrored.py --most N    fails, in addition, where there are more than N
"""
from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SHORT = 80
"""Lines of a file that needs no test file of its own."""


def mirror(source: Path) -> Path:
    """Where its tests are: tests/a/test_b.py of src/reactant/a/b.py, both relative to the repository."""
    inside = source.relative_to("src/reactant")
    return Path("tests") / inside.with_name(f"test_{inside.name}")


def sources(root: Path) -> Iterator[Path]:
    """Source files of more than `SHORT` lines, relative to the repository, in order of their names."""
    for file in sorted((root / "src" / "reactant").rglob("*.py")):
        if len(file.read_text().splitlines()) > SHORT:
            yield file.relative_to(root)


def lacking(root: Path) -> list[Path]:
    """Those of `sources` whose test file is not there."""
    return [source for source in sources(root) if not (root / mirror(source)).exists()]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Lists source files without a test file at the mirrored path.")
    parser.add_argument("--most", type=int, metavar="N", help="fail where more than N lack one")
    most = parser.parse_args(arguments).most
    missing = lacking(ROOT)
    for source in missing:
        print(f"{source}  ->  {mirror(source)}")
    every = len(list(sources(ROOT)))
    print(f"{len(missing)} of {every} source files of more than {SHORT} lines have no test file of their own")
    if most is None or len(missing) <= most:
        return 0
    print(f"at most {most} may: give new files tests at the paths above", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
