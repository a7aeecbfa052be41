"""Loops that count, in every shape LLVM leaves them in: counted ones give what the loops before gave."""
from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from jaxlib.mlir import ir

from reactant.ir.context import building
from reactant.kernels.form import interpret
from reactant.kernels.stages.counted import count_loops
from reactant.kernels.stages.tidy import tidy

TESTS = {"slt": lambda x, b: x < b, "sle": lambda x, b: x <= b, "sgt": lambda x, b: x > b, "sge": lambda x, b: x >= b,
         "ne": lambda x, b: x != b, "ult": lambda x, b: x < b, "ule": lambda x, b: x <= b, "ugt": lambda x, b: x > b,
         "uge": lambda x, b: x >= b}
UP, DOWN = ("slt", "sle", "ne", "ult", "ule"), ("sgt", "sge", "ne", "ugt", "uge")


def kernel(work: str, body: str) -> ir.Module:
    """out[0..2] = the loop's results; %a and %b are numbers of type `work`."""
    return ir.Module.parse(f"""
        func.func @kernel(%out: memref<?x{work}>, %a: {work}, %b: {work})
            attributes {{gpu.kernel, reactant.grid = array<i64: 1, 1, 1>, reactant.block = array<i64: 1, 1, 1>}} {{
          %zero = arith.constant 0 : {work}
          %three = arith.constant 3 : {work}
          %p0 = arith.constant 0 : index
          %p1 = arith.constant 1 : index
          %p2 = arith.constant 2 : index
          %seven = memref.load %out[%p0] : memref<?x{work}>
          {body}
          memref.store %r#0, %out[%p0] : memref<?x{work}>
          memref.store %r#1, %out[%p1] : memref<?x{work}>
          memref.store %r#2, %out[%p2] : memref<?x{work}>
          func.return
        }}""")


def loop(work: str, predicate: str, step: int, after: bool, bottom: bool, flags: str = " overflow<nsw>") -> str:
    """A loop that carries i, another induction variable and a sum, and hands all on."""
    iteration = f"""
      %k = arith.constant {step} : {work}
      %n = arith.addi %i, %k{flags} : {work}
      %m = arith.addi %j, %three : {work}
      %t = arith.muli %s, %three : {work}
      %u = arith.addi %t, %i : {work}
      %v = arith.addi %u, %j : {work}
      memref.store %v, %out[%p1] : memref<?x{work}>"""
    types = ", ".join([work] * 3)
    head = f"%r:3 = scf.while (%i = %a, %j = %seven, %s = %zero) : ({types}) -> ({types})"
    if bottom:
        return f"""{head} {{ {iteration}
            %c = arith.cmpi {predicate}, {'%n' if after else '%i'}, %b : {work}
            scf.condition(%c) %n, %m, %v : {types}
          }} do {{ ^bb0(%x: {work}, %y: {work}, %z: {work}): scf.yield %x, %y, %z : {types} }}"""
    test = f"%k0 = arith.constant {step} : {work}\n%n0 = arith.addi %i, %k0{flags} : {work}\n" if after else ""
    return f"""{head} {{ {test}
        %c = arith.cmpi {predicate}, {'%n0' if after else '%i'}, %b : {work}
        scf.condition(%c) %i, %j, %s : {types}
      }} do {{ ^bb0(%i: {work}, %j: {work}, %s: {work}): {iteration}
        scf.yield %n, %m, %v : {types} }}"""


def iterations(predicate: str, step: int, after: bool, bottom: bool, a: int, b: int) -> int | None:
    """How often the loop's body runs; None if that is too often (or for ever), or it meets numbers below 0 unsigned."""
    i, count = a, 0
    while count < 40:
        if predicate.startswith("u") and min(i, i + step, b) < 0:
            return None
        if bottom:
            count += 1
        if not TESTS[predicate](i + step if after else i, b):
            return count
        if not bottom:
            count += 1
        i += step
    return None


CASES = [(work, predicate, sign * step, after, bottom)
         for work in ("i32", "i64")
         for sign, predicates in ((1, UP), (-1, DOWN)) for predicate in predicates
         for step in (1, 3) for after in (False, True) for bottom in (False, True)
         if work == "i32" or predicate in ("slt", "uge") and step == 3]


@pytest.mark.slow
@pytest.mark.parametrize("work", ["i32", "i64"])
def test_counting(work: str) -> None:
    with building():
        for _, predicate, step, after, bottom in (c for c in CASES if c[0] == work):
            text = loop(work, predicate, step, after, bottom)
            before, counted = kernel(work, text), tidy(count_loops(kernel(work, text)))
            assert "scf.for" in str(counted) and "scf.while" not in str(counted), (predicate, step, after, bottom)
            for a, b in product((-4, 0, 1, 5, 9), (-5, -1, 0, 1, 6, 10)):
                if iterations(predicate, step, after, bottom, a, b) is None:
                    continue
                outs = []
                for module in (before, counted):
                    out = np.array([7, 0, 0], np.int32 if work == "i32" else np.int64)
                    interpret.run(module, [out, a, b])
                    outs.append(out.tolist())
                assert outs[0] == outs[1], (predicate, step, after, bottom, a, b)


def test_equality_by_steps_of_one_needs_no_promise() -> None:
    """`while (n--)` of an unsigned number wraps past 0, and is counted all the same."""
    with building():
        text = loop("i32", "ne", -1, True, True, "")
        counted = tidy(count_loops(kernel("i32", text)))
        assert "scf.for" in str(counted)
        outs = []
        for module in (kernel("i32", text), counted):
            out = np.array([7, 0, 0], np.int32)
            interpret.run(module, [out, 9, 0])
            outs.append(out.tolist())
        assert outs[0] == outs[1]


def test_constants_are_followed() -> None:
    """A flag that is true in the first iteration only: two iterations."""
    with building():
        module = kernel("i32", """
          %yes = arith.constant true
          %no = arith.constant false
          %k = arith.constant 256 : i32
          %q:4 = scf.while (%f = %yes, %i = %zero, %s = %zero) : (i1, i32, i32) -> (i1, i32, i32, i32) {
            %u = arith.muli %s, %three : i32
            %v = arith.addi %u, %a : i32
            %w = arith.addi %v, %i : i32
            memref.store %w, %out[%p1] : memref<?xi32>
            %n = arith.ori %i, %k : i32
            scf.condition(%f) %no, %n, %w, %i : i1, i32, i32, i32
          } do { ^bb0(%x: i1, %y: i32, %z: i32, %o: i32): scf.yield %x, %y, %z : i1, i32, i32 }
          %r:3 = scf.execute_region -> (i32, i32, i32) { scf.yield %q#2, %q#3, %q#1 : i32, i32, i32 }""")
        counted = tidy(count_loops(tidy(module)))
        assert "scf.for" in str(counted) and "scf.while" not in str(counted)
        out = np.array([7, 0, 0], np.int32)
        interpret.run(counted, [out, 5, 0])
        assert out.tolist() == [5 * 3 + 5 + 256, 256, 256]


@pytest.mark.parametrize("body", [
    "%g = memref.load %out[%p0] : memref<?xi32>\n%c = arith.cmpi slt, %i, %g : i32",     # the bound may change
    "%g = arith.muli %i, %three : i32\n%c = arith.cmpi slt, %g, %b : i32",               # no induction variable
])
def test_other_loops_stay(body: str) -> None:
    with building():
        module = kernel("i32", f"""
          %one = arith.constant 1 : i32
          %r:3 = scf.while (%i = %a) : (i32) -> (i32, i32, i32) {{
            memref.store %i, %out[%p1] : memref<?xi32>
            {body}
            %n = arith.addi %i, %one overflow<nsw> : i32
            scf.condition(%c) %n, %n, %n : i32, i32, i32
          }} do {{ ^bb0(%x: i32, %y: i32, %z: i32): scf.yield %x : i32 }}""")
        assert "scf.while" in str(count_loops(module))
