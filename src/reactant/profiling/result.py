"""What `profile` gives."""
from __future__ import annotations

from reactant.profiling import page, text, traces
from reactant.profiling.records import Measured
from reactant.support.html import written


class Profile(Measured):
    """Where the time of a program goes; printed as a table. Made by `reactant.profile`.

    Attributes:
        name: the function's name.
        runs: how many runs were measured.
        seconds: of a run with everything measured, the mean of the faster half of the runs.
        plain: of a run without that, the same mean.
        operations: rows of XLA's thunks and parts of native code, with seconds, count, lines, and `limit(rates)`.
        loops: rows with how often a loop is entered in a run, its iterations, and seconds.
        rates: what this machine can do.
        outside: seconds of a run before its first operation and after its last one.
        between: seconds in which no operation ran.
        compile_seconds: seconds of tracing, passes, native code and XLA, by name.

    Example:
        >>> found = reactant.profile(lambda x: np.sort(x).sum(), np.ones(1000), runs=3)
        >>> found.runs, found.seconds > 0.0, len(found.lines) > 0
        (3, True, True)
    """

    def __str__(self) -> str:
        return text.text(self)

    __repr__ = __str__

    def html(self, file: str | None = None) -> str:
        """The profile as a page of HTML that needs nothing else.

        Args:
            file: where it is written; None for nowhere.

        Returns:
            The text of the page.
        """
        return written(page.page(self), file)

    def perfetto(self, file: str | None = None) -> str:
        """A trace in Chrome's JSON format, for ui.perfetto.dev and chrome://tracing.

        Args:
            file: where it is written; None for nowhere.

        Returns:
            The text of the trace.
        """
        return written(traces.chrome(self), file)

    def xprof(self, folder: str) -> str:
        """Write a profile in `jax.profiler`'s format, for TensorBoard and XProf, with our names for operations.

        Args:
            folder: the folder that these are given.

        Returns:
            The path of the file.
        """
        return traces.xspace(self, folder)

    def _repr_html_(self) -> str:
        """What notebooks show."""
        return page.fragment(self)
