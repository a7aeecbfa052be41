"""Blocks of sharded arrays."""
from __future__ import annotations

import jax
import numpy as np
import pytest

from reactant.communication.sharding import MeshShape, Sharding

MESH = MeshShape(("x", "y"), (4, 2))


def test_devices_are_numbered_as_in_jax():
    numbers = np.arange(8).reshape(4, 2)
    for device, at in enumerate(MESH.coordinates()):
        assert numbers[at["x"], at["y"]] == device == MESH.number(at)
    assert MESH.size("y") == 2 and MESH.size(("x", "y")) == MESH.devices == 8


@pytest.mark.parametrize(("axes", "shape", "block", "padded"), [
    ((("x",), ()), (1021, 3), (256, 3), (1024, 3)),
    ((("x", "y"), ()), (1021, 3), (128, 3), (1024, 3)),
    (((), ("y",)), (5, 126), (5, 63), (5, 126)),
    ((("y",), ("x",)), (125, 126), (63, 32), (126, 128)),
    ((("x",), ()), (0, 3), (0, 3), (0, 3)),
    ((), (), (), ()),
])
def test_blocks(axes, shape, block, padded):
    sharding = Sharding(axes)
    assert sharding.block(MESH, shape) == block and sharding.padded(MESH, shape) == padded
    mesh = jax.sharding.AbstractMesh(MESH.sizes, MESH.names)
    spec = jax.sharding.PartitionSpec(*axes)
    assert jax.sharding.NamedSharding(mesh, spec).shard_shape(padded) == block


def test_names():
    sharding = Sharding((("x", "y"), ()))
    assert sharding.used == {"x", "y"} and str(sharding) == "[x+y, -]" and str(MESH) == "x=4,y=2"
    assert Sharding.replicated(2).is_replicated and not sharding.is_replicated
