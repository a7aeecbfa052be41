"""What others write is looked after: bytes around every buffer of a call, and operands that it may only read."""
import ctypes

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import reactant
from reactant.native import bounds, red_zones
from reactant.native.red_zones import _Call, guarded

HANDLER = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
kept = []


def handler_that(write, name):
    """A target of XLA's that adds 1 to its operand, and does `write(operand, result)` with the addresses."""
    def handle(frame):
        call = _Call(frame)
        if call.asks:
            return real(frame)
        (operand,), (result,) = call.operands, call.results
        numbers = np.ctypeslib.as_array((ctypes.c_double * (operand.nbytes // 8)).from_address(operand.data))
        np.ctypeslib.as_array((ctypes.c_double * numbers.size).from_address(result.data))[:] = numbers + 1
        write(operand.data, result.data, result.nbytes)
        return None
    # who answers for the version of the interface: a handler of jaxlib's
    address = red_zones._address_of("lapack_dgetrf_ffi")
    real, made = HANDLER(address), HANDLER(handle)
    kept.extend((real, made))
    target = f"test.{name}"
    place = guarded(ctypes.cast(made, ctypes.c_void_p).value, name)
    jax.ffi.register_ffi_target(target, jax.ffi.pycapsule(ctypes.c_void_p(place)), platform="cpu")
    return target


def put(address):
    ctypes.c_uint8.from_address(address).value ^= 1


SLIPS = {
    "nothing": (lambda operand, result, nbytes: None, None),
    "first and last": (lambda operand, result, nbytes: [put(result + k) or put(result + k) for k in (0, nbytes - 1)],
                       None),
    "behind": (lambda operand, result, nbytes: put(result + nbytes), "outside result 0, .*: at byte 40"),
    "further": (lambda operand, result, nbytes: put(result + nbytes + 4000), "outside result 0, .*: at byte 4040"),
    "before": (lambda operand, result, nbytes: put(result - 1), "outside result 0, .* has 40 bytes: at byte -1"),
    "behind an operand": (lambda operand, result, nbytes: put(operand + nbytes), "outside operand 0, .*: at byte 40"),
    "an operand": (lambda operand, result, nbytes: put(operand + 3),
                   "into operand 0, which it may only read: at byte 3"),
}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("slip", SLIPS)
def test_slips(slip):
    write, told = SLIPS[slip]
    name = f"slip {slip}"
    call = jax.ffi.ffi_call(handler_that(write, name), jax.ShapeDtypeStruct((5,), np.float64))
    with jax.enable_x64(True):
        x = jnp.arange(5.0) + 0
        if told is None:
            np.testing.assert_array_equal(jax.jit(call)(x), np.arange(1.0, 6))
        else:
            with pytest.raises(jax.errors.JaxRuntimeError, match=f"{name} wrote {told}"):
                jax.block_until_ready(jax.jit(call)(x))
        np.testing.assert_array_equal(x, np.arange(5.0))


def hermitian(a):
    return a + a.conj().T


LAPACK = {
    "solve": lambda a, b: np.linalg.solve(a, b),
    "solve in a loop": lambda a, b: sum(np.linalg.solve(a * (k + 1.0), b) for k in range(3)),
    "det and inv": lambda a, b: (np.linalg.det(a), np.linalg.inv(a)),
    "cholesky": lambda a, b: np.linalg.cholesky(a @ a.conj().T),
    "eigh": lambda a, b: np.linalg.eigvalsh(hermitian(a)),
    "qr": lambda a, b: abs(np.linalg.qr(a)[1]),
    "svd": lambda a, b: np.linalg.svd(b, full_matrices=False)[1],
    "svd of all": lambda a, b: abs(np.linalg.svd(b)[2]),
    "eig": lambda a, b: np.sort(np.linalg.eigvals(a)),
    "lstsq": lambda a, b: np.linalg.lstsq(b, a[:, 0], rcond=None)[0],
    "pinv": lambda a, b: np.linalg.pinv(b),
    "stacks": lambda a, b: np.linalg.solve(np.stack([a, a * 2, a + 1]), np.stack([b, b, b * 2])),
}


@pytest.mark.sampled(24)
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("size", [(1, 1), (7, 3), (40, 70)])
@pytest.mark.parametrize("which", LAPACK)
def test_routines_write_their_results_alone(which, size, dtype, monkeypatch):
    """And these are NumPy's."""
    monkeypatch.setenv(bounds.VARIABLE, "1")
    random, (n, m) = np.random.default_rng(1), size
    a, b = (random.normal(size=s) + (1j * random.normal(size=s) if dtype[0] == "c" else 0) for s in ((n, n), (n, m)))
    a, b = a.astype(dtype), b.astype(dtype)
    made = reactant.jit(LAPACK[which])
    if n == 40:         # small ones are loops
        assert red_zones._GUARDED in made.lower(a, b).compile().as_text()
    tolerance = 1e-9 if np.finfo(dtype).bits == 64 else 2e-2
    for x, y in zip(*(r if isinstance(r, tuple) else (r,) for r in (made(a, b), LAPACK[which](a, b))), strict=True):
        np.testing.assert_allclose(x, y, rtol=0, atol=tolerance * max(np.abs(y).max(), 1e-30))


def test_a_routine_that_writes_outside_is_told(monkeypatch):
    monkeypatch.setenv(bounds.VARIABLE, "1")
    name = "lapack_dgeqrf_ffi"
    real = HANDLER(red_zones._address_of(name))

    def handle(frame):
        error, call = real(frame), _Call(frame)
        if not call.asks:
            put(call.results[1].data + call.results[1].nbytes)
        return error
    made = HANDLER(handle)
    kept.extend((made, real))
    monkeypatch.setattr(red_zones, "_address_of", lambda _: ctypes.cast(made, ctypes.c_void_p).value)
    monkeypatch.setattr(red_zones, "_GUARDED", "test.broken.")
    red_zones._register.cache_clear()
    try:
        with pytest.raises(Exception, match=f"{name} wrote outside result 1, which has 40 bytes: at byte 40"):
            reactant.jit(lambda a: np.linalg.qr(a)[1])(np.eye(5) + 1)
    finally:
        red_zones._register.cache_clear()
