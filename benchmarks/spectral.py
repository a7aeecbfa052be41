"""Two-dimensional turbulence: the vorticity equation on a periodic square by a pseudo-spectral method.

    dw/dt + u . grad(w) = nu laplacian(w),   u = (d psi/dy, -d psi/dx),   laplacian(psi) = -w

Products are formed on the grid, derivatives in Fourier space, the upper third of the wave numbers is cut (dealiasing),
time stepping is Heun's with the viscous term integrated exactly. Numba has no FFT, so there is no twin.
Source: S. A. Orszag, Elimination of aliasing in finite-difference schemes by filtering high-wavenumber components.
"""
import numpy as np

SIZES = {"full": (128, 60), "tiny": (8, 3)}


def tendency(transformed, kx, ky, inverse_square, keep):
    """-u . grad(w) in Fourier space."""
    stream = transformed * inverse_square
    velocity_x = np.fft.ifft2(1j * ky * stream).real
    velocity_y = np.fft.ifft2(-1j * kx * stream).real
    gradient_x = np.fft.ifft2(1j * kx * transformed).real
    gradient_y = np.fft.ifft2(1j * ky * transformed).real
    return np.where(keep, -np.fft.fft2(velocity_x * gradient_x + velocity_y * gradient_y), 0.0)


def advance(vorticity, steps, dt, viscosity):
    """The vorticity, (n, n), after `steps` steps, and the enstrophy, mean(w^2) / 2, after each."""
    n = len(vorticity)
    wave = np.fft.fftfreq(n, 1.0 / n)
    kx = wave[:, np.newaxis]
    ky = wave[np.newaxis, :]
    square = kx**2 + ky**2
    inverse_square = 1.0 / np.where(square == 0.0, 1.0, square)
    inverse_square[0, 0] = 0.0
    keep = (np.abs(kx) < n / 3) & (np.abs(ky) < n / 3)
    decay = np.exp(-viscosity * square * dt)
    enstrophy = np.zeros(steps)
    transformed = np.fft.fft2(vorticity)
    for step in range(steps):
        first = tendency(transformed, kx, ky, inverse_square, keep)
        guess = decay * (transformed + dt * first)
        second = tendency(guess, kx, ky, inverse_square, keep)
        transformed = decay * (transformed + 0.5 * dt * first) + 0.5 * dt * second
        enstrophy[step] = 0.5 * np.mean(np.fft.ifft2(transformed).real ** 2)
    return np.fft.ifft2(transformed).real, enstrophy


def make(size="full"):
    n, steps = SIZES[size]
    random = np.random.default_rng(7)
    wave = np.fft.fftfreq(n, 1.0 / n)
    radius = np.hypot(wave[:, np.newaxis], wave[np.newaxis, :])
    shell = np.exp(-((radius - 4.0) ** 2) / 2.0)
    vorticity = np.fft.ifft2(shell * np.fft.fft2(random.standard_normal((n, n)))).real
    return advance, (vorticity / vorticity.std(), steps, 0.01, 1e-3)
