"""Floats the hardware lacks, as unevaluated sums of those it has."""
