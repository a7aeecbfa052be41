"""Bytes and launches after fusion: what is computed where it is read is not stored."""
import pytest

from reactant.ir import modules, traffic
from reactant.ir.context import building

V, M = "tensor<1000xf32>", "tensor<100x100xf32>"


def function(body, arguments=f"%x: {V}, %y: {V}", result=V):
    return f"func.func @main({arguments}) -> {result} {{\n%z = stablehlo.constant dense<0.0> : tensor<f32>\n{body} }}"


def loop(body):
    return function(f"""
  %k = stablehlo.constant dense<0> : tensor<i64>
  %l = stablehlo.constant dense<7> : tensor<i64>
  %c = stablehlo.constant dense<1> : tensor<i64>
  %two = stablehlo.constant dense<2.0> : {V}
  %r:2 = stablehlo.while(%i = %k, %v = %x) : tensor<i64>, {V} cond {{
    %t = stablehlo.compare LT, %i, %l, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %t : tensor<i1>
  }} do {{
    %n = stablehlo.add %i, %c : tensor<i64>
    {body}
    stablehlo.return %n, %w : tensor<i64>, {V}
  }}
  return %r#1 : {V}""")


ROWS = {
    "elementwise": (function(f"""%a = stablehlo.add %x, %y : {V}
        %b = stablehlo.multiply %a, %a : {V}
        return %b : {V}"""), 3 * 4000, 1),
    "infinities": (function(f"""%i = chlo.is_inf %x : {V} -> tensor<1000xi1>
        %b = stablehlo.select %i, %y, %x : tensor<1000xi1>, {V}
        return %b : {V}"""), 3 * 4000, 1),
    "dot product": (function(f"""%a = stablehlo.multiply %x, %x : {V}
        %s = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0]
          : ({V}, tensor<f32>) -> tensor<f32>
        return %s : tensor<f32>""", result="tensor<f32>"), 4000 + 4, 1),
    "part of a chain": (function(f"""%a = stablehlo.add %x, %y : {V}
        %b = stablehlo.slice %a [0:10] : ({V}) -> tensor<10xf32>
        return %b : tensor<10xf32>""", result="tensor<10xf32>"), 3 * 40, 1),
    "stencil": (function(f"""%a = stablehlo.slice %x [0:999] : ({V}) -> tensor<999xf32>
        %b = stablehlo.slice %x [1:1000] : ({V}) -> tensor<999xf32>
        %d = stablehlo.subtract %b, %a : tensor<999xf32>
        return %d : tensor<999xf32>""", result="tensor<999xf32>"), 4000 + 999 * 4, 1),
    "product of sums": (function(f"""%a = stablehlo.add %x, %x : {M}
        %d = stablehlo.dot_general %a, %a, contracting_dims = [1] x [0] : ({M}, {M}) -> {M}
        %e = stablehlo.negate %d : {M}
        return %e : {M}""", f"%x: {M}", M), 2 * 40000 + 2 * 40000 + 2 * 40000, 3),
    "outer product": (function(f"""%a = stablehlo.broadcast_in_dim %x, dims = [0] : ({V}) -> tensor<1000x1000xf32>
        %b = stablehlo.broadcast_in_dim %y, dims = [1] : ({V}) -> tensor<1000x1000xf32>
        %c = stablehlo.multiply %a, %b : tensor<1000x1000xf32>
        return %c : tensor<1000x1000xf32>""", result="tensor<1000x1000xf32>"), 2 * 4000 + 4_000_000, 1),
    "another name": (function(f"""%a = stablehlo.negate %x : {V}
        %b = stablehlo.reshape %a : ({V}) -> tensor<10x100xf32>
        return %b : tensor<10x100xf32>""", result="tensor<10x100xf32>"), 2 * 4000, 1),
    "loop": (loop(f"%w = stablehlo.multiply %v, %two : {V}"), 7 * (2 * 4000 + 16 + 9), 7 * 3),
    "invariant in a loop": (loop(f"%u = stablehlo.add %y, %y : {V}\n%w = stablehlo.multiply %v, %u : {V}"),
                            7 * (3 * 4000 + 16 + 9), 7 * 3),
    "update": (function(f"""%i = stablehlo.constant dense<3> : tensor<i64>
        %u = stablehlo.slice %y [0:10] : ({V}) -> tensor<10xf32>
        %r = stablehlo.dynamic_update_slice %x, %u, %i : ({V}, tensor<10xf32>, tensor<i64>) -> {V}
        return %r : {V}"""), 2 * 40, 1),
}


@pytest.mark.parametrize("name", ROWS)
def test_estimate(name):
    text, nbytes, launches = ROWS[name]
    with building():
        assert traffic.estimate(modules.parse(text)) == {"bytes": nbytes, "launches": launches}


def test_tables_of_complex_numbers_are_read():
    """In a loop, where a constant from outside may be a splat, that needs no memory: MLIR cannot cast its attribute."""
    numbers = ", ".join(f"({k}.0, 1.0)" for k in range(8))
    text = f"""func.func @main(%x: tensor<8xcomplex<f32>>) -> tensor<8xcomplex<f32>> {{
      %k = stablehlo.constant dense<0> : tensor<i64>
      %l = stablehlo.constant dense<7> : tensor<i64>
      %c = stablehlo.constant dense<1> : tensor<i64>
      %t = stablehlo.constant dense<[{numbers}]> : tensor<8xcomplex<f32>>
      %r:2 = stablehlo.while(%i = %k, %v = %x) : tensor<i64>, tensor<8xcomplex<f32>> cond {{
        %p = stablehlo.compare LT, %i, %l, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
        stablehlo.return %p : tensor<i1>
      }} do {{
        %n = stablehlo.add %i, %c : tensor<i64>
        %w = stablehlo.multiply %v, %t : tensor<8xcomplex<f32>>
        stablehlo.return %n, %w : tensor<i64>, tensor<8xcomplex<f32>>
      }}
      return %r#1 : tensor<8xcomplex<f32>> }}"""
    with building():
        assert traffic.estimate(modules.parse(text))["bytes"] >= 7 * 3 * 64
