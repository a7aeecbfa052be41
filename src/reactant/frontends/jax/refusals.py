"""Why a JAX function, or a call of one, cannot be a part of a program of ours."""
from __future__ import annotations

from reactant.errors import UnsupportedError


class CannotImport(Exception):
    """Why a call is left to `jax.jit`."""


class Failed(CannotImport):
    """Something of ours failed on a call: it is left to `jax.jit`, and the user is told."""


class NotImported(UnsupportedError):
    """A JAX function that cannot be a part of a program of ours; the fact says what stands in the way."""

    code = "jax-function-not-imported"

    def __init__(self, why: str, hint: str = ""):
        super().__init__(why, hint=hint, code=self.code)
