"""Puts the script that `reactant demo heat` runs into the wheel; an editable install finds it in examples/."""
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class ExampleScripts(BuildHookInterface):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version != "editable":
            build_data["force_include"]["examples/heat.py"] = "reactant/demos/scripts/heat.py"
