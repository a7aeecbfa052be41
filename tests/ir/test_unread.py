"""Programs run without the arguments that none of their forms reads."""
from __future__ import annotations

import numpy as np
import pytest

from reactant.ir import interpret, modules
from reactant.ir.context import building
from reactant.ir.unread import without_unread

THREE = """func.func @main(%a: tensor<2xf64>, %b: tensor<3xf64>, %c: tensor<2xf64>) -> tensor<2xf64> {{
  %r = stablehlo.{op} %a, %{right} : tensor<2xf64>
  return %r : tensor<2xf64>
}}"""
FIRST = """func.func @main(%a: tensor<2xf64>, %b: tensor<3xf64>, %c: tensor<2xf64>) -> tensor<3xf64> {
  return %b : tensor<3xf64>
}"""


def inputs(module):
    return [str(a.type) for a in modules.function(module).regions[0].blocks[0].arguments]


@pytest.mark.parametrize(("right", "read"), [("a", (0,)), ("c", (0, 2))])
def test_what_is_not_read_is_left_out(right, read):
    with building():
        module = modules.parse(THREE.format(op="add", right=right))
        forms = without_unread(module)
        assert forms.read == read and len(inputs(forms.module)) == len(read) and len(inputs(module)) == 3
        given = [np.array([1.0, 2.0])] * len(read)
        np.testing.assert_array_equal(interpret.evaluate(forms.module, given)[0], [2.0, 4.0])


def test_all_forms_count():
    with building():
        module, native = (modules.parse(THREE.format(op="add", right=right)) for right in "ac")
        general = modules.bytecode(modules.parse(FIRST))
        assert without_unread(module, native).read == (0, 2) and len(inputs(native)) == 3
        assert without_unread(module, native, general).read is None
        forms = without_unread(module, None, general)
        assert forms.read == (0, 1) and inputs(modules.parse(forms.general)) == ["tensor<2xf64>", "tensor<3xf64>"]


def test_what_it_was_differentiated_from_counts():
    with building():
        module = modules.parse(THREE.format(op="add", right="a"))
        modules.put_source(module, modules.bytecode(modules.parse(THREE.format(op="multiply", right="c"))))
        forms = without_unread(module)
        assert forms.read == (0, 2) and len(inputs(modules.parse(modules.source_of(forms.module)))) == 2
        assert len(inputs(modules.parse(modules.source_of(module)))) == 3


def test_where_all_is_read_nothing_changes():
    with building():
        module = modules.parse(THREE.format(op="add", right="a").replace(", %b: tensor<3xf64>, %c: tensor<2xf64>", ""))
        assert without_unread(module).module is module and without_unread(module).read is None


def test_few_may_be_too_few():
    with building():
        module = modules.parse("func.func @main(%a: tensor<f64>) -> tensor<f64> {\n"
                               "  %r = stablehlo.constant dense<1.0> : tensor<f64>\n  return %r : tensor<f64>\n}")
        assert without_unread(module).read == () and without_unread(module, least=1).read is None
