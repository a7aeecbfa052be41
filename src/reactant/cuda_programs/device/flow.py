"""Control flow of a function: what post-dominates what, which blocks a branch decides about, where loops are."""
from __future__ import annotations

from reactant.cuda_programs.device.text import Function, opcode_of, successors

EXIT = "<exit>"


def after(function: Function) -> dict[str, list[str]]:
    """Where blocks lead to. One that ends without a terminator (before a cut) leads to the next one."""
    labels, found = list(function.blocks), {}
    for number, (label, lines) in enumerate(function.blocks.items()):
        opcode = opcode_of(lines[-1]) if lines else ""
        if opcode in ("br", "switch", "indirectbr"):
            found[label] = list(dict.fromkeys(successors(lines[-1])))
        elif opcode in ("ret", "unreachable"):
            found[label] = [EXIT]
        else:
            found[label] = [labels[number + 1]]
    return found


class Flow:
    """Blocks as a graph."""

    def __init__(self, function: Function) -> None:
        labels = list(function.blocks)
        self.after = after(function)
        self.labels = labels
        self._bits = {label: 1 << number for number, label in enumerate([*labels, EXIT])}
        self._after_all = self._post_dominators()

    def _post_dominators(self) -> dict[str, int]:
        everything = (1 << (len(self.labels) + 1)) - 1
        found = dict.fromkeys(self.labels, everything)
        found[EXIT] = self._bits[EXIT]
        changed = True
        while changed:
            changed = False
            for label in reversed(self.labels):
                common = everything
                for target in self.after[label]:
                    common &= found[target]
                common |= self._bits[label]
                if common != found[label]:
                    found[label], changed = common, True
        return found

    def decided(self, branch: str) -> tuple[set[str], str]:
        """(blocks that are reached or not as a branch decides, where all its paths meet again)."""
        common = self._after_all[branch] & ~self._bits[branch]
        seen: set[str] = set()
        todo = list(self.after[branch])
        meet = EXIT
        while todo:
            label = todo.pop()
            if label == EXIT:
                continue
            if self._bits[label] & common:
                continue
            if label not in seen:
                seen.add(label)
                todo += self.after[label]
        for label in self._reached_from(seen | {branch}):
            if self._bits[label] & common and self._first(label, common):
                meet = label
        return seen, meet

    def _reached_from(self, blocks: set[str]) -> set[str]:
        return {target for label in blocks for target in self.after[label] if target not in blocks}

    def _first(self, label: str, common: int) -> bool:
        """Whether of the blocks in `common` this is the one that the others come after."""
        return self._after_all[label] & common == common if label != EXIT else common == self._bits[EXIT]
