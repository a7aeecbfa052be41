"""Where files are kept for a user."""
import contextlib
import os
import tempfile
from pathlib import Path


def home() -> str:
    """The folder of what reactant keeps for a user."""
    return os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "reactant")


def put(target: Path, content: bytes) -> None:
    """Write a file at once, as several processes may: under another name beside it, then renamed. Raises `OSError`, and
    leaves nothing then."""
    handle, name = tempfile.mkstemp(prefix="." + target.name[:16], suffix=".part", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(name, target)
    except OSError:             # the disk is full, or not to be written to
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise
