"""Gradients of what jax.numpy, jax.lax, jax.scipy and jax.nn offer, against jax.grad."""
import jax
import jax.numpy as jnp
import jax.scipy as js
import numpy as np
import pytest
from jax import lax

import reactant

RNG = np.random.default_rng(0)
X = RNG.uniform(0.2, 0.9, (4, 3))
M = RNG.standard_normal((4, 4)) + 4 * np.eye(4)
FUNCTIONS = {
    "expm": (lambda a: js.linalg.expm(a * 0.2).sum(), M),
    "logdet": (lambda a: jnp.linalg.slogdet(a)[1], M),
    "pinv": (lambda a: (jnp.linalg.pinv(a) ** 3).sum(), X),
    "spectral_norm": (lambda a: jnp.linalg.norm(a, 2), X),
    "nuclear_norm": (lambda a: jnp.linalg.norm(a, "nuc"), X),
    "lstsq": (lambda a: (jnp.linalg.lstsq(a, jnp.ones(4))[0] ** 2).sum(), X),
    "condition": (lambda a: jnp.linalg.cond(a), M),
    "matrix_power": (lambda a: jnp.linalg.matrix_power(a, 5).sum() * 0.0001, M),
    "matrix_power_negative": (lambda a: jnp.linalg.matrix_power(a, -3).sum(), M),
    "qr": (lambda a: (jnp.linalg.qr(a)[0] ** 3).sum(), X),
    "eigvalsh": (lambda a: (jnp.linalg.eigvalsh(a + a.T) ** 2).sum(), M),
    "eigvals": (lambda a: (jnp.abs(jnp.linalg.eigvals(a)) ** 3).sum(), M),
    "gammaln": (lambda a: js.special.gammaln(a).sum(), X),
    "betaln": (lambda a: js.special.betaln(a, a + 1).sum(), X),
    "gammainc": (lambda a: js.special.gammainc(2.5, a).sum(), X),
    "betainc": (lambda a: js.special.betainc(2.0, 3.0, a).sum(), X),
    "i0": (lambda a: js.special.i0(a * 9).sum(), X),
    "i1e": (lambda a: js.special.i1e(a * 9).sum(), X),
    "ndtri": (lambda a: js.special.ndtri(a).sum(), X),
    "log_ndtr": (lambda a: js.special.log_ndtr(a - 3).sum(), X),
    "xlogy": (lambda a: js.special.xlogy(a, a).sum(), X),
    "entr": (lambda a: js.special.entr(a).sum(), X),
    "expi": (lambda a: js.special.expi(a).sum(), X),
    "zeta": (lambda a: js.special.zeta(2.5, a).sum(), X),
    "polygamma": (lambda a: js.special.polygamma(2, a).sum(), X),
    "sinc": (lambda a: jnp.sinc(a).sum(), X),
    "cumlogsumexp": (lambda a: (lax.cumlogsumexp(a, 0) ** 2).sum(), X),
    "cumprod": (lambda a: (jnp.cumprod(a, 1) ** 2).sum(), X),
    "cummax": (lambda a: (lax.cummax(a, 0) ** 2).sum(), X),
    "associative_scan": (lambda a: (lax.associative_scan(lambda p, q: p * q + p, a) ** 2).sum(), X),
    "sort": (lambda a: (jnp.sort(a, 0) ** 3 * jnp.arange(4.0)[:, None]).sum(), X),
    "argsort": (lambda a: (jnp.take_along_axis(a, jnp.argsort(-a, 1), 1) * jnp.arange(3.0)).sum(), X),
    "median": (lambda a: jnp.median(a) ** 2, X),
    "quantile": (lambda a: jnp.quantile(a, 0.3), X),
    "topk": (lambda a: (lax.top_k(a, 2)[0] ** 2).sum(), X),
    "approx_topk": (lambda a: (lax.approx_max_k(a, 2, reduction_dimension=0)[0] ** 2).sum(), X),
    "maxpool": (lambda a: (lax.reduce_window(a, -jnp.inf, lax.max, (2, 2), (1, 1), "VALID") ** 2).sum(), X),
    "avgpool": (lambda a: (lax.reduce_window(a, 0.0, lax.add, (2, 2), (2, 1), "SAME") ** 2).sum(), X),
    "logsumexp": (lambda a: jax.nn.logsumexp(a, 0).sum(), X),
    "softmax": (lambda a: (jax.nn.softmax(a) ** 2).sum(), X),
    "segment": (lambda a: (jax.ops.segment_sum(a, jnp.array([0, 1, 0, 2]), 3) ** 2).sum(), X),
    "segment_max": (lambda a: (jax.ops.segment_max(a, jnp.array([0, 1, 0, 1]), 2) ** 2).sum(), X),
    "segment_prod": (lambda a: (jax.ops.segment_prod(a, jnp.array([0, 1, 0, 1]), 2) ** 2).sum(), X),
    "at_mul": (lambda a: (a.at[jnp.array([0, 1])].multiply(a[2:]) ** 2).sum(), X),
    "at_subtract": (lambda a: (a.at[jnp.array([0, 2, 2])].subtract(a[:3] ** 2, mode="drop") ** 3).sum(), X),
    "at_min": (lambda a: (a.at[jnp.array([0, 0])].min(a[2:]) ** 2).sum(), X),
    "at_set": (lambda a: (a.at[jnp.array([0, 2])].set(a[:2] ** 2) ** 2).sum(), X),
    "conv1d": (lambda a: (jnp.convolve(a[:, 0], a[:, 1], "same") ** 2).sum(), X),
    "fft": (lambda a: (jnp.abs(jnp.fft.fft(a, axis=0)) ** 2).sum(), X),
    "hfft": (lambda a: (jnp.fft.hfft(a[:, 0] + 1j * a[:, 1]) ** 2).sum(), X),
    "ihfft": (lambda a: jnp.abs(jnp.fft.ihfft(a[:, 0]) ** 2).sum(), X),
    "irfftn": (lambda a: (jnp.fft.irfftn(a + 1j * a ** 2) ** 2).sum(), X),
    "interp": (lambda a: jnp.interp(a.ravel(), jnp.linspace(0, 1, 5), jnp.linspace(0, 1, 5) ** 2).sum(), X),
    "cho_solve": (
        lambda a: (js.linalg.cho_solve(js.linalg.cho_factor(a @ a.T + jnp.eye(4)), jnp.ones(4)) ** 2).sum(), M),
    "solve_tri": (lambda a: (js.linalg.solve_triangular(a, jnp.ones(4), lower=True, trans=1) ** 2).sum(), M),
    "solve": (lambda a: (jnp.linalg.solve(a, jnp.ones((4, 2))) ** 2).sum(), M),
    "inv": (lambda a: (jnp.linalg.inv(a) ** 2).sum(), M),
    "tensorsolve": (lambda a: jnp.linalg.tensorsolve(a, jnp.ones(4)).sum(), M),
    "lu_solve": (lambda a: (js.linalg.lu_solve(js.linalg.lu_factor(a), jnp.ones(4)) ** 2).sum(), M),
    "lu_solve_t": (lambda a: (js.linalg.lu_solve(js.linalg.lu_factor(a), jnp.ones(4), trans=1) ** 2).sum(), M),
    "lu": (lambda a: (js.linalg.lu(a)[1] ** 2).sum() + (js.linalg.lu(a)[2] ** 3).sum(), M),
    "while": (
        lambda a: lax.while_loop(lambda s: (s[1] < 20.0) & (s[0] < 7), lambda s: (s[0] + 1, s[1] * 1.7), (0,
        a.sum()))[1], X),
    "cond": (lambda a: lax.cond(a.sum() > 1, jnp.sin, jnp.cos, a).sum(), X),
    "switch": (lambda a: lax.switch(1, [jnp.sin, jnp.tanh], a).sum(), X),
    "remat": (lambda a: jax.checkpoint(lambda b: jnp.sin(jnp.cos(b)).sum())(a), X),
    "map": (lambda a: lax.map(lambda r: jnp.linalg.norm(r), a).sum(), X),
    "erfc": (lambda a: lax.erfc(a).sum(), X),
    "logaddexp": (lambda a: jnp.logaddexp(a, a.mean()).sum(), X),
    "hypot": (lambda a: jnp.hypot(a, a[::-1]).sum(), X),
    "arctan2": (lambda a: jnp.arctan2(a, a[::-1]).sum(), X),
    "mod": (lambda a: jnp.mod(a * 5, a[::-1]).sum(), X),
    "nanmean": (lambda a: jnp.nanmean(a) ** 2, X),
    "var": (lambda a: jnp.var(a), X),
}
QUICK = {"logdet", "lstsq", "qr", "eigvals", "gammainc", "cumprod", "sort", "topk", "maxpool", "segment_max",
        "at_min", "at_subtract", "approx_topk",
         "irfftn", "solve", "switch", "quantile"}
BEYOND_JAX = {"segment_prod", "at_mul", "while"}
"""What jax.grad refuses; against central differences."""


def differences(function, x):
    found = np.zeros_like(x)
    for place in np.ndindex(*x.shape):
        step = np.zeros_like(x)
        step[place] = 1e-6
        found[place] = (function(jnp.asarray(x + step)) - function(jnp.asarray(x - step))) / 2e-6
    return found


@pytest.mark.sampled(100)
@pytest.mark.parametrize("name", [
    name if name in QUICK | BEYOND_JAX else pytest.param(name, marks=pytest.mark.slow) for name in FUNCTIONS])
def test_gradient(name):
    function, x = FUNCTIONS[name]
    with jax.enable_x64(True):
        found = reactant.grad(function)(jnp.asarray(x))
        if name in BEYOND_JAX:
            np.testing.assert_allclose(found, differences(function, x), rtol=1e-5, atol=1e-7)
        else:
            np.testing.assert_allclose(found, jax.grad(function)(jnp.asarray(x)), rtol=1e-7, atol=1e-9)
