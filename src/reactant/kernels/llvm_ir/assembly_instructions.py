"""The instructions of inline PTX that are known, as LLVM IR: integers, bits, comparisons, memory, votes.

What PTX leaves to the machine (approximate functions) is computed more exactly; other roundings than to nearest,
textures, matrices, asynchronous copies and clocks are not known.
"""
from __future__ import annotations

import re
from collections.abc import Callable

from reactant.kernels.llvm_ir.assembly_statement import NotKnown, Statement, bits, llvm_type

_TYPE = re.compile(r"pred|[bsuf](?:8|16|32|64)")
_IGNORED_WORDS = frozenset((
    "rn", "approx", "full", "lo", "to", "nc", "ca", "cg", "cs", "lu", "cv", "wb", "wt", "weak", "relaxed", "acquire",
    "release", "acq_rel", "volatile", "gpu", "cta", "sys", "global", "local", "shared", "const", "param", "aligned",
    "L1::no_allocate", "L1::evict_last", "L1::evict_first", "L1::evict_normal", "L2::128B", "L2::64B", "L2::256B"))


def instruction(s: Statement, text: str) -> None:
    """One instruction. Raises `NotKnown`."""
    head, _, rest = text.partition(" ")
    name, *words = head.strip().split(".")
    operands = split(rest)
    types = [w for w in words if _TYPE.fullmatch(w)]
    flags = [w for w in words if w not in types and w not in _IGNORED_WORDS]
    handler = HANDLERS.get(name)
    if handler is None:
        raise NotKnown(f"the instruction {head}")
    try:
        handler(s, Instruction(head, name, words, types, flags, operands))
    except (ValueError, IndexError, KeyError, StopIteration):
        raise NotKnown(f"the instruction {text}") from None


class Instruction:
    """name.words operands; `types` are the words that are types, `flags` those that have to be understood."""

    def __init__(self, head: str, name: str, words: list[str], types: list[str], flags: list[str], operands: list[str]):
        self.head, self.name, self.words, self.types, self.flags = head, name, words, types, flags
        self.operands = operands

    @property
    def kind(self) -> str:
        """The LLVM type of the operands."""
        return llvm_type(self.types[-1])

    @property
    def signed(self) -> bool:
        return self.types[-1].startswith("s")

    @property
    def real(self) -> bool:
        return self.types[-1].startswith("f")

    def only(self, *known: str) -> None:
        """Raise for flags other than these."""
        if unknown := [f for f in self.flags if f not in known]:
            raise NotKnown(f"the instruction {self.head} (.{unknown[0]})")


def split(text: str) -> list[str]:
    """Operands, cut at the commas outside of braces and brackets."""
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += (c in "{[") - (c in "}]")
        if c == "," and not depth:
            parts.append(text[start:i].strip())
            start = i + 1
    last = text[start:].strip()
    return [*parts, last] if last else parts


# ---- arithmetic ------------------------------------------------------------------------------------------------

_INTEGER = {"add": "add", "sub": "sub", "and": "and", "or": "or", "xor": "xor"}
_FLOAT = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}


def real(s: Statement, i: Instruction) -> None:
    """Floating-point arithmetic, to nearest."""
    i.only("ftz", "sat")
    target, *operands = i.operands
    kind = i.kind
    values = [flushed(s, i, s.read(o, kind)) for o in operands]
    short = {"half": "f16", "float": "f32", "double": "f64"}[kind]
    one = "0x3FF0000000000000" if kind != "half" else "0xH3C00"
    if i.name in _FLOAT:
        found = s.let(f"{_FLOAT[i.name]} {kind} {values[0]}, {values[1]}")
    elif i.name == "neg":
        found = s.let(f"fneg {kind} {values[0]}")
    elif i.name in ("rcp", "rsqrt"):
        root = values[0] if i.name == "rcp" else s.call(kind, f"llvm.sqrt.{short}", (kind, values[0]))
        found = s.let(f"fdiv {kind} {one}, {root}")
    elif i.name == "copysign":
        found = s.call(kind, f"llvm.copysign.{short}", (kind, values[1]), (kind, values[0]))
    else:
        function = {"fma": "fma", "mad": "fma", "sqrt": "sqrt", "abs": "fabs", "min": "minnum", "max": "maxnum",
                    "sin": "sin", "cos": "cos", "ex2": "exp2", "lg2": "log2", "tanh": "tanh"}[i.name]
        found = s.call(kind, f"llvm.{function}.{short}", *((kind, v) for v in values))
    found = flushed(s, i, found)
    if "sat" in i.flags:
        zero = "0.0" if kind != "half" else "0xH0000"
        found = s.call(kind, f"llvm.maxnum.{short}", (kind, found), (kind, zero))
        found = s.call(kind, f"llvm.minnum.{short}", (kind, found), (kind, one))
    s.write(target, kind, found)


def flushed(s: Statement, i: Instruction, value: str) -> str:
    """`.ftz`: subnormal numbers are zeros with their sign."""
    if "ftz" not in i.flags or i.kind != "float":
        return value
    whole = s.let(f"bitcast float {value} to i32")
    exponent = s.let(f"and i32 {whole}, 2139095040")
    sign = s.let(f"and i32 {whole}, -2147483648")
    small = s.let(f"icmp eq i32 {exponent}, 0")
    return s.let(f"bitcast i32 {s.let(f'select i1 {small}, i32 {sign}, i32 {whole}')} to float")


def arithmetic(s: Statement, i: Instruction) -> None:
    """add, sub, and, or, xor of integers, with `.cc` and `.sat`; of floats."""
    if i.real:
        return real(s, i)
    i.only("cc", "sat")
    kind = i.kind
    a, b = (s.read(o, kind) for o in i.operands[1:])
    if "sat" in i.flags:
        return s.write(i.operands[0], kind, s.call(kind, f"llvm.s{i.name}.sat.{kind}", (kind, a), (kind, b)))
    found = s.let(f"{_INTEGER[i.name]} {kind} {a}, {b}")
    if "cc" in i.flags:
        s.carry = s.let(f"icmp ult {kind} {found}, {a}" if i.name == "add" else f"icmp ult {kind} {a}, {b}")
    return s.write(i.operands[0], kind, found, i.signed)


def with_carry(s: Statement, i: Instruction, a: str, b: str) -> str:
    """a + b + carry, or a - b - carry; `.cc` sets the carry."""
    if s.carry is None:
        raise NotKnown(f"{i.head} reads the carry of another statement")
    kind, subtracts = i.kind, i.name == "subc"
    carry = s.let(f"zext i1 {s.carry} to {kind}")
    first = s.let(f"{'sub' if subtracts else 'add'} {kind} {a}, {b}")
    found = s.let(f"{'sub' if subtracts else 'add'} {kind} {first}, {carry}")
    if "cc" in i.flags:
        one = s.let(f"icmp ult {kind} {a}, {b}" if subtracts else f"icmp ult {kind} {first}, {a}")
        two = s.let(f"icmp ult {kind} {first}, {carry}" if subtracts else f"icmp ult {kind} {found}, {first}")
        s.carry = s.let(f"or i1 {one}, {two}")
    return found


def carried(s: Statement, i: Instruction) -> None:
    i.only("cc")
    a, b = (s.read(o, i.kind) for o in i.operands[1:])
    s.write(i.operands[0], i.kind, with_carry(s, i, a, b), i.signed)


def product(s: Statement, i: Instruction) -> None:
    """mul, mad, madc and their 24-bit kin, with `.lo`, `.hi`, `.wide`."""
    if i.real:
        return real(s, i)
    i.only("hi", "wide", "cc")
    kind, target = i.kind, i.operands[0]
    a, b = (s.read(o, kind) for o in i.operands[1:3])
    if "24" in i.name:
        if "hi" in i.words:
            raise NotKnown(f"the instruction {i.head}")
        down = "ashr" if i.signed else "lshr"
        a, b = (s.let(f"{down} {kind} {s.let(f'shl {kind} {v}, 8')}, 8") for v in (a, b))
    if "hi" in i.words or "wide" in i.words:
        wide, extend = f"i{2 * bits(kind)}", "sext" if i.signed else "zext"
        left, right = (s.let(f"{extend} {kind} {v} to {wide}") for v in (a, b))
        found = s.let(f"mul {wide} {left}, {right}")
        if "wide" in i.words:
            kind = wide
        else:
            found = s.let(f"trunc {wide} {s.let(f'lshr {wide} {found}, {bits(kind)}')} to {kind}")
    else:
        found = s.let(f"mul {kind} {a}, {b}")
    if i.name.startswith("mad"):
        c = s.read(i.operands[3], kind)
        if i.name == "madc":
            found = with_carry(s, i, found, c)
        else:
            low = found
            found = s.let(f"add {kind} {low}, {c}")
            if "cc" in i.flags:
                s.carry = s.let(f"icmp ult {kind} {found}, {c}")
    s.write(target, kind, found, i.signed)


def quotient(s: Statement, i: Instruction) -> None:
    if i.real:
        return real(s, i)
    i.only()
    letter = "s" if i.signed else "u"
    a, b = (s.read(o, i.kind) for o in i.operands[1:])
    s.write(i.operands[0], i.kind, s.let(f"{letter}{i.name} {i.kind} {a}, {b}"), i.signed)


def one_operand(s: Statement, i: Instruction) -> None:
    """abs, neg, not, cnot, popc, clz, brev, bfind."""
    if i.real:
        return real(s, i)
    i.only()
    kind, target, x = i.kind, i.operands[0], s.read(i.operands[1], i.kind)
    width = bits(kind)
    if i.name in ("popc", "clz", "bfind"):
        if i.name == "bfind" and i.signed:
            x = s.let(f"xor {kind} {x}, {s.let(f'ashr {kind} {x}, {width - 1}')}")
        more = ", i1 false" if i.name != "popc" else ""
        found = s.let(f"call {kind} @llvm.{'ctpop' if i.name == 'popc' else 'ctlz'}.{kind}({kind} {x}{more})")
        if i.name == "bfind":
            found = s.let(f"sub {kind} {width - 1}, {found}")
        return s.write(target, "i32", s.reinterpreted(kind, found, "i32"))
    made = {"abs": lambda: s.let(f"call {kind} @llvm.abs.{kind}({kind} {x}, i1 false)"),
            "neg": lambda: s.let(f"sub {kind} 0, {x}"),
            "not": lambda: s.let(f"xor {kind} {x}, {'true' if kind == 'i1' else -1}"),
            "cnot": lambda: s.let(f"zext i1 {s.let(f'icmp eq {kind} {x}, 0')} to {kind}"),
            "brev": lambda: s.call(kind, f"llvm.bitreverse.{kind}", (kind, x))}[i.name]()
    return s.write(target, kind, made, i.signed)


def extreme(s: Statement, i: Instruction) -> None:
    if i.real:
        return real(s, i)
    i.only()
    a, b = (s.read(o, i.kind) for o in i.operands[1:])
    function = f"llvm.{'s' if i.signed else 'u'}{i.name}.{i.kind}"
    s.write(i.operands[0], i.kind, s.call(i.kind, function, (i.kind, a), (i.kind, b)), i.signed)


def sum_of_differences(s: Statement, i: Instruction) -> None:
    kind, letter = i.kind, "s" if i.signed else "u"
    a, b, c = (s.read(o, kind) for o in i.operands[1:])
    most, least = (s.call(kind, f"llvm.{letter}{n}.{kind}", (kind, a), (kind, b)) for n in ("max", "min"))
    s.write(i.operands[0], kind, s.let(f"add {kind} {c}, {s.let(f'sub {kind} {most}, {least}')}"))


def dot_of_bytes(s: Statement, i: Instruction) -> None:
    """dp4a: c + the sum of products of four bytes."""
    total = s.read(i.operands[3], "i32")
    a, b = (s.read(o, "i32") for o in i.operands[1:3])
    for k in range(4):
        parts = [s.let(f"{'ashr' if t.startswith('s') else 'lshr'} i32 {s.let(f'shl i32 {v}, {24 - 8 * k}')}, 24")
                 for v, t in zip((a, b), i.types, strict=True)]
        total = s.let(f"add i32 {total}, {s.let(f'mul i32 {parts[0]}, {parts[1]}')}")
    s.write(i.operands[0], "i32", total)


# ---- bits ------------------------------------------------------------------------------------------------------

def at_most(s: Statement, value: str, most: int, kind: str) -> str:
    return s.call(kind, f"llvm.umin.{kind}", (kind, value), (kind, str(most)))


def shift(s: Statement, i: Instruction) -> None:
    """shl, shr: by more than the width, all bits are gone."""
    kind, width = i.kind, bits(i.kind)
    value, amount = s.read(i.operands[1], kind), s.read(i.operands[2], "i32")
    how = "shl" if i.name == "shl" else "ashr" if i.signed else "lshr"
    by = s.reinterpreted("i32", at_most(s, amount, width - 1, "i32"), kind)
    found = s.let(f"{how} {kind} {value}, {by}")
    if how != "ashr":
        gone = s.let(f"icmp ugt i32 {amount}, {width - 1}")
        found = s.let(f"select i1 {gone}, {kind} 0, {kind} {found}")
    s.write(i.operands[0], kind, found, i.signed)


def funnel(s: Statement, i: Instruction) -> None:
    """shf.l, shf.r of the 64 bits b:a, `.wrap` or `.clamp`."""
    i.only("l", "r", "wrap", "clamp")
    a, b, amount = (s.read(o, "i32") for o in i.operands[1:])
    amount = s.let(f"and i32 {amount}, 31") if "wrap" in i.flags else at_most(s, amount, 32, "i32")
    high = s.let(f"shl i64 {s.let(f'zext i32 {b} to i64')}, 32")
    both = s.let(f"or i64 {high}, {s.let(f'zext i32 {a} to i64')}")
    by = s.let(f"zext i32 {amount} to i64")
    found = s.let(f"lshr i64 {both}, {by}") if "r" in i.flags else (
        s.let(f"lshr i64 {s.let(f'shl i64 {both}, {by}')}, 32"))
    s.write(i.operands[0], "i32", s.let(f"trunc i64 {found} to i32"))


def field(s: Statement, i: Instruction) -> None:
    """bfe: `length` bits from `start` on, with the sign of the last one."""
    kind, extend, down = i.kind, *(("sext", "ashr") if i.signed else ("zext", "lshr"))
    x = s.read(i.operands[1], kind)
    x = x if kind == "i64" else s.let(f"{extend} {kind} {x} to i64")
    start, length = (s.let(f"zext i32 {s.let(f_and(s.read(o, 'i32'), 255))} to i64") for o in i.operands[2:])
    moved = s.let(f"{down} i64 {x}, {at_most(s, start, 63, 'i64')}")
    if not i.signed:
        moved = s.let(f"select i1 {s.let(f'icmp ugt i64 {start}, 63')}, i64 0, i64 {moved}")
    most = at_most(s, length, 64, "i64")
    rest = s.let(f"and i64 {s.let(f'sub i64 64, {most}')}, 63")
    found = s.let(f"{down} i64 {s.let(f'shl i64 {moved}, {rest}')}, {rest}")
    found = s.let(f"select i1 {s.let(f'icmp eq i64 {length}, 0')}, i64 0, i64 {found}")
    s.write(i.operands[0], kind, s.reinterpreted("i64", found, kind), i.signed)


def insertion(s: Statement, i: Instruction) -> None:
    """bfi: the low `length` bits of a, put into b at `start`."""
    kind, width = i.kind, bits(i.kind)
    a, b = (s.reinterpreted(kind, s.read(o, kind), "i64") for o in i.operands[1:3])
    start, length = (s.let(f"zext i32 {s.let(f_and(s.read(o, 'i32'), 255))} to i64") for o in i.operands[3:])
    most = at_most(s, length, 63, "i64")
    ones = s.let(f"sub i64 {s.let(f'shl i64 1, {most}')}, 1")
    ones = s.let(f"select i1 {s.let(f'icmp ugt i64 {length}, 63')}, i64 -1, i64 {ones}")
    by = at_most(s, start, 63, "i64")
    mask, moved = s.let(f"shl i64 {ones}, {by}"), s.let(f"shl i64 {a}, {by}")
    mask = s.let(f"select i1 {s.let(f'icmp ugt i64 {start}, {width - 1}')}, i64 0, i64 {mask}")
    kept = s.let(f"and i64 {b}, {s.let(f'xor i64 {mask}, -1')}")
    found = s.let(f"or i64 {kept}, {s.let(f'and i64 {moved}, {mask}')}")
    s.write(i.operands[0], kind, s.reinterpreted("i64", found, kind))


def truth_table(s: Statement, i: Instruction) -> None:
    """lop3: bit 4a + 2b + c of the table, for every bit."""
    a, b, c, table = (s.read(o, "i32") for o in i.operands[1:])
    total = "0"
    for row in range(8):
        chosen = s.let(f"and i32 {s.let(f'lshr i32 {table}, {row}')}, 1")
        term = s.let(f"sub i32 0, {chosen}")
        for value, bit in ((a, 4), (b, 2), (c, 1)):
            term = s.let(f"and i32 {term}, {value if row & bit else s.let(f'xor i32 {value}, -1')}")
        total = s.let(f"or i32 {total}, {term}")
    s.write(i.operands[0], "i32", total)


def permutation(s: Statement, i: Instruction) -> None:
    """prmt: four of the eight bytes of b:a; the fourth bit of a selector spreads the byte's sign."""
    i.only()
    a, b, selector = (s.read(o, "i32") for o in i.operands[1:])
    high = s.let(f"shl i64 {s.let(f'zext i32 {b} to i64')}, 32")
    both, total = s.let(f"or i64 {high}, {s.let(f'zext i32 {a} to i64')}"), "0"
    for k in range(4):
        nibble = s.let(f"lshr i32 {selector}, {4 * k}")
        at = s.let(f"zext i32 {s.let(f'shl i32 {s.let(f_and(nibble, 7))}, 3')} to i64")
        byte = s.let(f"trunc i64 {s.let(f'lshr i64 {both}, {at}')} to i8")
        sign = s.let(f"ashr i8 {byte}, 7")
        spread = s.let(f"icmp ne i32 {s.let(f_and(nibble, 8))}, 0")
        chosen = s.let(f"zext i8 {s.let(f'select i1 {spread}, i8 {sign}, i8 {byte}')} to i32")
        total = s.let(f"or i32 {total}, {s.let(f'shl i32 {chosen}, {8 * k}')}")
    s.write(i.operands[0], "i32", total)


def f_and(value: str, mask: int) -> str:
    return f"and i32 {value}, {mask}"


# ---- moves, comparisons, conversions ---------------------------------------------------------------------------

def move(s: Statement, i: Instruction) -> None:
    """mov, cvta: the bits as they are."""
    i.only()
    if i.name == "mov" and i.operands[1].startswith("%dynamic_smem"):
        raise NotKnown("the size of dynamic shared memory")
    s.write(i.operands[0], i.kind, s.read(i.operands[1], i.kind))


_SIGNED = {"lt": "slt", "le": "sle", "gt": "sgt", "ge": "sge"}
_UNSIGNED = {"lt": "ult", "le": "ule", "gt": "ugt", "ge": "uge", "lo": "ult", "ls": "ule", "hi": "ugt", "hs": "uge"}
_ORDERED = {"eq": "oeq", "ne": "one", "lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge", "equ": "ueq", "neu": "une",
            "ltu": "ult", "leu": "ule", "gtu": "ugt", "geu": "uge", "num": "ord", "nan": "uno"}


def comparison(s: Statement, i: Instruction) -> None:
    """setp, set: with `.and`, `.or`, `.xor` of a predicate."""
    how, combined = i.words[0], next((w for w in i.words if w in ("and", "or", "xor")), None)
    i.only(how, combined or "", "ftz")
    kind = i.kind
    a, b = (flushed(s, i, s.read(o, kind)) for o in i.operands[1:3])
    if i.real:
        found = s.let(f"fcmp {_ORDERED[how]} {kind} {a}, {b}")
    else:
        table = _SIGNED if i.signed else _UNSIGNED
        if how not in ("eq", "ne") and how not in table:
            raise NotKnown(f"the instruction {i.head}")
        found = s.let(f"icmp {table.get(how, how)} {kind} {a}, {b}")
    results = [found]
    if "|" in i.operands[0]:
        results.append(s.let(f"xor i1 {found}, true"))
    if combined:
        c = s.read(i.operands[3], "i1")
        results = [s.let(f"{combined} i1 {r}, {c}") for r in results]
    if i.name == "setp":
        for register, value in zip(i.operands[0].split("|"), results, strict=True):
            s.write(register.strip(), "i1", value)
    elif i.types[0] == "f32":
        s.write(i.operands[0], "float", s.let(f"uitofp i1 {results[0]} to float"))
    else:
        s.write(i.operands[0], "i32", s.let(f"sext i1 {results[0]} to i32"))


def selection(s: Statement, i: Instruction) -> None:
    """selp by a predicate, slct by a sign."""
    i.only("ftz")
    kind = llvm_type(i.types[0])
    a, b = (s.read(o, kind) for o in i.operands[1:3])
    if i.name == "selp":
        condition = s.read(i.operands[3], "i1")
    else:
        by = i.kind
        compared = "fcmp oge float" if by == "float" else "icmp sge i32"
        condition = s.let(f"{compared} {flushed(s, i, s.read(i.operands[3], by))}, {'0.0' if by == 'float' else 0}")
    s.write(i.operands[0], kind, s.let(f"select i1 {condition}, {kind} {a}, {kind} {b}"))


_ROUNDINGS = {"rni": "roundeven", "rzi": "trunc", "rmi": "floor", "rpi": "ceil"}


def conversion(s: Statement, i: Instruction) -> None:
    """cvt: floats to integers saturate, and NaN is 0 (of 32 bits) or the least number."""
    i.only(*_ROUNDINGS, "ftz")
    to, of = i.types
    new, old = llvm_type(to), llvm_type(of)
    x = s.read(i.operands[1], old)
    if of[0] == "f":
        short = {"half": "f16", "float": "f32", "double": "f64"}[old]
        x = flushed(s, i, x)
        if rounding := next((_ROUNDINGS[w] for w in i.words if w in _ROUNDINGS), None):
            x = s.call(old, f"llvm.{rounding}.{short}", (old, x))
        if to[0] == "f":
            how = "fpext" if bits(new) > bits(old) else "fptrunc" if bits(new) < bits(old) else ""
            return s.write(i.operands[0], new, s.let(f"{how} {old} {x} to {new}") if how else x)
        if rounding is None:
            raise NotKnown(f"the instruction {i.head}")
        letter = "s" if to[0] == "s" else "u"
        found = s.call(new, f"llvm.fpto{letter}i.sat.{new}.{short}", (old, x))
        if old == "double" or new == "i64":
            nan = s.let(f"fcmp uno {old} {x}, {x}")
            found = s.let(f"select i1 {nan}, {new} {-(1 << bits(new) - 1)}, {new} {found}")
        return s.write(i.operands[0], new, found, letter == "s")
    if to[0] == "f":
        return s.write(i.operands[0], new, s.let(f"{'s' if of[0] == 's' else 'u'}itofp {old} {x} to {new}"))
    if bits(new) > bits(old):
        x = s.let(f"{'sext' if of[0] == 's' else 'zext'} {old} {x} to {new}")
    elif bits(new) < bits(old):
        x = s.let(f"trunc {old} {x} to {new}")
    return s.write(i.operands[0], new, x, to[0] == "s")


# ---- memory and meetings -----------------------------------------------------------------------------------------

def address(s: Statement, operand: str) -> str:
    """`[register + bytes]` as a pointer."""
    found = re.fullmatch(r"\[\s*([%$\w]+)\s*(?:\+\s*(-?\d+|0x[0-9a-fA-F]+))?\s*\]", operand)
    if found is None or found[1] not in s.kinds:
        raise NotKnown(f"the address {operand}")
    if bits(s.kinds[found[1]]) != 64:
        raise NotKnown("an address of 32 bits: use a pointer")
    pointer = s.read(found[1], "ptr")
    return s.let(f"getelementptr i8, ptr {pointer}, i64 {int(found[2], 0)}") if found[2] else pointer


def memory(s: Statement, i: Instruction) -> None:
    """ld, ldu, st, of one, two or four values."""
    count = next((int(w[1]) for w in i.words if w in ("v2", "v4")), 1)
    i.only("v2", "v4")
    kind, loads = i.kind, i.name != "st"
    values, place = (i.operands[0], i.operands[1]) if loads else (i.operands[1], i.operands[0])
    pointer = address(s, place)
    registers = split(values.strip("{}")) if count > 1 else [values]
    if len(registers) != count:
        raise NotKnown(f"the instruction {i.head}")
    volatile = "volatile " if {"volatile", "relaxed", "acquire", "release"} & set(i.words) else ""
    for k, register in enumerate(registers):
        at = s.let(f"getelementptr i8, ptr {pointer}, i64 {k * bits(kind) // 8}") if k else pointer
        if loads:
            s.write(register, kind, s.let(f"load {volatile}{kind}, ptr {at}, align {bits(kind) // 8}"), i.signed)
        else:
            s.line(f"store {volatile}{kind} {s.read(register, kind)}, ptr {at}, align {bits(kind) // 8}")


_ATOMIC = {"add": "add", "and": "and", "or": "or", "xor": "xor", "exch": "xchg", "inc": "uinc_wrap", "dec": "udec_wrap"}


def atomic(s: Statement, i: Instruction) -> None:
    """atom (with the old value), red (without)."""
    how = next(w for w in i.words if w in (*_ATOMIC, "min", "max", "cas"))
    i.only(how)
    kind = i.kind
    given = i.operands[1:] if i.name == "atom" else i.operands
    pointer, values = address(s, given[0]), [s.read(o, kind) for o in given[1:]]
    if how == "cas":
        pair = s.let(f"cmpxchg ptr {pointer}, {kind} {values[0]}, {kind} {values[1]} seq_cst seq_cst")
        found = s.let(f"extractvalue {{{kind}, i1}} {pair}, 0")
    else:
        if i.real and how != "add":
            raise NotKnown(f"the instruction {i.head}")
        operation = ("" if i.signed else "u") + how if how in ("min", "max") else "fadd" if i.real else _ATOMIC[how]
        found = s.let(f"atomicrmw {operation} ptr {pointer}, {kind} {values[0]} seq_cst")
    if i.name == "atom":
        s.write(i.operands[0], kind, found)


def fence(s: Statement, i: Instruction) -> None:
    scope = next((w for w in i.words if w in ("cta", "gl", "gpu", "sys")), "gl")
    where = {"cta": ' syncscope("block")', "sys": ""}.get(scope, ' syncscope("device")')
    s.line(f"fence{where} seq_cst")


def barrier(s: Statement, i: Instruction) -> None:
    """bar.sync 0, barrier.sync 0, bar.warp.sync mask."""
    if i.words[:2] == ["warp", "sync"]:
        return s.line(f"call void @nvvm.bar.warp.sync(i32 {s.read(i.operands[0], 'i32')})")
    if [w for w in i.words if w not in ("aligned", "cta")] != ["sync"] or i.operands != ["0"]:
        raise NotKnown(f"{i.head} of some threads: only barrier 0 of all threads")
    return s.line("call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)")


def vote(s: Statement, i: Instruction) -> None:
    how = next(w for w in i.words if w in ("ballot", "any", "all", "uni"))
    if "sync" not in i.words:
        raise NotKnown(f"the instruction {i.head}, which names no lanes")
    kind = "i32" if how == "ballot" else "i1"
    given, mask = s.read(i.operands[1], "i1"), s.read(i.operands[2], "i32")
    s.write(i.operands[0], kind, s.call(kind, f"nvvm.vote.{how}.sync", ("i32", mask), ("i1", given)))


def shuffle(s: Statement, i: Instruction) -> None:
    if i.words[0] != "sync":
        raise NotKnown(f"the instruction {i.head}, which names no lanes")
    value, lane, clamp, mask = (s.read(o, "i32") for o in i.operands[1:])
    registers = [r.strip() for r in i.operands[0].split("|")]
    pair = s.call("{i32, i1}", f"nvvm.shfl.sync.{i.words[1]}.i32p", *(("i32", v) for v in (mask, value, lane, clamp)))
    for k, (register, kind) in enumerate(zip(registers, ("i32", "i1"), strict=False)):
        s.write(register, kind, s.let(f"extractvalue {{i32, i1}} {pair}, {k}"))


def active(s: Statement, i: Instruction) -> None:
    s.write(i.operands[0], "i32", s.call("i32", "nvvm.activemask"))


def nothing(s: Statement, i: Instruction) -> None:
    """What has no result: prefetches, waiting."""


def trap(s: Statement, i: Instruction) -> None:
    s.line("call void @__reactant_trap()")


HANDLERS: dict[str, Callable[[Statement, Instruction], None]] = {
    **dict.fromkeys(("add", "sub", "and", "or", "xor"), arithmetic), **dict.fromkeys(("addc", "subc"), carried),
    **dict.fromkeys(("mul", "mad", "madc", "mul24", "mad24"), product), **dict.fromkeys(("div", "rem"), quotient),
    **dict.fromkeys(("abs", "neg", "not", "cnot", "popc", "clz", "brev", "bfind"), one_operand),
    **dict.fromkeys(("min", "max"), extreme), "sad": sum_of_differences, "dp4a": dot_of_bytes,
    **dict.fromkeys(("fma", "sqrt", "rcp", "rsqrt", "sin", "cos", "ex2", "lg2", "tanh", "copysign"), real),
    **dict.fromkeys(("shl", "shr"), shift), "shf": funnel, "bfe": field, "bfi": insertion, "lop3": truth_table,
    "prmt": permutation, "mov": move, "cvta": move, "setp": comparison, "set": comparison, "selp": selection,
    "slct": selection, "cvt": conversion, "ld": memory, "ldu": memory, "st": memory, "atom": atomic, "red": atomic,
    "membar": fence, "fence": fence, "bar": barrier, "barrier": barrier, "vote": vote, "shfl": shuffle,
    "activemask": active, "prefetch": nothing, "prefetchu": nothing, "nanosleep": nothing, "trap": trap,
}
"""Name of an instruction -> what emits it."""
