"""Where files are kept for a user."""
import os


def home() -> str:
    """The folder of what reactant keeps for a user."""
    return os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "reactant")
