"""XLA compile options chosen from facts about the module: a table, each line with the measurement behind it."""
from __future__ import annotations

from typing import Any

from reactant.runtime.facts import Facts


def options_for(facts: Facts, platform: str) -> dict[str, Any]:
    """The options for a module with these facts on `platform` ("cpu", "gpu", ...)."""
    return {}
