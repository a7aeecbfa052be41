"""`accuracy`: how many digits are right, and which lines lose them."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from reactant.digits import page, text
from reactant.digits.measured import measured
from reactant.digits.records import Found
from reactant.support.html import written


class Accuracy(Found):
    """How many digits of a program's results are right: `str()` gives the text. Made by `reactant.accuracy`.

    Attributes:
        name: the function's name.
        twin: the format that the program was compared in: "float64", or "float64x2" for programs in float64.
        outputs: for each array of floats among the results its `name`, `dtype`, `shape`, `digits` of the format, bits
            that are right of the `worst` element and of the `median`, `where` the worst one is, its `value` and what it
            is `exact`, and bits that are right as parts `of_largest` element.
        lines: for each source line that rounds, the costliest first, its `place` (file:line), `operations`, the bits
            that the outputs lose by it `alone`, those that its worst operation loses of right operands (`local`), those
            by which it `amplified` earlier errors, those that its results lack (`wrong`), and how many of them are
            `out_of_range`.
        blamed: those of `lines` that are a cause; none where all outputs are right to two bits.
        branches: comparisons and conversions to whole numbers that give `different` results in more precision, `count`
            in all, with their `place`.
        loops: for each loop its `place` and `growth`: pairs of an iteration and the bits lost until then.
        seconds: of compiling, and of one run.

    Example:
        >>> found = reactant.accuracy(lambda x: np.sqrt(x + 1) - np.sqrt(x), np.float32(1e6))
        >>> found.outputs[0].worst < 12, found.blamed[0].local > 10
        (True, True)
    """

    def __str__(self) -> str:
        return text.text(self)

    __repr__ = __str__

    def html(self, file: str | None = None) -> str:
        """A page that needs nothing else: the source, coloured by what each line costs, and the rest of the account.

        Args:
            file: where it is written; None for nowhere.

        Returns:
            The text of the page.
        """
        return written(page.page(self), file)

    def _repr_html_(self) -> str:
        """What notebooks show."""
        return page.fragment(self)


def accuracy(function: Callable[..., Any], /, *args: Any, seconds: float = 10.0, **kwargs: Any) -> Accuracy:
    """How many digits of a function's results are right, and which source lines lose the others.

    The program runs as it is written, operation by operation, beside itself in twice its precision: float64 for float32
    and narrower, two limbs of float64 (`float64x2`) for float64. Its own numbers decide all branches; arguments and
    constants count as exact. Then it runs once more for each line, which alone has the program's precision.

    Args:
        function: a NumPy or JAX function, a `reactant.jit` of one, or a derivative.
        args: its arguments, which stay as they are: the answer holds for these.
        seconds: how long lines are tried one by one, more or less, after the first one, the worst of them first.
        kwargs: arguments by name.

    Returns:
        An `Accuracy`, to print, to read, or to write as a page.

    Raises:
        UnsupportedError: for programs without floats, with calls of Python, or with an operation that has no form in
            more precision; the error names the line.
        ReactantError: where the function cannot be compiled.

    Example:
        >>> def variance(x):
        ...     return np.mean(x**2) - np.mean(x)**2
        >>> print(reactant.accuracy(variance, np.float32([1000, 1001, 1002])))
        variance, beside itself in float64:
          result (float32): ... of 24 bits are right...

    Source:
        errors of operations on rounded companions: A. Sanchez-Stern, P. Panchekha, S. Lerner and Z. Tatlock, "Finding
        root causes of floating point error", PLDI 2018.
    """
    return Accuracy(**vars(measured(function, args, kwargs, seconds)))
