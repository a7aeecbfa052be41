"""Named pipelines as data: tuples of passes. A rule file is a pass, so is a single rule, so is a function.

    run(module)                                  the default pipeline
    run(module, "simplify")                      a pipeline by name
    run(module, ("arithmetic", "shape"))         families, one after the other
    run(module, "transpose_of_transpose")        one rule
"""
from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from dataclasses import field
from functools import cache
from time import perf_counter
from typing import Any

from jaxlib.mlir import ir

import reactant.simplify  # noqa: F401 - declares the rules
from reactant.differentiate import requests
from reactant.errors import ReactantError, in_one_line
from reactant.ir import modules
from reactant.ir.context import building
from reactant.legalize import legalization
from reactant.options import CompileOptions
from reactant.rewrite import Memory, Report, RuleSet, changes, registry
from reactant.rewrite.copies import simplify_copies
from reactant.rewrite.pattern import Rule
from reactant.rewrite.repeats import Repeat
from reactant.simplify.control import loops
from reactant.simplify.facts import target_costs
from reactant.simplify.target import target_versions
from reactant.support.records import dataclass
from reactant.support.session import collecting_later


class UnknownPass(ReactantError, KeyError):
    """No pipeline, family, rule or pass has this name."""

    code = "unknown-pass"


def admits(options: CompileOptions, rule: Rule) -> bool:
    """Whether the options let a rule run."""
    return ((rule.changes is None or rule.changes in options.allow)
            and (rule.assumes is None or options.finite)
            and not {rule.name, rule.family, rule.qualified} & set(options.without))


def require_known(options: CompileOptions) -> None:
    """Raises `UnknownPass` where the options leave out what there is not."""
    if not options.without:
        return
    known = {*registry.families(), *(n for rule in registry.rules() for n in (rule.name, rule.qualified))}
    for name in options.without:
        if name not in known:
            close = difflib.get_close_matches(str(name), sorted(known), 3)
            meant = f"Did you mean {' or '.join(map(repr, close))}? " if close else ""
            raise UnknownPass(f"without={name!r}: no family or rule is called so.",
                              hint=f"{meant}Families: {', '.join(registry.families())}.")


@dataclass(frozen=True)
class Fixpoint:
    """Rules of several families applied together until none fires, equal ops merged in between. Those of the `late`
    families look only at what has settled; where one fires, it all starts again. `once`: what the program repeats is
    done once."""
    families: tuple[str, ...]
    rounds: int = field(default=12)
    late: tuple[str, ...] = ()
    once: bool = False


@dataclass(frozen=True)
class Mlir:
    """A pass of MLIR itself."""
    pipeline: str


@dataclass(frozen=True)
class Differentiate:
    """Write the derivatives that the module asks for, innermost first, and simplify after each level; then drop the
    marks that say how to differentiate."""
    between: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Keep:
    """Note the module as it is: native code is made from it, not from the forms that suit XLA."""


@dataclass(frozen=True)
class Improvements:
    """Give expressions the forms that `reactant.improve` has found; from then on rewrites are exact."""


@dataclass(frozen=True)
class WideFloats:
    """Put sums of limbs in the place of the floats that the options name; from then on rewrites are exact."""


@dataclass(frozen=True)
class Function:
    """A function of the module, for programs that have an op of one of these names; it says whether it changed any."""
    function: Callable[[ir.Module], bool]
    names: tuple[str, ...]


Pass = "str | Fixpoint | Mlir | Differentiate | Callable[[ir.Module], Any]"

PASSES: dict[str, Any] = {
    "inline": Function(modules.inline_calls, ("func.call",)),
    "cse": Mlir("func.func(cse)"),
    "differentiate": Differentiate(),
    "legalize_chlo": Mlir("func.func(chlo-legalize-to-stablehlo)"),
    **legalization.BY_NAME,
}

SIMPLIFY = Fixpoint(("arithmetic", "elementary", "logic", "ranges", "signs", "conversion", "shape", "chains",
                     "slicing", "dynamic_slicing", "demand", "masked_updates", "indexing", "gathering", "reduction",
                     "sums", "contraction", "convolutions", "structured", "rerolling", "sorting", "fourier",
                     "complex_numbers", "random_bits", "solving", "factorizations", "block_systems", "low_rank",
                     "cancellations", "toeplitz", "loop_branches", "peeling", "products", "bands", "blocks",
                     "control_flow", "flags", "conditional_updates", "loops", "loop_places", "cleanup"),
                    # inner loops first: an outer one is judged by what they have become
                    late=("loop_rows", "loop_maps", "loop_scans", "strip_mining", "loop_lifting", "loop_sums"),
                    once=True)

IMPORTED = Fixpoint(SIMPLIFY.families)
"""For what comes into many programs, and several times into one. Loops as wholes wait for what is around them."""

TARGET = Fixpoint(("target", "target_updates", "target_windows", "target_stencils", "target_systems", "target_forms",
                   "target_products", "target_separable", "target_sorts", "target_loops", "loop_windows", "loop_reads",
                   "shape", "chains", "slicing", "dynamic_slicing", "logic", "cleanup"))

NATIVE = Fixpoint(("target", "target_windows", "target_forms", "target_systems", "target_separable", "target_columns",
                   "target_sorts", "target_special", "target_ranges", "arithmetic", "shape", "chains", "slicing",
                   "logic", "cleanup"))
"""What native code is made from: powers and windows in cheap forms, but loops as they were written."""

# Reads go to the newest version of an array before loops decide whether they need a second buffer for it.
LAST = (Function(target_versions.read_newest_version, ("stablehlo.dynamic_update_slice",)),
        Fixpoint(("target_buffers",)), Function(loops.sink_generators, ("stablehlo.while",)))

PIPELINES: dict[str, tuple[Any, ...]] = {
    "none": (),
    "simplify": (SIMPLIFY,),
    # Calls are inlined first: rules do not look through them.
    # Derivatives are those of the simplified program, and are simplified in turn.
    # The target stage is last: what it builds (chains of slices, selects) is harder to read for the other rules.
    "target": (TARGET, *LAST),
    "native": (NATIVE,),
    "differentiated": ("inline", SIMPLIFY, Differentiate((SIMPLIFY,))),
    "default": ("inline", SIMPLIFY, Differentiate((SIMPLIFY,)), Improvements(), WideFloats(), Keep(), TARGET, *LAST),
    # What XLA gets in place of the module; programs that are run have it anyway.
    "xla": legalization.FOR_NUMPY,
    "xla_of_jax": legalization.FOR_JAX,
}


def names() -> list[str]:
    """Everything `run` knows by name, each name once: "target" is a pipeline and a family."""
    return list(dict.fromkeys([*PIPELINES, *PASSES, *registry.families(), *(rule.name for rule in registry.rules())]))


def resolve(passes: Any) -> tuple[Any, ...]:
    """Passes from a name, a pass, or a sequence of them. Raises `UnknownPass`."""
    if isinstance(passes, str):
        if passes in PIPELINES:
            return resolve(PIPELINES[passes])
        if passes in PASSES:
            return (PASSES[passes],)
        if passes in registry.families():
            return (Fixpoint((passes,)),)
        try:
            return (registry.rule(passes),)
        except KeyError:
            raise UnknownPass(f"No pipeline, family, rule or pass is called '{passes}'.",
                              hint=f"Pipelines: {', '.join(PIPELINES)}; families: {', '.join(registry.families())}."
                              ) from None
    if callable(passes) or isinstance(passes, (Fixpoint, Mlir, Differentiate, Improvements, WideFloats, Keep, Function,
                                               Rule)):
        return (passes,)
    if isinstance(passes, Iterable):
        return tuple(each for one in passes for each in resolve(one))
    raise UnknownPass(f"{passes!r} is not a pass.", hint="Passes are described in docs/rules.md.")


def run(module: ir.Module, passes: Any = "default", options: CompileOptions | None = None,
        verify: bool = False, report: Report | None = None, settled: frozenset[Rule] | None = None) -> Report:
    """Run passes over a module, in place; the report says what fired, how often, where and how long it took.

    verify: check the module after every pass and every rewrite; an error names the pass and the rule.
    report: one to write into; its `limit` bounds the number of rewrites.
    settled: rules that fire nowhere in the module, if it has no dead op and no two equal ones (`Report.settled`).
    Raises `UnknownPass` for a name nobody has (of a pass, or of what the options leave out), `RewriteError` where a
    rule fails (it names the rule).
    """
    options = options or CompileOptions()
    require_known(options)
    report = report if report is not None else Report()
    with building(), collecting_later(), target_costs.target(
            options.target, calls=options.native != "never"):
        _run(module, resolve(passes), options, verify, report, settled)
    return report


def prepare(module: ir.Module, options: CompileOptions) -> None:
    """Simplify what is about to become part of a program (`IMPORTED`)."""
    run(module, (IMPORTED,), options=options)


def _run(module: ir.Module, passes: tuple[Any, ...], options: CompileOptions, verify: bool, report: Report,
         settled: frozenset[Rule] | None) -> None:
    """`run`. What is known of the module goes with this function, before the collector may look through it."""
    found = modules.names(module)
    report.operations_before = sum(found.values()) - sum(found[name] for name in modules.STRUCTURE)
    state = _State(module, options, report, verify, names=set(found), settled=settled)
    for each in passes:
        started = perf_counter()
        _run_pass(state, each)
        report.passes.append((pass_name(each), perf_counter() - started))
        if verify:
            _verify_after(module, each)
    report.operations_after = modules.size(module) if state.memory.listed is None else state.memory.size


def pass_name(each: Any) -> str:
    """How reports call a pass."""
    if isinstance(each, Fixpoint):
        return "simplify" if each is SIMPLIFY else "+".join(each.families)
    if isinstance(each, Mlir):
        return each.pipeline
    if isinstance(each, (Differentiate, Improvements, WideFloats, Keep)):
        return type(each).__name__.lower()
    if isinstance(each, Function):
        return each.function.__name__
    return str(getattr(each, "name", None) or getattr(each, "__name__", repr(each)))


@dataclass
class _State:
    """What is going on, and what is known of the module between two passes."""
    module: ir.Module
    options: CompileOptions
    report: Report
    verify: bool
    memory: Memory = field(default_factory=Memory)
    names: set[str] | None = None
    """Of all ops, where known."""
    settled: frozenset[Rule] | None = None
    """Rules that fire nowhere in the module, where known: then no op is dead and no two ops are equal."""

    def changed(self) -> None:
        """Something has happened to the module that is not on record."""
        self.memory.clear()
        self.names = self.settled = None

    def lacks(self, names: Iterable[str]) -> bool:
        """Whether the module certainly has none of these ops."""
        return self.names is not None and self.names.isdisjoint(names)


def _run_pass(state: _State, each: Any) -> None:
    module, report = state.module, state.report
    if isinstance(each, Keep):
        report.kept = modules.bytecode(module) if state.options.native != "never" else None
        report.settled = state.settled
    elif isinstance(each, Improvements):
        if state.options.improvements is not None:
            _improve(state)
    elif isinstance(each, WideFloats):
        if state.options.floats:
            _widen(state)
    elif isinstance(each, Fixpoint):
        _run_fixpoint(state, each)
    elif isinstance(each, Function):
        if not state.lacks(each.names) and each.function(module):
            state.changed()
    elif isinstance(each, Differentiate):
        if not state.lacks(("stablehlo.custom_call", "func.call")):
            _differentiate(state, each)
    else:
        state.changed()
        if isinstance(each, Mlir):
            modules.run_passes(module, each.pipeline)
        elif isinstance(each, Rule):
            _rule_set((each,)).apply(module.operation, report, verify=state.verify)
        else:
            each(module)


def _widen(state: _State) -> None:
    from reactant.precision import wide_floats  # loads the rules
    state.changed()
    state.report.became += wide_floats.convert(state.module, state.options, state.report.leaving)
    state.options = state.options.after_limbs()


def _improve(state: _State) -> None:
    from reactant.precision.improvement import recipe  # loads the rules of limbs
    state.changed()
    recipe.apply(state.module, state.options.improvements, state.options)
    state.options = state.options.after_limbs()


def _differentiate(state: _State, each: Differentiate) -> None:
    if not requests.present(state.module, (*requests.REQUESTS, *requests.MARKS)):
        return
    state.changed()
    if requests.present(state.module):
        from reactant.differentiate.expansion import expand_innermost  # loads the rules
        modules.inline_calls(state.module)
        while expand_innermost(state.module, state.report.derivatives):
            state.changed()
            for inner in each.between:
                _run_pass(state, inner)
    requests.strip(state.module)
    state.changed()


def _run_fixpoint(state: _State, each: Fixpoint) -> None:
    """Rounds until nothing fires, with equal ops merged in between."""
    report, root = state.report, state.module.operation
    rules = _rule_set(_rules_of(each.families, state.options, len(registry.rules())))
    late = _rule_set(_rules_of(each.late, state.options, len(registry.rules())))
    if state.settled is not None and state.lacks((*rules.table, *late.table)):
        return
    settled = state.settled
    repeats = False
    if settled is None:
        state.memory.clear()    # there is something where what ran before did not settle
        modules.run_passes(state.module, PASSES["cse"].pipeline)
        repeats = each.once and _simplify_repeats(state, each, (rules, late))
    state.names = state.settled = None

    def apply(rules: RuleSet, settled: frozenset[Rule] | None = None) -> int:
        return rules.apply(root, report, verify=state.verify, settled=settled, memory=state.memory)

    for number in range(each.rounds):
        before = dict(report.counts())
        fired = apply(rules, settled=None if number else settled)
        whole = fired = fired + (not number and repeats)
        for _ in range(each.rounds):
            if not fired or report.not_converged:
                break
            fired = apply(rules) if changes.merge_equal(state.module, state.memory) else 0
        if report.not_converged:
            return
        if not whole:
            state.memory.list(root)
            names = set(state.memory.names)
            if names.isdisjoint(late.table) or not apply(late, settled=frozenset()):
                state.names, state.settled = names, frozenset((*rules.rules, *late.rules))
                return
    # The module is right; what still changed in the last round is on record.
    report.not_converged = [name for name, count in report.counts() if count != before.get(name)]


def _simplify_repeats(state: _State, each: Fixpoint, rules: tuple[RuleSet, RuleSet]) -> bool:
    """Simplify what the module repeats, each once."""
    if state.report.limit is not None or state.report.chains is not None:   # rewrites are counted, or followed, each
        return False

    def simplify(module: ir.Module, repeat: Repeat) -> tuple[Memory | None, bool]:
        inner = _State(module, state.options, Report(), state.verify)
        _run_fixpoint(inner, each)
        saved = inner.report.visited + REWRITE * inner.report.rewrites
        worth = saved * (repeat.copies - 1) > COPIED * repeat.length * repeat.copies
        if worth:
            state.report.take(inner.report, repeat.copies)
        return None if inner.report.not_converged else inner.memory, worth

    return simplify_copies(state.module.operation, state.memory, rules, simplify)


REWRITE, COPIED = 4, 1.25
"""What a rewrite costs, and an op that is put in place of a copy, where an op looked at in vain costs 1."""


@cache
def _rules_of(families: tuple[str, ...], options: CompileOptions, declared: int) -> tuple[Rule, ...]:
    """The admitted rules of some families; `declared`, how many rules there are, keeps the cache honest."""
    return tuple(rule for family in families for rule in registry.rules(family) if admits(options, rule))


@cache
def _rule_set(rules: tuple[Rule, ...]) -> RuleSet:
    return RuleSet(rules)


def _verify_after(module: ir.Module, each: Any) -> None:
    try:
        modules.verify(module)
    except modules.InvalidModule as error:
        raise modules.InvalidModule(f"pass '{pass_name(each)}' broke the module: {in_one_line(error)}") from error
