"""What devices and the links between them can do, as their makers publish it: the only numbers of the cost model.

They are peaks. What a program reaches of them is the same fraction, more or less, for each way of dividing it, which is
what the model compares.
"""
from __future__ import annotations

from reactant.support.records import dataclass


@dataclass(frozen=True)
class Link:
    """From one device to another: bytes a second in one direction, and seconds until the first arrives."""

    bandwidth: float
    latency: float


@dataclass(frozen=True)
class Machine:
    """A kind of device in a cluster of such.

    flops: operations a second with float32 outside of matrix units, and `doubles` with float64. memory: bytes a second
    between a device and its memory, which holds `capacity` bytes. near: the link between devices of one node, of which
    there are `node`; far: between those of different nodes.
    """

    name: str
    flops: float
    doubles: float
    memory: float
    capacity: float
    node: int
    near: Link
    far: Link
    sources: tuple[str, ...]


# Of NVIDIA's GPUs, one message takes NCCL's "simple" protocol some 6 us a hop (Hu et al. 2025, "Demystifying NCCL",
# arXiv:2507.04786, table 1); links are published as the sum of both directions.
NCCL = 6e-6

MACHINES = {
    # Two sockets are one device: 2 x 96 cores at 2.4 GHz with two 256-bit multiply-adds a cycle; 2 x 12 channels of
    # DDR5-4800 (460.8 GB/s a socket); one InfiniBand HDR port of 200 Gbit/s, 0.6 us (the adapter's own).
    "cpu": Machine(
        "CPU node (2 x EPYC 9654)", flops=2 * 96 * 2.4e9 * 32, doubles=2 * 96 * 2.4e9 * 16, memory=2 * 460.8e9,
        capacity=768e9, node=1, near=Link(25e9, 0.6e-6), far=Link(25e9, 0.6e-6), sources=(
            "https://www.amd.com/en/products/processors/server/epyc/4th-generation-9004-and-8004-series/"
            "amd-epyc-9654.html",
            "https://network.nvidia.com/files/doc-2020/pb-connectx-6-vpi-card.pdf")),
    # DGX A100: 8 GPUs behind NVSwitch, a port of 200 Gbit/s for each.
    "a100": Machine(
        "A100 SXM 80 GB", flops=19.5e12, doubles=9.7e12, memory=2039e9, capacity=80e9, node=8,
        near=Link(300e9, NCCL), far=Link(25e9, NCCL), sources=(
            "https://www.nvidia.com/content/dam/en-zz/Solutions/Data-Center/a100/pdf/"
            "nvidia-a100-datasheet-us-nvidia-1758950-r4-web.pdf",
            "https://docs.nvidia.com/dgx/dgxa100-user-guide/introduction-to-dgxa100.html")),
    # DGX H100: 8 GPUs behind NVSwitch, a port of 400 Gbit/s for each.
    "h100": Machine(
        "H100 SXM", flops=67e12, doubles=34e12, memory=3.35e12, capacity=80e9, node=8,
        near=Link(450e9, NCCL), far=Link(50e9, NCCL), sources=(
            "https://www.nvidia.com/en-us/data-center/h100/",
            "https://docs.nvidia.com/dgx/dgxh100-user-guide/introduction-to-dgxh100.html")),
    # A torus of three dimensions: 1200 GB/s a chip are six links in both directions, of which a message takes one. Of
    # arithmetic, that of the matrix units in bfloat16 is published. The latency of a hop is that of "How to scale your
    # model", jax-ml.github.io/scaling-book. Jobs of more than 6144 chips use the data centre's network, 50 Gbit/s a
    # chip, of which no latency is published: ten hops' stand for it.
    "v5p": Machine(
        "TPU v5p", flops=459e12, doubles=459e12, memory=2765e9, capacity=95 * 2.0**30, node=6144,
        near=Link(100e9, 1e-6), far=Link(50e9 / 8, 1e-5), sources=(
            "https://cloud.google.com/tpu/docs/v5p", "https://jax-ml.github.io/scaling-book/tpus")),
}
KINDS = {"h100": ("H100", "H200", "GH200"), "a100": ("A100",), "v5p": ("v5", "TPU")}
"""What jax calls such devices."""


def machine_of(kind: str, platform: str) -> Machine:
    """The machine that is most like a device of jax's: its `device_kind` and `platform`."""
    for name, texts in KINDS.items():
        if any(text.lower() in kind.lower() for text in texts):
            return MACHINES[name]
    return MACHINES[{"gpu": "a100", "cuda": "a100", "rocm": "a100", "tpu": "v5p"}.get(platform, "cpu")]
