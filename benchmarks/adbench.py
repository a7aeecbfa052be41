"""The three objectives of ADBench (Srajer, Kukelova, Fitzgibbon 2018), written from the paper's formulas: as plain
NumPy that writes into its arrays, and as JAX; gradients, and the whole sparse Jacobian of bundle adjustment.

    python benchmarks/adbench.py [--tiny] [--repeats N] [--json FILE]

"x primal": how many times longer the derivative takes than the objective compiled by us. The targets are 3 for the
gradients of the mixture and the LSTM and 10 for the Jacobian of bundle adjustment. Medians of interleaved runs.
"""
import argparse
import json
import math
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from rich.console import Console
from rich.table import Table

from reactant.demos.measure import taking_iterations

SIZES = {"full": {"mixture": (1000, 20, 25), "lstm": (14, 200), "bundle": (100, 5000, 20000)},
         "tiny": {"mixture": (10, 3, 4), "lstm": (3, 4), "bundle": (3, 6, 12)}}
GAMMA, WISHART = 1.0, 0


# ---- Gaussian mixture: n points in d dimensions, k components --------------------------------------------------------

def mixture(parameters, x):
    """Log-likelihood of weights alpha, means, logarithms q of the diagonals and lower triangles l of the factors of the
    inverse covariances, with a Wishart prior."""
    alphas, means, logs, lower = parameters
    n, d = x.shape
    k = len(alphas)
    rows, columns = np.tril_indices(d, -1)
    terms = np.zeros((n, k))
    for c in range(k):
        factor = np.diag(np.exp(logs[c]))
        factor[rows, columns] = lower[c]
        q = (x - means[c]) @ factor.T
        terms[:, c] = alphas[c] + np.sum(logs[c]) - 0.5 * np.sum(q ** 2, axis=1)
    largest = np.max(terms, axis=1)
    likelihood = np.sum(largest + np.log(np.sum(np.exp(terms - largest[:, np.newaxis]), axis=1)))
    top = np.max(alphas)
    likelihood -= n * (top + np.log(np.sum(np.exp(alphas - top))))
    prior = 0.5 * GAMMA ** 2 * (np.sum(np.exp(2 * logs)) + np.sum(lower ** 2)) - WISHART * np.sum(logs)
    return likelihood - n * d * 0.5 * math.log(2 * math.pi) + prior


def mixture_jax(parameters, x):
    alphas, means, logs, lower = parameters
    n, d = x.shape
    rows, columns = np.tril_indices(d, -1)
    factor = jax.vmap(lambda q, part: jnp.diag(jnp.exp(q)).at[rows, columns].set(part))(logs, lower)
    q = jnp.einsum("kij,nkj->nki", factor, x[:, None] - means)
    terms = alphas + jnp.sum(logs, 1) - 0.5 * jnp.sum(q ** 2, 2)
    likelihood = jnp.sum(jax.nn.logsumexp(terms, 1)) - n * jax.nn.logsumexp(alphas)
    prior = 0.5 * GAMMA ** 2 * (jnp.sum(jnp.exp(2 * logs)) + jnp.sum(lower ** 2)) - WISHART * jnp.sum(logs)
    return likelihood - n * d * 0.5 * math.log(2 * math.pi) + prior


def mixture_arguments(size):
    n, d, k = SIZES[size]["mixture"]
    rng = np.random.default_rng(0)
    parameters = (rng.standard_normal(k), rng.standard_normal((k, d)), 0.1 * rng.standard_normal((k, d)),
                  0.1 * rng.standard_normal((k, d * (d - 1) // 2)))
    return parameters, rng.standard_normal((n, d))


# ---- LSTM: two layers of elementwise gates, b characters, c steps ----------------------------------------------------

def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def lstm(parameters, state, sequence):
    """Cross-entropy of predicting each character from those before. `state`, (layers, 2, b): hidden and cell, updated
    in place. main (layers, 2, 4, b): weights and biases of the forget, in, out and change gates; extra (3, b): weights
    of the input and of the output, bias of the output."""
    main, extra = parameters
    total = 0.0
    for t in range(len(sequence) - 1):
        x = sequence[t] * extra[0]
        for layer in range(len(main)):
            weight, bias = main[layer]
            hidden, cell = state[layer]
            forget = sigmoid(x * weight[0] + bias[0])
            accept = sigmoid(hidden * weight[1] + bias[1])
            out = sigmoid(x * weight[2] + bias[2])
            change = np.tanh(hidden * weight[3] + bias[3])
            state[layer, 1] = cell * forget + accept * change
            state[layer, 0] = out * np.tanh(state[layer, 1])
            x = state[layer, 0]
        prediction = x * extra[1] + extra[2]
        normal = prediction - np.log(2 + np.sum(np.exp(prediction)))
        total += np.sum(sequence[t + 1] * normal)
    return -total / ((len(sequence) - 1) * sequence.shape[1])


def lstm_jax(parameters, state, sequence):
    main, extra = parameters

    def step(state, pair):
        now, then = pair
        x, after = now * extra[0], []
        for (weight, bias), (hidden, cell) in zip(main, state, strict=True):
            forget, out = jax.nn.sigmoid(x * weight[0] + bias[0]), jax.nn.sigmoid(x * weight[2] + bias[2])
            accept, change = jax.nn.sigmoid(hidden * weight[1] + bias[1]), jnp.tanh(hidden * weight[3] + bias[3])
            cell = cell * forget + accept * change
            x = out * jnp.tanh(cell)
            after.append(jnp.stack([x, cell]))
        prediction = x * extra[1] + extra[2]
        normal = prediction - jnp.log(2 + jnp.sum(jnp.exp(prediction)))
        return jnp.stack(after), jnp.sum(then * normal)
    _, terms = jax.lax.scan(step, state, (sequence[:-1], sequence[1:]))
    return -jnp.sum(terms) / ((len(sequence) - 1) * sequence.shape[1])


def lstm_arguments(size):
    b, c = SIZES[size]["lstm"]
    rng = np.random.default_rng(1)
    sequence = np.eye(b)[rng.integers(0, b, c)]
    return (0.5 * rng.standard_normal((2, 2, 4, b)), 0.5 * rng.standard_normal((3, b))), \
        0.1 * rng.standard_normal((2, 2, b)), sequence


# ---- bundle adjustment: n cameras, m points, p observations ----------------------------------------------------------

def residuals(unknowns, cameras, points, camera_of, point_of, seen):
    """Weighted reprojection errors (2 p) and 1 - w^2 (p) of one vector of all unknowns: cameras (rotation vector,
    centre, focal length, principal point, two radial distortions), points, weights."""
    p = len(camera_of)
    camera = unknowns[:11 * cameras].reshape(cameras, 11)[camera_of]
    point = unknowns[11 * cameras:11 * cameras + 3 * points].reshape(points, 3)[point_of]
    weight = unknowns[11 * cameras + 3 * points:]
    rotation = camera[:, :3]
    squared = np.sum(rotation ** 2, axis=1) + 1e-20
    angle = np.sqrt(squared)
    cosine, sine = np.cos(angle), np.sin(angle)
    a0, a1, a2 = rotation[:, 0] / angle, rotation[:, 1] / angle, rotation[:, 2] / angle
    x0, x1, x2 = (point[:, i] - camera[:, 3 + i] for i in range(3))
    along = (a0 * x0 + a1 * x1 + a2 * x2) * (1 - cosine)
    y0 = x0 * cosine + (a1 * x2 - a2 * x1) * sine + a0 * along
    y1 = x1 * cosine + (a2 * x0 - a0 * x2) * sine + a1 * along
    y2 = x2 * cosine + (a0 * x1 - a1 * x0) * sine + a2 * along
    u, v = y0 / y2, y1 / y2
    radius = u * u + v * v
    scale = (1 + radius * camera[:, 9] + radius * radius * camera[:, 10]) * camera[:, 6]
    errors = np.zeros(3 * p)
    errors[0:2 * p:2] = weight * (u * scale + camera[:, 7] - seen[:, 0])
    errors[1:2 * p:2] = weight * (v * scale + camera[:, 8] - seen[:, 1])
    errors[2 * p:] = 1 - weight ** 2
    return errors


def observation_jax(camera, point, weight, seen):
    """The errors of one observation."""
    rotation = camera[:3]
    angle = jnp.sqrt(jnp.sum(rotation ** 2) + 1e-20)
    axis, x = rotation / angle, point - camera[3:6]
    y = x * jnp.cos(angle) + jnp.cross(axis, x) * jnp.sin(angle) + axis * jnp.dot(axis, x) * (1 - jnp.cos(angle))
    flat = y[:2] / y[2]
    radius = jnp.sum(flat ** 2)
    scale = (1 + radius * camera[9] + radius * radius * camera[10]) * camera[6]
    return weight * (flat * scale + camera[7:9] - seen), 1 - weight ** 2


def bundle_arguments(size):
    n, m, p = SIZES[size]["bundle"]
    rng = np.random.default_rng(2)
    camera = np.concatenate([0.1 * rng.standard_normal((n, 6)), 500 + rng.random((n, 1)), rng.random((n, 2)),
                             1e-2 * rng.standard_normal((n, 2))], axis=1)
    point = rng.standard_normal((m, 3)) + np.array([0, 0, 8.0])
    unknowns = np.concatenate([camera.reshape(-1), point.reshape(-1), 1 + 0.1 * rng.standard_normal(p)])
    return unknowns, n, m, rng.integers(0, n, p), rng.integers(0, m, p), rng.standard_normal((p, 2))


# ---- measuring -------------------------------------------------------------------------------------------------------

def close(mine, theirs):
    for a, b in zip(jax.tree_util.tree_leaves(mine), jax.tree_util.tree_leaves(theirs), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-10 * np.max(np.abs(b)))


def gradients(name, plain, in_jax, arguments, repeats):
    """Objective and gradient: NumPy compiled by us, JAX compiled by us, JAX by itself."""
    import reactant

    on_device = jax.tree_util.tree_map(jnp.asarray, arguments)
    compiled, theirs = reactant.jit(plain), jax.jit(in_jax)
    gradient, of_jax, by_jax = reactant.grad(plain), reactant.grad(in_jax), jax.jit(jax.grad(in_jax))
    close(gradient(*arguments), by_jax(*on_device))
    close(of_jax(*on_device), by_jax(*on_device))
    found = taking_iterations({
        "numpy": lambda: compiled(*arguments), "numpy_gradient": lambda: gradient(*arguments),
        "jax": lambda: theirs(*on_device), "ours_of_jax": lambda: of_jax(*on_device),
        "jax_gradient": lambda: by_jax(*on_device)}, repeats)
    return [
        {"objective": f"{name}, NumPy by us", "primal": found["numpy"], "derivative": found["numpy_gradient"]},
        {"objective": f"{name}, JAX by us", "primal": found["jax"], "derivative": found["ours_of_jax"]},
        {"objective": f"{name}, JAX by itself", "primal": found["jax"], "derivative": found["jax_gradient"]}]


def blocks_of(unknowns, n, m, camera_of, point_of):
    cameras, points = unknowns[:11 * n].reshape(n, 11), unknowns[11 * n:11 * n + 3 * m].reshape(m, 3)
    return tuple(map(jnp.asarray, (cameras[camera_of], points[point_of], unknowns[11 * n + 3 * m:])))


def bundle(arguments, repeats):
    """The whole Jacobian: by structure and colouring, and block by block as one does it in JAX."""
    import reactant

    unknowns, n, m, camera_of, point_of, seen = arguments
    compiled, jacobian = reactant.jit(residuals), reactant.jacobian(residuals, sparse=True)
    parts = (*blocks_of(unknowns, n, m, camera_of, point_of), jnp.asarray(seen))
    blocks = jax.vmap(jax.jacrev(observation_jax, argnums=(0, 1, 2)))
    by_jax, by_us = jax.jit(blocks), reactant.jit(blocks, frontend="jax")
    primal = jax.jit(jax.vmap(observation_jax))
    check_blocks(jacobian(*arguments), by_us(*parts), n, m, camera_of, point_of)
    found = taking_iterations({
        "numpy": lambda: compiled(*arguments), "sparse": lambda: jacobian(*arguments).data,
        "jax": lambda: primal(*parts), "by_us": lambda: by_us(*parts), "by_jax": lambda: by_jax(*parts)}, repeats)
    return [
        {"objective": "bundle adjustment, NumPy by us (sparse)", "primal": found["numpy"],
         "derivative": found["sparse"]},
        {"objective": "bundle adjustment, JAX by us (blocks)", "primal": found["jax"], "derivative": found["by_us"]},
        {"objective": "bundle adjustment, JAX by itself (blocks)", "primal": found["jax"],
         "derivative": found["by_jax"]}]


def check_blocks(matrix, blocks, n, m, camera_of, point_of):
    """The sparse matrix holds the blocks of each observation."""
    (of_camera, of_point, of_weight), _ = blocks
    p = len(camera_of)
    for i in range(0, p, max(1, p // 10)):
        rows = matrix[[2 * i, 2 * i + 1]].toarray()
        at = 11 * camera_of[i], 11 * n + 3 * point_of[i]
        np.testing.assert_allclose(rows[:, at[0]:at[0] + 11], of_camera[i], rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(rows[:, at[1]:at[1] + 3], of_point[i], rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(rows[:, 11 * n + 3 * m + i], of_weight[i], rtol=1e-8, atol=1e-8)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tiny", action="store_true", help="smallest sizes: checks that everything still runs")
    parser.add_argument("--repeats", type=int, default=21, help="rounds of interleaved runs (default 21)")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    options = parser.parse_args(arguments)
    size = "tiny" if options.tiny else "full"
    with jax.enable_x64(True):
        rows = gradients("mixture", mixture, mixture_jax, mixture_arguments(size), options.repeats)
        rows += gradients("LSTM", lstm, lstm_jax, lstm_arguments(size), options.repeats)
        rows += bundle(bundle_arguments(size), options.repeats)
    table = Table(title="ADBench: milliseconds (medians)")
    for heading in ("objective", "objective alone", "derivative", "x primal"):
        table.add_column(heading, justify="left" if heading == "objective" else "right")
    for row in rows:
        row["ratio"] = row["derivative"] / row["primal"]
        table.add_row(row["objective"], f"{1e3 * row['primal']:.3f}", f"{1e3 * row['derivative']:.3f}",
                      f"{row['ratio']:.2f}")
    (Console() if sys.stdout.isatty() else Console(width=120)).print(table)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
