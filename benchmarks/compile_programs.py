"""More programs for `compile_time.py`: what unrolls while tracing, in NumPy and in JAX."""
import numpy as np


def robot_arm(angles, speeds, accelerations, masses, lengths, inertias):
    """Torques of a chain of links by the recursive Newton-Euler equations; (links,) each, inertias (links, 3, 3)."""
    def rotation(axis, angle):
        iteration = np.zeros((3, 3))
        i, j = (axis + 1) % 3, (axis + 2) % 3
        iteration[axis, axis] = 1.0
        iteration[i, i] = iteration[j, j] = np.cos(angle)
        iteration[j, i] = np.sin(angle)
        iteration[i, j] = -iteration[j, i]
        return iteration

    links = len(angles)
    spin, spin_up, up = np.zeros(3), np.zeros(3), np.array([0.0, 0.0, 9.81])
    iterations, forces, moments = [], [], []
    for k in range(links):
        iteration, axis = rotation(k % 3, angles[k]), np.eye(3)[k % 3]
        before = iteration.T @ spin
        spin_up = iteration.T @ spin_up + np.cross(before, axis * speeds[k]) + axis * accelerations[k]
        spin = before + axis * speeds[k]
        end = np.array([lengths[k], 0.0, 0.0])
        up = iteration.T @ up + np.cross(spin_up, end) + np.cross(spin, np.cross(spin, end))
        centre = up + np.cross(spin_up, end * 0.5) + np.cross(spin, np.cross(spin, end * 0.5))
        iterations.append(iteration)
        forces.append(masses[k] * centre)
        moments.append(inertias[k] @ spin_up + np.cross(spin, inertias[k] @ spin))
    torques, force, moment = np.zeros(links), np.zeros(3), np.zeros(3)
    for k in reversed(range(links)):
        iteration = iterations[k + 1] if k + 1 < links else np.eye(3)
        end = np.array([lengths[k], 0.0, 0.0])
        pulled = iteration @ force
        moment = moments[k] + iteration @ moment + np.cross(end * 0.5, forces[k]) + np.cross(end, pulled)
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


def particles(position, velocity, mass, steps, dt):
    """Steps of smoothed particle hydrodynamics in a box, every pair of particles at once; (n, 2), (n, 2), (n,)."""
    reach, stiffness, rest, viscosity = 0.1, 20.0, 1000.0, 0.1
    scale = 40 / (7 * np.pi * reach**2)
    for _ in [None] * steps:
        apart = position[:, None, :] - position[None, :, :]
        distance = np.sqrt((apart**2).sum(-1) + 1e-12)
        q = distance / reach
        weight = scale * np.where(q < 0.5, 6 * (q**3 - q**2) + 1, np.where(q < 1, 2 * (1 - q)**3, 0.0))
        slope = scale / reach * np.where(q < 0.5, 6 * (3 * q**2 - 2 * q), np.where(q < 1, -6 * (1 - q)**2, 0.0))
        density = (mass[None, :] * weight).sum(1)
        pressure = stiffness * ((density / rest)**7 - 1)
        pressure[pressure < 0] = 0.0
        gradient = slope[..., None] * apart / distance[..., None]
        push = pressure / density**2
        force = -(mass[None, :, None] * (push[:, None] + push[None, :])[..., None] * gradient).sum(1)
        approach = ((velocity[:, None, :] - velocity[None, :, :]) * apart).sum(-1)
        drag = viscosity * mass[None, :] * approach / (density[:, None] + density[None, :])
        force = force + ((drag / (distance**2 + 0.01 * reach**2))[..., None] * gradient).sum(1)
        force[:, 1] -= 9.81
        velocity += dt * force
        position += dt * velocity
        for axis in (0, 1):
            for outside, wall in ((position[:, axis] < 0.0, 0.0), (position[:, axis] > 1.0, 1.0)):
                velocity[outside, axis] *= -0.5
                position[outside, axis] = wall
    return density.max()


def make_particles(n=128, steps=6):
    random = np.random.default_rng(8)
    return particles, (random.random((n, 2)), 0.1 * random.standard_normal((n, 2)), np.ones(n), steps, 1e-3)


def spline(x, y, places):
    """A natural cubic spline through (x, y) by elimination, knot after knot, at `places`; (n,), (n,), (m,)."""
    n = len(x)
    h = [x[i + 1] - x[i] for i in range(n - 1)]
    mu, z = [0.0] * n, [0.0] * n
    for i in range(1, n - 1):
        bend = 3 / h[i] * (y[i + 1] - y[i]) - 3 / h[i - 1] * (y[i] - y[i - 1])
        pivot = 2 * (x[i + 1] - x[i - 1]) - h[i - 1] * mu[i - 1]
        mu[i], z[i] = h[i] / pivot, (bend - h[i - 1] * z[i - 1]) / pivot
    b, c, d = np.zeros(n), np.zeros(n), np.zeros(n)
    for j in reversed(range(n - 1)):
        c[j] = z[j] - mu[j] * c[j + 1]
        b[j] = (y[j + 1] - y[j]) / h[j] - h[j] * (c[j + 1] + 2 * c[j]) / 3
        d[j] = (c[j + 1] - c[j]) / (3 * h[j])
    found = np.zeros_like(places)
    for j in range(n - 1):
        t = places - x[j]
        found = np.where((places >= x[j]) & (places <= x[j + 1]), y[j] + t * (b[j] + t * (c[j] + t * d[j])), found)
    return found


def make_spline(n=65, m=500):        # of more knots the list of distances is made in a loop, and so is the rest
    random = np.random.default_rng(9)
    return spline, (np.sort(random.random(n)), random.random(n), np.linspace(0, 1, m))


def kinetics(amounts, rates, steps, dt):
    """Linearly implicit Euler steps of stiff kinetics, the Jacobian put together entry by entry; (n,), (n,)."""
    n = len(amounts)
    for _ in [None] * steps:
        change, jacobian = np.zeros(n), np.zeros((n, n))
        for first in range(n):
            second, third = (first + 1) % n, (first + 3) % n
            speed = rates[first] * amounts[first] * amounts[second]
            for row, sign in ((first, -1.0), (second, -1.0), (third, 2.0)):
                change[row] += sign * speed
                jacobian[row, first] += sign * rates[first] * amounts[second]
                jacobian[row, second] += sign * rates[first] * amounts[first]
        amounts = amounts + dt * np.linalg.solve(np.eye(n) - dt * jacobian, change)
    return amounts


def make_kinetics(n=8, steps=6):
    random = np.random.default_rng(10)
    return kinetics, (random.random(n), random.random(n), steps, 1e-3)


def orbits(position, velocity, mass, steps, dt):
    """Steps of many bodies by the classical Runge-Kutta method; (n, 3), (n, 3), (n,)."""
    def pull(at):
        apart = at[None, :, :] - at[:, None, :]
        return (mass[None, :, None] * apart / (((apart**2).sum(-1) + 1e-3)**1.5)[..., None]).sum(1)

    for _ in [None] * steps:
        speeds, pulls = [velocity], [pull(position)]
        for part in (0.5 * dt, 0.5 * dt, dt):
            pulls.append(pull(position + part * speeds[-1]))
            speeds.append(velocity + part * pulls[-2])
        position = position + dt / 6 * (speeds[0] + 2 * speeds[1] + 2 * speeds[2] + speeds[3])
        velocity = velocity + dt / 6 * (pulls[0] + 2 * pulls[1] + 2 * pulls[2] + pulls[3])
    return position, velocity


def make_orbits(n=32, steps=10):
    random = np.random.default_rng(11)
    return orbits, (random.random((n, 3)), random.random((n, 3)), random.random(n), steps, 1e-3)


def turbulence(east, north, steps, dt, viscosity):
    """Steps of a flow in two dimensions by Fourier transforms, in a box that wraps around; (n, n) each."""
    n = len(east)
    waves = np.fft.fftfreq(n, 1.0 / n)
    x, y = waves[:, None], waves[None, :]
    square = x**2 + y**2
    shared = np.where(square == 0, 1.0, square)

    def change(u_waves, v_waves):
        u, v, u_x, u_y, v_x, v_y = (np.fft.ifft2(w).real for w in (
            u_waves, v_waves, 1j * x * u_waves, 1j * y * u_waves, 1j * x * v_waves, 1j * y * v_waves))
        along, across = np.fft.fft2(-(u * u_x + v * u_y)), np.fft.fft2(-(u * v_x + v * v_y))
        pressure = (x * along + y * across) / shared
        return along - x * pressure - viscosity * square * u_waves, across - y * pressure - viscosity * square * v_waves

    for _ in [None] * steps:
        u_waves, v_waves = np.fft.fft2(east), np.fft.fft2(north)
        half = [w + 0.5 * dt * c for w, c in zip((u_waves, v_waves), change(u_waves, v_waves), strict=True)]
        east, north = (np.fft.ifft2(w + dt * c).real for w, c in zip((u_waves, v_waves), change(*half), strict=True))
    return east, north


def make_turbulence(n=32, steps=8):
    random = np.random.default_rng(12)
    return turbulence, (random.random((n, n)), random.random((n, n)), steps, 1e-3, 0.01)


def factorisations(matrix, right, steps):
    """Iterations of Cholesky, solves, QR and determinants; (n, n), (n,)."""
    n = len(right)
    found, square, total = np.zeros(n), matrix @ matrix.T + np.eye(n), 0.0
    for _ in [None] * steps:
        rest = np.linalg.solve(np.linalg.cholesky(square), right - matrix @ found)
        found = found + np.linalg.solve(square, rest)
        iteration, triangle = np.linalg.qr(0.5 * square + np.diag(found))
        square = triangle @ iteration
        square = 0.5 * (square + square.T) + np.eye(n) * (1 + found @ found)
        total = total + np.linalg.det(square) / (1 + np.abs(found).max())
    return found, total


def make_factorisations(n=8, steps=5):
    random = np.random.default_rng(13)
    return factorisations, (random.random((n, n)), random.random(n), steps)


def pendulums(state, steps, dt):
    """Steps of three coupled pendulums, number by number: `state` is a dictionary of angles and speeds."""
    state = dict(state)
    for _ in [None] * steps:
        for i in range(3):
            pull = -9.81 * np.sin(state[f"angle{i}"])
            for j in range(3):
                if j != i:
                    apart = state[f"angle{j}"] - state[f"angle{i}"]
                    pull = pull + 0.3 * apart * np.cos(apart) - 0.01 * state[f"speed{i}"]
            state[f"speed{i}"] = state[f"speed{i}"] + dt * pull
        for i in range(3):
            state[f"angle{i}"] = state[f"angle{i}"] + dt * state[f"speed{i}"]
    return state


def make_pendulums(steps=25):
    return pendulums, ({**{f"angle{i}": 0.1 * i + 0.1 for i in range(3)}, **{f"speed{i}": 0.0 for i in range(3)}},
                       steps, 1e-3)


def alignments(points, frames, rounds):
    """Rounds of aligning points to several frames by singular value decomposition; (n, 3), a list of (3, 3)."""
    total = 0.0
    for _ in [None] * rounds:
        moved = []
        for frame in frames:
            centre = points.mean(0)
            left, sizes, right = np.linalg.svd((points - centre).T @ (points @ frame - centre))
            iteration = left @ right
            iteration = iteration * np.sign(np.linalg.det(iteration))
            moved.append(points @ iteration + np.linalg.inv(frame + 3 * np.eye(3))[0])
            total = total + sizes.sum()
        points = sum(moved) / len(moved)
    return points, total


def make_alignments(n=20, frames=6, rounds=3):
    random = np.random.default_rng(15)
    return alignments, (random.random((n, 3)), [random.random((3, 3)) for _ in range(frames)], rounds)


def training(weights, x, goal, steps, rate):
    """Steps of training a perceptron by hand, in place: cross entropy, back propagation, Adam; a list of matrices,
    (n, inputs), (n,) integers."""
    moments = [(np.zeros_like(w), np.zeros_like(w)) for w in weights]
    rows, loss = np.arange(len(x)), 0.0
    for step in [*range(1, steps + 1)]:
        layers = [x]
        for w in weights[:-1]:
            layers.append(np.maximum(layers[-1] @ w, 0.0))
        out = layers[-1] @ weights[-1]
        powers = np.exp(out - out.max(axis=1, keepdims=True))
        chance = powers / powers.sum(axis=1, keepdims=True)
        loss = loss - np.log(chance[rows, goal] + 1e-12).mean()
        delta = chance.copy()
        delta[rows, goal] -= 1.0
        delta /= len(x)
        for k in reversed(range(len(weights))):
            gradient = layers[k].T @ delta
            if k:
                delta = (delta @ weights[k].T) * (layers[k] > 0)
            first, second = moments[k]
            first += 0.1 * (gradient - first)
            second += 0.001 * (gradient**2 - second)
            weights[k] -= rate * first / (1 - 0.9**step) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
    return loss


def make_training(steps=6, sizes=(20, 32, 32, 32, 10), count=64):
    random = np.random.default_rng(16)
    return training, ([random.standard_normal((a, b)) / np.sqrt(a) for a, b in zip(sizes, sizes[1:], strict=False)],
                      random.standard_normal((count, sizes[0])), random.integers(0, sizes[-1], count), steps, 1e-3)


def membrane(nodes, triangles, stiffness, loads, fixed):
    """Plane stress of a membrane of linear triangles: matrices of the elements put together, boundary conditions, a
    solve, and the stress in each triangle; (n, 2), tuples of three places, (3, 3), (triangles, 2), places."""
    n = len(nodes)
    matrix, right, elements = np.zeros((2 * n, 2 * n)), np.zeros(2 * n), []
    for corners, load in zip(triangles, loads, strict=True):
        (ax, ay), (bx, by), (cx, cy) = (nodes[k] for k in corners)
        area = 0.5 * ((bx - ax) * (cy - ay) - (cx - ax) * (by - ay))
        slopes = np.array([[by - cy, cx - bx], [cy - ay, ax - cx], [ay - by, bx - ax]]) / (2 * area)
        strain = np.zeros((3, 6))
        strain[0, 0::2] = strain[2, 1::2] = slopes[:, 0]
        strain[1, 1::2] = strain[2, 0::2] = slopes[:, 1]
        places = np.array([2 * k + d for k in corners for d in (0, 1)])
        matrix[np.ix_(places, places)] += area * strain.T @ stiffness @ strain
        right[places] += area / 3 * np.tile(load, 3)
        elements.append((places, strain))
    for place in fixed:
        matrix[place, :] = matrix[:, place] = right[place] = 0.0
        matrix[place, place] = 1.0
    moved = np.linalg.solve(matrix, right)
    stresses = [stiffness @ (strain @ moved[places]) for places, strain in elements]
    return moved, np.array([np.sqrt(s[0]**2 - s[0] * s[1] + s[1]**2 + 3 * s[2]**2) for s in stresses])


def make_membrane(n=4):
    random = np.random.default_rng(17)
    nodes = np.array([(i + 0.1 * random.random(), j + 0.1 * random.random()) for i in range(n) for j in range(n)])
    corners = [i * n + j for i in range(n - 1) for j in range(n - 1)]
    triangles = tuple(t for a in corners for t in ((a, a + n, a + 1), (a + 1, a + n, a + n + 1)))
    stiffness = np.array([[1.0, 0.3, 0.0], [0.3, 1.0, 0.0], [0.0, 0.0, 0.35]])
    return membrane, (nodes, triangles, stiffness, random.random((len(triangles), 2)), tuple(range(5)))


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


def make_recurrent_gradient(depth=8, width=16, length=20):
    """The gradient of a stack of LSTM cells over a sequence: loops that carry a hundred arrays."""
    import jax
    import jax.numpy as jnp

    def iteration(layers, states, x):
        after = []
        for (inner, outer, shift), (shown, kept) in zip(layers, states, strict=True):
            take, forget, show, new = jnp.split(x @ inner + shown @ outer + shift, 4)
            kept = jax.nn.sigmoid(forget) * kept + jax.nn.sigmoid(take) * jnp.tanh(new)
            after.append((jax.nn.sigmoid(show) * jnp.tanh(kept), kept))
            x = x + after[-1][0]
        return after, x

    def loss(layers, sequence, goal):
        start = [(jnp.zeros(width), jnp.zeros(width))] * depth
        return ((jax.lax.scan(lambda states, x: iteration(layers, states, x), start, sequence)[1] - goal)**2).mean()

    random = np.random.default_rng(14)
    layers = [tuple(0.2 * random.standard_normal(shape) for shape in ((width, 4 * width), (width, 4 * width),
                                                                       (4 * width,))) for _ in range(depth)]
    return jax.grad(loss), (layers, random.random((length, width)), random.random((length, width)))


NUMPY = {"robot_arm": make_robot_arm, "shallow_water": make_shallow_water, "kalman": make_kalman,
         "particles": make_particles, "spline": make_spline, "kinetics": make_kinetics,
         "orbits": make_orbits, "turbulence": make_turbulence, "factorisations": make_factorisations,
         "pendulums": make_pendulums, "alignments": make_alignments, "training": make_training,
         "membrane": make_membrane}
JAX = {"perceptron_gradient": make_perceptron_gradient, "decoder_gradient": make_decoder_gradient,
       "recurrent_gradient": make_recurrent_gradient}
