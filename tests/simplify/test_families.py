"""A rule lives in the file of its root op; the few that are about another op of their pattern are listed."""
import re
import sys

import pytest

import reactant.pipelines as pipelines
from reactant.rewrite import registry

ROOTS = {
    "arithmetic": "add subtract multiply divide negate power remainder abs sign maximum minimum",
    "elementary": "exponential log sqrt rsqrt cbrt sine cosine tan tanh logistic floor ceil round_nearest_even sign "
                  "conj round_nearest_afz exponential_minus_one log_plus_one is_finite real imag complex square",
    "logic": "compare select clamp and or xor not shift_left shift_right_logical shift_right_arithmetic",
    "conversion": "convert bitcast_convert reduce_precision",
    "shape": "reshape transpose broadcast_in_dim reverse iota",
    "slicing": "slice pad concatenate",
    "dynamic_slicing": "dynamic_slice dynamic_update_slice",
    "indexing": "gather scatter",
    "reduction": "reduce reduce_window",
    "contraction": "dot_general",
    "control_flow": "if case",
    "loops": "while",
}
ABOUT_ANOTHER_OP = {
    "contraction": {"transpose_of_dot_general"},
    "conversion": {"compare_of_converts", "compare_of_converted_predicate", "real_of_convert", "imag_of_convert",
                   "integers_are_finite"},
    "dynamic_slicing": {"slice_of_overlapping_update", "slice_of_dynamic_slice"},
    "elementary": {"abs_of_logistic", "one_over_square_root", "divide_by_rsqrt", "sine_over_cosine",
                   "exponential_minus_one_fused", "exponential_plus_minus_one_fused", "logistic_recognised",
                   "product_of_exponentials", "product_of_square_roots", "square_of_square_root"},
}
GENERIC = 6
"""A rule with at least so many roots is about elementwise ops in general."""


@pytest.mark.parametrize("family", sorted(ROOTS))
def test_rules_live_with_their_root(family):
    own = set(ROOTS[family].split())
    strangers = {rule.name for rule in registry.rules(family) if len(rule.roots) < GENERIC
                 and not own.issuperset(root.partition(".")[2] for root in rule.roots)}
    assert strangers == ABOUT_ANOTHER_OP.get(family, set())


@pytest.mark.parametrize("family", sorted(registry.families()))
def test_family_files_say_what_they_hold(family):
    (module,) = {name for name in sys.modules if re.fullmatch(rf"reactant\.simplify\.\w+\.{family}", name)}
    module = sys.modules[module]
    assert module.__doc__ and len(module.__doc__.split()) > 3


def test_every_family_is_in_a_pipeline():
    """A family nobody runs is dead code."""
    used = {name for passes in pipelines.PIPELINES.values() for each in pipelines.resolve(passes)
            if isinstance(each, pipelines.Fixpoint) for name in (*each.families, *each.late)}
    assert set(registry.families()) <= used


def test_there_are_at_least_two_hundred_and_fifty_rules():
    assert len(registry.rules()) >= 250
