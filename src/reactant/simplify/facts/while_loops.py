"""Loops: which region of a `while` is which, and the text of counted loops for the examples of rules."""
from __future__ import annotations

from collections.abc import Sequence

CONDITION, BODY = 0, 1
"""The regions of a `stablehlo.while`, by number."""

COUNTED = """(%x: tensor<3xf32>, %y: tensor<3xf32>, %n: tensor<i32>) -> {result} {{
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %last = stablehlo.constant dense<{trips}> : tensor<i32>
  {before}
  %r:{count} = stablehlo.while(%i = %zero, {carried}) : {types}
  cond {{
    %p = stablehlo.compare LT, %i, %last : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }} do {{
    %next = stablehlo.add %i, %one : tensor<i32>
    {body}
    stablehlo.return %next, {returned} : {types}
  }}
  {after}
  return {out} : {result}
}}"""


def counted(carried: Sequence[tuple[str, str, str, str]], body: str, out: str, result: str = "tensor<3xf32>",
            trips: int = 3, before: str = "", after: str = "") -> str:
    """MLIR text of a counted loop over %x, %y; `carried` has a row (argument, init, returned, type) per value."""
    return COUNTED.format(
        result=result, trips=trips, before=before, count=1 + len(carried), body=body, after=after, out=out,
        carried=", ".join(f"{a} = {init}" for a, init, *_ in carried), returned=", ".join(r for _, _, r, _ in carried),
        types=", ".join(["tensor<i32>", *(t for *_, t in carried)]))
