"""The devices programs can run on."""
from __future__ import annotations

import jax

from reactant.support.records import dataclass


@dataclass(frozen=True)
class Device:
    """One device: `platform` ("cpu", "gpu", "tpu"), its number among those, a name, and jax's own object."""

    platform: str
    index: int
    name: str
    jax: jax.Device

    @property
    def is_default(self) -> bool:
        """Whether programs run here unless told otherwise."""
        return default_device().jax == self.jax

    @property
    def memory_bytes(self) -> int | None:
        """Memory of the device where the driver tells, else None."""
        statistics = self.jax.memory_stats() or {}
        return statistics.get("bytes_limit")

    def __str__(self) -> str:
        return f"{self.platform}:{self.index}"

    def __repr__(self) -> str:
        memory = self.memory_bytes
        size = f", {memory / 2**30:.0f} GiB" if memory else ""
        return f"<{self} {self.name}{size}{', default' if self.is_default else ''}>"


def devices(platform: str | None = None) -> list[Device]:
    """The devices of this process, or those of one platform ("cpu" is always there; "gpu" where there is one).

    Raises `ValueError` where there is no such platform.
    """
    try:
        found = jax.devices(platform) if platform else jax.devices()
    except RuntimeError as error:
        platforms = ", ".join(sorted({device.platform for device in jax.devices()} | {"cpu"}))
        raise ValueError(f"There is no {platform!r} device here; there are: {platforms}.") from error
    return [_described(device) for device in found]


def default_device() -> Device:
    """Where programs run unless told otherwise: jax's `jax_default_device`, else its first device."""
    named = jax.config.jax_default_device
    if isinstance(named, str):
        return _described(jax.devices(named)[0])
    return _described(named if named is not None else jax.devices()[0])


def lowered_for() -> str:
    """What jax lowers programs for on the default device: its platform, "cuda" or "rocm" for a GPU."""
    device = default_device()
    if device.platform == "gpu":
        return "rocm" if "rocm" in device.jax.client.platform_version.lower() else "cuda"
    return device.platform


def _described(device: jax.Device) -> Device:
    return Device(device.platform, device.id, device.device_kind, device)
