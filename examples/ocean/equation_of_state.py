"""Density of sea water, buoyancy, stratification and hydrostatic pressure.

Density: the polynomial of 55 terms of Roquet, Madec, McDougall and Barker (Ocean Modelling 90, 2015) for Boussinesq
models, fitted to TEOS-10, in conservative temperature (degrees C), absolute salinity (g/kg) and height (m); its
coefficients are those published there. The profile that depends on height alone exerts no force and is left out.
"""
from __future__ import annotations

import math

from numba import cuda

from .launching import HALO

GRAVITY = 9.80665
REFERENCE_DENSITY = 1026.0
SALINITY_UNIT = 40.0 * 35.16504 / 35.0
SALINITY_SHIFT = 32.0
TEMPERATURE_UNIT = 40.0
HEIGHT_UNIT = 1.0e4


@cuda.jit(device=True)
def density_anomaly(temperature, salinity, height):
    """Density in kg/m3 without the profile r0(height): r(s, t, z), the terms of z**0 to z**3 by Horner's scheme."""
    t = temperature / TEMPERATURE_UNIT
    s = math.sqrt((salinity + SALINITY_SHIFT) / SALINITY_UNIT)
    z = -height / HEIGHT_UNIT
    r3 = 3.7969820455e-01 * t - 1.8507636718e-02 * s - 2.3342758797e-02
    r2 = ((-1.2419983026e+00 * t - 2.1311365518e-01 * s + 2.0564311499e+00) * t
          + (2.5019633244e+00 * s - 4.9527603989e+00) * s + 2.0660924175e+00)
    r1 = ((((5.5927935970e-01 * t - 5.5077101279e-01 * s - 2.4649669534e+00) * t
            + (-1.8795372996e+00 * s + 3.5063081279e+00) * s + 6.7080479603e+00) * t
           + ((-6.5399043664e-01 * s + 5.0042598061e+00) * s - 4.4870114575e+00) * s - 1.3336301113e+01) * t
          + (((6.6051753097e+00 * s - 3.0938076334e+01) * s + 5.0774768218e+01) * s - 4.2549998214e+01) * s
          + 1.9681925209e+01)
    r0 = ((((((-1.9083568888e-01 * t + 4.8169980163e-01 * s + 5.4048723791e-01) * t
              + (-5.3563304045e+00 * s + 1.1311538584e+01) * s - 8.3627885467e+00) * t
             + ((-3.1742946532e+00 * s + 1.9717078466e+01) * s - 3.3449108469e+01) * s + 2.1661789529e+01) * t
            + (((-5.4723692739e+00 * s + 2.9130021253e+01) * s - 6.0362551501e+01) * s + 6.1548258127e+01) * s
            - 3.7074170417e+01) * t
           + ((((-1.9193502195e+00 * s + 1.7681814114e+01) * s - 5.6888046321e+01) * s + 8.1770425108e+01) * s
              - 6.5281885265e+01) * s + 2.6010145068e+01) * t
          + (((((-6.0579916612e+01 * s + 4.3227585684e+02) * s - 1.2849161071e+03) * s + 2.0375295546e+03) * s
              - 1.7864682637e+03) * s + 8.6672408165e+02) * s + 8.0189615746e+02)
    return ((r3 * z + r2) * z + r1) * z + r0


@cuda.jit
def compute_buoyancy(temperature, salinity, height, buoyancy):
    """b = -g (rho - rho0) / rho0 at the centres of cells, ghost cells included."""
    i, j, k = cuda.grid(3)
    nz, ny, nx = buoyancy.shape
    if i < nx and j < ny and k < nz:
        rho = density_anomaly(temperature[k, j, i], salinity[k, j, i], height[k])
        buoyancy[k, j, i] = -GRAVITY * (rho - REFERENCE_DENSITY) / REFERENCE_DENSITY


@cuda.jit
def compute_stratification(temperature, salinity, depth_of_faces, height, stretch, stratification):
    """N**2 in 1/s2 on the upper faces of cells: both cells' water brought to the face's depth, as density of
    different compressibility is to be compared."""
    i, j, k = cuda.grid(3)
    nz, ny, nx = temperature.shape
    if i < nx and j < ny and k < nz:
        if k == 0:
            stratification[k, j, i] = 0.0
        else:
            above = density_anomaly(temperature[k - 1, j, i], salinity[k - 1, j, i], depth_of_faces[k])
            below = density_anomaly(temperature[k, j, i], salinity[k, j, i], depth_of_faces[k])
            distance = (height[k - 1] - height[k]) * stretch[j, i]
            stratification[k, j, i] = GRAVITY * (below - above) / (REFERENCE_DENSITY * distance)


@cuda.jit
def compute_pressure(buoyancy, thickness, stretch, pressure):
    """p' / rho0 at the centres of cells, integrated from the surface with the levels' full thickness: columns with
    the same water have the same pressure, wherever their bottom is."""
    i, j = cuda.grid(2)
    nz, ny, nx = pressure.shape
    if i < nx and j < ny:
        p = -0.5 * buoyancy[0, j, i] * thickness[0]
        pressure[0, j, i] = p * stretch[j, i]
        for k in range(1, nz):
            p -= 0.5 * (buoyancy[k - 1, j, i] * thickness[k - 1] + buoyancy[k, j, i] * thickness[k])
            pressure[k, j, i] = p * stretch[j, i]


@cuda.jit
def accelerate_by_pressure_x(pressure, buoyancy, height, stretch, surface, dx, wet, tendency):
    """du/dt of -dp/dx along levels, and of their slope: -(dp/dx - b dz/dx), z = surface + stretch * height."""
    i, j, k = cuda.grid(3)
    nz, ny, nx = pressure.shape
    i += HALO
    j += HALO
    if i < nx - HALO and j < ny - HALO and k < nz:
        slope = (stretch[j, i] - stretch[j, i - 1]) * height[k] + surface[j, i] - surface[j, i - 1]
        lifted = 0.5 * (buoyancy[k, j, i] + buoyancy[k, j, i - 1]) * slope
        tendency[k, j, i] += wet[k, j, i] * (lifted - (pressure[k, j, i] - pressure[k, j, i - 1])) / dx[j]


@cuda.jit
def accelerate_by_pressure_y(pressure, buoyancy, height, stretch, surface, dy, wet, tendency):
    """dv/dt of the same along y."""
    i, j, k = cuda.grid(3)
    nz, ny, nx = pressure.shape
    i += HALO
    j += HALO
    if i < nx - HALO and j < ny - HALO and k < nz:
        slope = (stretch[j, i] - stretch[j - 1, i]) * height[k] + surface[j, i] - surface[j - 1, i]
        lifted = 0.5 * (buoyancy[k, j, i] + buoyancy[k, j - 1, i]) * slope
        tendency[k, j, i] += wet[k, j, i] * (lifted - (pressure[k, j, i] - pressure[k, j - 1, i])) / dy
