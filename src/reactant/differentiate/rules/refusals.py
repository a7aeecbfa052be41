"""Ops without a derivative, and why."""
from __future__ import annotations

from reactant.differentiate.declare import meaning, refused
from reactant.differentiate.rules.bodies import applied

meaning("map", lambda call: applied(call, call.operands))

refused("Its bits are read as other numbers. Write the line with arithmetic, or keep differentiated values out of it.",
        "bitcast_convert")
refused("Shapes have to be known while compiling.",
        "dynamic_broadcast_in_dim", "dynamic_conv", "dynamic_gather", "dynamic_iota", "dynamic_pad", "dynamic_reshape",
        "real_dynamic_slice", "set_dimension_size")
refused("Data that leaves or enters the program while it runs cannot be followed. Do it outside the differentiated "
        "function.", "infeed", "outfeed", "send", "recv", "async_start", "async_done")
refused("Quantised numbers have no derivative. Differentiate before quantising.",
        "uniform_quantize", "uniform_dequantize")
refused("It is an old name for a common operation: use dot_general, broadcast_in_dim, gather or all_reduce.",
        "dot", "einsum", "unary_einsum", "broadcast", "torch_index_select", "cross-replica-sum", "tuple",
        "get_tuple_element")
refused("Write the operation itself, with its operands broadcast before.",
        *(f"chlo.broadcast_{name}" for name in (
            "add", "and", "atan2", "compare", "complex", "divide", "maximum", "minimum", "multiply", "next_after", "or",
            "polygamma", "power", "remainder", "select", "shift_left", "shift_right_arithmetic", "shift_right_logical",
            "subtract", "xor", "zeta")))
refused("Use lax.scan or a cumulative operation, and matrix products.", "chlo.scan", "chlo.ragged_dot",
        "chlo._asin_acos_kernel")
refused("Its body is kept apart. Run the 'inline' pass first.", "stablehlo.composite", "func.call")
# of jaxlib 0.11
refused("Its sum is left on one device of each group. Use all_reduce, which leaves it on all of them.",
        "collective_reduce")
