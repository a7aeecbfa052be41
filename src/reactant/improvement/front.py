"""What `reactant.improve` found: versions of a program, by how many bits are right and how long a call takes."""
from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from reactant.calling.jitted import Jitted
from reactant.errors import UnsupportedError
from reactant.improvement.forms import Found
from reactant.improvement.programs import Seen
from reactant.precision.improvement.expressions import shown
from reactant.precision.improvement.extra import loaded
from reactant.precision.improvement.recipe import Form, Recipe
from reactant.support.records import dataclass


@dataclass
class Version:
    """A program with forms of its expressions.

    Attributes:
        name: "original", or what was looked for.
        bits: right bits of the results, on average over their elements.
        worst: right bits of the worst element.
        seconds: of a call, the least, measured in turns with the other versions.
        changed: how many expressions have another form.
        function: the compiled function.

    Example:
        >>> found = reactant.improve(lambda x: np.sqrt(x + 1) - np.sqrt(x), np.array([1e15, 1e16]))
        >>> found.versions[0].name, found.versions[0].changed
        ('original', 0)
    """

    name: str
    bits: float
    worst: float
    seconds: float
    changed: int
    function: Jitted
    recipe: Recipe


class Improvement:
    """The versions of a program that `reactant.improve` has measured; printed as a table.

    Attributes:
        name: the function's name.
        versions: a list of `Version`, the original first.
        front: those that no other one beats in both bits and time, the fastest first.

    Example:
        >>> found = reactant.improve(lambda x: np.log(1 - x), np.array([1e-9, 2e-12]))
        >>> better = found.best()
        >>> better(np.array([1e-9]))
        array([-1.e-09])
    """

    def __init__(self, name: str, versions: Sequence[Version], found: Sequence[Found], places: Sequence[Seen],
                 compared: str):
        self.name, self.versions, self.compared = name, list(versions), compared
        self._found, self._lines = list(found), _lines_of(places)
        self._names = {place.key: [f"x{k}" for k in range(place.leaves)] for place in places}

    @property
    def front(self) -> list[Version]:
        """The versions that no other one beats in both bits and time, the fastest first."""
        kept: list[Version] = []
        for each in sorted(self.versions, key=lambda version: (version.seconds, -version.bits)):
            if not kept or each.bits > kept[-1].bits:
                kept.append(each)
        return kept

    def best(self, bits: float | None = None) -> Jitted:
        """The fastest version with so many right bits.

        Args:
            bits: right bits on average, in those of the results' format (of 53 in float64, 24 in float32); None: as
                many as the most accurate version has.

        Returns:
            A compiled function for any arguments of the same structure. Where other arguments make it another program,
            its call raises `UnsupportedError`.

        Raises:
            UnsupportedError: where no version has so many.
        """
        wanted = max(each.bits for each in self.versions) - 0.25 if bits is None else bits
        enough = [each for each in self.versions if each.bits >= wanted]
        if not enough:
            most = max(each.bits for each in self.versions)
            raise UnsupportedError(f"No version of '{self.name}' has {bits:g} right bits; the most are {most:.1f}.",
                                   hint="Ask for fewer bits, or compute in sums of floats: "
                                        'reactant.jit(f, floats={"float64": "float64x2"}).',
                                   code="nothing-to-improve", span=None)
        return min(enough, key=lambda version: version.seconds).function

    def table(self) -> str:
        """The versions as a text: right bits on average and of the worst element, microseconds, times as fast."""
        first = self.versions[0]
        lines = [f"{self.name}: bits are compared with {self.compared}",
                 f"{'':2}{'version':28} {'bits':>6} {'worst':>6} {'us':>10} {'faster':>7} {'forms':>6}"]
        front = self.front
        for each in self.versions:
            mark = "*" if any(each is other for other in front) else " "
            lines.append(f"{mark:2}{each.name:28} {each.bits:6.1f} {each.worst:6.1f} {1e6 * each.seconds:10.1f} "
                         f"{first.seconds / each.seconds:7.2f} {each.changed:6}")
        return "\n".join(lines)

    __str__ = table

    def explain(self) -> str:
        """Which line's expression became what, in which format and where, in the most accurate version."""
        chosen = max(self.versions, key=lambda version: (version.bits, -version.seconds))
        if not chosen.changed:
            return f"{self.name}: nothing is better than the program as it is."
        lines = [f"{self.name}, version '{chosen.name}':"]
        for found in self._found:
            form = chosen.recipe.forms.get(found.key)
            if form is not None:
                lines += self._told(found, form)
        return "\n".join(lines)

    def _told(self, found: Found, form: Form) -> list[str]:
        names = self._names[found.key]
        after = next(each.bits for each in found.options if each.form == form)
        where = ", ".join(f"{file}:{line}" for file, line in self._lines[found.key]) or "(no line)"
        kind = "" if form.precision == found.dtype.name else f" in {form.precision}"
        lines = [f"  {where}", f"    {shown(found.expression, names)}", f"    -> {form.pieces.shown(names)}{kind}",
                 f"    bits of error {found.options[0].bits:.1f} -> {after:.1f}"]
        if form.where:
            lines.append(f"    where {', '.join(each.shown(names) for each in form.where)}; elsewhere as it was")
        return lines

    def plot(self, path: str | Path) -> None:
        """Draw the versions, and the front, into a picture.

        Args:
            path: the file; its name's end says the format (PNG, SVG, PDF).

        Raises:
            UnsupportedError: where matplotlib is not installed.
        """
        figure_module = loaded("matplotlib.figure", "plot")
        figure = figure_module.Figure(figsize=(6.4, 4.0), layout="constrained")
        axes = figure.subplots()
        front = self.front
        axes.step([1e6 * each.seconds for each in front], [each.bits for each in front], where="post", color="0.7")
        for k, each in enumerate(sorted(self.versions, key=lambda version: version.seconds)):
            axes.plot(1e6 * each.seconds, each.bits, "o", color="C1" if each.name == "original" else "C0")
            axes.annotate(each.name, (1e6 * each.seconds, each.bits), textcoords="offset points",
                          xytext=(5, -12 if k % 2 else 4), fontsize=8)       # neighbours beside each other
        axes.set_xlabel("time of a call, µs")
        axes.set_ylabel("right bits, mean")
        axes.set_title(self.name)
        axes.margins(x=0.25, y=0.15)
        figure.savefig(path, dpi=140)


def _lines_of(places: Sequence[Seen]) -> dict[Any, list[tuple[str, int]]]:
    found: dict[Any, list[tuple[str, int]]] = {}
    for place in places:
        where = place.line
        lines = found.setdefault(place.key, [])
        if where is not None and (where[0].rsplit("/", 1)[-1], where[1]) not in lines:
            lines.append((where[0].rsplit("/", 1)[-1], where[1]))
    return found
