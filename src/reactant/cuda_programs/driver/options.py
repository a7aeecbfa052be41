"""nvcc's command line: a table of options, and what a command line asks for."""
from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from reactant.cuda_programs.device import versions
from reactant.errors import ReactantError


class CommandLineError(ReactantError, ValueError):
    """An option that is not one, or lacks its value; an input of no kind that is compiled.

    Example:
        >>> from reactant.cuda_programs.driver.options import CommandLineError, parse
        >>> try:
        ...     parse(["--no-such-option", "app.cu"])
        ... except CommandLineError as error:
        ...     print(error.fact)
        unknown option '--no-such-option'
    """

    code = "cuda-command-line"


@dataclass(frozen=True)
class Option:
    """A row of the table: how the option is written, whether it takes a value, and what it does.

    `action` is the name of a function below; `detail` is what that function needs to have told.
    """

    names: tuple[str, ...]
    value: bool
    action: str
    detail: str = ""
    joined: bool = False
    """Whether the value may follow without a space or `=`, as in -O3 and -Ifolder."""


def _rows(value: bool, action: str, *lines: str, joined: bool = False) -> Iterator[Option]:
    for line in lines:
        names, _, detail = line.partition(" : ")
        yield Option(tuple(names.split()), value, action, detail, joined)


OPTIONS: tuple[Option, ...] = (
    # what is made
    *_rows(False, "mode", "-c --compile : object", "-ptx --ptx : ptx", "-E --preprocess : preprocess",
           "-M --generate-dependencies : depend", "-MM --generate-nonsystem-dependencies : depend-user",
           "-dlink --device-link : device-link", "-lib --lib : archive", "-link --link : link",
           "-cubin --cubin : image", "-fatbin --fatbin : image"),
    *_rows(False, "relocatable_object", "-dc --device-c", "-dw --device-w"),
    *_rows(True, "relocatable", "-rdc --relocatable-device-code"),
    *_rows(False, "set_flag", "-shared --shared : shared", "-v --verbose : verbose", "-dryrun --dryrun : dry_run",
           "-run --run : run", "-use_fast_math --use_fast_math --use-fast-math : fast_math", "-static : static"),
    *_rows(True, "set_text", "-o --output-file : output", "-odir --output-directory : folder", joined=False),
    *_rows(True, "language", "-x --x"),
    # both sides
    *_rows(True, "both", "-I --include-path : -I", "-D --define-macro : -D", "-U --undefine-macro : -U", joined=True),
    *_rows(True, "both_apart", "-include --pre-include : -include", "-isystem --system-include : -isystem",
           "-iquote : -iquote", "-idirafter : -idirafter", "-imacros : -imacros"),
    *_rows(True, "standard", "-std --std"),
    *_rows(False, "warnings", "-w --disable-warnings : -w"),
    *_rows(True, "werror", "-Werror --Werror"),
    # dependencies
    *_rows(False, "depfile", "-MD --generate-dependencies-with-compile : -MD",
           "-MMD --generate-nonsystem-dependencies-with-compile : -MMD", "-MP --generate-dependency-targets : -MP"),
    *_rows(True, "depfile_value", "-MF --dependency-output : -MF", "-MT --dependency-target-name : -MT", "-MQ : -MQ"),
    # optimisation and debugging
    *_rows(True, "optimise", "-O --optimize", joined=True),
    *_rows(False, "set_flag", "-g --debug : debug", "-G --device-debug : device_debug",
           "-lineinfo --generate-line-info : line_info", "-pg --profile : profiled"),
    *_rows(False, "tune", "--tune -tune"),
    *_rows(True, "contract", "-fmad --fmad"),
    *_rows(False, "check", "--check -check --check=memory -check=memory : memory", "--check=race -check=race : race"),
    # the host's compiler and the linker
    *_rows(True, "host", "-Xcompiler --compiler-options"),
    *_rows(True, "linker", "-Xlinker --linker-options"),
    *_rows(True, "set_text", "-ccbin --compiler-bindir : host_compiler",
           "--reactant-names : names"),
    *_rows(True, "link_value", "-L --library-path : -L", "-l --library : -l", joined=True),
    # response files and programs that are run
    *_rows(True, "response_file", "-optf --options-file"),
    *_rows(True, "run_arguments", "--run-args -run-args"),
    # which say how code for a GPU is made: nothing to do here
    *_rows(False, "nothing", "--expt-relaxed-constexpr -expt-relaxed-constexpr", "--expt-extended-lambda "
           "-expt-extended-lambda --extended-lambda -extended-lambda", "-Wno-deprecated-gpu-targets",
           "-forward-unknown-to-host-compiler --forward-unknown-to-host-compiler -forward-unknown-opts "
           "--forward-unknown-opts", "--restrict -restrict", "-lto -dlto --dlink-time-opt --lto", "-res-usage "
           "--resource-usage", "-src-in-ptx --source-in-ptx", "-m64", "--keep -keep -k", "--save-temps -save-temps",
           "-clean --clean-targets", "--allow-unsupported-compiler -allow-unsupported-compiler",
           "--extra-device-vectorization -extra-device-vectorization", "--no-compress -no-compress",
           "--display-error-number -err-no", "--no-display-error-number -no-err-no", "--no-exceptions -noeh",
           "-Wreorder --Wreorder", "-Wext-lambda-captures-this", "-Wdefault-stream-launch",
           "-Wmissing-launch-bounds", "-nodlink", "-cuda --cuda", "-ewp --extensible-whole-program",
           "-astoolspatch", "-no-host-device-initializer-list", "-no-host-device-move-forward", "--no-align-double",
           "-arch-list --list-gpu-arch"),
    *_rows(True, "nothing", "-arch --gpu-architecture", "-gencode --generate-code", "-code --gpu-code", "-Xptxas "
           "--ptxas-options", "-Xnvlink --nvlink-options", "-Xcudafe --cudafe-options", "-Xfatbin "
           "--fatbin-options", "-Xarchive --archive-options", "-maxrregcount --maxrregcount", "-t --threads",
           "--default-stream -default-stream", "-cudart --cudart", "-cudadevrt --cudadevrt", "-m --machine",
           "-diag-suppress --diag-suppress", "-diag-error --diag-error", "-diag-warn --diag-warn",
           "--keep-dir -keep-dir", "-ftz --ftz", "-prec-div --prec-div", "-prec-sqrt --prec-sqrt", "-opt-info "
           "--opt-info", "--split-compile -split-compile", "--time -time", "-target-dir --target-directory",
           "--compress-mode -compress-mode", "-ldir --libdevice-directory", "--entries -e", "-arbin "
           "--archiver-binary", "--relaxed-constexpr"),
)
"""nvcc's options. Where a value is taken, `--name value`, `--name=value`, `-n value` and `-n=value` are the same."""

HOST = re.compile(r"-(W\w.*|f\w.*|m\w.*|pthread|pedantic.*|ansi|pipe|ggdb.*|g\d|rdynamic|no-pie|pie|nostdlib|s)")
"""Options of cc that are for the host's compiler as they are."""
DEVICE_ARCHIVES = {"cudart", "cudart_static", "cudadevrt", "cuda", "nvrtc", "cudart_shared"}
"""Libraries that the runtime is: -lcudart names it."""

KINDS = {".cu": "cuda", ".cup": "cuda", ".c": "c", ".cc": "c++", ".cpp": "c++", ".cxx": "c++", ".C": "c++",
         ".c++": "c++", ".o": "object", ".obj": "object", ".a": "library", ".so": "library", ".lo": "object",
         ".ptx": "ptx", ".s": "assembly", ".S": "assembly", ".ii": "c++", ".i": "c"}
LANGUAGES = {"cu": "cuda", "cuda": "cuda", "c": "c", "c++": "c++"}


@dataclass
class Input:
    """A file of the command line: what it is (a value of `KINDS`), or an option of the linker where it stands."""

    kind: str
    text: str


@dataclass
class Command:
    """What a command line asks for."""

    mode: str = "link"
    inputs: list[Input] = field(default_factory=list)
    output: str = ""
    folder: str = ""
    both: list[str] = field(default_factory=list)
    """Flags of the preprocessor and the language, for the host's and the device's side."""
    standard: str = ""
    host_options: list[str] = field(default_factory=list)
    linker_options: list[str] = field(default_factory=list)
    dependencies: list[str] = field(default_factory=list)
    optimisation: str = ""
    contract: bool = True
    relocatable: bool = False
    shared: bool = False
    static: bool = False
    debug: bool = False
    device_debug: bool = False
    line_info: bool = False
    profiled: bool = False
    fast_math: bool = False
    check: str = ""
    tune: tuple[str, ...] = ()
    """Versions of kernels that are compiled beside their own."""
    verbose: bool = False
    dry_run: bool = False
    run: bool = False
    run_arguments: list[str] = field(default_factory=list)
    host_compiler: str = ""
    names: str = ""
    """The file of nvrtc's name expressions."""
    language_now: str = ""

    @property
    def sources(self) -> list[Input]:
        """The files that are compiled."""
        return [each for each in self.inputs if each.kind in ("cuda", "c", "c++", "assembly")]


class _Actions:
    """What rows of the table do with the command."""

    def __init__(self, command: Command):
        self.command = command

    def mode(self, detail: str, value: str) -> None:
        self.command.mode = detail

    def relocatable_object(self, detail: str, value: str) -> None:
        self.command.mode, self.command.relocatable = "object", True

    def relocatable(self, detail: str, value: str) -> None:
        self.command.relocatable = _boolean("-rdc", value)

    def set_flag(self, detail: str, value: str) -> None:
        setattr(self.command, detail, True)

    def set_text(self, detail: str, value: str) -> None:
        setattr(self.command, detail, value)

    def language(self, detail: str, value: str) -> None:
        if value not in (*LANGUAGES, "none"):
            raise CommandLineError(f"-x {value}: there is no such language", hint="Say cu, c++ or c.")
        self.command.language_now = LANGUAGES.get(value, "")

    def both(self, detail: str, value: str) -> None:
        self.command.both += [detail + each for each in value.split(",")] if detail != "-D" else [detail + value]

    def both_apart(self, detail: str, value: str) -> None:
        for each in value.split(","):
            self.command.both += [detail, each]

    def standard(self, detail: str, value: str) -> None:
        self.command.standard = value

    def warnings(self, detail: str, value: str) -> None:
        self.command.host_options.append(detail)

    def werror(self, detail: str, value: str) -> None:
        if value == "all-warnings":
            self.command.host_options.append("-Werror")

    def depfile(self, detail: str, value: str) -> None:
        self.command.dependencies.append(detail)

    def depfile_value(self, detail: str, value: str) -> None:
        self.command.dependencies += [detail, value]

    def optimise(self, detail: str, value: str) -> None:
        self.command.optimisation = f"-O{value}"

    def contract(self, detail: str, value: str) -> None:
        self.command.contract = _boolean("-fmad", value)

    def check(self, detail: str, value: str) -> None:
        self.command.check = detail

    def tune(self, detail: str, value: str) -> None:
        named = tuple(value.split(",")) if value else versions.USUAL
        if unknown := [label for label in named if label not in versions.OTHERS]:
            raise CommandLineError(f"--tune: there is no version '{unknown[0]}'",
                                   hint=f"There are {', '.join(versions.OTHERS)}; without names it is "
                                        f"{', '.join(versions.USUAL)}.")
        self.command.tune = named

    def host(self, detail: str, value: str) -> None:
        self.command.host_options += _listed(value)

    def linker(self, detail: str, value: str) -> None:
        for each in _listed(value):
            self.command.inputs.append(Input("option", f"-Wl,{each}"))

    def link_value(self, detail: str, value: str) -> None:
        for each in value.split(","):
            if detail == "-L" or each not in DEVICE_ARCHIVES:
                self.command.inputs.append(Input("option", detail + each))

    def run_arguments(self, detail: str, value: str) -> None:
        self.command.run_arguments += shlex.split(value)

    def nothing(self, detail: str, value: str) -> None:
        pass


def parse(arguments: Sequence[str]) -> Command:
    """What a command line asks for.

    Args:
        arguments: what follows `reactant nvcc`; `@file` and `--options-file file` are read; NVCC_PREPEND_FLAGS and
            NVCC_APPEND_FLAGS in the environment come before and after.

    Returns:
        The command.

    Raises:
        CommandLineError: for an option that nvcc and cc do not have, by name; for a value that lacks.

    Example:
        >>> from reactant.cuda_programs.driver.options import parse
        >>> command = parse(["-O3", "-arch=sm_80", "-Ifolder", "app.cu", "-o", "app"])
        >>> command.output, command.both, command.optimisation
        ('app', ['-Ifolder'], '-O3')
    """
    environment = [shlex.split(os.environ.get(name, "")) for name in ("NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS")]
    left = [*environment[0], *arguments, *environment[1]]
    command = Command()
    actions = _Actions(command)
    table = {name: option for option in OPTIONS for name in option.names}
    while left:
        text = left.pop(0)
        if text.startswith("@") and len(text) > 1:
            left[:0] = _read(text[1:])
        elif not text.startswith("-") or text == "-":
            command.inputs.append(Input(command.language_now or _kind(text), text))
        else:
            option, value = _option(table, text, left)
            if option is None:
                _others(command, text)
            elif option.action == "response_file":
                left[:0] = [word for name in value.split(",") for word in _read(name)]
            else:
                getattr(actions, option.action)(option.detail, value)
    return command


def _option(table: dict[str, Option], text: str, left: list[str]) -> tuple[Option | None, str]:
    """The row that `text` begins, and its value, which is taken from `left` where it is the next word."""
    name, equals, value = text.partition("=")
    if text in table and equals:
        return table[text], ""
    option = table.get(name)
    if option is not None and option.action == "tune":
        return option, value
    if option is not None and option.action == "check" and equals:
        raise CommandLineError(f"{text}: there is no such check", hint="Say --check=memory or --check=race.")
    if option is not None and not (option.joined and not text.startswith("--") and equals and len(name) > 2):
        if not option.value:
            return (option, "") if not equals else (None, "")
        if equals:
            return option, value
        if option.action == "optimise" and not (left and left[0].isdigit()):
            return option, "1"                      # cc's plain -O
        if not left:
            raise CommandLineError(f"'{text}' lacks its value", hint=f"Say {text} VALUE, or {text}=VALUE.")
        return option, left.pop(0)
    short = table.get(text[:2])
    if short is not None and short.joined and len(text) > 2:
        return short, text[2:].removeprefix("=") if short.detail in ("-I", "-L") else text[2:]
    return None, ""


def _others(command: Command, text: str) -> None:
    """Options that the table does not have: cc's for the host, -Wl, for the linker; all else is an error."""
    if text.startswith("-Wl,") or text in ("-rdynamic", "-no-pie", "-pie", "-s", "-nostdlib"):
        command.inputs.append(Input("option", text))
    elif HOST.fullmatch(text):
        command.host_options.append(text)
    else:
        raise CommandLineError(f"unknown option '{text}'",
                               hint="It is none of nvcc's or cc's; an option of the host compiler alone is "
                                    f"-Xcompiler {text}.")


def _kind(text: str) -> str:
    suffix = Path(text).suffix
    if re.search(r"\.so(\.\d+)*$", text):
        return "library"
    return KINDS.get(suffix, "unknown")


def _boolean(name: str, value: str) -> bool:
    if value not in ("true", "false"):
        raise CommandLineError(f"{name}={value}: the value is true or false", hint=f"Say {name}=true.")
    return value == "true"


def _listed(value: str) -> list[str]:
    """The options in `-Xcompiler "-a,-b"`; commas of -Wl,... and quoted spaces stay."""
    words = shlex.split(value)
    return [part for word in words
            for part in ([word] if word.startswith("-Wl,") or "," not in word else word.split(",")) if part]


def _read(name: str) -> list[str]:
    try:
        return shlex.split(Path(name).read_text(), comments=True)
    except OSError as error:
        raise CommandLineError(f"the options file '{name}' cannot be read: {error.strerror}",
                               hint="Name an existing file.") from None
