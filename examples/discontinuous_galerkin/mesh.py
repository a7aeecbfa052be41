"""Curved quadrilaterals: nodes, metric terms, and which node is across each side."""
from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.polynomial import legendre

SIDES = 4
"""Of an element: first index low, high, second index low, high (x, then y, of the reference square)."""


def lobatto(order: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of Gauss-Lobatto quadrature in [-1, 1], order + 1 of them (Kopriva 2009)."""
    highest = legendre.Legendre.basis(order)
    nodes = np.concatenate([[-1.0], np.sort(highest.deriv().roots().real), [1.0]])
    return nodes, 2.0 / (order * (order + 1) * highest(nodes) ** 2)


def differentiation(nodes: np.ndarray) -> np.ndarray:
    """D[i, k]: derivative at node i of the polynomial that is 1 at node k and 0 at the others."""
    apart = nodes[:, None] - nodes[None, :] + np.eye(len(nodes))
    barycentric = 1.0 / np.prod(apart, axis=1)
    matrix = barycentric[None, :] / barycentric[:, None] / apart
    np.fill_diagonal(matrix, 0.0)
    np.fill_diagonal(matrix, -matrix.sum(axis=1))
    return matrix


class Mesh:
    """Elements that a map bends out of a grid of squares.

    Args:
        across, along: elements of the grid.
        order: of the polynomials; elements have (order + 1)^2 nodes.
        bend: from the unit square to x and y.
        periodic: of the two directions, each. Sides at the ends of another are walls.

    Arrays of nodes are (elements, order + 1, order + 1), the last index along the first direction. `outside` is, for
    each (element, side, node of the side), the node's number beyond it, or its own at a wall, where `wall` is 1.
    """

    def __init__(self, across: int, along: int, order: int, bend: Callable[..., tuple[np.ndarray, np.ndarray]],
                 periodic: tuple[bool, bool]) -> None:
        self.order, self.count, self.elements = order, order + 1, across * along
        self.reference, self.weights = lobatto(order)
        self.D = differentiation(self.reference)
        inside = 0.5 * (self.reference + 1.0)
        s = ((np.arange(across)[:, None] + inside) / across).reshape(1, across, 1, self.count)
        t = ((np.arange(along)[:, None] + inside) / along).reshape(along, 1, self.count, 1)
        shape = (self.elements, self.count, self.count)
        x, y = bend(*np.broadcast_arrays(s, t))
        self.x, self.y = np.ascontiguousarray(x.reshape(shape)), np.ascontiguousarray(y.reshape(shape))
        self.measure()
        self.connect(across, along, periodic)

    def measure(self) -> None:
        """Jacobian and scaled contravariant vectors: (ax, ay) across first-index sides, (bx, by) across the others."""
        by_first = [np.einsum("ik,ejk->eji", self.D, c) for c in (self.x, self.y)]
        by_second = [np.einsum("jk,eki->eji", self.D, c) for c in (self.x, self.y)]
        self.ax, self.ay = by_second[1], -by_second[0]
        self.bx, self.by = -by_first[1], by_first[0]
        self.jacobian = by_first[0] * by_second[1] - by_first[1] * by_second[0]
        if self.jacobian.min() <= 0.0:
            raise ValueError("the map turns an element over")

    def connect(self, across: int, along: int, periodic: tuple[bool, bool]) -> None:
        """`outside`, `wall`, and outward normals, times how long sides are: (elements, sides, nodes of a side)."""
        number = np.arange(self.x.size).reshape(along, across, self.count, self.count)
        ends = [number[..., 0], number[..., -1], number[..., 0, :], number[..., -1, :]]
        outside = [np.roll(ends[1], 1, 1), np.roll(ends[0], -1, 1), np.roll(ends[3], 1, 0), np.roll(ends[2], -1, 0)]
        wall = np.zeros((SIDES, along, across, self.count))
        for side, (axis, place) in enumerate(((1, 0), (1, -1), (0, 0), (0, -1))):
            if not periodic[1 - axis]:
                edge = (slice(None), place) if axis == 1 else (place,)
                outside[side][edge] = ends[side][edge]
                wall[side][edge] = 1.0
        by_side = (SIDES, self.elements, self.count)
        self.own = np.ascontiguousarray(np.reshape(ends, by_side).transpose(1, 0, 2).astype(np.int32))
        self.outside = np.ascontiguousarray(np.reshape(outside, by_side).transpose(1, 0, 2).astype(np.int32))
        self.wall = np.ascontiguousarray(wall.reshape(by_side).transpose(1, 0, 2))
        normals = [[-self.ax[..., 0], self.ax[..., -1], -self.bx[:, 0], self.bx[:, -1]],
                   [-self.ay[..., 0], self.ay[..., -1], -self.by[:, 0], self.by[:, -1]]]
        self.normal_x, self.normal_y = (np.ascontiguousarray(np.stack(n, axis=1)) for n in normals)

    def norm(self, field: np.ndarray) -> float:
        """Square root of the integral of its square."""
        area = self.jacobian * self.weights[:, None] * self.weights
        return float(np.sqrt(np.sum(area * field**2)))


def wavy(size: int, order: int) -> Mesh:
    """The periodic unit square with elements that are bent inside."""
    def bend(s: np.ndarray, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        wave = 0.05 * np.sin(2 * np.pi * s) * np.sin(2 * np.pi * t)
        return s + wave, t - wave
    return Mesh(size, size, order, bend, (True, True))


def ring(size: int, order: int, inner: float = 1.0, outer: float = 2.0) -> Mesh:
    """Between two circles with walls: `size` elements from one to the other, 4 * size around."""
    def bend(s: np.ndarray, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        radius, angle = inner + (outer - inner) * s, 2 * np.pi * t
        return radius * np.cos(angle), radius * np.sin(angle)
    return Mesh(size, 4 * size, order, bend, (False, True))
