"""The devices programs can run on."""
from __future__ import annotations

import jax

from reactant.support.records import dataclass


@dataclass(frozen=True)
class Device:
    """A device that programs can run on; listed by `reactant.devices`.

    Attributes:
        platform: "cpu", "gpu" or "tpu".
        index: its number among those.
        name: the kind of device, as its driver says.
        jax: jax's own object.

    Example:
        >>> device = reactant.devices("cpu")[0]
        >>> str(device), device.memory_bytes
        ('cpu:0', None)
    """

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
        """The memory of the device in bytes, where its driver tells; else None."""
        statistics = self.jax.memory_stats() or {}
        return statistics.get("bytes_limit")

    def __str__(self) -> str:
        return f"{self.platform}:{self.index}"

    def __repr__(self) -> str:
        memory = self.memory_bytes
        size = f", {memory / 2**30:.0f} GiB" if memory else ""
        return f"<{self} {self.name}{size}{', default' if self.is_default else ''}>"


def devices(platform: str | None = None) -> list[Device]:
    """The devices of this process.

    Args:
        platform: "cpu" (always there), "gpu" or "tpu"; None for those of the default platform.

    Returns:
        A list of `Device`.

    Raises:
        ValueError: where there is no such platform; the text lists those there are.

    Example:
        >>> reactant.devices("cpu")[0].platform
        'cpu'
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
