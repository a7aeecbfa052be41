"""The rewrite engine. How to write a rule:

A rule lives in the module of its root op's family (`simplify/<family>.py`); declaring it there is all there is to do.

    x, p, q = variables("x p q")

    equations(negate_negate=(match.negate(match.negate(x)), x))            # left = right, a table row

    @rewrite(match.transpose(match.transpose(x, permutation=p), permutation=q),
             example=lambda a: ops.transpose(ops.transpose(a(2, 3, 4), (1, 2, 0)), (1, 0, 2)))
    def transpose_of_transpose(x, p, q):
        \"\"\"transpose(transpose(x, p), q) = transpose(x, p[q])\"\"\"
        return ops.transpose(x, tuple(p[i] for i in q))

* `match.<op>(operands..., attribute=...)`; operands are patterns, variables, numbers (a splat constant, bit for bit),
  `constant("c")` (any constant; binds its array), `splat("c")` (binds its element), `rest("xs")` (all remaining
  operands), `once(pattern)` (nobody else uses it), `one_of(names, ..., template="t")` (any of several ops;
  `t.build(operands, shape)` makes the same op again; below the root, such an op matches only where that does not move
  it into a loop), `named("v", pattern)` (binds the matched value too).
  A repeated variable means equality. Commuted operands are tried by the engine, and constants
  stand on the right. Attributes are decoded to Python values.
* Parameters are the names the pattern binds, or `result_type`, `result_shape`, `result_dtype`, or `result` (to look at
  its consumers, never to build with).
* Return a value (or number, or list for several results), SWAPPED for the op itself with its first two operands
  exchanged, or None to decline. Decide before you build. Never keep or
  look up ops: `producer(value)` is a read-only look at what defines a value, `users(value)` counts its users,
  `uses(value)` are they (never `value.uses`: the engine has to know who asks).
* Not bit-exact? `changes="rounding"` (as accurate) or `"association"` (may lose accuracy). Only right without NaN or
  infinity? `assumes="finite"`. Only for some dtypes? `dtypes="integer"`, "float", "real", "bool", ...
* Ops with regions or many results: `@rewrite("stablehlo.while")` passes a `Site` (rewrite/site.py) whose tools inline,
  clone, move and substitute; return the replacement values, or CHANGED after changing the op in place, or None.
* Every rule is tested by tests/rewrite/test_self.py from `example=` (equations need none; MLIR text is fine too): it
  must fire, verify, and agree bit for bit on ordinary and special values. `counter=` is an instance that must not fire.
"""
from reactant.rewrite.declare import equations, rewrite
from reactant.rewrite.driver import Memory, NotConverged, NotConvergedWarning, RewriteError, RuleSet, pure
from reactant.rewrite.pattern import constant, match, named, once, one_of, rest, splat, variables
from reactant.rewrite.report import Report
from reactant.rewrite.site import (
    CHANGED,
    SWAPPED,
    Producer,
    Site,
    captures,
    consumers,
    defined_in,
    inside,
    producer,
    readers,
    users,
    uses,
)

__all__ = ["CHANGED", "Memory", "NotConverged", "NotConvergedWarning", "Producer", "Report", "RewriteError", "RuleSet",
           "SWAPPED", "Site", "captures", "consumers", "constant", "defined_in", "equations", "inside", "match",
           "named", "once", "one_of", "producer", "pure", "readers", "rest", "rewrite", "splat", "users", "uses",
           "variables"]
