"""Which rewrite changes a result: `bisect`, by halving the number of rewrites that are allowed.

The passes are deterministic, so a run that stops after k rewrites does the first k of a whole run. If the results are
right after k - 1 of them and wrong after k, the k-th is the one.
"""
from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

from jaxlib.mlir import ir

from reactant import pipelines
from reactant.api import as_jitted
from reactant.calling.lowered import pipeline_of
from reactant.diagnosis.trial import Trial, random_arguments
from reactant.options import CompileOptions
from reactant.rewrite.report import Rewrite
from reactant.support.records import dataclass


@dataclass
class Bisection:
    """What `reactant.bisect` found; true when nothing differs, and printed as a text.

    Attributes:
        rewrites: how many rewrites a whole run does.
        difference: what the rewrite makes different, or "".
        number: which of them it is, from 1.
        rewrite: the rule, the line, and the operations before and after.
        changed_by: the pass, where no rule is to blame.

    Example:
        >>> found = reactant.bisect(lambda x: x * 1.0, np.ones(2))
        >>> bool(found), found.rewrites
        (True, 1)
    """

    rewrites: int
    difference: str = ""
    number: int = 0
    rewrite: Rewrite | None = None
    changed_by: str = ""

    def __bool__(self) -> bool:
        return not self.difference

    def __str__(self) -> str:
        if not self.difference:
            return f"Nothing differs after {self.rewrites} rewrite{'s' * (self.rewrites != 1)}."
        if self.rewrite is None:
            return f"The pass '{self.changed_by}' changes the results, without any rewrite.\n  {self.difference}"
        lines = [f"Rewrite {self.number} of {self.rewrites} changes the results: rule '{self.rewrite.rule}'"
                 + (f", from {self.rewrite.line}" if self.rewrite.line else ""), f"  {self.difference}",
                 f"  before  {self.rewrite.before}", *(f"  after   {line}" for line in self.rewrite.after),
                 f"  Compile with without=('{self.rewrite.rule.split('.')[-1]}',) to go on without this rule."]
        return "\n".join(lines)

    __repr__ = __str__


def bisect(function: Callable, /, *args: Any, rtol: float = 1e-9, atol: float = 0.0, **kwargs: Any) -> Bisection:
    """The rewrite which makes the compiled function differ from its program as traced, by halving.

    Errors in tracing are no rewrites: `reactant.verify` compares with plain Python.

    Args:
        function: a NumPy or JAX function, or a `reactant.jit` of one.
        args: its arguments, which are copied.
        rtol: relative tolerance, as in `reactant.verify`; raised to 8 units in the last place of smaller dtypes.
        atol: absolute tolerance.
        kwargs: arguments by name.

    Returns:
        A `Bisection`, which is true when nothing differs, and prints the rule, the line, and the operations before and
        after.

    Raises:
        ReactantError: where the function cannot be compiled.

    Example:
        >>> print(reactant.bisect(lambda x: (2.0 * x.T).T, np.ones((2, 3))))
        Nothing differs after ... rewrite...
    """
    lowered, arrays = as_jitted(function).lower_call(*copy.deepcopy((args, kwargs)))
    return bisect_module(lowered.original, arrays, passes=pipeline_of(lowered.options), options=lowered.options,
                         rtol=rtol, atol=atol)


def bisect_module(module: ir.Module, arguments: Sequence[Any] | None = None, *, passes: Any = "default",
                  options: CompileOptions | None = None, rtol: float = 1e-9, atol: float = 0.0,
                  seed: int = 0) -> Bisection:
    """The same for a StableHLO module and a pipeline; random `arguments` (by `seed`) where none are given."""
    given = random_arguments(module, seed) if arguments is None else arguments
    trial = Trial(module, given, options or CompileOptions(), passes, rtol, atol)
    final, report = trial.rewritten()
    total = report.rewrites
    difference = trial.difference(final)
    if not difference:
        return Bisection(total)
    if found := trial.difference(trial.rewritten(0)[0]):
        return Bisection(total, found, changed_by=_guilty_pass(trial))
    right, wrong = 0, total
    while wrong - right > 1:
        middle = (right + wrong) // 2
        if found := trial.difference(trial.rewritten(middle)[0]):
            wrong, difference = middle, found
        else:
            right = middle
    return Bisection(total, difference, wrong, trial.rewritten(wrong)[1].last)


def _guilty_pass(trial: Trial) -> str:
    """The first pass after which the results differ, with no rewrites at all."""
    passes = pipelines.resolve(trial.passes)
    for count in range(1, len(passes) + 1):
        if trial.difference(trial.rewritten(0, passes[:count])[0]):
            return pipelines.pass_name(passes[count - 1])
    return "unknown"


