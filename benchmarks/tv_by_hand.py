"""scikit-image's total-variation denoiser as a specialist writes it for XLA by hand: the peer of `reactant demo`.

    python benchmarks/tv_by_hand.py [--repeats N] [--json FILE]

The iteration is Chambolle's (see `skimage.restoration.denoise_tv_chambolle`); what is by hand here is its form. The two
components of the dual field are separate arrays, so that no reduction runs over a leading dimension of two; the writes
into slices are pads, so that the whole iteration fuses; float64 throughout; the stopping rule is in the loop's
condition. """
import argparse
import json
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from rich.console import Console
from rich.table import Table

from reactant.demos.measure import interleaved, largest_difference


def _iteration(p0, p1, image, weight):
    """One step of the dual field: returns it with the denoised image and the energy it had before the step."""
    divergence = -(p0 + p1) + jnp.pad(p0[:-1], ((1, 0), (0, 0))) + jnp.pad(p1[:, :-1], ((0, 0), (1, 0)))
    denoised = image + divergence
    g0 = jnp.pad(denoised[1:] - denoised[:-1], ((0, 1), (0, 0)))
    g1 = jnp.pad(denoised[:, 1:] - denoised[:, :-1], ((0, 0), (0, 1)))
    norm = jnp.sqrt(g0 * g0 + g1 * g1)
    energy = (jnp.sum(divergence * divergence) + weight * jnp.sum(norm)) / image.size
    tau = 0.25
    scale = norm * (tau / weight) + 1.0
    return (p0 - tau * g0) / scale, (p1 - tau * g1) / scale, denoised, energy


def _denoise_channel(image, weight, eps, max_num_iter):
    def unfinished(state):
        i, *_, converged = state
        return (i < max_num_iter) & ~converged

    def body(state):
        i, p0, p1, _, first_energy, previous, _ = state
        p0, p1, denoised, energy = _iteration(p0, p1, image, weight)
        first_energy = jnp.where(i == 0, energy, first_energy)
        converged = (i > 0) & (jnp.abs(previous - energy) < eps * first_energy)
        return i + 1, p0, p1, denoised, first_energy, energy, converged

    zeros = jnp.zeros_like(image)
    return jax.lax.while_loop(unfinished, body, (0, zeros, zeros, image, 0.0, 0.0, False))[3]


@jax.jit
def _denoise(image, weight, eps, max_num_iter):
    channels = [_denoise_channel(image[..., c], weight, eps, max_num_iter) for c in range(image.shape[-1])]
    return jnp.stack(channels, axis=-1)


def denoise(image, weight=0.1, eps=2.0e-4, max_num_iter=200):
    """As `denoise_tv_chambolle(image, weight, eps, max_num_iter, channel_axis=-1)`; NumPy in, NumPy out."""
    with jax.enable_x64(True):
        return np.asarray(_denoise(image, weight, eps, max_num_iter))


def main(arguments=None):
    import reactant
    from reactant.demos import tv

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    options = parser.parse_args(arguments)
    image = tv.noisy_photograph()
    functions = {"NumPy": tv.denoise, "by hand": denoise, "reactant": reactant.jit(tv.denoise)}
    plain = tv.denoise(image)
    differences = {name: largest_difference(function(image), plain) for name, function in functions.items()}
    seconds = interleaved(functions, (image,), options.repeats)
    table = Table(title="denoise_tv_chambolle, 512 x 512 x 3, float64 (medians of interleaved runs)")
    table.add_column("form")
    for heading in ("milliseconds", "times NumPy's speed", "time over by hand", "largest difference"):
        table.add_column(heading, justify="right")
    for name, elapsed in seconds.items():
        table.add_row(name, f"{1e3 * elapsed:.1f}", f"{seconds['NumPy'] / elapsed:.2f}",
                      f"{elapsed / seconds['by hand']:.2f}", f"{differences[name]:.1e}")
    Console().print(table)
    if options.json:
        options.json.write_text(json.dumps({"seconds": seconds, "differences": differences}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
