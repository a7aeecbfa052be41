"""StableHLO modules as functions: text (`.mlir`), MLIR bytecode and StableHLO's portable artifacts."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from reactant.errors import ReactantError, in_one_line
from reactant.frontends.arrays.creation import as_tensor
from reactant.frontends.arrays.promotion import result_type
from reactant.frontends.arrays.tensor import Tensor
from reactant.frontends.arrays.ufuncs import cast, weak_type
from reactant.frontends.session.jax_calls import splice
from reactant.frontends.session.trace import current_trace
from reactant.ir import cusolver, gpu_scans, modules
from reactant.ir.context import building
from reactant.ir.types import shape_and_dtype
from reactant.runtime.program import Body, body_of


class InvalidArtifact(ReactantError, ValueError):
    """What was loaded is no StableHLO program that can be run here."""

    code = "not-a-program"


def module_of(source: bytes | str, name: str = "main") -> Body:
    """The program in text, bytecode or a portable artifact.

    Raises `InvalidArtifact` where it does not parse, does not verify, or has no @main over tensors of static shape.
    """
    with building() as context:
        try:
            module = parsed(source, context)
            if cusolver.concerns(source):
                cusolver.as_lapack(module)
            if gpu_scans.concerns(source):
                gpu_scans.as_windows(module)
            return body_of(module, name)
        except (ir.MLIRError, ValueError) as error:
            raise InvalidArtifact(f"This is no StableHLO module that can be run: {in_one_line(error)}",
                                  hint="docs/jax.md says what can be loaded.",
                                  code="not-a-program") from None


def parsed(source: bytes | str, context: ir.Context) -> ir.Module:
    """A module of text, bytecode or a portable artifact, as it is."""
    if isinstance(source, bytes) and b"StableHLO_v" in source[:40]:      # MLIR's bytecode header names the producer
        return stablehlo.deserialize_portable_artifact(context, source)
    return modules.parse(source)


def artifact(module: ir.Module, version: str | None = None) -> bytes:
    """A portable artifact: StableHLO bytecode that versions from `version` on ("1.0.0"; by default the oldest that is
    still guaranteed to read it) can load."""
    target = stablehlo.get_minimum_version() if version is None else version
    with building():
        try:
            written = modules.clone(module)     # what is serialized is made VHLO in place
            for op in modules.ops_called("stablehlo.custom_call", written):
                if "sdy.sharding_rule" in op.attributes:        # VHLO cannot express it, and it says no more than what
                    del op.attributes["sdy.sharding_rule"]      # a compiler that shards the program may do
            modules.run_passes(written, "func.func(chlo-legalize-to-stablehlo)")    # VHLO has no CHLO
            return stablehlo.serialize_portable_artifact(written, target)
        except (ir.MLIRError, ValueError) as error:
            raise ReactantError(f"The program cannot be written for StableHLO {target}: {in_one_line(error)}",
                                hint="Choose a version that has all of its operations.",
                                code="not-exportable") from None


def call(body: Body, arguments: Sequence[Any]) -> list[Tensor]:
    """The results of a module for traced arrays, part of the program being traced.

    Raises `TypeError` where the number of arguments, a shape or a dtype is not the module's. Python numbers take its
    dtype.
    """
    if len(arguments) != len(body.inputs):
        raise TypeError(f"{body.name} takes {len(body.inputs)} arrays, {len(arguments)} are given.")
    values = []
    for number, (given, wanted) in enumerate(zip(arguments, body.inputs, strict=True)):
        tensor = as_tensor(given)
        value = tensor.value()
        if tensor.dtype != wanted.dtype and result_type((weak_type(tensor), wanted.dtype)) == wanted.dtype \
                and weak_type(tensor) is not tensor.dtype and isinstance(given, (bool, int, float, complex)):
            value = cast(value, wanted.dtype)
        if shape_and_dtype(value.type) != (wanted.shape, wanted.dtype):
            raise TypeError(f"Argument {number} of {body.name} is {wanted}, not {tensor.dtype}{list(tensor.shape)}.")
        values.append(value)
    found = splice(modules.parse(body.bytecode), values, current_trace().module)
    return [Tensor.of_value(value) for value in found]
