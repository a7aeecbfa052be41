"""Every declared rule, tested from its declaration: it fires, settles, verifies and keeps the values."""
import pytest

import reactant.simplify  # noqa: F401 - declares the rules
from reactant.rewrite import registry, selftest


@pytest.mark.parametrize("name", [rule.name for rule in registry.rules()])
def test_rule(name):
    assert selftest.check(registry.rule(name)) > 0
