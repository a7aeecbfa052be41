"""`reactant cache`: what the compile cache has, and what is to be done with it."""
from __future__ import annotations

import argparse

HELP = "look at the compile cache, check it, empty it, take it along"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The subcommands."""
    commands = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    commands.add_parser("info", help="where it is, how many programs it has, and why others are not kept")
    commands.add_parser("clear", help="remove every program")
    commands.add_parser("verify", help="check every file, and remove what is damaged")
    for name, text in (("export", "write all programs into one file"), ("import", "take programs from such a file")):
        commands.add_parser(name, help=text).add_argument("file", metavar="FILE")


def run(options: argparse.Namespace) -> int:
    from reactant import cache

    print({"info": _info, "clear": lambda _: f"{cache.clear()} programs removed", "verify": _verify,
           "export": lambda file: f"{cache.export(file)} programs in {file}",
           "import": lambda file: f"{cache.import_(file)} programs from {file}"}[options.action](
               getattr(options, "file", None)))
    return 0


def _info(_: str | None) -> str:
    from reactant import cache

    told = cache.info()
    if told["directory"] is None:
        return "the compile cache is off (REACTANT_CACHE)"
    lines = [f"{told['directory']}: {told['programs']} programs, {told['bytes'] / 1e6:.1f} MB of at most "
             f"{told['most_bytes'] / 1e9:.1f} GB"]
    if reasons := cache.reasons():
        lines += ["not kept:", *(f"  {each}" for each in reasons)]
    return "\n".join(lines)


def _verify(_: str | None) -> str:
    from reactant import cache

    sound, removed = cache.verify()
    return "\n".join([f"{sound} programs are sound, {len(removed)} were damaged and are removed",
                      *(f"  {path.name}" for path in removed)])
