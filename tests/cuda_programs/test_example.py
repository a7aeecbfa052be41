"""`examples/seismic`: built by its Makefile, and the same waves as by NumPy."""
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "seismic"
HALO, SPONGE = 4, 40
COEFFICIENTS = np.array([-205 / 72, 8 / 5, -1 / 5, 8 / 315, -1 / 560])


def speeds(nx, nz):
    x, z = np.meshgrid(np.arange(nx) / nx, np.arange(nz) / nz)
    bump = 0.12 * np.exp(-((x - 0.5) * 6) ** 2)
    return np.select([z < 0.2, z < 0.45, z < 0.75 - bump], [1500.0, 2200.0, 2800.0], 4200.0)


def waves(nx, nz, steps, h=5.0):
    """(kinetic energy, loudest sample of the receivers)."""
    dt = 0.4 * h / 4200
    x, z = np.meshgrid(np.arange(nx), np.arange(nz))
    depth = np.maximum(SPONGE - np.minimum(np.minimum(x, nx - 1 - x), nz - 1 - z), 0) / SPONGE
    damping, speed = np.exp(-0.08 * depth**2), speeds(nx, nz)
    now, before = (np.zeros((nz + 2 * HALO, nx + 2 * HALO)) for _ in range(2))
    inside = slice(HALO, -HALO), slice(HALO, -HALO)
    loudest = 0.0
    for turn in range(steps):
        laplacian = 2 * COEFFICIENTS[0] * now[inside]
        for k in range(1, HALO + 1):
            x_sides = now[HALO:-HALO, HALO + k:nx + HALO + k] + now[HALO:-HALO, HALO - k:nx + HALO - k]
            z_sides = now[HALO + k:nz + HALO + k, HALO:-HALO] + now[HALO - k:nz + HALO - k, HALO:-HALO]
            laplacian += COEFFICIENTS[k] * (x_sides + z_sides)
        before[inside] = damping * (2 * now[inside] - damping * before[inside] + (speed * dt / h) ** 2 * laplacian)
        a = np.pi * 12 * (turn * dt - 1.2 / 12)
        before[HALO + 4, HALO + nx // 2] += (1 - 2 * a * a) * np.exp(-a * a)
        now, before = before, now
        receivers = (nx - 2 * SPONGE) // 4
        loudest = max(loudest, np.abs(now[HALO + 2, HALO + SPONGE:HALO + SPONGE + 4 * receivers:4]).max())
    return (((now - before)[inside] / (speed * dt)) ** 2).sum(), loudest


@pytest.mark.skipif(shutil.which("make") is None or shutil.which("g++") is None, reason="needs make and g++")
def test_the_makefile_builds_what_numpy_computes(tmp_path):
    project = shutil.copytree(EXAMPLE, tmp_path / "seismic", ignore=shutil.ignore_patterns("build", "seismic"))
    source = str(Path(__file__).parents[2] / "src")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([source, os.environ.get("PYTHONPATH", "")])}
    made = subprocess.run(["make", "-s", f"NVCC={sys.executable} -m reactant nvcc"], cwd=project, env=environment,
                          capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    said = subprocess.run(["./seismic", "161", "120", "150", "field.ppm"], cwd=project, capture_output=True, text=True,
                          check=True).stdout.split()
    assert [float(said[1]), float(said[3])] == pytest.approx(waves(161, 120, 150), rel=2e-3)
    assert (project / "field.ppm").read_bytes().startswith(b"P6\n161 120\n255\n")
