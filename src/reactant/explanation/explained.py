"""`explain`: compile a function, and say what became of it."""
from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from jaxlib.mlir import ir

from reactant.api import as_jitted
from reactant.calling import recalled
from reactant.calling.compiled import Times
from reactant.calling.lowered import Lowered
from reactant.communication.account import Needed
from reactant.communication.traffic import Traffic
from reactant.explanation import explorer, loops, page, text
from reactant.explanation.records import Account, Line
from reactant.ir import modules
from reactant.ir.context import building
from reactant.legalize import legalization
from reactant.rewrite.report import following, source_line
from reactant.support.html import written

_BOOKKEEPING = {"func.func", "func.return", "stablehlo.return", "builtin.module"}


class Explanation(Account):
    """The account of one compilation: `str()` gives the text, `html()` a page. Made by `reactant.explain`.

    Attributes:
        name: the function's name.
        lines: a `Line` for each source line: its `place` (file:line), the operations `traced` and `kept`, counts by
            name, the `rules` that fired, the `chains` of rewrites, what it `moved` between devices and `why`.
        operations: how many before and after our passes, as are `flops` and `bytes` (of one run, estimated).
        report: which rules fired, how often, and the seconds that took.
        times: seconds of `trace`, `passes`, `xla` and `native`.
        reason: why a JAX function was left to `jax.jit` as it is, or "".
        native: what was compiled natively, a text for each part.
        traffic: what one run moves between the devices of a mesh.
        choice: why its arguments lie there as they do, if that was chosen.
        workarounds: passes against defects of XLA that change what XLA gets (`docs/xla.md`).
        loops: the loops that are left, each with its `place` and `why` it could not be done at once.
        not_kept: why the compile cache does not keep the program (`docs/cache.md`); "" where it does, or is off.

    Example:
        >>> account = reactant.explain(lambda x: np.log(np.exp(x)) * 1.0, np.ones(3))
        >>> print(account)
        <lambda>: ... operations...
    """

    def __str__(self) -> str:
        return text.text(self)

    __repr__ = __str__

    def html(self, file: str | None = None) -> str:
        """A page that needs nothing else.

        It has the source with each line's cost and what it became, graphs of its operations before and after, rules,
        what was not done and why, memory over time, and what moves between devices.

        Args:
            file: where it is written; None for nowhere.

        Returns:
            The text of the page.
        """
        return written(page.page(self), file)

    def model_explorer(self, file: str, optimized: bool = True) -> list[str]:
        """Write the program for Model Explorer (`model-explorer FILE --node_data_paths=...`).

        Args:
            file: where to; node data for flops and bytes are written beside it.
            optimized: False for the program as traced.

        Returns:
            The paths of the files.
        """
        return explorer.write(self.lowered.module if optimized else self.lowered.original, file, self.name)

    def _repr_html_(self) -> str:
        """What notebooks show."""
        return page.fragment(self)


def by_line(module: ir.Module) -> dict[str, Counter[str]]:
    """Operation counts of a module by the user's line."""
    found: dict[str, Counter[str]] = {}
    for op in modules.walk(module):
        if op.name not in _BOOKKEEPING and op.name != "stablehlo.constant":
            found.setdefault(source_line(op.location), Counter())[op.name] += 1
    return found


def _order(place: str) -> tuple[str, int]:
    file, _, number = place.rpartition(":")
    return (file, int(number)) if number.isdigit() else (place, 0)


def account(lowered: Lowered, times: Times, traffic: Traffic, needed: Sequence[Needed] = (),
            not_kept: str = "") -> Explanation:
    """The explanation of a lowered program, which moves `traffic` between devices; needed: why. not_kept: why it is
    not in the compile cache."""
    with building():
        before, after = by_line(lowered.original), by_line(lowered.module)
        left = tuple(loops.stayed(lowered.module))
    rules = lowered.report.by_line()
    chains: dict[str, Counter[str]] = {}
    for chain in lowered.report.chains or ():
        chains.setdefault(chain.line, Counter())[str(chain)] += 1
    moved = {f"{line[0]}:{line[1]}" if line else "": each for line, each in traffic.by_line().items()}
    why: dict[str, list[str]] = {}
    for each in needed:
        line = each.collective.line
        why.setdefault(f"{line[0]}:{line[1]}" if line else "", []).append(each.why)
    lines = [Line(place, before.get(place, Counter()), after.get(place, Counter()), rules.get(place, {}),
                  dict(chains.get(place, {})), moved.get(place, ()),
                  tuple(dict.fromkeys(why.get(place, ()))))
             for place in sorted({*before, *after, *rules, *moved}, key=_order)]
    first, last = lowered.cost(optimized=False), lowered.cost()
    return Explanation(lowered.name, lines,
                       (sum(sum(c.values()) for c in before.values()), sum(sum(c.values()) for c in after.values())),
                       (first["flops"], last["flops"]), (first["bytes"], last["bytes"]), lowered.report,
                       times, getattr(lowered, "reason", ""), tuple(lowered.notes), traffic,
                       "" if lowered.choice is None else str(lowered.choice), _workarounds(lowered), not_kept, left,
                       lowered)


def _workarounds(lowered: Lowered) -> tuple[str, ...]:
    contract = lowered.as_jax and not lowered.options.floats or "contraction" in lowered.options.allow
    return tuple(legalization.applied(lowered.module, lowered.as_jax, contract, denormals=not lowered.as_jax))


def explain(function: Any, /, *args: Any, **kwargs: Any) -> Explanation:
    """An account of what compiling a function for some arguments does.

    Args:
        function: a NumPy or JAX function, a `reactant.jit` of one, or a derivative.
        args: its arguments, which stay as they are.
        kwargs: arguments by name.

    Returns:
        An `Explanation`, to print, to read, or to write as a page. For each source line the operations it was traced to
        and what is left of them, the rules that fired, and the chain of rewrites of each operation; operations, flops
        and bytes before and after our passes; seconds of tracing, passes and XLA; what became native code; of a program
        on several devices the collective operations and their bytes.

    Raises:
        ReactantError: where the function cannot be compiled.

    Example:
        >>> account = reactant.explain(lambda x: (2.0 * x.T).T, np.ones((2, 3)))
        >>> account.operations[1] < account.operations[0]
        True
    """
    derivative = hasattr(function, "differentiated") and hasattr(function, "lower")
    jitted: Any = function if derivative else as_jitted(function)

    def make() -> Any:
        made = jitted.lower(*args, **kwargs).compile()
        made.executable.compile(on_device=made.lowered.on_device)
        return made
    with following():
        inner = jitted.jitted if derivative else jitted
        compiled, not_kept = recalled.explained(inner, args, kwargs, make)
    needed: Sequence[Needed] = getattr(compiled.executable, "needed", tuple)()
    return account(compiled.lowered, compiled.times, compiled.traffic(), needed, not_kept)
