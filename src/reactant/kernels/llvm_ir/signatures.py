"""Parameters and operands of functions in the text of LLVM IR."""
from __future__ import annotations

import re

_KEYWORDS = re.compile(r"\b(noundef|signext|zeroext|noalias|nonnull|captures\([^)]*\)|readonly|writeonly|nocapture"
                       r"|dso_local|local_unnamed_addr|unnamed_addr|range\([^)]*\)|align "
                       r"\d+|returned|immarg|inreg|external|hidden"
                       r"|dereferenceable\(\d+\)|dereferenceable_or_null\(\d+\))\s*")


def type_of(parameter: str) -> str:
    """The LLVM type of a parameter or result, without attributes and name."""
    plain = _KEYWORDS.sub("", parameter.strip()).strip()
    return re.sub(r"\s+%\S+$", "", plain).strip()


def split_arguments(arguments: str) -> list[str]:
    """A list of LLVM parameters or operands, cut at its outer commas."""
    parts, depth, start = [], 0, 0
    for i, c in enumerate(arguments):
        depth += c in "([{<"
        depth -= c in ")]}>"
        if c == "," and depth == 0:
            parts.append(arguments[start:i].strip())
            start = i + 1
    last = arguments[start:].strip()
    return [*parts, last] if last else parts
