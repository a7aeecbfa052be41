"""Reader of the text that LLVM prints for a module: types, globals, functions, debug locations.

llvmlite hands out values and their text, but neither predicates, GEP types, switch cases, shuffle masks nor constant
expressions. So the printed module is read as a whole, once; LLVM has verified and normalised it. The grammar is that
of the LLVM language reference, as far as its printer uses it.
"""
from __future__ import annotations

import re
import struct
from dataclasses import field
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from reactant.errors import ReactantError
from reactant.kernels.llvm_ir.llvm_types import BYTES_OF_FLOAT, POINTER, VOID, Type
from reactant.support.records import dataclass

_HEADERS = str(Path(__file__).parents[1] / "headers")

TOKEN = re.compile(r"""\s*(?:
    (?P<bytes>c"(?:[^"])*") | (?P<name>[%@!\#$](?:"[^"]*"|[-a-zA-Z$._0-9]+)) | (?P<string>"[^"]*")
  | (?P<number>-?(?:0x[KLMHR]?[0-9A-Fa-f]+|f0x[0-9A-Fa-f]+|\d+\.\d*(?:[eE][-+]?\d+)?|\d+))(?![a-zA-Z_.])
  | (?P<word>[-a-zA-Z$._0-9]+) | (?P<mark>\.\.\.|[()\[\]{}<>,=*!|:])
)""", re.VERBOSE)


@dataclass(frozen=True)
class Value:
    """kind: local, global (name in `of`), int, float, null, undef, zero, list (tuple of typed values), bytes, asm,
    splat, expression ((opcode, typed operands, type)), metadata."""

    kind: str
    of: Any = None


Typed = tuple[Type, Value]


@dataclass
class Instruction:
    """One instruction. `words` are its flags and predicates, `type` the type it names first, `operands` as written."""

    result: str | None
    opcode: str
    type: Type = VOID
    operands: list[Typed] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    target: Any = None
    extra: Any = None
    location: str | None = None
    text: str = ""


@dataclass
class Function:
    name: str
    result: Type
    arguments: list[tuple[Type, str, list[str]]]
    blocks: dict[str, list[Instruction]]


@dataclass
class Global:
    name: str
    type: Type
    space: int
    constant: bool
    external: bool
    value: Value | None


@dataclass
class Module:
    functions: dict[str, Function]
    globals: dict[str, Global]
    metadata: dict[str, str]
    structs: dict[str, Type]

    def place(self, reference: str | None) -> tuple[str, int, int] | None:
        """(file, line, column) of a !DILocation; of the call, for what our own headers define."""
        text = self.metadata.get(reference or "")
        if not text:
            return None
        if "DILocation(" not in text:
            return None
        line, column = (int((re.search(rf"\b{key}: (\d+)", text) or [0, 0])[1]) for key in ("line", "column"))
        scope, seen = re.search(r"scope: (!\d+)", text), 0
        while scope and seen < 50:
            inner = self.metadata.get(scope[1], "")
            if file := re.search(r"\bfile: (!\d+)", inner):
                text_of_file = self.metadata.get(file[1], "")
                name = re.search(r'filename: "([^"]*)"', text_of_file)
                directory = re.search(r'directory: "([^"]*)"', text_of_file)
                if name:
                    path = name[1]
                    if directory and directory[1] and not path.startswith(("/", "<")):
                        path = f"{directory[1]}/{path}"
                    caller = re.search(r"inlinedAt: (!\d+)", text) if path.startswith(_HEADERS) else None
                    return self.place(caller[1]) if caller else (path, line, column)
            scope, seen = re.search(r"scope: (!\d+)", inner), seen + 1
        return None


def unquoted(name: str) -> str:
    """%"a b" -> a b."""
    body = name[1:]
    if body.startswith('"'):
        body = unescaped(body[1:-1])
    return body


def unescaped(text: str) -> str:
    """LLVM's string escapes: two hexadecimal digits, or a backslash, after a backslash."""
    return re.sub(r"\\(\\|[0-9A-Fa-f]{2})", lambda m: m[1] if m[1] == "\\" else chr(int(m[1], 16)), text)


class Tokens:
    """Tokens of one line (or bracketed group of lines), with the small parsers of types and values."""

    def __init__(self, text: str, structs: dict[str, Type]):
        self.text, self.structs, self.at = text, structs, 0
        self.items: list[tuple[str, str]] = []
        position = 0
        text = text.rstrip()
        while position < len(text):
            match = TOKEN.match(text, position)
            if not match:
                raise ReactantError(f"Cannot read this LLVM IR: {text}",
                                    hint="Check the source with its own compiler.", code="kernel-code")
            self.items.append((match.lastgroup or "", match[match.lastgroup or 0]))
            position = match.end()

    def peek(self, ahead: int = 0) -> str:
        return self.items[self.at + ahead][1] if self.at + ahead < len(self.items) else ""

    def next(self) -> str:
        self.at += 1
        return self.items[self.at - 1][1]

    def take(self, *words: str) -> bool:
        """Consume the next token if it is one of these."""
        if self.peek() in words and self.at < len(self.items):
            self.at += 1
            return True
        return False

    def expect(self, word: str) -> None:
        if not self.take(word):
            raise ReactantError(f"Cannot read this LLVM IR (expected {word!r} near {self.peek()!r}): {self.text}",
                                hint="Check the source with its own compiler.", code="kernel-code")

    def skip_group(self) -> None:
        """Consume a group in parentheses."""
        self.expect("(")
        depth = 1
        while depth:
            depth += {"(": 1, ")": -1}.get(self.next(), 0)

    # -- types

    def type(self) -> Type:
        word = self.next()
        if word == "ptr":
            space = 0
            if self.take("addrspace"):
                self.expect("(")
                space = int(self.next())
                self.expect(")")
            return Type("ptr", space)
        if word in BYTES_OF_FLOAT or word == "void":
            return Type(word)
        if re.fullmatch(r"i\d+", word):
            return Type("int", int(word[1:]))
        if word == "[":
            return self.sequence("array", "]")
        if word == "{":
            return Type("struct", 0, tuple(self.type_list("}")))
        if word == "<":
            if self.take("{"):
                parts = tuple(self.type_list("}"))
                self.expect(">")
                return Type("struct", 0, parts, True)
            return self.sequence("vector", ">")
        if word.startswith("%"):
            return self.structs.get(unquoted(word), Type("other"))
        return Type("other")

    def sequence(self, kind: str, end: str) -> Type:
        count = int(self.next())
        self.expect("x")
        part = self.type()
        self.expect(end)
        return Type(kind, count, (part,))

    def type_list(self, end: str) -> list[Type]:
        types: list[Type] = []
        while not self.take(end):
            types.append(self.type())
            self.take(",")
        return types

    # -- values

    def typed(self) -> Typed:
        kind = self.type()
        if kind.kind == "other" and self.peek(-1) == "metadata":
            while self.peek() not in (",", ")", ""):
                if self.peek() == "(":
                    self.skip_group()
                else:
                    self.next()
            return kind, Value("metadata")
        while self.peek() in PARAMETER_WORDS:
            word = self.next()
            if self.peek() == "(":
                self.skip_group()
            elif word == "align":
                self.next()
        return kind, self.value(kind)

    def value(self, kind: Type) -> Value:
        group, word = self.items[self.at]
        self.at += 1
        if group == "name":
            return Value("local" if word[0] == "%" else "global" if word[0] == "@" else "metadata", unquoted(word))
        if group == "number":
            return number(kind, word)
        if group == "bytes":
            return Value("bytes", unescaped(word[2:-1]).encode("latin-1"))
        if word in ("true", "false"):
            return Value("int", int(word == "true"))
        if word in ("null", "undef", "poison", "zeroinitializer", "none"):
            return Value({"null": "null", "zeroinitializer": "zero"}.get(word, "undef"))
        if word in ("[", "{", "<"):
            if word == "<" and self.take("{"):
                items = self.value_list("}")
                self.expect(">")
                return Value("list", tuple(items))
            return Value("list", tuple(self.value_list({"[": "]", "{": "}", "<": ">"}[word])))
        if word == "splat":
            self.expect("(")
            inner = self.typed()
            self.expect(")")
            return Value("splat", inner)
        if word == "asm":
            while self.items[self.at][0] != "string":
                self.at += 1
            code = self.next()
            self.take(",")
            return Value("asm", (code.strip('"'), self.next().strip('"')))
        return self.expression(word)

    def value_list(self, end: str) -> list[Typed]:
        values: list[Typed] = []
        while not self.take(end):
            values.append(self.typed())
            self.take(",")
        return values

    def expression(self, opcode: str) -> Value:
        """A constant expression after its opcode."""
        while self.peek() in ("inbounds", "nuw", "nusw", "nsw", "exact", "inrange"):
            if self.next() == "inrange" and self.peek() == "(":
                self.skip_group()
        self.expect("(")
        named = VOID
        if opcode == "getelementptr":
            named = self.type()
            self.expect(",")
        operands = [self.typed()]
        if self.take("to"):
            named = self.type()
        while self.take(","):
            operands.append(self.typed())
        self.expect(")")
        return Value("expression", (opcode, tuple(operands), named))


PARAMETER_WORDS = frozenset("""
    noundef nonnull noalias nocapture readonly readnone writeonly align range zeroext signext inreg immarg
    returned dereferenceable dereferenceable_or_null byval nofpclass captures sret nofree nest dead_on_unwind
    writable initializes elementtype dead_on_return
""".split())


def number(kind: Type, word: str) -> Value:
    """A numeric constant of a type."""
    if kind.kind == "int":
        return Value("int", int(word))
    if word.startswith("0xH"):
        return Value("float", float(np.uint16(int(word[3:], 16)).view(np.float16)))
    if word.startswith("0xR"):
        return Value("float", float(np.uint16(int(word[3:], 16)).view(ml_dtypes.bfloat16)))
    if word.startswith("f0x"):
        bits = int(word[3:], 16)
        return Value("float", struct.unpack("<f", struct.pack("<I", bits))[0] if kind.kind == "float" else
                     struct.unpack("<d", struct.pack("<Q", bits))[0])
    if word.startswith("0x"):
        return Value("float", struct.unpack("<d", struct.pack("<Q", int(word[2:], 16)))[0])
    return Value("float", float(word))


def read_module(text: str) -> Module:
    """The module that LLVM printed as `text`."""
    module = Module({}, {}, {}, {})
    lines = text.split("\n")
    struct_texts = {unquoted(m[1]): m[2] for line in lines
                    if (m := re.match(r'(%(?:"[^"]*"|[-a-zA-Z$._0-9]+)) = type (.*)$', line))}
    read_structs(struct_texts, module.structs)
    at = 0
    while at < len(lines):
        line = lines[at]
        at += 1
        if line.startswith("@"):
            read_global(line, module)
        elif line.startswith("define"):
            end = lines.index("}", at)
            function = read_function(line, lines[at:end], module)
            module.functions[function.name] = function
            at = end + 1
        elif line.startswith("!"):
            if (equals := line.find(" = ")) > 0:
                module.metadata[line[:equals]] = line[equals + 3:]
    return module


def read_structs(texts: dict[str, str], structs: dict[str, Type]) -> None:
    """Named struct types, innermost first."""
    pending = dict(texts)
    while pending:
        ready = [name for name, text in pending.items()
                 if not any(unquoted(used) in pending for used in re.findall(r'%(?:"[^"]*"|[-a-zA-Z$._0-9]+)', text))]
        for name in ready or list(pending):
            text = pending.pop(name)
            structs[name] = Type("other") if text == "opaque" else Tokens(text, structs).type()


def read_global(line: str, module: Module) -> None:
    """One global variable; aliases and the like are left out."""
    tokens = Tokens(line.split(", !dbg")[0], module.structs)
    name = unquoted(tokens.next())
    tokens.expect("=")
    space, external, constant = 0, False, False
    while True:
        word = tokens.next()
        if word == "addrspace":
            tokens.expect("(")
            space = int(tokens.next())
            tokens.expect(")")
        elif word in ("external", "extern_weak", "available_externally"):
            external = True
        elif word in ("global", "constant"):
            constant = word == "constant"
            break
        elif word == "alias" or word == "ifunc":
            return
        elif tokens.peek() == "(":
            tokens.skip_group()
    kind = tokens.type()
    value = None if external or tokens.peek() in ("", ",") else tokens.value(kind)
    module.globals[name] = Global(name, kind, space, constant, external, value)


def read_function(header: str, lines: list[str], module: Module) -> Function:
    """A function definition: header line and the lines up to its closing brace."""
    tokens = Tokens(header[len("define"):header.rindex("{")], module.structs)
    while tokens.items[tokens.at][0] == "word" and not re.fullmatch(
            r"i\d+|void|ptr|half|bfloat|float|double", tokens.peek()):
        word = tokens.next()
        if tokens.peek() == "(":
            tokens.skip_group()
        elif word == "align":
            tokens.next()
    result = tokens.type()
    name = unquoted(tokens.next())
    tokens.expect("(")
    arguments: list[tuple[Type, str, list[str]]] = []
    while not tokens.take(")"):
        kind, argument = tokens.type(), ""
        attributes: list[str] = []
        while tokens.peek() not in (",", ")"):
            word = tokens.next()
            if word.startswith("%"):
                argument = unquoted(word)
            else:
                attributes.append(word)
                if tokens.peek() == "(":
                    start = tokens.at
                    tokens.skip_group()
                    attributes.append("".join(t for _, t in tokens.items[start:tokens.at]))
        tokens.take(",")
        arguments.append((kind, argument or str(len(arguments)), attributes))
    blocks: dict[str, list[Instruction]] = {}
    current: list[Instruction] | None = None
    at = 0
    while at < len(lines):
        line = lines[at].split(" ; ")[0] if '"' not in lines[at] else lines[at]
        at += 1
        if label := re.match(r'("[^"]*"|[-a-zA-Z$._0-9]+):', line):
            current = blocks.setdefault(unquoted("%" + label[1]), [])
            continue
        stripped = line.strip()
        if not stripped or stripped.startswith((";", "#dbg")):
            continue
        if current is None:
            named = [a for _, a, _ in arguments if a.isdigit()]
            current = blocks.setdefault(str(len(named)), [])
        if stripped.startswith("switch ") and "]" not in stripped:
            while "]" not in lines[at]:
                stripped += " " + lines[at].strip()
                at += 1
            stripped += " " + lines[at].strip()
            at += 1
        current.append(read_instruction(stripped, module))
    return Function(name, result, arguments, blocks)


CASTS = frozenset("trunc zext sext fptrunc fpext fptoui fptosi uitofp sitofp ptrtoint ptrtoaddr inttoptr bitcast "
                  "addrspacecast".split())
BINARY = frozenset("add sub mul udiv sdiv urem srem shl lshr ashr and or xor fadd fsub fmul fdiv frem".split())
FLAGS = frozenset("""
    nuw nsw exact disjoint nneg samesign inbounds nusw fast nnan ninf nsz arcp contract afn reassoc volatile
    atomic tail musttail notail weak inrange fastcc coldcc ccc ptx_device ptx_kernel spir_func spir_kernel swiftcc
    noundef zeroext signext inreg noalias nonnull returned
""".split())


def read_instruction(text: str, module: Module) -> Instruction:
    """One instruction from its printed form."""
    dbg = re.search(r", !dbg (!\d+)", text)
    body = re.sub(r",? ![a-zA-Z_.0-9]+ !(?:\d+|\{\}|DIExpression\(\))(?=,|$|\s)", "", text)
    tokens = Tokens(body, module.structs)
    result = None
    if tokens.peek().startswith("%") and tokens.peek(1) == "=":
        result = unquoted(tokens.next())
        tokens.next()
    made = Instruction(result, tokens.next(), location=dbg[1] if dbg else None, text=text)
    if made.opcode in ("tail", "musttail", "notail"):
        made.opcode = tokens.next()
    if made.opcode != "switch" and made.opcode != "br":
        while tokens.peek() in FLAGS and not (made.opcode == "getelementptr" and tokens.peek() == "inrange"):
            made.words.append(tokens.next())
    reader = READERS.get(made.opcode, read_plain)
    reader(tokens, made)
    return made


def read_plain(tokens: Tokens, made: Instruction) -> None:
    """opcode [type] operands: binary operations, comparisons, casts, select, extract and insert, returns."""
    if made.opcode in BINARY or made.opcode in ("icmp", "fcmp"):
        if made.opcode in ("icmp", "fcmp"):
            made.extra = tokens.next()
        made.type = tokens.type()
        first = tokens.value(made.type)
        tokens.expect(",")
        made.operands = [(made.type, first), (made.type, tokens.value(made.type))]
    elif made.opcode in CASTS:
        made.operands = [tokens.typed()]
        tokens.expect("to")
        made.type = tokens.type()
    elif made.opcode in ("extractvalue", "insertvalue"):
        made.operands = [tokens.typed()]
        indices = []
        while tokens.take(","):
            if tokens.items[tokens.at][0] == "number":
                indices.append(int(tokens.next()))
            else:
                made.operands.append(tokens.typed())
        made.extra = indices
    elif made.opcode in ("select", "fneg", "freeze", "extractelement", "insertelement", "shufflevector", "store",
                         "cmpxchg", "ret"):
        while tokens.peek() and tokens.peek() not in ("align", "syncscope", "void") and not ordering(tokens.peek()):
            if tokens.peek() == "atomic":
                tokens.next()
            made.operands.append(tokens.typed())
            if not tokens.take(","):
                break
            if tokens.peek() in ("align",):
                break
    elif made.opcode not in ("unreachable", "fence"):
        raise ReactantError(f"LLVM instruction {made.opcode} is not supported in kernels: {made.text}",
                            hint="Check the source with its own compiler.", code="kernel-code")


def ordering(word: str) -> bool:
    return word in ("monotonic", "acquire", "release", "acq_rel", "seq_cst", "unordered")


def read_phi(tokens: Tokens, made: Instruction) -> None:
    made.type = tokens.type()
    incoming = []
    while tokens.take("["):
        value = tokens.value(made.type)
        tokens.expect(",")
        incoming.append((value, unquoted(tokens.next())))
        tokens.expect("]")
        tokens.take(",")
    made.extra = incoming


def read_branch(tokens: Tokens, made: Instruction) -> None:
    if tokens.take("label"):
        made.extra = [unquoted(tokens.next())]
        return
    made.operands = [tokens.typed()]
    made.extra = []
    while tokens.take(","):
        tokens.expect("label")
        made.extra.append(unquoted(tokens.next()))


def read_switch(tokens: Tokens, made: Instruction) -> None:
    made.operands = [tokens.typed()]
    tokens.expect(",")
    tokens.expect("label")
    default = unquoted(tokens.next())
    tokens.expect("[")
    cases = []
    while not tokens.take("]"):
        kind = tokens.type()
        value = tokens.value(kind)
        tokens.expect(",")
        tokens.expect("label")
        cases.append((value.of, unquoted(tokens.next())))
    made.extra = (default, cases)


def read_load(tokens: Tokens, made: Instruction) -> None:
    made.type = tokens.type()
    tokens.expect(",")
    made.operands = [tokens.typed()]


def read_alloca(tokens: Tokens, made: Instruction) -> None:
    made.type = tokens.type()
    made.extra = None
    if tokens.take(",") and tokens.peek() not in ("align", "addrspace"):
        made.extra = tokens.typed()


def read_gep(tokens: Tokens, made: Instruction) -> None:
    if tokens.take("inrange"):
        tokens.skip_group()
    made.type = tokens.type()
    while tokens.take(","):
        made.operands.append(tokens.typed())


def read_atomicrmw(tokens: Tokens, made: Instruction) -> None:
    made.extra = tokens.next()
    made.operands = [tokens.typed()]
    tokens.expect(",")
    made.operands.append(tokens.typed())
    made.type = made.operands[1][0]


def read_call(tokens: Tokens, made: Instruction) -> None:
    while tokens.peek() in FLAGS or tokens.peek() in PARAMETER_WORDS or tokens.peek() in ("cc", "addrspace", "align"):
        word = tokens.next()
        if tokens.peek() == "(":
            tokens.skip_group()
        elif word in ("align", "cc"):
            tokens.next()
    made.type = tokens.type()
    if tokens.peek() == "(":  # the type of a variadic function
        tokens.skip_group()
    made.target = tokens.value(POINTER)
    tokens.expect("(")
    while not tokens.take(")"):
        made.operands.append(tokens.typed())
        tokens.take(",")


READERS = {"phi": read_phi, "br": read_branch, "switch": read_switch, "load": read_load, "alloca": read_alloca,
           "getelementptr": read_gep, "atomicrmw": read_atomicrmw, "call": read_call}
