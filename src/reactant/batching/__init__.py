"""Batched versions of functions, and what the loop rules build with.

    from reactant.batching.engine import batched_module
    batched = batched_module(module, (0, None), count=8)      # argument 0 has 8 elements along dimension 0
    batched.module, batched.batched                           # results with a True have the batch as dimension 0
"""
