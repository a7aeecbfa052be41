"""What is declared about the package is true: commands, extras, layers, the continuous integration script."""
import ast
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import reactant

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
README = (ROOT / "README.md").read_text()
IMPORT = re.compile(r"^ *(?:import|from) (\w+)", re.M)
"""What begins a line as an import does, texts of documentation among it; the linter sees to one module a line."""


def shell_commands(text):
    return [line for block in re.findall(r"```sh\n(.*?)```", text, re.S) for line in block.splitlines()]


def test_readme_has_the_two_commands_and_continuous_integration_runs_the_second():
    first, second = shell_commands(README)[:2]
    assert first == 'pip install ".[demo]" && reactant demo'
    install, test = second.split(" && ")
    script = (ROOT / ".ci" / "run").read_text()
    assert install.removeprefix("pip install ") in script
    assert test in script


def test_continuous_integration_is_executable_and_has_no_syntax_error():
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    subprocess.run(["bash", "-n", script], check=True)


def test_continuous_integration_says_when_no_python_fits(tmp_path):
    for tool in ("dirname",):
        (tmp_path / tool).symlink_to(subprocess.run(["which", tool], capture_output=True, text=True).stdout.strip())
    done = subprocess.run(["/bin/bash", ROOT / ".ci" / "run"], capture_output=True, text=True,
                          env={"PATH": str(tmp_path)})
    assert done.returncode == 1
    assert "no Python 3.11, 3.12 or 3.13 found" in done.stderr


def test_supported_versions_are_the_same_everywhere():
    assert PROJECT["project"]["requires-python"] == ">=3.11,<3.14"
    assert "Python 3.11, 3.12 or 3.13" in README
    assert sys.version_info[:2] in ((3, 11), (3, 12), (3, 13))


def test_what_python_314_waits_for():
    """jax, jaxlib, numpy, scipy, numba and llvmlite have wheels for it, free-threaded ones as well. Reference counts
    mean less there (docs/decisions/0022-owners-are-walked.md): without the last one, allow it where the tests run."""
    counted = {str(path.relative_to(ROOT)) for path in (ROOT / "src").rglob("*.py")
               if re.search(r"getrefcount|get_referrers", path.read_text())}
    assert counted == {"src/reactant/frontends/arrays/storage_aliasing.py",
                       "src/reactant/profiling/plain.py"}       # looks for the function of a frame, counts nothing


def test_all_holds_every_extra():
    extras = dict(PROJECT["project"]["optional-dependencies"])
    (everything,) = extras.pop("all")
    assert set(re.search(r"\[(.*)\]", everything)[1].split(",")) == set(extras)


@pytest.mark.parametrize("package", [re.match("[a-z_-]+", line)[0] for line in PROJECT["project"]["dependencies"]])
def test_every_dependency_is_imported_somewhere(package):
    pattern = re.compile(rf"^\s*(?:import|from) {package}\b", re.M)
    assert any(pattern.search(file.read_text()) for file in (ROOT / "src").rglob("*.py"))


def test_every_import_is_declared():
    """At module level and inside functions; jaxlib comes with jax, whose version fixes its own."""
    declared = {re.match("[a-z_-]+", line)[0] for line in PROJECT["project"]["dependencies"]} | {"jaxlib", "reactant"}
    declared |= {"typing_extensions"}           # for type checkers alone, which bring it
    extras = {"demos": {"skimage", "PIL"}, "cli": {"PIL"}, "exchange.py": {"tensorflow"},
              "notebooks.py": {"IPython"}, "kernels": {"numba"},
              "processes": {"orbax", "tensorstore"}}
    for file in (ROOT / "src" / "reactant").rglob("*.py"):
        room = file.relative_to(ROOT / "src" / "reactant").parts[0]
        allowed = declared | extras.get(room, set()) | set(sys.stdlib_module_names)
        text = file.read_text()
        if set(IMPORT.findall(text)) <= allowed:            # parsing them all takes ten seconds
            continue
        nodes = list(ast.walk(ast.parse(text)))
        modules = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
        modules += [node.module for node in nodes if isinstance(node, ast.ImportFrom)]
        assert {module.partition(".")[0] for module in modules} <= allowed, file


def test_every_room_has_its_layer():
    (contract,) = (each for each in PROJECT["tool"]["importlinter"]["contracts"] if each["containers"] == ["reactant"])
    layered = {name.strip(" ()") for layer in contract["layers"] for name in re.split("[|:]", layer)}
    present = {path.stem for path in (ROOT / "src" / "reactant").iterdir()
               if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert present - layered <= {"__init__"}


def test_optional_packages_are_not_imported_at_the_top_of_the_library():
    heavy = re.compile(r"^(?:import|from) (?:skimage|PIL|numba|matplotlib|scipy)\b", re.M)
    library = [file for file in (ROOT / "src").rglob("*.py") if "demos" not in file.parts]
    assert not [file for file in library if heavy.search(file.read_text())]


def test_entry_point_is_the_command():
    from importlib import metadata

    (script,) = metadata.entry_points(group="console_scripts", name="reactant")
    assert script.value == "reactant.__main__:main"
    assert callable(script.load())


LOADED = """
import sys, jax, numpy, reactant
x = numpy.ones(3)
jax.numpy.sin(x)
reactant.jit({}.sin).lower(x)
print(*(name for name in {!r} if name in sys.modules))
"""


@pytest.mark.slow
@pytest.mark.parametrize("way, spared", [
    ("jax.numpy", ("reactant.calling.tracing", "reactant.frontends.control_flow", "jax._src.pallas.core")),
    ("numpy", ("reactant.calling.compiled_jax", "reactant.differentiate.modes.forward",
               "reactant.frontends.scipy.special"))])
def test_a_first_program_does_not_load_what_it_does_not_need(way, spared):
    done = subprocess.run([sys.executable, "-c", LOADED.format(way, spared)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == []


def test_version_is_the_same_everywhere():
    """In the package, its metadata and the newest section of the changelog, which has the newest version first."""
    headings = re.findall(r"^## \[(.+?)\](?: - (\d{4}-\d\d-\d\d))?$", (ROOT / "CHANGELOG.md").read_text(), re.M)
    assert headings[0] == ("Unreleased", "")
    released = [(tuple(map(int, version.split("."))), date) for version, date in headings[1:]]
    assert reactant.__version__ == PROJECT["project"]["version"] == headings[1][0]
    assert released == sorted(released, reverse=True) and all(date for _, date in released)


def test_hooks_run_what_continuous_integration_runs():
    script = (ROOT / ".ci" / "run").read_text()
    entries = re.findall(r"^ +entry: (.+)$", (ROOT / ".pre-commit-config.yaml").read_text(), re.M)
    assert [entry for entry in entries if entry.removesuffix(" --fix") not in script] == []
    assert len(entries) == 4


def test_headers_and_sources_of_cuda_programs_are_packaged():
    """The wheel takes every file of the package that git does not ignore; what our headers include is there."""
    assert PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"] == ["src/reactant"]
    assert "exclude" not in PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]
    package = ROOT / "src" / "reactant"
    runtime = package / "cuda_programs" / "runtime"
    folders = [package / "cuda_programs" / "host" / "include", runtime, runtime / "libraries",
               package / "kernels" / "headers"]
    files = [file for folder in folders for file in folder.rglob("*") if file.suffix in (".h", ".hpp", ".inc", ".cpp")]
    ignored = {line.strip() for line in (ROOT / ".gitignore").read_text().splitlines()}
    assert len(files) > 60 and not ignored & {f"*{file.suffix}" for file in files}
    for file in files:
        for name in re.findall(r'^ *#include "(.+)"', file.read_text(), re.M):
            assert any((folder / name).exists() for folder in (file.parent, *folders)), (file, name)
