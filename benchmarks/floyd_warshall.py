"""Shortest paths between all pairs of nodes, the distance matrix updated in place.

    d[i, j] <- min(d[i, j], d[i, k] + d[k, j])    for k = 0, 1, ...
"""
import numpy as np

SIZES = {"full": 512, "tiny": 9}


def shortest_paths(distance):
    """Lower `distance`, (n, n), in place to the lengths of the shortest paths."""
    for k in range(len(distance)):
        through = distance[:, k, np.newaxis] + distance[np.newaxis, k, :]
        np.minimum(distance, through, out=distance)
    return distance


def make(size="full"):
    n = SIZES[size]
    random = np.random.default_rng(5)
    distance = random.uniform(1.0, 10.0, (n, n))
    distance[random.uniform(size=(n, n)) < 0.8] = np.inf
    np.fill_diagonal(distance, 0.0)
    return shortest_paths, (distance,)


def numba_function():
    from numba import njit

    @njit
    def shortest_paths_loops(distance):
        n = len(distance)
        for k in range(n):
            for i in range(n):
                for j in range(n):
                    through = distance[i, k] + distance[k, j]
                    if through < distance[i, j]:
                        distance[i, j] = through
        return distance

    return shortest_paths_loops
