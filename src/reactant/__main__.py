"""The `reactant` command; `python -m reactant` is the same."""
from __future__ import annotations

import sys

from reactant.cli import main

if __name__ == "__main__":
    sys.exit(main())
