"""Indices as affine expressions; accesses that certainly leave their buffer."""
from __future__ import annotations

import pytest
from jaxlib.mlir import ir

from reactant.ir.context import building
from reactant.kernels.form.interpret import OutOfBounds
from reactant.kernels.stages.indices import Affine, Indices, divided, require_in_bounds


def parsed(body: str, elements: int = 100, block: str = "32, 1, 1", grid: str = "4, 1, 1") -> ir.Module:
    """A kernel over x (100 elements) and y (int32), whose body may use %t, %b and a few constants."""
    return ir.Module.parse(f"""
        func.func @kernel(%x: memref<?xf32> {{reactant.name = "x", reactant.elements = {elements} : i64}},
                          %y: memref<?xi32> {{reactant.name = "y", reactant.elements = 100 : i64}})
            attributes {{gpu.kernel, reactant.grid = array<i64: {grid}>, reactant.block = array<i64: {block}>}} {{
          %t = gpu.thread_id x
          %b = gpu.block_id x
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %c8 = arith.constant 8 : index
          %c32 = arith.constant 32 : index
          %c100 = arith.constant 100 : index
          %h = arith.muli %b, %c32 overflow<nsw> : index
          %i = arith.addi %h, %t overflow<nsw> : index
          {body}
          func.return
        }}""")


@pytest.mark.parametrize(("body", "expected", "bounds"), [
    ("%j = arith.addi %i, %c8 : index", "32*block.x + thread.x + 8", (8, 135)),
    ("%j = arith.divui %i, %c8 : index", "4*block.x + (thread.x) // 8", (0, 15)),
    ("%j = arith.remui %i, %c8 : index", "(thread.x) % 8", (0, 7)),
    ("%j = arith.subi %c100, %i : index", "-32*block.x + -1*thread.x + 100", (-27, 100)),
    ("%n = arith.index_cast %i : index to i32\n%k = arith.constant 3 : i32\n"
     "%m = arith.addi %n, %k overflow<nsw> : i32\n%w = arith.extsi %m : i32 to i64\n"
     "%j = arith.index_cast %w : i64 to index", "32*block.x + thread.x + 3", (3, 130)),
])
def test_affine(body: str, expected: str, bounds: tuple[int, int]) -> None:
    with building():
        module = parsed(f"{body}\n%v = memref.load %x[%j] : memref<?xf32>", 1000)
        access, = Indices(module).accesses()
        assert str(access.index) == expected
        assert access.range == bounds and access.name == "x" and access.elements == 1000


def test_division_of_constants() -> None:
    assert divided(Affine(7), 4, "floor") == Affine(1) and divided(Affine(-7), 4, "modulo") == Affine(1)


LOAD = "%v = memref.load %x[%{}] : memref<?xf32>"


@pytest.mark.parametrize(("body", "wrong"), [
    (LOAD.format("i"), 100),
    (f"%c = arith.cmpi slt, %i, %c100 : index\nscf.if %c {{ {LOAD.format('i')} }}", None),
    (f"%c = arith.cmpi sle, %i, %c100 : index\nscf.if %c {{ {LOAD.format('i')} }}", 100),
    (f"%c = arith.cmpi slt, %i, %c100 : index\nscf.if %c {{ }} else {{ {LOAD.format('i')} }}", 100),
    (f"%c = arith.cmpi slt, %i, %c100 : index\nscf.if %c {{ %j = arith.subi %i, %c1 : index\n"
     f"{LOAD.format('j')} }}", -1),
    (f"%c = arith.cmpi slt, %b, %c8 : index\nscf.if %c {{ %j = arith.addi %b, %c100 : index\n"
     f"{LOAD.format('j')} }}", 100),
    (f"scf.for %k = %c0 to %c100 step %c8 {{ {LOAD.format('k')} }}", None),
    (f"scf.for %k = %i to %c100 step %c8 {{ {LOAD.format('k')} }}", None),
    (f"scf.for %k = %i to %c100 step %c8 {{ %j = arith.addi %k, %c8 : index\n{LOAD.format('j')} }}", 104),
    (f"%l = memref.load %y[%t] : memref<?xi32>\n%j = arith.index_cast %l : i32 to index\n{LOAD.format('j')}", None),
    (f"%l = memref.load %y[%t] : memref<?xi32>\n%z = arith.constant 0 : i32\n%c = arith.cmpi slt, %l, %z : i32\n"
     f"scf.if %c {{ {LOAD.format('i')} }}", None),
])
def test_out_of_bounds(body: str, wrong: int | None) -> None:
    """Reported if the launch certainly does it; never where data decides."""
    with building():
        module = parsed(body)
        if wrong is None:
            require_in_bounds(module, "k")
        else:
            with pytest.raises(OutOfBounds, match=rf"'k' accesses memory outside its arrays: x has 100 elements; the "
                                                  rf"launch accesses element {wrong}\."):
                require_in_bounds(module, "k")


def test_the_line_is_named() -> None:
    with building():
        module = parsed('%v = memref.load %x[%i] : memref<?xf32> loc("kernel.cu":7:3)')
        with pytest.raises(OutOfBounds, match=r"At kernel\.cu:7\."):
            require_in_bounds(module, "k")
