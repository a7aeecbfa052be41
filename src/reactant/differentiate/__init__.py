"""Derivatives of StableHLO modules: `forward.jvp` and `reverse.vjp`; `rules/<family>.py` say those of each op."""
