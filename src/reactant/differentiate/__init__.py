"""Derivatives of StableHLO modules: `forward.jvp`, `reverse.vjp`; `rules/<family>.py` say what each op's derivative is."""
