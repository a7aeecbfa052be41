"""More programs for `compile_time.py`: what unrolls while tracing, in NumPy and in JAX."""
import numpy as np


def robot_arm(angles, speeds, accelerations, masses, lengths, inertias):
    """Torques of a chain of links by the recursive Newton-Euler equations; (links,) each, inertias (links, 3, 3)."""
    def rotation(axis, angle):
        turn = np.zeros((3, 3))
        i, j = (axis + 1) % 3, (axis + 2) % 3
        turn[axis, axis] = 1.0
        turn[i, i] = turn[j, j] = np.cos(angle)
        turn[j, i] = np.sin(angle)
        turn[i, j] = -turn[j, i]
        return turn

    links = len(angles)
    spin, spin_up, up = np.zeros(3), np.zeros(3), np.array([0.0, 0.0, 9.81])
    turns, forces, moments = [], [], []
    for k in range(links):
        turn, axis = rotation(k % 3, angles[k]), np.eye(3)[k % 3]
        before = turn.T @ spin
        spin_up = turn.T @ spin_up + np.cross(before, axis * speeds[k]) + axis * accelerations[k]
        spin = before + axis * speeds[k]
        end = np.array([lengths[k], 0.0, 0.0])
        up = turn.T @ up + np.cross(spin_up, end) + np.cross(spin, np.cross(spin, end))
        centre = up + np.cross(spin_up, end * 0.5) + np.cross(spin, np.cross(spin, end * 0.5))
        turns.append(turn)
        forces.append(masses[k] * centre)
        moments.append(inertias[k] @ spin_up + np.cross(spin, inertias[k] @ spin))
    torques, force, moment = np.zeros(links), np.zeros(3), np.zeros(3)
    for k in reversed(range(links)):
        turn = turns[k + 1] if k + 1 < links else np.eye(3)
        end = np.array([lengths[k], 0.0, 0.0])
        pulled = turn @ force
        moment = moments[k] + turn @ moment + np.cross(end * 0.5, forces[k]) + np.cross(end, pulled)
        force = forces[k] + pulled
        torques[k] = moment[k % 3]
    return torques


def make_robot_arm(links=7):
    random = np.random.default_rng(3)
    return robot_arm, (*(random.random(links) for _ in range(5)), random.random((links, 3, 3)))


def shallow_water(height, east, north, steps, dt):
    """Steps of the shallow water equations on a grid that wraps around, borders copied in place; all (n, n)."""
    def across(a):
        return (a[1:-1, 2:] - a[1:-1, :-2]) * 0.5

    def along(a):
        return (a[2:, 1:-1] - a[:-2, 1:-1]) * 0.5

    for _ in [None] * steps:
        new_height, new_east, new_north = height.copy(), east.copy(), north.copy()
        u, v = east[1:-1, 1:-1], north[1:-1, 1:-1]
        new_east[1:-1, 1:-1] -= dt * (9.81 * across(height) + u * across(east) + v * along(east))
        new_north[1:-1, 1:-1] -= dt * (9.81 * along(height) + u * across(north) + v * along(north))
        new_height[1:-1, 1:-1] -= dt * (across(height * east) + along(height * north))
        for field in (new_height, new_east, new_north):
            field[0], field[-1] = field[-2], field[1]
            field[:, 0], field[:, -1] = field[:, -2], field[:, 1]
        height, east, north = new_height, new_east, new_north
    return height, east, north


def make_shallow_water(n=64, steps=12):
    random = np.random.default_rng(4)
    return shallow_water, (1 + 0.1 * random.random((n, n)), 0.1 * random.random((n, n)), 0.1 * random.random((n, n)),
                           steps, 0.01)


def kalman(state, covariance, measured, transition, noise, observe, error):
    """A Kalman filter over a list of measurements; (4,) states, (2,) measurements, outliers left out."""
    states = np.empty((len(measured), len(state)))
    for k, seen in enumerate(measured):
        state = transition @ state
        covariance = transition @ covariance @ transition.T + noise
        spread = observe @ covariance @ observe.T + error
        determinant = spread[0, 0] * spread[1, 1] - spread[0, 1] * spread[1, 0]
        inverse = np.array([[spread[1, 1], -spread[0, 1]], [-spread[1, 0], spread[0, 0]]]) / determinant
        gain = covariance @ observe.T @ inverse
        surprise = seen - observe @ state
        usual = np.abs(surprise).max() < 100.0
        state = np.where(usual, state + gain @ surprise, state)
        covariance = np.where(usual, (np.eye(4) - gain @ observe) @ covariance, covariance)
        states[k] = state
    return states, covariance


def make_kalman(count=25):
    random = np.random.default_rng(5)
    transition = np.eye(4)
    transition[0, 2] = transition[1, 3] = 0.1
    return kalman, (random.random(4), np.eye(4), [random.random(2) for _ in range(count)], transition,
                    0.01 * np.eye(4), np.eye(2, 4), 0.1 * np.eye(2))


# ---- JAX -------------------------------------------------------------------------------------------------------

def make_perceptron_gradient(depth=30, width=32):
    """The gradient of a deep perceptron with normalised layers."""
    import jax
    import jax.numpy as jnp

    def loss(layers, x, goal):
        for weights, shift in layers:
            x = jax.nn.gelu(x @ weights + shift)
            x = (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5)
        return ((x - goal) ** 2).mean()

    random = np.random.default_rng(6)
    layers = [(random.standard_normal((width, width)), random.standard_normal(width)) for _ in range(depth)]
    return jax.grad(loss), (layers, random.standard_normal((16, width)), random.standard_normal((16, width)))


def make_decoder_gradient(depth=10, width=32, tokens=16):
    """The gradient of a transformer's decoder stack."""
    import jax
    import jax.numpy as jnp

    def normal(x):
        return (x - x.mean(-1, keepdims=True)) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-6)

    def loss(layers, x):
        hidden = jnp.triu(jnp.full((tokens, tokens), -1e9), 1)
        for layer in layers:
            query, key, value = ((normal(x) @ layer[name]).reshape(tokens, 4, -1) for name in ("query", "key", "value"))
            scores = jax.nn.softmax(jnp.einsum("ihd,jhd->hij", query, key) / np.sqrt(width // 4) + hidden)
            x = x + jnp.einsum("hij,jhd->ihd", scores, value).reshape(tokens, width) @ layer["output"]
            x = x + jax.nn.gelu(normal(x) @ layer["up"]) @ layer["down"]
        return (x**2).sum()

    random = np.random.default_rng(7)
    shapes = {"query": (width, width), "key": (width, width), "value": (width, width), "output": (width, width),
              "up": (width, 4 * width), "down": (4 * width, width)}
    layers = [{name: 0.1 * random.standard_normal(shape) for name, shape in shapes.items()} for _ in range(depth)]
    return jax.value_and_grad(loss), (layers, random.standard_normal((tokens, width)))


NUMPY = {"robot_arm": make_robot_arm, "shallow_water": make_shallow_water, "kalman": make_kalman}
JAX = {"perceptron_gradient": make_perceptron_gradient, "decoder_gradient": make_decoder_gradient}
