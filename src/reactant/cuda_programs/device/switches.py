"""Switches over a few values as conditions one after the other.

Where each case of a switch does something and then goes on behind it (`if (t == 0) ... else if (t == 15) ...`),
clang's switch becomes `if (t == 0) ...; if (t == 15) ...`: LLVM would make a tree of comparisons by size of it, in
which threads of a group go different ways, while a comparison for equality concerns one thread (`vectors`).
"""
from __future__ import annotations

import re

from reactant.cuda_programs.device.flow import after
from reactant.cuda_programs.device.text import Function, function, split
from reactant.support.records import dataclass

MOST = 4
"""Cases up to which conditions are as good as a tree."""
_SWITCH = re.compile(r"switch (i\d+) (\S+), label %(\S+) \[(.*)\]")
_CASE = re.compile(r"i\d+ (-?\d+), label %(\"[^\"]*\"|[-\w$.]+)")
_PHI = re.compile(r"\[ ([^,\]]+), %(\"[^\"]*\"|[-\w$.]+) \]")


@dataclass
class _Switch:
    """One whose cases all lead to where it leads otherwise: their values, first blocks and all blocks."""

    block: str
    kind: str
    value: str
    meet: str
    cases: list[tuple[str, str, set[str]]]


def sequential(text: str) -> str:
    """A module, whose values and blocks have names, with such switches as conditions."""
    module = split(text)
    for name, body in module.functions.items():
        if " switch " in body:
            module.functions[name] = _without(function(body)).text()
    return module.text()


def _without(made: Function) -> Function:
    for label in list(made.blocks):
        if (found := _found(made, label)) is not None:
            _written(made, found)
    return made


def _found(made: Function, label: str) -> _Switch | None:
    lines = made.blocks[label]
    line = _SWITCH.match(lines[-1]) if lines else None
    if line is None:
        return None
    kind, value, meet, listed = line.groups()
    cases = _CASE.findall(listed)
    first = [target for _, target in cases]
    if not 2 <= len(cases) <= MOST or meet in first or len(set(first)) < len(first) or '"' in label:
        return None
    following = after(made)
    regions = [_region(following, label, target, meet) for target in first]
    if any(region is None for region in regions):
        return None
    whole = [region for region in regions if region is not None]
    if sum(map(len, whole)) != len(set().union(*whole)):
        return None
    return _Switch(label, kind, value, meet,
                   [(number, target, region) for (number, target), region in zip(cases, whole, strict=True)])


def _region(following: dict[str, list[str]], switch: str, first: str, meet: str) -> set[str] | None:
    """The blocks from a case's first one up to where all meet, if they are entered there alone and left nowhere
    else."""
    blocks, todo = {first}, [first]
    while todo:
        for target in following[todo.pop()]:
            if target == switch or target not in following:
                return None
            if target != meet and target not in blocks:
                blocks.add(target)
                todo.append(target)
    entered = {(label, target) for label, targets in following.items() if label not in blocks
               for target in targets if target in blocks}
    return blocks if entered == {(switch, first)} else None


def _written(made: Function, switch: _Switch) -> None:
    """Each case's blocks end at a block of their own, where the next value is compared."""
    phis = [line for line in made.blocks[switch.meet] if " = phi " in line]
    given = [dict((before, value) for value, before in _PHI.findall(line)) for line in phis]
    here = switch.block
    made.blocks[here].pop()
    for number, (value, first, region) in enumerate(switch.cases, 1):
        last = number == len(switch.cases)
        behind = switch.meet if last else f"{switch.block}.not.{number}"
        condition = f"%{switch.block}.is.{number}"
        made.blocks[here] += [f"{condition} = icmp eq {switch.kind} {switch.value}, {value}",
                              f"br i1 {condition}, label %{first}, label %{behind}"]
        made.blocks[first] = [line.replace(f", %{switch.block} ]", f", %{here} ]") if " = phi " in line else line
                              for line in made.blocks[first]]
        leaving = [label for label in made.blocks if label in region
                   and re.search(rf"label %{re.escape(switch.meet)}(?![-\w$.])", made.blocks[label][-1])]
        for label in leaving if not last else ():
            made.blocks[label][-1] = re.sub(rf"label %{re.escape(switch.meet)}(?![-\w$.])", f"label %{behind}",
                                            made.blocks[label][-1])
        if last:
            break
        joined = []
        for k, line in enumerate(phis):
            name, kind = f"{line.split(' = ', 1)[0]}.{switch.block}.{number}", line.split(" = phi ", 1)[1]
            ways = ", ".join(f"[ {given[k].pop(label)}, %{label} ]" for label in leaving)
            joined.append(f"{name} = phi {kind.split(' [', 1)[0]} {ways}, [ {given[k].pop(here)}, %{here} ]")
            given[k][behind] = name
        made.blocks[behind] = joined
        here = behind
    for k, line in enumerate(phis):
        at = made.blocks[switch.meet].index(line)
        ways = ", ".join(f"[ {value}, %{before} ]" for before, value in given[k].items())
        made.blocks[switch.meet][at] = f"{line.split(' [', 1)[0]} {ways}"
