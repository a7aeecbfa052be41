"""Halo exchange as a specialist writes it with `jax.shard_map`: one message each way for all arrays that need one."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
from jax import lax

from reactant.communication.sharding import MeshShape

AXES = ("x", "y")
"""What the dimensions of a field are divided by, where the mesh has that axis."""


@dataclass(frozen=True)
class Place:
    """Where the device that runs this is in a field of so many rows and columns. Blocks have equal sizes; the last one
    of a dimension holds what is left, and then padding."""

    mesh: MeshShape
    lengths: tuple[int, int]

    def parts(self, dim: int) -> int:
        """How many blocks the dimension is divided into."""
        return self.mesh.size(AXES[dim]) if AXES[dim] in self.mesh.names else 1

    def block(self, dim: int) -> int:
        """How long each block is, with padding."""
        return -(-self.lengths[dim] // self.parts(dim))

    def last_block(self, dim: int) -> int:
        """How much of the last block is no padding."""
        return self.lengths[dim] - (self.parts(dim) - 1) * self.block(dim)

    def number(self, dim: int) -> jax.Array | int:
        """The number of this device's block."""
        return lax.axis_index(AXES[dim]) if self.parts(dim) > 1 else 0

    def is_last(self, dim: int) -> jax.Array | bool:
        return self.number(dim) == self.parts(dim) - 1

    def valid(self, dim: int) -> jax.Array | int:
        """How much of this device's block is no padding."""
        if self.last_block(dim) == self.block(dim):
            return self.block(dim)
        return jnp.where(self.is_last(dim), self.last_block(dim), self.block(dim))

    def indices(self, dim: int) -> jax.Array:
        """The places in the whole field of this block's rows (or columns), as a column (or row)."""
        places = self.number(dim) * self.block(dim) + jnp.arange(self.block(dim))
        return places[:, None] if dim == 0 else places[None, :]

    def inner(self, width: int) -> jax.Array:
        """Which elements of the block are at least `width` away from the field's edges."""
        rows, columns = (self.indices(dim) for dim in (0, 1))
        return ((rows >= width) & (rows < self.lengths[0] - width)
                & (columns >= width) & (columns < self.lengths[1] - width))

    def cut(self, block: jax.Array, dim: int, start: jax.Array | int, size: int) -> jax.Array:
        """A part of a block; a static slice where that does."""
        if isinstance(start, int):
            return lax.slice_in_dim(block, start, start + size, axis=dim)
        return lax.dynamic_slice_in_dim(block, start, size, dim)

    def sent(self, strips: Sequence[jax.Array], dim: int, step: int, periodic: bool) -> list[jax.Array]:
        """What the neighbour `step` blocks before this one has given, in one message."""
        parts = self.parts(dim)
        if parts == 1:
            return [s if periodic else jnp.zeros_like(s) for s in strips]
        pairs = [(i, (i + step) % parts) for i in range(parts) if periodic or 0 <= i + step < parts]
        got = lax.ppermute(jnp.stack(strips), AXES[dim], pairs)
        return [got[i] for i in range(len(strips))]

    def extended(self, blocks: Sequence[jax.Array], dim: int, left: int, right: int,
                 periodic: bool) -> list[jax.Array]:
        """Blocks with `left` elements of the block before in front, and `right` of the one after behind what is no
        padding. At the edges of fields that are not periodic they are zeros."""
        if max(left, right) > self.last_block(dim):
            raise ValueError(f"The last block has {self.last_block(dim)} of {max(left, right)} elements to be sent.")
        valid, found = self.valid(dim), list(blocks)
        if left:
            ends = self.sent([self.cut(b, dim, valid - left, left) for b in blocks], dim, 1, periodic)
            found = [jnp.concatenate([e, b], dim) for e, b in zip(ends, found, strict=True)]
        if right:
            starts = self.sent([self.cut(b, dim, 0, right) for b in blocks], dim, -1, periodic)
            found = [jnp.concatenate([b, s], dim) for b, s in zip(found, starts, strict=True)]
            if not isinstance(valid, int):
                found = [lax.dynamic_update_slice_in_dim(b, s, left + valid, dim)
                         for b, s in zip(found, starts, strict=True)]
        return found


def by_hand(function: Callable, mesh: jax.sharding.Mesh, place: Place, given: Sequence, results: Sequence) -> Callable:
    """A program of whole (padded) arrays from one of blocks, `function(place, *blocks)`."""
    return jax.jit(jax.shard_map(partial(function, place), mesh=mesh, in_specs=tuple(given), out_specs=tuple(results),
                                 check_vma=False))
