"""`reactant errors`: what the codes of errors mean."""
from __future__ import annotations

import argparse

from reactant import error_codes
from reactant.cli.usage import unknown

HELP = "say what the code of an error means, with an example; without a code, list all"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("code", nargs="*", help="the last line of an error; without, all are listed")
    parser.add_argument("--markdown", action="store_true", help="all as a Markdown page")


def run(options: argparse.Namespace) -> int:
    if options.markdown:
        print(error_codes.markdown(), end="")
        return 0
    known = error_codes.codes()
    for name in options.code:
        if name not in known:
            raise unknown("code", name, list(known), "`reactant errors` lists them")
    if options.code:
        print("\n\n".join(error_codes.explained(known[name]) for name in options.code))
        return 0
    width = max(map(len, known))
    for family, members in error_codes.families().items():
        print(f"{family}:")
        for code in members:
            print(f"  {code.name:<{width}}  {code.title}")
    return 0
