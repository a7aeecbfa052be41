"""Gray-Scott reaction and diffusion on a periodic grid, updated in place.

    du/dt = Du laplacian(u) - u v^2 + F (1 - u)
    dv/dt = Dv laplacian(v) + u v^2 - (F + k) v

The two fields carry a border of ghost cells which every step refills from the opposite side.
Source: J. E. Pearson, Complex patterns in a simple system, Science 261 (1993).
"""
import numpy as np

SIZES = {"full": (256, 200), "tiny": (12, 5)}


def wrap(field):
    """Refill the ghost cells: the grid is a torus."""
    field[0, :] = field[-2, :]
    field[-1, :] = field[1, :]
    field[:, 0] = field[:, -2]
    field[:, -1] = field[:, 1]


def laplacian(field):
    return (field[:-2, 1:-1] + field[2:, 1:-1] + field[1:-1, :-2] + field[1:-1, 2:]
            - 4.0 * field[1:-1, 1:-1])


def react(u, v, steps, feed, kill):
    """Advance `u` and `v`, both (n + 2, n + 2), in place by `steps` unit time steps."""
    for _ in range(steps):
        wrap(u)
        wrap(v)
        inner_u = u[1:-1, 1:-1]
        inner_v = v[1:-1, 1:-1]
        change_u = 0.16 * laplacian(u)
        change_v = 0.08 * laplacian(v)
        reaction = inner_u * inner_v * inner_v
        inner_u += change_u - reaction + feed * (1.0 - inner_u)
        inner_v += change_v + reaction - (feed + kill) * inner_v
    return u[1:-1, 1:-1].mean(), v[1:-1, 1:-1].mean()


def make(size="full"):
    n, steps = SIZES[size]
    random = np.random.default_rng(1)
    u = np.ones((n + 2, n + 2))
    v = np.zeros((n + 2, n + 2))
    third = n // 3
    u[third:2 * third, third:2 * third] = 0.5
    v[third:2 * third, third:2 * third] = 0.25
    u += 0.02 * random.standard_normal(u.shape)
    v += 0.02 * random.standard_normal(v.shape)
    return react, (u, v, steps, 0.035, 0.065)


def numba_function():
    from numba import njit

    @njit
    def react_loops(u, v, steps, feed, kill):
        n, m = u.shape
        new_u = u.copy()
        new_v = v.copy()
        for _ in range(steps):
            for field in (u, v):
                field[0, :] = field[n - 2, :]
                field[n - 1, :] = field[1, :]
                field[:, 0] = field[:, m - 2]
                field[:, m - 1] = field[:, 1]
            for i in range(1, n - 1):
                for j in range(1, m - 1):
                    here_u = u[i, j]
                    here_v = v[i, j]
                    laplacian_u = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4.0 * here_u
                    laplacian_v = v[i - 1, j] + v[i + 1, j] + v[i, j - 1] + v[i, j + 1] - 4.0 * here_v
                    reaction = here_u * here_v * here_v
                    new_u[i, j] = here_u + 0.16 * laplacian_u - reaction + feed * (1.0 - here_u)
                    new_v[i, j] = here_v + 0.08 * laplacian_v + reaction - (feed + kill) * here_v
            u[1:-1, 1:-1] = new_u[1:-1, 1:-1]
            v[1:-1, 1:-1] = new_v[1:-1, 1:-1]
        return u[1:-1, 1:-1].mean(), v[1:-1, 1:-1].mean()

    return react_loops
