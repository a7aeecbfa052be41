"""What devices send, against what they need: played through with arrays."""
from __future__ import annotations

import numpy as np
import pytest

from reactant.communication.blocks import Grid, Span, positions
from reactant.communication.messages import rounds, steps, told_to_all
from reactant.communication.sharding import MeshShape

MESHES = {"8": (MeshShape(("x",), (8,)), ("x",)), "4x2 x": (MeshShape(("x", "y"), (4, 2)), ("x",)),
          "4x2 y": (MeshShape(("x", "y"), (4, 2)), ("y",)),
          "2x2x2 xz": (MeshShape(("x", "y", "z"), (2, 2, 2)), ("x", "z"))}


def received(mesh, grid, extent, needed, cyclic):
    """The elements that each device has at the places it asked for, after all messages."""
    owned = grid.owned(extent)
    got = [{i: i for i in range(max(owned.low[d], needed.low[d]), min(owned.high[d], needed.high[d]))}
           for d in range(mesh.devices)]
    for iteration in rounds(mesh, grid, extent, needed, cyclic, owned):
        pairs = iteration.pairs()
        assert len({s for s, _ in pairs}) == len({d for _, d in pairs}) == len(pairs)
        for source, target in pairs:
            first, n = iteration.first[target], iteration.length[target]
            assert owned.low[source] <= first and first + n <= owned.high[source]
            assert (source == target) == (iteration.hop == 0)
            got[target].update({iteration.target[target] + k: first + k for k in range(n)})
    return got


@pytest.mark.parametrize("name", MESHES)
@pytest.mark.parametrize("cyclic", [False, True])
@pytest.mark.parametrize("extent", [1, 5, 16, 37, 64])
@pytest.mark.parametrize(("low", "high"), [(0, 0), (1, 1), (3, 0), (-1, 2), (0, 20), (70, 9)])
def test_all_that_is_needed_comes(name, cyclic, extent, low, high):
    mesh, axes = MESHES[name]
    for moved in (0, 2, -3):
        grid = Grid.at_rest(mesh, axes, extent).moved(moved)
        needed = Span(grid.begin - low, grid.end + high)
        for device, got in enumerate(received(mesh, grid, extent, needed, cyclic)):
            wanted = range(needed.low[device], needed.high[device])
            assert got == ({i: i % extent for i in wanted} if cyclic else {i: i for i in wanted if 0 <= i < extent})


def test_every_element_has_one_owner():
    for mesh, axes in MESHES.values():
        for extent in (0, 1, 7, 64, 1021):
            for moved in (0, 3, -3):
                owned = Grid.at_rest(mesh, axes, extent).moved(moved).owned(extent)
                owners = np.zeros(extent, int)
                for device in range(mesh.devices):
                    owners[owned.low[device]:owned.high[device]] += 1
                assert (owners == mesh.devices // mesh.size(axes)).all()


def test_neighbours_need_one_message_each_way():
    mesh, axes = MESHES["8"]
    grid = Grid.at_rest(mesh, axes, 64)
    found = rounds(mesh, grid, 64, Span(grid.begin - 3, grid.end + 2), True, grid.owned(64))
    assert [(r.hop, r.most, len(r.pairs())) for r in found] == [(1, 3, 8), (7, 2, 8)]
    assert positions(mesh, axes).tolist() == list(range(8))
    assert rounds(mesh, grid, 64, Span(grid.begin + 1, grid.end - 1), True, grid.owned(64)) == []


@pytest.mark.parametrize("name", MESHES)
@pytest.mark.parametrize("source", [0, 3])
def test_what_all_want_doubles(name, source):
    mesh, axes = MESHES[name]
    count = mesh.size(axes)
    source %= count
    grid = Grid.at_rest(mesh, axes, 8 * count)
    first = np.full(mesh.devices, 8 * source + 2)
    found = rounds(mesh, grid, 8 * count, Span(first, first + 3), False, grid.owned(8 * count))
    whole = told_to_all(found)
    assert (whole is None) == (count <= 3)
    if whole is not None:
        have = positions(mesh, axes) == source
        for pairs, gets in steps(mesh, axes, whole):
            assert all(have[s] and not have[d] and gets[d] for s, d in pairs)
            have[[d for _, d in pairs]] = True
        assert have.all() and len(steps(mesh, axes, whole)) == int(np.ceil(np.log2(count)))
