"""What is declared from outside is noted, and switches the compile cache off."""
import subprocess
import sys

PROGRAM = """
import os, sys, tempfile
os.environ["REACTANT_CACHE"] = os.path.join(tempfile.mkdtemp(), "programs")
import numpy as np
import reactant
from reactant.calling import recalled
from reactant.support import foreign

def f(x):
    return np.sin(x) * 2

reactant.jit(f)(np.ones(3))
reactant.grad(lambda x: f(x).sum())(np.ones(3))
reactant.vmap(f)(np.ones((2, 3)))
kept = recalled.COUNTS["kept"]
assert foreign.DECLARED == [] and kept >= 1, (foreign.DECLARED, recalled.REASONS)
if sys.argv[1] == "rule":
    from reactant.rewrite import equations, match, variables
    x, = variables("x")
    equations(test_negated_twice=(match.negate(match.negate(x)), x))
else:
    from reactant.frontends.arrays.implements import implements
    implements(np.trapezoid)(f)
assert len(foreign.DECLARED) == 1, foreign.DECLARED
reactant.jit(f)(np.ones(4))
assert recalled.COUNTS["kept"] == kept and "declares" in recalled.REASONS["f"], recalled.REASONS
print("done")
"""


def test_rules_and_functions_of_others(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    started = [subprocess.Popen([sys.executable, path, kind], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
               for kind in ("rule", "function")]
    for each in started:
        said, errors = each.communicate()
        assert said == "done\n", errors[-2000:]
