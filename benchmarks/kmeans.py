"""Lloyd's k-means, stopping when the centres rest.

Each iteration gives every point to the centre where |x|^2 - 2 x.c + |c|^2 is least, and moves each centre to the mean
of its points. """
import numpy as np

SIZES = {"full": (20000, 8, 12, 25), "tiny": (40, 3, 4, 5)}


def cluster(points, centres, iterations, tolerance):
    """Move `centres`, (k, d), in place; returns the label of each point, (n,), the spread, and the iterations taken."""
    squared_points = (points**2).sum(axis=1)
    labels = np.zeros(len(points), dtype=np.int64)
    spread = 0.0
    taken = 0
    for _ in range(iterations):
        distances = squared_points[:, np.newaxis] - 2.0 * points @ centres.T + (centres**2).sum(axis=1)
        labels = np.argmin(distances, axis=1)
        spread = distances.min(axis=1).sum()
        before = centres.copy()
        for k in range(len(centres)):
            mine = labels == k
            if mine.any():
                centres[k] = points[mine].mean(axis=0)
        taken += 1
        if np.abs(centres - before).max() < tolerance:
            break
    return labels, spread, taken


def make(size="full"):
    n, dimensions, k, iterations = SIZES[size]
    random = np.random.default_rng(3)
    true_centres = 4.0 * random.standard_normal((k, dimensions))
    points = true_centres[random.integers(k, size=n)] + 2.0 * random.standard_normal((n, dimensions))
    return cluster, (points, points[:k].copy(), iterations, 1e-6)


def numba_function():
    from numba import njit

    @njit
    def cluster_loops(points, centres, iterations, tolerance):
        n, dimensions = points.shape
        k = len(centres)
        labels = np.zeros(n, dtype=np.int64)
        spread = 0.0
        taken = 0
        for _ in range(iterations):
            spread = 0.0
            sums = np.zeros((k, dimensions))
            members = np.zeros(k)
            for i in range(n):
                nearest = np.inf
                for c in range(k):
                    distance = 0.0
                    for d in range(dimensions):
                        distance += (points[i, d] - centres[c, d]) ** 2
                    if distance < nearest:
                        nearest = distance
                        labels[i] = c
                spread += nearest
                members[labels[i]] += 1
                for d in range(dimensions):
                    sums[labels[i], d] += points[i, d]
            largest = 0.0
            for c in range(k):
                if members[c] > 0:
                    for d in range(dimensions):
                        moved = sums[c, d] / members[c]
                        largest = max(largest, abs(moved - centres[c, d]))
                        centres[c, d] = moved
            taken += 1
            if largest < tolerance:
                break
        return labels, spread, taken

    return cluster_loops
