"""The one IR of the project: StableHLO modules in real MLIR, with builders, types, attributes and costs."""
