"""Device functions that many kernels share: reconstruction of order 5, 3 and 1 against the flow."""
from __future__ import annotations

from numba import cuda

SMALL = 1e-20
"""Added to smoothness indicators in denominators: far below what any field here varies by, squared."""


@cuda.jit(device=True)
def weno5(a, b, c, d, e):
    """The value between c and d from five cell means, a to e downstream: WENO-Z (Borges, Carmona, Costa and Don,
    J. Comput. Phys. 227, 2008) on the candidates and indicators of Jiang and Shu (J. Comput. Phys. 126, 1996)."""
    first = (2.0 * a - 7.0 * b + 11.0 * c) / 6.0
    second = (-b + 5.0 * c + 2.0 * d) / 6.0
    third = (2.0 * c + 5.0 * d - e) / 6.0
    rough1 = 13.0 / 12.0 * (a - 2.0 * b + c) ** 2 + 0.25 * (a - 4.0 * b + 3.0 * c) ** 2
    rough2 = 13.0 / 12.0 * (b - 2.0 * c + d) ** 2 + 0.25 * (b - d) ** 2
    rough3 = 13.0 / 12.0 * (c - 2.0 * d + e) ** 2 + 0.25 * (3.0 * c - 4.0 * d + e) ** 2
    tau = abs(rough1 - rough3)
    weight1 = 0.1 * (1.0 + (tau / (rough1 + SMALL)) ** 2)
    weight2 = 0.6 * (1.0 + (tau / (rough2 + SMALL)) ** 2)
    weight3 = 0.3 * (1.0 + (tau / (rough3 + SMALL)) ** 2)
    return (weight1 * first + weight2 * second + weight3 * third) / (weight1 + weight2 + weight3)


@cuda.jit(device=True)
def weno3(b, c, d):
    """The value between c and d from three cell means, of order 3 where they are smooth."""
    first = 1.5 * c - 0.5 * b
    second = 0.5 * (c + d)
    rough1 = (c - b) ** 2
    rough2 = (d - c) ** 2
    tau = abs(rough1 - rough2)
    weight1 = 1.0 / 3.0 * (1.0 + (tau / (rough1 + SMALL)) ** 2)
    weight2 = 2.0 / 3.0 * (1.0 + (tau / (rough2 + SMALL)) ** 2)
    return (weight1 * first + weight2 * second) / (weight1 + weight2)


@cuda.jit(device=True)
def against_the_flow(flow, order, a, b, c, d, e, f):
    """The value between c and d that `flow` (positive from c to d) brings along.

    `order` says how many cells on either side are wet: 3, 2 or fewer."""
    if flow < 0.0:
        a, b, c, d, e = f, e, d, c, b
    if order == 3:
        return weno5(a, b, c, d, e)
    if order == 2:
        return weno3(b, c, d)
    return c
