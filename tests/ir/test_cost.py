"""Flops and bytes are counted from shapes; loops by their trip count."""
from __future__ import annotations

import pytest

from reactant.ir import cost, modules
from reactant.ir.context import building
from reactant.ir.induction import trips

ELEMENTWISE = """func.func @main(%x: tensor<4x5xf64>) -> tensor<4x5xf64> {
  %0 = stablehlo.add %x, %x : tensor<4x5xf64>
  return %0 : tensor<4x5xf64> }"""
PRODUCT = """func.func @main(%x: tensor<4x5xf32>, %y: tensor<5x6xf32>) -> tensor<4x6xf32> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0]
    : (tensor<4x5xf32>, tensor<5x6xf32>) -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32> }"""
SUM = """func.func @main(%x: tensor<8x3xf64>) -> tensor<3xf64> {
  %z = stablehlo.constant dense<0.0> : tensor<f64>
  %0 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0]
    : (tensor<8x3xf64>, tensor<f64>) -> tensor<3xf64>
  return %0 : tensor<3xf64> }"""
LAST = """func.func @main(%x: tensor<2x9x8x3xf32>, %k: tensor<3x3x3x5xf32>) -> tensor<2x7x6x5xf32> {
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {}
    {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
    : (tensor<2x9x8x3xf32>, tensor<3x3x3x5xf32>) -> tensor<2x7x6x5xf32>
  return %0 : tensor<2x7x6x5xf32> }"""
CALL = """func.func @main(%x: tensor<4xf64>) -> tensor<4xf64> {
  %0 = func.call @twice(%x) : (tensor<4xf64>) -> tensor<4xf64>
  return %0 : tensor<4xf64> }
func.func private @twice(%x: tensor<4xf64>) -> tensor<4xf64> {
  %0 = stablehlo.add %x, %x : tensor<4xf64>
  return %0 : tensor<4xf64> }"""

MAGNITUDE = """func.func @main(%z: tensor<10xcomplex<f32>>) -> tensor<10xf32> {
  %0 = stablehlo.abs %z : (tensor<10xcomplex<f32>>) -> tensor<10xf32>
  return %0 : tensor<10xf32> }"""


def loop(start, step, limit, direction, flipped=False):
    sides = "%l, %i" if flipped else "%i, %l"
    return f"""func.func @main(%x: tensor<10xf64>) -> tensor<10xf64> {{
  %s = stablehlo.constant dense<{start}> : tensor<i64>
  %l = stablehlo.constant dense<{limit}> : tensor<i64>
  %c = stablehlo.constant dense<{step}> : tensor<i64>
  %r:2 = stablehlo.while(%i = %s, %v = %x) : tensor<i64>, tensor<10xf64> cond {{
    %t = stablehlo.compare {direction}, {sides}, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %t : tensor<i1>
  }} do {{
    %n = stablehlo.add %i, %c : tensor<i64>
    %w = stablehlo.multiply %v, %v : tensor<10xf64>
    stablehlo.return %n, %w : tensor<i64>, tensor<10xf64>
  }}
  return %r#1 : tensor<10xf64> }}"""


@pytest.mark.parametrize(("text", "flops", "nbytes"), [
    (ELEMENTWISE, 20, 3 * 20 * 8), (PRODUCT, 2 * 24 * 5, 4 * (20 + 30 + 24)), (SUM, 21, 8 * (24 + 1 + 3)),
    (LAST, 2 * 420 * 27, 4 * (432 + 135 + 420)), (CALL, 4, 3 * 4 * 8), (MAGNITUDE, 80, 120),
    (loop(0, 1, 7, "LT"), 7 * 12, 7 * (3 * 80 + 24 + 17)),
], ids=["elementwise", "product", "sum", "features last", "call", "magnitude", "loop"])
def test_estimate(text, flops, nbytes):
    with building():
        assert cost.estimate(modules.parse(text)) == {"flops": flops, "bytes": nbytes}


@pytest.mark.parametrize(("arguments", "iterations"), [
    ((0, 1, 7, "LT"), 7), ((0, 3, 7, "LT"), 3), ((7, 1, 7, "LT"), 0), ((0, 1, 7, "LE"), 8), ((7, -1, 0, "GT"), 7),
    ((7, -2, 0, "GE"), 4), ((0, 2, 6, "NE"), 3), ((0, 2, 7, "NE"), None), ((0, -1, 7, "LT"), None),
    ((0, 1, 7, "GT", True), 7), ((0, 1, 7, "EQ"), None),
])
def test_trip_count(arguments, iterations):
    with building():
        module = modules.parse(loop(*arguments))
        op = next(op for op in modules.walk(module) if op.name == "stablehlo.while")
        found = trips(op)
        assert (found.most if found is not None and found.exact else None) == iterations
