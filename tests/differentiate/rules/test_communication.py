"""Collectives: which operation the transpose of each is. They are linear; numbers need several devices."""
import numpy as np
import pytest

from reactant.differentiate.modes.forward import jvp
from reactant.differentiate.modes.reverse import vjp
from reactant.errors import NotDifferentiable
from reactant.ir import attributes as attr
from reactant.ir import modules, ops
from reactant.ir.context import building
from reactant.ir.types import tensor_type
from tests.differentiate.derivative_checks import compiled, module_of

GROUPS = "dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>"
X = np.arange(8.0)


def collective(name, shape, body=None, **attributes):
    """A collective of one array, over all of four devices."""
    def build(x):
        given = {n: attr.parse(a) if isinstance(a, str) else attr.integer(a) for n, a in attributes.items()}
        kind = tensor_type(shape, np.dtype(float))
        op = ops.create(f"stablehlo.{name}", [kind], [x], given, regions=body is not None)
        if body is not None:
            scalar = tensor_type((), np.dtype(float))
            ops.fill_region(op.regions[0], [scalar] * 2, lambda a, b: [getattr(ops, body)(a, b)])
        return op.result
    return build


ROWS = {
    "all_reduce": (collective("all_reduce", (8,), "add", replica_groups=GROUPS), ["all_reduce"]),
    "all_gather": (collective("all_gather", (32,), all_gather_dim=0, replica_groups=GROUPS), ["reduce_scatter"]),
    "reduce_scatter": (collective("reduce_scatter", (2,), "add", scatter_dimension=0, replica_groups=GROUPS),
                       ["all_gather"]),
    "all_to_all": (collective("all_to_all", (8,), split_dimension=0, concat_dimension=0, split_count=4,
                              replica_groups=GROUPS), ["all_to_all"]),
    "collective_permute": (collective("collective_permute", (8,), source_target_pairs=(
        "dense<[[0, 1], [1, 2], [2, 0]]> : tensor<3x2xi64>")), ["collective_permute"]),
    "collective_broadcast": (collective("collective_broadcast", (8,), replica_groups=GROUPS),
                             ["replica_id", "all_reduce", "select"]),
}


def added(build, mode):
    """The text of a derivative of the identity times a collective's, and the ops that the primal has not."""
    with building():
        primal = module_of(build, [X])
        made = mode(primal, [0], [0])
        modules.verify(made)
        return modules.to_text(made), modules.counts(made) - modules.counts(primal)


@pytest.mark.parametrize("name", ROWS)
def test_transposes(name):
    build, expected = ROWS[name]
    text, ops_added = added(build, vjp)
    assert all(ops_added[f"stablehlo.{each}"] for each in expected), ops_added
    assert added(build, jvp)[1][f"stablehlo.{name}"] == 1
    if name == "collective_permute":
        assert "[[1, 0], [2, 1], [0, 2]]" in text


@pytest.mark.parametrize("body", ["maximum", "minimum"])
def test_extremes_over_devices_share(body):
    """The devices that have the extreme element: their number is a sum over devices, so are the tangents."""
    build = collective("all_reduce", (8,), body, replica_groups=GROUPS)
    for mode in (jvp, vjp):
        assert added(build, mode)[1]["stablehlo.all_reduce"] == 2


def test_products_over_devices_are_refused():
    with pytest.raises(NotDifferentiable, match="only sums, maxima and minima over devices"):
        added(collective("all_reduce", (8,), "multiply", replica_groups=GROUPS), vjp)


def test_one_device_is_the_identity():
    one = "dense<[[0]]> : tensor<1x1xi64>"
    with building():
        for name, body, extra in (("all_reduce", "add", {}), ("all_gather", None, {"all_gather_dim": 0}),
                                  ("reduce_scatter", "add", {"scatter_dimension": 0}),
                                  ("all_reduce", "maximum", {})):
            module = module_of(collective(name, (8,), body, replica_groups=one, **extra), [X])
            np.testing.assert_array_equal(compiled(vjp(module, [0], [0]), [X, 3 * X])[1], 3 * X)
