"""Ops that work element by element."""
from reactant.batching.declare import elementwise
from reactant.ir import ops

elementwise(*sorted(ops.ELEMENTWISE))
elementwise("chlo.is_inf", "chlo.is_pos_inf", "chlo.is_neg_inf", "chlo.tan", "chlo.mulhi",
            *(f"stablehlo.custom_call@mhlo.{name}" for name in (
                "erf", "acos", "acosh", "asin", "asinh", "atanh", "cosh", "sinh", "tan")))
