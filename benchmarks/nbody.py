"""Gravitational n-body motion, kick-drift-kick leapfrog, forces summed over all pairs.

    a_i = G sum_j m_j (x_j - x_i) / (|x_j - x_i|^2 + eps^2)^(3/2)
"""
import numpy as np

SIZES = {"full": (400, 40), "tiny": (7, 4)}


def accelerations(position, mass, softening):
    """The pull of all bodies on each, (n, 3)."""
    x, y, z = position[:, 0], position[:, 1], position[:, 2]
    dx = x[np.newaxis, :] - x[:, np.newaxis]
    dy = y[np.newaxis, :] - y[:, np.newaxis]
    dz = z[np.newaxis, :] - z[:, np.newaxis]
    pull = mass * (dx**2 + dy**2 + dz**2 + softening**2) ** -1.5
    result = np.empty_like(position)
    result[:, 0] = (pull * dx).sum(axis=1)
    result[:, 1] = (pull * dy).sum(axis=1)
    result[:, 2] = (pull * dz).sum(axis=1)
    return result


def simulate(position, velocity, mass, steps, dt, softening):
    """Move the bodies in place by `steps` steps of length `dt`; the kinetic energy after each step, (steps,)."""
    energy = np.zeros(steps)
    acceleration = accelerations(position, mass, softening)
    for step in range(steps):
        velocity += 0.5 * dt * acceleration
        position += dt * velocity
        acceleration = accelerations(position, mass, softening)
        velocity += 0.5 * dt * acceleration
        energy[step] = 0.5 * np.sum(mass * np.sum(velocity**2, axis=1))
    return energy


def make(size="full"):
    n, steps = SIZES[size]
    random = np.random.default_rng(2)
    position = random.standard_normal((n, 3))
    velocity = 0.1 * random.standard_normal((n, 3))
    mass = random.uniform(0.5, 1.5, n) / n
    return simulate, (position, velocity, mass, steps, 0.01, 0.1)


def numba_function():
    from numba import njit

    @njit
    def accelerations_loops(position, mass, softening):
        n = len(mass)
        result = np.zeros((n, 3))
        for i in range(n):
            for j in range(n):
                dx = position[j, 0] - position[i, 0]
                dy = position[j, 1] - position[i, 1]
                dz = position[j, 2] - position[i, 2]
                squared = dx * dx + dy * dy + dz * dz + softening * softening
                pull = mass[j] / (squared * np.sqrt(squared))
                result[i, 0] += pull * dx
                result[i, 1] += pull * dy
                result[i, 2] += pull * dz
        return result

    @njit
    def simulate_loops(position, velocity, mass, steps, dt, softening):
        energy = np.zeros(steps)
        acceleration = accelerations_loops(position, mass, softening)
        for step in range(steps):
            velocity += 0.5 * dt * acceleration
            position += dt * velocity
            acceleration = accelerations_loops(position, mass, softening)
            velocity += 0.5 * dt * acceleration
            for i in range(len(mass)):
                energy[step] += 0.5 * mass[i] * (velocity[i, 0] ** 2 + velocity[i, 1] ** 2 + velocity[i, 2] ** 2)
        return energy

    return simulate_loops
