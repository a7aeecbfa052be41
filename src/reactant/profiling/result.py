"""What `profile` gives."""
from __future__ import annotations

from reactant.profiling import page, text, traces
from reactant.profiling.records import Measured


class Profile(Measured):
    """Where the time of a program goes: `print` it, look at `lines`, `operations` and `loops` (`records.Measured` says
    what the fields are), or write it as a page or as a trace for others' viewers."""

    def __str__(self) -> str:
        return text.text(self)

    __repr__ = __str__

    def html(self, file: str | None = None) -> str:
        """The profile as a page of HTML that needs nothing else; written to `file` where one is named."""
        return _written(page.page(self), file)

    def perfetto(self, file: str | None = None) -> str:
        """A trace in Chrome's JSON format, for ui.perfetto.dev and chrome://tracing; written to `file`."""
        return _written(traces.chrome(self), file)

    def xprof(self, folder: str) -> str:
        """Write a profile of `jax.profiler`'s format under a folder that TensorBoard or XProf are given, with our names
        for operations; gives the file's path."""
        return traces.xspace(self, folder)

    def _repr_html_(self) -> str:
        """What notebooks show."""
        return page.fragment(self)


def _written(content: str, file: str | None) -> str:
    if file is not None:
        with open(file, "w", encoding="utf-8") as opened:
            opened.write(content)
    return content
