"""Booleans that say what has happened so far: what run-time checks in loops leave to be simplified.

A check that fails in any iteration makes a flag false for good, and later checks count only while none has failed. Most
of it follows from the check itself. """
from __future__ import annotations

from reactant.rewrite import equations, match, variables

p, q, f = variables("p q f")
and_, or_, not_ = (getattr(match, name) for name in ("and_", "or_", "not_"))

equations(
    and_of_or_not=(and_(f, or_(p, not_(f))), and_(f, p)),
    or_of_and_not=(or_(f, and_(p, not_(f))), or_(f, p)),
    and_not_of_or=(and_(not_(f), or_(p, f)), and_(not_(f), p)),
    or_not_of_and=(or_(not_(f), and_(p, f)), or_(not_(f), p)),
)
equations(
    or_with_not_of_and=(or_(p, not_(and_(p, q))), True),
    and_with_not_of_or=(and_(p, not_(or_(p, q))), False),
    select_itself_or=(match.select(p, p, q), or_(p, q)),
    select_or_itself=(match.select(p, q, p), and_(p, q)),
    dtypes="bool",
)
