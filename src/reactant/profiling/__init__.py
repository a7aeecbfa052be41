"""Where the time of a program goes: measured, by the user's lines and by operation."""
from reactant.profiling.measure import profile
from reactant.profiling.result import Profile

__all__ = ["Profile", "profile"]
