"""Where this package lies, for what tells our files from the user's."""
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]
