"""Linear algebra: products, systems, transforms, sums."""
