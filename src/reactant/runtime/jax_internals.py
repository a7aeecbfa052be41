"""What the runtime needs of jax beyond its public interface; nothing else in `runtime` imports private names.

Checked against jax 0.10.2 and 0.11.2: `jax._src.config.enable_x64` with `swap_local`/`set_local` (the thread-local half of
`jax.enable_x64`, four times cheaper than the context manager, which matters on a 6 us call).
"""
from __future__ import annotations

import jax
from jax._src import config as _config  # private: thread-local 64-bit switch

try:
    swap_x64 = _config.enable_x64.swap_local
    restore_x64 = _config.enable_x64.set_local
except AttributeError as missing:  # pragma: no cover - only with a jax we do not know
    raise ImportError(
        f"reactant does not know this jax ({jax.__version__}): {missing}. Install jax 0.10 or 0.11."
    ) from missing


class X64:
    """`with X64():` makes jax 64-bit in this thread until the end, whatever the user's setting."""

    __slots__ = ("_before",)

    def __enter__(self) -> None:
        self._before = swap_x64(True)

    def __exit__(self, *_: object) -> None:
        restore_x64(self._before)
