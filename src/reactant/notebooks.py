"""What `%load_ext reactant` puts in place in IPython and notebooks: `%%reactant` and `%reactant_explain`."""
from __future__ import annotations

import ast
from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, cell_magic, line_magic, magics_class
from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring

from reactant.api import jit
from reactant.errors import ReactantError
from reactant.explanation import explain
from reactant.support.session import is_tracing
from reactant.verification import verify

DECORATOR, EXPLAIN = "__reactant_checked__", "__reactant_explain__"
"""Names in the notebook's namespace while a cell is run."""


class Checked:
    """Mixed into compiled functions: before the first call of each signature, the plain function is compared."""

    rtol: float | None = None
    _agreed: set[Any]
    _busy = False

    def __call__(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        if not is_tracing() and not self._busy:
            key = self._sign(args, kwargs)[0]
            if key not in self._agreed:
                self._compare(args, kwargs)
                self._agreed.add(key)
        return super().__call__(*args, **kwargs)      # type: ignore[misc]  # of what it is mixed into

    def _compare(self: Any, args: tuple, kwargs: dict) -> None:
        self._busy = True
        try:
            found = verify(self, *args, **kwargs, **({} if self.rtol is None else {"rtol": self.rtol}))
        finally:
            self._busy = False
        if not found:
            raise ReactantError(f"The compiled function does not do what Python does. {found}",
                                hint="Leave out %%reactant, or --no-verify where it draws random numbers, asks for the "
                                     "time or changes something outside.", code="differs-from-python")
        print(found)


def checked(function: Any, rtol: float | None) -> Any:
    """A compiled function that compares itself with the plain one."""
    made: Any = jit(function)
    made.__class__ = type(type(made).__name__, (Checked, type(made)), {})
    made.rtol, made._agreed = rtol, set()
    return made


class _Decorating(ast.NodeTransformer):
    """A decorator at each function of a cell."""

    def visit_Module(self, node: ast.Module) -> ast.Module:
        for each in node.body:
            if isinstance(each, ast.FunctionDef):
                each.decorator_list.append(ast.copy_location(ast.Name(DECORATOR, ast.Load()), each))
        return node


@magics_class
class ReactantMagics(Magics):
    """`%%reactant` and `%reactant_explain`."""

    @magic_arguments()
    @argument("--no-verify", action="store_true", help="compile, and do not compare with plain Python")
    @argument("--rtol", type=float, default=None, help="relative difference that is admitted (reactant.verify)")
    @cell_magic
    def reactant(self, line: str, cell: str) -> None:
        """Run a cell, the functions that it defines compiled; each is compared with plain Python at its first call of
        every signature."""
        told = parse_argstring(self.reactant, line)
        shell: Any = self.shell
        shell.user_ns[DECORATOR] = jit if told.no_verify else lambda function: checked(function, told.rtol)
        transformer = _Decorating()
        shell.ast_transformers.append(transformer)
        try:
            shell.run_cell(cell, store_history=False)
        finally:
            shell.ast_transformers.remove(transformer)
            shell.user_ns.pop(DECORATOR, None)

    @line_magic
    def reactant_explain(self, line: str) -> Any:
        """`%reactant_explain f(x, y)`: what was done to the program of a call, as a page."""
        try:
            call = ast.parse(line.strip(), mode="eval").body
        except SyntaxError:
            call = None
        if not isinstance(call, ast.Call):
            raise UsageError("%reactant_explain takes a call, as in: %reactant_explain f(x, y)")
        call.args.insert(0, call.func)
        call.func = ast.copy_location(ast.Name(EXPLAIN, ast.Load()), call)
        shell: Any = self.shell
        return eval(compile(ast.Expression(call), "<reactant_explain>", "eval"), {**shell.user_ns, EXPLAIN: explain})


def load_ipython_extension(shell: Any) -> None:
    """What `%load_ext reactant` calls."""
    shell.register_magics(ReactantMagics)
