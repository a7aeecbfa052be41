"""Kernels through all steps, run by the interpreter, against NumPy."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from reactant.ir.context import building
from reactant.kernels.form import form, interpret
from reactant.kernels.stages.stages import STAGES, run_stages
from tests.kernels import structured_kernels

pytest.importorskip("ziglang", reason="CUDA C++ is compiled by clang, from the package ziglang")

CASES = {case[0]: case for case in structured_kernels.cases()}


@pytest.fixture(scope="module")
def kernels() -> Any:
    from reactant.kernels.ways_in import cuda
    return cuda.load(structured_kernels.SOURCE)


RECORDS: dict[str, Any] = {}


def record(kernels: Any, name: str) -> Any:
    if name not in RECORDS:
        _, grid, block, arguments, shared, _ = CASES[name]
        RECORDS[name] = kernels[name].configure(grid, block, 0, shared).record(*arguments)
    return RECORDS[name]


def launch(module: Any, arguments: list[Any], **options: Any) -> list[Any]:
    """Run a structured form on copies of the arguments; those after the launch."""
    copies = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    arrays = iter([*(a for a in copies if isinstance(a, np.ndarray)), np.array([1, 4, 6, 4, 1], np.float32)])  # weights
    floats = iter([a for a in copies if isinstance(a, float)])  # whole numbers are constants of the record
    with building():
        parameters = form.kernel_of(module).regions[0].blocks[0].arguments
        interpret.run(module, [next(arrays if "memref" in str(p.type) else floats) for p in parameters], **options)
    return copies


@pytest.mark.sampled(100)
@pytest.mark.parametrize("name", CASES)
def test_kernel(kernels: Any, name: str) -> None:
    _, _, _, arguments, _, expected = CASES[name]
    with building():
        module = run_stages(record(kernels, name))
        assert module.operation.verify()
        assert form.violations(module) == []
    for order in ("forward", "reverse") if name not in ("atomics", "bfs_level") else ("forward",):
        after = launch(module, arguments, order=order)
        for place, content in expected.items():
            np.testing.assert_allclose(after[place].reshape(-1), np.asarray(content).reshape(-1), 2e-5, 2e-6)


@pytest.mark.sampled(100)
@pytest.mark.parametrize(("name", "loops"), [
    ("matmul", 2), ("reduce_divergent", 0), ("count_down", 1), ("strided_loops", 1), ("walking_pointers", 1),
    ("spmv", 1), ("lbm_collide", 0), ("grid_stride", 1), ("tridiagonal", 2)])
def test_loops_are_counted(kernels: Any, name: str, loops: int) -> None:
    """Each of these has that many loops (LLVM leaves them) whose number of iterations is known at their start."""
    with building():
        text = str(run_stages(record(kernels, name)))
    assert text.count("scf.for") >= loops
    if loops:
        assert "scf.while" not in text


@pytest.mark.sampled(100)
@pytest.mark.parametrize("name", ["cas_maximum", "cas_guarded"])
def test_swap_loops_are_one_atomic(kernels: Any, name: str) -> None:
    with building():
        text = str(run_stages(record(kernels, name)))
    assert "atomic_rmw" in text and "scf.while" not in text


def test_every_stage_is_a_module(kernels: Any) -> None:
    with building():
        for stage in STAGES:
            assert run_stages(record(kernels, "matmul"), stage).operation.verify()


def test_operations_carry_the_kernels_lines(kernels: Any) -> None:
    with building():
        module = run_stages(record(kernels, "spmv"))
        lines = set()
        for op in form.kernel_of(module).regions[0].blocks[0].operations:
            lines.add(form.line_of(op.operation))
    assert any(line.split(":")[-1].isdigit() for line in lines)


def test_shared_memory_is_not_the_threads_own(kernels: Any) -> None:
    """One thread stores, the others load after the barrier: MLIR's mem2reg must not see it."""
    with building():
        text = str(run_stages(record(kernels, "break_between_barriers")))
    assert text.count("address_space<workgroup>>\n") >= 2 and text.count("memref.alloca") == 2
