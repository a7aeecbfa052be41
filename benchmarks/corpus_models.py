"""More of the corpus: models and samplers as their users write them, with scans, searches and neighbour lists."""
import jax
import jax.numpy as jnp
from corpus_programs import integers, normal, program, sized
from jax import lax


@program(lambda s: (normal(0, 2, sized(s, 32, 8), sized(s, 32, 8), 32), normal(1, 2, 64),
                    [normal(2 + k, 3, 3, 32, 32, scale=0.1) for k in range(2)], normal(4, 64, 32, scale=0.1)))
def diffusion_block(x, time, kernels, project):
    """A residual block of a diffusion U-Net: group norms, time embedding, down and up again."""
    def group_norm(x):
        y = x.reshape(*x.shape[:3], 8, 4)
        mean, var = y.mean((1, 2, 4), keepdims=True), y.var((1, 2, 4), keepdims=True)
        return ((y - mean) * lax.rsqrt(var + 1e-5)).reshape(x.shape)

    def convolved(x, kernel):
        return lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    h = convolved(jax.nn.silu(group_norm(x)), kernels[0]) + (jax.nn.silu(time) @ project)[:, None, None, :]
    h = x + convolved(jax.nn.silu(group_norm(h)), kernels[1])
    down = lax.reduce_window(h, 0.0, lax.add, (1, 2, 2, 1), (1, 2, 2, 1), "VALID") / 4
    return h + jnp.repeat(jnp.repeat(down, 2, 1), 2, 2)


@program(lambda s: (normal(0, 2, sized(s, 256), 64), normal(1, 64, 16), normal(2, 64, 33, scale=0.1),
                    normal(3, 1, 64, scale=0.3)))
def state_space(x, rates, project, widths):
    """A selective scan (Mamba)."""
    step, into, out = jnp.split(x @ project, (1, 17), -1)
    step = jax.nn.softplus(step @ widths)
    decay = jnp.exp(-step[..., None] * jnp.exp(rates))
    inputs = step[..., None] * into[:, :, None, :] * x[..., None]

    def iteration(h, t):
        h = t[0] * h + t[1]
        return h, jnp.einsum("bdn,bn->bd", h, t[2])
    return lax.scan(iteration, jnp.zeros((2, 64, 16)), [a.swapaxes(0, 1) for a in (decay, inputs, out)])[1]


@program(lambda s: (normal(0, sized(s, 2000), 32), integers(1, sized(s, 2000), sized(s, 20000)),
                    integers(2, sized(s, 2000), sized(s, 20000)), normal(3, 32, 32, scale=0.2)))
def graph_convolution(x, senders, receivers, w):
    """Two layers with one matrix, normalised by the degrees."""
    n = x.shape[0]
    ones = jnp.ones(senders.shape[0])
    left, right = (lax.rsqrt(jnp.maximum(jax.ops.segment_sum(ones, ends, n), 1)) for ends in (receivers, senders))

    def layer(h):
        return jax.ops.segment_sum(((h @ w) * right[:, None])[senders], receivers, n) * left[:, None]
    return layer(jax.nn.relu(layer(x))).mean(0)


@program(lambda s: (normal(0, sized(s, 64), 3), jnp.float32(2.0)))
def adaptive_solver(y, end):
    """Heun's method with an error estimate that chooses the steps, over a batch of Lorenz systems."""
    def slope(y):
        a, b, c = y[..., 0], y[..., 1], y[..., 2]
        return jnp.stack([10.0 * (b - a), a * (28.0 - c) - b, a * b - 8.0 / 3.0 * c], -1)

    def iteration(state):
        t, y, h, n = state
        first = slope(y)
        guess = y + h * first
        better = y + 0.5 * h * (first + slope(guess))
        error = jnp.sqrt(jnp.mean(((better - guess) / (1e-2 + 1e-2 * jnp.abs(better))) ** 2))
        good = error <= 1.0
        h = jnp.minimum(h * jnp.clip(0.9 * (error + 1e-10) ** -0.5, 0.2, 5.0), end - t)
        return jnp.where(good, t + state[2], t), jnp.where(good, better, y), h, n + 1
    return lax.while_loop(lambda s: (s[0] < end - 1e-5) & (s[3] < 300), iteration,
                          (jnp.float32(0), y, jnp.float32(0.01), 0))


@program(lambda s: (normal(0, 8, sized(s, 8000)), normal(1, 8), integers(2, 100, 8, 20), jnp.int32(5)))
def beam_search(logits, scores, tokens, t):
    """A step of a beam search, and the nucleus of the best beam."""
    total = jax.nn.log_softmax(logits / 0.8) + scores[:, None]
    best, place = lax.top_k(total.reshape(-1), 8)
    tokens = tokens[place // logits.shape[1]].at[:, t].set(place % logits.shape[1])
    p = jax.nn.softmax(logits[place[0] // logits.shape[1]])
    order = jnp.argsort(-p)
    kept = jnp.cumsum(p[order]) - p[order] < 0.9
    return best, tokens, jnp.zeros_like(p).at[order].set(jnp.where(kept, p[order], 0.0)), jnp.argmax(logits, 1)


@program(lambda s: (normal(0, sized(s, 500), 3, scale=3.0), normal(1, sized(s, 500), 3, scale=0.1),
                    integers(2, sized(s, 500), sized(s, 500), 32), 5))
def molecular_dynamics(x, v, neighbours, steps):
    """Velocity Verlet in a periodic box: Lennard-Jones over a list of neighbours, forces as a gradient."""
    def energy(x):
        d = x[:, None] - x[neighbours]
        d = d - 12.0 * jnp.round(d / 12.0)
        square = jnp.maximum(jnp.sum(d * d, -1), 0.5)
        near = (neighbours != jnp.arange(x.shape[0])[:, None]) & (square < 6.25)
        return 2.0 * jnp.sum(jnp.where(near, square ** -6 - square ** -3, 0.0))
    slope = jax.grad(energy)

    def step(_, state):
        x, v, f = state
        v = v - 0.0005 * f
        x = jnp.mod(x + 0.001 * v, 12.0)
        f = slope(x)
        return x, v - 0.0005 * f, f
    return lax.fori_loop(0, steps, step, (x, v, slope(x)))


@program(lambda s: (normal(0, 12, 12), normal(1, 12), normal(2, 12, 20), integers(3, 20, 8, sized(s, 100))))
def hidden_markov_model(moves, start, emission, observed):
    """Likelihoods of sequences, and their best paths (Viterbi)."""
    moves, start, emission = map(jax.nn.log_softmax, (moves, start, emission))

    def forward(seen):
        def step(a, o):
            return jax.nn.logsumexp(a[:, None] + moves, 0) + emission[:, o], None
        return jax.nn.logsumexp(lax.scan(step, start + emission[:, seen[0]], seen[1:])[0])

    def path(seen):
        def step(a, o):
            s = a[:, None] + moves
            return s.max(0) + emission[:, o], s.argmax(0)
        a, back = lax.scan(step, start + emission[:, seen[0]], seen[1:])
        return lax.scan(lambda state, b: (b[state], b[state]), a.argmax(), back, reverse=True)[1]
    return jax.vmap(forward)(observed), jax.vmap(path)(observed)


@program(lambda s: (normal(0, 20), normal(1, sized(s, 200), 20), normal(2, sized(s, 200)), normal(3, 20), 10))
def leapfrog(w, x, y, p, steps):
    """A path of Hamiltonian Monte Carlo for logistic regression."""
    y = (y > 0).astype(x.dtype)

    def loss(w):
        z = x @ w
        return jnp.sum(jnp.logaddexp(0.0, z) - y * z) + 0.5 * w @ w
    slope = jax.grad(loss)

    def step(_, state):
        w, p = state
        p = p - 0.005 * slope(w)
        w = w + 0.01 * p
        return w, p - 0.005 * slope(w)
    return lax.fori_loop(0, steps, step, (w, p))


@program(lambda s: (normal(0, sized(s, 256), 512), normal(1, 512, 512)))
def quantised_product(x, w):
    def quantised(a, axis):
        scale = jnp.max(jnp.abs(a), axis, keepdims=True) / 127
        return scale, jnp.clip(jnp.round(a / scale), -127, 127).astype(jnp.int8)
    (rows, x), (columns, w) = quantised(x, 1), quantised(w, 0)
    return lax.dot_general(x, w, (((1,), (0,)), ((), ())), preferred_element_type=jnp.int32) * rows * columns
