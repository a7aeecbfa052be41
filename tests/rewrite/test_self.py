"""Every declared rule, tested from its declaration: it fires, settles, verifies and keeps the values."""
from dataclasses import replace

import pytest

import reactant.simplify  # noqa: F401 - declares the rules
from reactant.rewrite import registry, selftest
from reactant.simplify.facts import target_costs

ON = {"target_stencils": "tpu", "sum_of_sums_of_slices": "cpu", "difference_of_sums_of_slices": "cpu",
      "gather_of_small_table_is_selects": "tpu",
      "loop_scans": "tpu", "strip_mining": replace(target_costs.TPU, chunk_bytes=1 << 13),
      "complex_product_is_real_ones": replace(target_costs.CPU, complex_product=600),
      "transform_of_real_from_half": replace(target_costs.CPU, real_transform=40),
      "target_separable": replace(target_costs.CPU, other_order=600),
      "target_ranges": replace(target_costs.CPU, key_ranges=4, least_elements=16),
      "target_systems": replace(target_costs.CPU, other_order=600, toeplitz_as_convolution=24, class_sums=600)}
"""Families and rules that only some targets choose, or only at sizes for which the interpreter takes long."""


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", [rule.name for rule in registry.rules()])
def test_rule(name):
    rule = registry.rule(name)
    with target_costs.target(ON.get(rule.name, ON.get(rule.family))):
        assert selftest.check(rule) > 0
