"""What installing adds: what `reactant demo heat` and `demo ocean` run goes into the wheel, an editable install finds
it in examples/; and the modules of an editable install are byte-compiled, as pip does with those of a wheel (compiling
them anew takes every process nearly a second where Python may not write)."""
import compileall
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class ExampleScripts(BuildHookInterface):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            compileall.compile_dir(Path(self.root, "src"), quiet=2)
        else:
            build_data["force_include"]["examples/heat.py"] = "reactant/demos/scripts/heat.py"
            build_data["force_include"]["examples/ocean"] = "reactant/demos/scripts/ocean"
