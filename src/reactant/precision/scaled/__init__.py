"""Sums of limbs with a power of two for each array: numbers beyond the exponents of the limbs."""
