"""What is in this folder: `python -m examples`."""
import ast
from pathlib import Path

HERE = Path(__file__).parent


def listed() -> list[tuple[str, str]]:
    """(command, first line of the docstring) of each example: files, and folders that are packages."""
    rows = []
    for path in sorted([*HERE.glob("[a-z]*.py"), *HERE.glob("*/__init__.py")]):
        said = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        folder = path.name == "__init__.py"
        command = f"python -m examples.{path.parent.name}" if folder else f"python examples/{path.name}"
        rows.append((command, said.partition("\n")[0]))
    return rows


if __name__ == "__main__":
    for command, what in listed():
        print(f"{command:41} {what}")
