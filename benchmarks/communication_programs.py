"""All programs that are not written by hand for many devices, and the adjoints of five of them."""
from __future__ import annotations

from dataclasses import replace

import communication_learning
import communication_physics
import communication_solvers
from communication_ways import Case

ADJOINTS = {"heat": (0,), "gray_scott": (0, 1), "lattice_boltzmann": (0,), "fdtd": (0, 1, 2), "multigrid": (0, 1)}
"""Name -> the arguments of which the gradient is taken."""

_PLAIN = (*communication_physics.PROGRAMS, *communication_solvers.PROGRAMS, *communication_learning.PROGRAMS)
PROGRAMS: tuple[Case, ...] = (*_PLAIN, *(replace(case, name=f"{case.name}_adjoint", adjoint=ADJOINTS[case.name])
                                        for case in _PLAIN if case.name in ADJOINTS))
