"""The comparators of sorts that frontends write."""
from __future__ import annotations

from reactant.ir import ops
from reactant.ir.orders import Order, order_of
from reactant.simplify.selection.sorting import loosely
from tests.simplify.test_goals import simplified


def test_comparators_are_read():
    found = []

    def program(a):
        x, y, z = a(20), a(20, dtype="int32"), a(20, dtype="uint8")
        for operands, comparator in (([x], loosely), ([x, y], "GT"), ([y, x], lambda p, q, r, s: ops.compare(
                s, r, "LT", total_order=True)), ([x], lambda p, q: ops.compare(p, q, "LT")),
                ([y], lambda p, q: ops.compare(p, q, "LE")), ([z], "LT")):
            found.append(order_of(ops.sort(operands, 0, comparator)[0].owner.operation))
        return x
    simplified(program)
    assert found == [Order(0, "canonical", False), Order(0, "total", True), Order(1, "total", True), None, None,
                     Order(0, "unsigned", False)]
    assert not found[0].strict and found[1].strict
