"""Every op that a module can have has a rule, is constant, or is refused with a reason; every rule is of some op."""
import re
from pathlib import Path

import jax
import numpy as np
import pytest
from jaxlib.mlir.dialects import chlo, sdy, stablehlo

import reactant.differentiate.rules  # noqa: F401 - declares the rules
from reactant.differentiate.activity import BRANCHES, LOOP
from reactant.differentiate.declare import CONSTANT, REFUSED, RULES
from reactant.ir import ops

STRUCTURE = {LOOP, *BRANCHES, "stablehlo.return", "stablehlo.custom_call", "sdy.return"}
"""What the engine handles itself; custom calls go by their targets."""
WITHOUT_VALUES = {"sdy.mesh", "sdy.constant", "sdy.sharding_group", "sdy.data_flow_edge", "sdy.func_data_flow_edge"}
"""Notes for the partitioner."""
OF_NEWER_JAXLIB = {"stablehlo.collective_reduce"}
LAPACK = {f"stablehlo.custom_call@lapack_{letter}{name}_ffi" for letter in "sdcz" for name in (
    "trsm", "potrf", "getrf", "geqrf", "geqp3", "gesdd", "gesvd", "geev", "gees", "gehrd", "gtsv",
    {"s": "syevd", "d": "syevd"}.get(letter, "heevd"), {"s": "orgqr", "d": "orgqr"}.get(letter, "ungqr"),
    {"s": "ormqr", "d": "ormqr"}.get(letter, "unmqr"), {"s": "sytrd", "d": "sytrd"}.get(letter, "hetrd"))}


def of_dialect(module):
    classes = [getattr(module, name) for name in dir(module)]
    return {c.OPERATION_NAME for c in classes if isinstance(c, type) and hasattr(c, "OPERATION_NAME")}


def known(name):
    return name in RULES or name in CONSTANT or name in REFUSED


def test_every_op_is_spoken_for():
    names = of_dialect(stablehlo) | of_dialect(chlo) | of_dialect(sdy)
    missing = {name for name in names if not known(name)} - STRUCTURE - WITHOUT_VALUES
    assert not missing
    assert len(names) > 150


def test_every_routine_that_jax_calls_is_spoken_for():
    """The routines are read out of jax's own lowering rules, so that a new one is noticed."""
    source = Path(jax.__file__).with_name("_src").joinpath("lax", "linalg.py").read_text()
    stems = set(re.findall(r'prepare_lapack_call\(\s*f?"([a-z{}]+)_ffi"', source))
    assert {"potrf", "getrf", "geqrf", "geev", "gesdd", "{prefix}gqr"} <= stems
    prefixes = {"{prefix}evd": ("sy", "he"), "{prefix}gqr": ("or", "un"), "{prefix}mqr": ("or", "un"),
                "{prefix}trd": ("sy", "he")}
    for stem in stems:
        for letter in "sdcz":
            complex_ = letter in "cz"
            name = prefixes[stem][complex_] + stem.removeprefix("{prefix}") if stem in prefixes else stem
            assert f"stablehlo.custom_call@lapack_{letter}{name}_ffi" in LAPACK
    assert {name for name in LAPACK if not known(name)} == set()


def test_every_rule_is_of_an_op():
    names = of_dialect(stablehlo) | of_dialect(chlo) | of_dialect(sdy)
    for name in {*RULES, *CONSTANT, *REFUSED} - OF_NEWER_JAXLIB:
        assert name in names or name == "func.call" or name.startswith("stablehlo.custom_call@"), name


def test_elementwise_ops_have_rules_or_are_constant():
    assert {name for name in ops.ELEMENTWISE if name not in RULES and name not in CONSTANT} == set()


def test_nothing_is_two_things():
    assert not RULES.keys() & CONSTANT and not RULES.keys() & REFUSED.keys() and not CONSTANT & REFUSED.keys()


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_refusals_say_what_to_do(name):
    assert REFUSED[name][0].isupper() and REFUSED[name].endswith(".")
    assert np.char.count(REFUSED[name], " ") > 4
