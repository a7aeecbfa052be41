"""`reactant tune app -- arguments`: a program is run with each version of its kernels, and the fastest are remembered.

Times of versions are CPU time of the process while a kernel runs, so that a busy machine changes them little; they are
compared over all launches of a kernel with blocks of one shape and about as many of them. How blocks are shared among
CPU threads is found out afterwards, by the time of the wall.
"""
from __future__ import annotations

import os
import statistics
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

from reactant.errors import ReactantError
from reactant.support import folders
from reactant.support.records import dataclass

OWN = "own"
SCHEDULES = ("alone", "fine", "coarse")
"""How blocks are shared among CPU threads, other than usual (runtime/tuning.h)."""
BETTER, AS_GOOD = 0.95, 0.98
"""Of the own version's time: what a version has to reach to be chosen, and what it has to keep when it is checked."""
ROUNDS = 5
"""Runs with each version. What counts is the least time, since other work on the machine only adds to it; but the
median and most rounds have to say the same."""
HOPELESS = 1.25
"""A version that takes so many times the best one's in the first round is not run again."""


class TuningError(ReactantError):
    """A program cannot be tuned: it does not run, or has nothing to choose from.

    Example:
        >>> from reactant.cuda_programs.driver.tuning import TuningError
        >>> TuningError("./app launched no kernel with versions.").code
        'cuda-tuning'
    """

    code = "cuda-tuning"
    hint = "Build it with reactant nvcc --tune, and give it arguments with which it launches its kernels."


@dataclass(frozen=True)
class Site:
    """A kernel, launched with blocks of one shape and about as many of them (`signature`)."""

    kernel: str
    signature: str


@dataclass
class Report:
    """What a run says: where choices are kept, and nanoseconds of each site's versions that ran, of the processor (all
    threads) and of the wall."""

    choices: Path
    versions: dict[Site, list[str]]
    nanoseconds: dict[tuple[Site, str], tuple[float, float]]
    threads: int = 1

    def totals(self, wall: bool = False) -> dict[Site, float]:
        """Milliseconds of each site: launches that a version does not fit are run by the own one."""
        found: dict[Site, float] = defaultdict(float)
        for (site, _), took in self.nanoseconds.items():
            found[site] += took[wall] / 1e6
        return found


@dataclass(frozen=True)
class Choice:
    """What was found out of a site: milliseconds of the own version and of the one that is chosen."""

    site: Site
    label: str
    own: float
    chosen: float


Runner = Callable[[str], Report]


def tuned(run: Runner, rounds: int = ROUNDS) -> tuple[Path, list[Choice]]:
    """Find the fastest version of each kernel.

    Args:
        run: runs the program with one version of all kernels that have it ("=LABEL") or with what was chosen
            ("choices"), and says what it took.
        rounds: how often each version is run.

    Returns:
        The file of choices, which is written, and what it says.
    """
    first = run(f"={OWN}")
    labels = list(dict.fromkeys(label for found in first.versions.values() for label in found))
    times: dict[Site, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for number in range(rounds):
        for label in labels:
            report = first if number == 0 and label == OWN else run(f"={label}")
            for site, took in report.totals().items():
                if (site, label) in report.nanoseconds:
                    times[site][label].append(took)
        if number == 0:
            labels = [label for label in labels if label == OWN or any(
                label in found and found[label][0] < HOPELESS * min(t[0] for t in found.values())
                for found in times.values())]
    chosen = {site: _best(found) for site, found in times.items()}
    _write(first.choices, chosen)
    if first.threads > 1:
        chosen = _scheduled(run, chosen, rounds)
        _write(first.choices, chosen)
    checked = _checked(run, chosen, rounds)
    _write(first.choices, {choice.site: choice.label for choice in checked})
    return first.choices, checked


def _scheduled(run: Runner, chosen: dict[Site, str], rounds: int) -> dict[Site, str]:
    """The choices with the schedules that take the least time of the wall."""
    times: dict[Site, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for _ in range(rounds):
        for schedule in (OWN, *SCHEDULES):
            for site, took in run("choices" if schedule == OWN else f"choices/{schedule}").totals(wall=True).items():
                times[site][schedule].append(took)
    best = {site: _best(found) for site, found in times.items()}
    return {site: label if best.get(site, OWN) == OWN else f"{label}/{best[site]}" for site, label in chosen.items()}


def _best(found: dict[str, list[float]]) -> str:
    """The version with the least time, if it beats the own one in most rounds, and by more than noise."""
    own = found[OWN]
    best = min(found, key=lambda label: min(found[label]))
    return best if _faster(found[best], own, BETTER) else OWN


def _faster(new: list[float], own: list[float], limit: float) -> bool:
    """Whether times are below others by least and median, and in two of three rounds."""
    if not new or not own:
        return False
    pairs = list(zip(new, own, strict=False))
    return (min(new) < limit * min(own) and statistics.median(new) < limit * statistics.median(own)
            and 3 * sum(one < other for one, other in pairs) >= 2 * len(pairs))


def _checked(run: Runner, chosen: dict[Site, str], rounds: int) -> list[Choice]:
    """Choices against the own versions, in turn; those that are not better any more are taken back."""
    times: dict[str, dict[Site, list[float]]] = {mode: defaultdict(list) for mode in (f"={OWN}", "choices")}
    if set(chosen.values()) - {OWN}:
        for _ in range(rounds):
            for mode, found in times.items():
                report = run(mode)
                processor, wall = report.totals(), report.totals(wall=True)
                for site in processor:
                    found[site].append((wall if "/" in chosen.get(site, "") else processor)[site])
    made = []
    for site, label in chosen.items():
        own, new = (times[mode][site] for mode in (f"={OWN}", "choices"))
        kept = label != OWN and _faster(new, own, AS_GOOD)
        least = min(own, default=0.0)
        made.append(Choice(site, label if kept else OWN, least, min(new) if kept else least))
    return made


def _write(file: Path, chosen: dict[Site, str]) -> None:
    lines = [f"{site.kernel}\t{site.signature}\t{label}\n" for site, label in sorted(
        chosen.items(), key=lambda each: (each[0].kernel, each[0].signature))]
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        folders.put(file, "".join(lines).encode())
    except OSError as error:
        raise TuningError(f"The choices cannot be kept in {file.parent}: {error.strerror}.",
                          hint="Name another folder with REACTANT_CUDA_CACHE.") from None


def runner(command: Sequence[str], folder: Path) -> Runner:
    """Runs a command line; what the program says is not shown, unless it fails.

    Raises:
        TuningError: when called, where the program cannot be run, fails, or has nothing to choose from.
    """
    def run(mode: str) -> Report:
        report = folder / "report"
        report.unlink(missing_ok=True)
        environment = os.environ | {"REACTANT_CUDA_TUNE": mode, "REACTANT_CUDA_TUNE_REPORT": str(report)}
        try:
            done = subprocess.run(list(command), env=environment, capture_output=True, text=True, errors="replace",
                                  stdin=subprocess.DEVNULL, check=False)
        except OSError as error:
            raise TuningError(f"{command[0]} cannot be run: {error.strerror}.",
                              hint="Name an executable of reactant nvcc --tune, ./app say.") from None
        if done.returncode != 0:
            raise TuningError(f"{command[0]} ends with status {done.returncode}"
                              f"{': ' if done.stderr.strip() else ''}{done.stderr.strip()[-2000:]}.",
                              hint="Tune a program, and with arguments, that runs to its end.")
        if not report.exists():
            raise TuningError(f"{command[0]} launched no kernel with versions.")
        return read(report.read_text())
    return run


def read(text: str) -> Report:
    """A report of the runtime (runtime/tuning.cpp)."""
    choices = Path()
    versions: dict[Site, list[str]] = defaultdict(list)
    nanoseconds: dict[tuple[Site, str], tuple[float, float]] = {}
    threads = 1
    for line in text.splitlines():
        kind, *words = line.split("\t")
        if kind == "choices":
            choices = Path(words[0])
        elif kind == "threads":
            threads = int(words[0])
        elif kind == "version":
            site, label = Site(words[0], words[1]), words[2]
            versions[site].append(label)
            if int(words[3]):
                nanoseconds[site, label] = float(words[4]), float(words[5])
    return Report(choices, dict(versions), nanoseconds, threads)


def main(command: Sequence[str], rounds: int = ROUNDS) -> str:
    """Tune a program.

    Args:
        command: the executable and its arguments.
        rounds: how often each version is run.

    Returns:
        A table to show.

    Raises:
        TuningError: where that cannot be.
    """
    with tempfile.TemporaryDirectory(prefix="reactant-tune-") as folder:
        file, choices = tuned(runner(command, Path(folder)), rounds)
    lines = [f"{'kernel':40} {'blocks':>16} {'version':>10} {'own ms':>10} {'ms':>10} {'times':>6}"]
    for each in sorted(choices, key=lambda each: -each.own):
        gain = each.own / each.chosen if each.chosen else 1.0
        lines.append(f"{each.site.kernel[:40]:40} {each.site.signature:>16} {each.label:>10} {each.own:10.3f} "
                     f"{each.chosen:10.3f} {gain:6.2f}")
    return "\n".join([*lines, f"kept in {file}"]) + "\n"
