"""The compile cache: programs of earlier processes, found without tracing, passes or compilation.

    reactant.cache.directory("/scratch/me/programs")    # instead of the user's folder for caches
    reactant.cache.info()                               # where it is, how many programs, their bytes
    reactant.cache.clear()

`docs/cache.md` says what a program depends on, and what is not kept.
"""
from reactant.cache.store import (
    CacheError,
    clear,
    directory,
    export,
    import_,
    info,
    reasons,
    turned_off,
    verify,
)

__all__ = ["CacheError", "clear", "directory", "export", "import_", "info", "reasons", "turned_off", "verify"]
