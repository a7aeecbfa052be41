"""What `jax.jit` was told about a function's arguments, and the arguments of a call as leaves. Cheap: no compiler.
"""
from __future__ import annotations

import inspect
from dataclasses import field
from typing import Any

import jax

from reactant.support.records import dataclass


@dataclass(frozen=True)
class Settings:
    """How a function was given to `jax.jit`, names and numbers of arguments resolved by jax."""

    static_argnums: tuple[int, ...]
    static_argnames: tuple[str, ...]
    donate_argnums: tuple[int, ...]
    donate_argnames: tuple[str, ...]
    reason: str                       # what jax.jit was told that we do not carry, or nothing
    signature: inspect.Signature | None = field(default=None, compare=False)    # of the function, where it has one

    def given(self, positional: int) -> dict[str, Any]:
        """The same for another `jax.jit`, for calls with so many positional arguments."""
        told = {name: getattr(self, name) for name in ("static_argnums", "static_argnames", "donate_argnames")}
        told["donate_argnums"] = tuple(n + positional if n < 0 else n for n in self.donate_argnums)
        return {name: value for name, value in told.items() if value}


def settings_of(jitted: Any) -> Settings:
    """The settings of a `jax.jit`ed function."""
    info = jitted._jit_info           # private: PjitInfo, the arguments of jax.jit; there is no public way to ask
    told = [name for name in ("device", "backend") if getattr(info, name) is not None]
    told += ["in_shardings"] * bool(info.user_specified_in_shardings)
    told += [name for name, leaves in (("out_shardings", info.out_shardings_leaves),)
             if any(type(leaf).__name__ != "UnspecifiedValue" for leaf in leaves)]
    told += [name for name in ("in_layouts", "out_layouts")
             if any(leaf is not None for leaf in getattr(info, f"{name}_leaves"))]
    told += ["compiler_options"] * bool(info.compiler_options_kvs)
    reason = f"jax.jit was given {' and '.join(told)}" if told else ""
    return Settings(tuple(info.static_argnums), tuple(info.static_argnames), tuple(info.donate_argnums),
                    tuple(info.donate_argnames), reason, info.fun_signature)


def argument_leaves(settings: Settings, args: tuple, kwargs: dict) -> tuple[list[Any], Any, tuple]:
    """Run-time leaves of a call, their tree, and what is static: ((place, type, value), ...)."""
    if not settings.static_argnums and not settings.static_argnames:
        leaves, tree = jax.tree_util.tree_flatten((args, kwargs))
        return leaves, tree, ()
    numbers = {n % len(args) if -len(args) <= n < 0 else n for n in settings.static_argnums} if args else set()
    dynamic = tuple(a for i, a in enumerate(args) if i not in numbers)
    fixed = [(i, type(args[i]), args[i]) for i in sorted(numbers) if i < len(args)]
    fixed += [(n, type(kwargs[n]), kwargs[n]) for n in sorted(kwargs) if n in settings.static_argnames]
    rest = {n: a for n, a in kwargs.items() if n not in settings.static_argnames}
    leaves, tree = jax.tree_util.tree_flatten((dynamic, rest))
    return leaves, tree, tuple(fixed)


def donated_leaves(settings: Settings, args: tuple, kwargs: dict) -> tuple[int, ...]:
    """Which run-time leaves the user lets the program overwrite."""
    found: list[int] = []
    count = 0
    pairs = [(i in settings.donate_argnums or i - len(args) in settings.donate_argnums, a) for i, a in enumerate(args)
             if i not in settings.static_argnums and i - len(args) not in settings.static_argnums]
    pairs += [(n in settings.donate_argnames, kwargs[n]) for n in sorted(kwargs) if n not in settings.static_argnames]
    for donated, value in pairs:
        size = len(jax.tree_util.tree_leaves(value))
        found += range(count, count + size) if donated else ()
        count += size
    return tuple(found)
