"""One statement of inline PTX on its way to an LLVM function: registers, their values, what is read and written."""
from __future__ import annotations

import re
import struct
from collections.abc import Callable
from dataclasses import field

from reactant.support.records import dataclass


class NotKnown(Exception):
    """Why a statement cannot be read."""


@dataclass
class Statement:
    """One `asm` on its way to an LLVM function.

    values: register -> (LLVM type, name of its current value). kinds: register -> LLVM type, where it is declared.
    carry: the condition code, an i1. block: the label of the current basic block.
    """

    lines: list[str] = field(default_factory=list)
    values: dict[str, tuple[str, str]] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)
    carry: str | None = None
    block: str = "entry"
    count: int = 0

    def let(self, text: str) -> str:
        """A new value."""
        self.count += 1
        self.lines.append(f"  %t{self.count} = {text}")
        return f"%t{self.count}"

    def line(self, text: str) -> None:
        self.lines.append("  " + text)

    def call(self, result: str, name: str, *operands: tuple[str, str]) -> str:
        """A call's value."""
        return self.let(f"call {result} @{name}({', '.join(f'{kind} {value}' for kind, value in operands)})")

    # -- operands

    def read(self, operand: str, kind: str) -> str:
        """An operand as a value of an LLVM type: the low bits of wider ones, zeros above narrower ones."""
        if operand.startswith("!"):
            return self.let(f"xor i1 {self.read(operand[1:], 'i1')}, true")
        if operand.startswith("{"):
            return self.reinterpreted(*self.packed(operand), kind)
        if operand in self.values:
            return self.reinterpreted(*self.values[operand], kind)
        if operand in self.kinds:
            raise NotKnown(f"{operand} is read before it is written")
        if operand.startswith("%"):
            return self.reinterpreted("i32", self.special(operand[1:]), kind)
        return literal(operand, kind)

    def packed(self, operand: str) -> tuple[str, str]:
        """`{low, high}` as one integer."""
        parts = [p.strip() for p in operand.strip("{}").split(",")]
        kinds = [self.kind_of(p) for p in parts]
        width = sum(map(bits, kinds))
        total, at = "0", 0
        for part, kind in zip(parts, kinds, strict=True):
            wide = self.let(f"zext i{bits(kind)} {self.read(part, f'i{bits(kind)}')} to i{width}")
            total = self.let(f"or i{width} {total}, {self.let(f'shl i{width} {wide}, {at}')}")
            at += bits(kind)
        return f"i{width}", total

    def kind_of(self, register: str) -> str:
        if register not in self.kinds:
            raise NotKnown(f"{register} is no register")
        return self.kinds[register]

    def reinterpreted(self, kind: str, value: str, wanted: str) -> str:
        if kind == wanted:
            return value
        if kind == "ptr":
            return self.reinterpreted("i64", self.let(f"ptrtoint ptr {value} to i64"), wanted)
        if wanted == "ptr":
            if bits(kind) != 64:
                raise NotKnown("an address of 32 bits")
            whole = self.reinterpreted(kind, value, "i64")
            return self.let(f"inttoptr i64 {whole} to ptr")
        if not kind.startswith("i"):
            value, kind = self.let(f"bitcast {kind} {value} to i{bits(kind)}"), f"i{bits(kind)}"
        if bits(kind) != bits(wanted):
            how = "trunc" if bits(kind) > bits(wanted) else "zext"
            value, kind = self.let(f"{how} {kind} {value} to i{bits(wanted)}"), f"i{bits(wanted)}"
        return value if kind == wanted else self.let(f"bitcast {kind} {value} to {wanted}")

    def special(self, register: str) -> str:
        """A special register, as i32."""
        if re.fullmatch(r"n?(tid|ctaid)\.[xyz]|laneid|warpid|lanemask_(eq|lt|le|gt|ge)", register):
            return self.call("i32", f"nvvm.read.ptx.sreg.{register.replace('_', '.')}")
        if register == "WARP_SZ":
            return "32"
        if re.match(r"clock|globaltimer", register):
            raise NotKnown("there is no clock in a kernel: time the launch from outside")
        raise NotKnown(f"the register %{register}")

    # -- results

    def write(self, register: str, kind: str, value: str, signed: bool = False) -> None:
        """A register's new value; narrower ones are extended."""
        if register == "_":
            return
        if register.startswith("{"):
            parts, at = [p.strip() for p in register.strip("{}").split(",")], 0
            whole = self.reinterpreted(kind, value, f"i{bits(kind)}")
            for part in parts:
                width = bits(kind) // len(parts)
                piece = self.let(f"lshr i{bits(kind)} {whole}, {at}")
                self.write(part, f"i{width}", self.let(f"trunc i{bits(kind)} {piece} to i{width}"))
                at += width
            return
        own = self.kind_of(register)
        if signed and bits(kind) < bits(own):
            value, kind = self.let(f"sext {kind} {value} to i{bits(own)}"), f"i{bits(own)}"
        self.values[register] = own, self.reinterpreted(kind, value, own)

    # -- instructions

    def declare(self, name: str, kind: str) -> None:
        if many := re.fullmatch(r"(.+)<(\d+)>", name):
            for i in range(int(many[2])):
                self.kinds[f"{many[1]}{i}"] = llvm_type(kind)
        else:
            self.kinds[name] = llvm_type(kind)

    def guarded(self, condition: str, body: Callable[[], None]) -> None:
        """What is done only where a condition holds; registers keep their values elsewhere."""
        self.count += 1
        then, after = f"then{self.count}", f"after{self.count}"
        before, start, carry = dict(self.values), self.block, self.carry
        self.line(f"br i1 {condition}, label %{then}, label %{after}")
        self.lines.append(f"{then}:")
        self.block = then
        body()
        self.line(f"br label %{after}")
        self.lines.append(f"{after}:")
        end, self.block = self.block, after
        if self.carry != carry:
            raise NotKnown("a carry under a predicate")
        for name, (kind, value) in list(self.values.items()):
            old = before.get(name, (kind, "zeroinitializer"))[1]
            if old != value:
                self.values[name] = kind, self.let(f"phi {kind} [{value}, %{end}], [{old}, %{start}]")


BITS = {"half": 16, "float": 32, "double": 64, "ptr": 64, "bfloat": 16}


def bits(kind: str) -> int:
    """The width of an LLVM type."""
    return BITS[kind] if kind in BITS else int(kind[1:])


def llvm_type(kind: str) -> str:
    """The LLVM type of one of PTX."""
    if kind == "pred":
        return "i1"
    found = re.fullmatch(r"([bsuf])(8|16|32|64)", kind)
    if found is None or kind == "f8":
        raise NotKnown(f"the type .{kind}")
    return {"16": "half", "32": "float", "64": "double"}[found[2]] if found[1] == "f" else f"i{found[2]}"


def literal(text: str, kind: str) -> str:
    """A number of PTX as a constant of an LLVM type."""
    if exact := re.fullmatch(r"0([fFdD])([0-9a-fA-F]+)", text):
        wide = exact[1] in "dD"
        if kind == ("i64" if wide else "i32"):
            return str(int(exact[2], 16))
        number = struct.unpack(">d" if wide else ">f", bytes.fromhex(exact[2]))[0]
    elif re.fullmatch(r"-?(0[xX][0-9a-fA-F]+|0[bB][01]+|\d+)U?", text):
        sign, digits = (-1, text[1:]) if text.startswith("-") else (1, text)
        digits = digits.rstrip("U")
        number = sign * int(digits, 8 if re.fullmatch(r"0[0-7]+", digits) else 0)
    elif re.fullmatch(r"-?\d+\.\d*([eE][-+]?\d+)?", text):
        number = float(text)
    else:
        raise NotKnown(f"the operand {text}")
    if kind in ("float", "double"):
        if kind == "float":
            number = struct.unpack(">f", struct.pack(">f", number))[0]
        return f"0x{struct.pack('>d', float(number)).hex().upper()}"
    if isinstance(number, float) or not kind.startswith("i"):
        raise NotKnown(f"the operand {text}")
    if kind == "i1":
        return "true" if number else "false"
    return str(number & (1 << bits(kind)) - 1)
