"""Collectives: each element of the batch is exchanged as the whole is."""
from reactant.batching.declare import leading, shifted

leading("all_reduce", "collective_permute", "collective_broadcast")
shifted("all_gather", all_gather_dim=lambda d: d + 1)
shifted("reduce_scatter", scatter_dimension=lambda d: d + 1)
shifted("all_to_all", split_dimension=lambda d: d + 1, concat_dimension=lambda d: d + 1)
