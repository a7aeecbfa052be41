"""`reactant info`: what a bug report needs."""
from __future__ import annotations

import argparse
import os
import platform
from importlib import metadata
from pathlib import Path

HELP = "versions, devices and the settings that decide speed"

_PACKAGES = ("reactant-py", "numpy", "scipy", "jax", "jaxlib", "llvmlite", "scikit-image", "numba", "numba-cuda",
             "ziglang")
_HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage/enabled")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """This command has none."""


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def _huge_pages() -> str:
    """The active word of `always [madvise] never`, or that the system has no such setting."""
    try:
        words = _HUGE_PAGES.read_text().split()
    except OSError:
        return "no such setting on this system"
    return next((word.strip("[]") for word in words if word.startswith("[")), " ".join(words))


def facts() -> dict[str, str]:
    """Name and value of everything that is printed, in order."""
    import jax

    from reactant.simplify.facts.target_costs import stored_at

    measured = stored_at()
    return {
        "python": f"{platform.python_version()} on {platform.system()} {platform.machine()}",
        **{package: _version(package) for package in _PACKAGES},
        "devices": ", ".join(f"{device.platform}:{device.id} ({device.device_kind})" for device in jax.devices()),
        "processors": str(os.cpu_count()),
        "transparent huge pages": _huge_pages(),
        "thresholds": str(measured) if measured.exists() else "as shipped (`reactant calibrate` measures this machine)",
    }


def run(options: argparse.Namespace) -> int:
    from rich.console import Console
    from rich.table import Table

    table = Table(show_header=False)
    for name, value in facts().items():
        table.add_row(name, value)
    Console().print(table)
    return 0
