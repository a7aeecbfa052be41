"""Calls in LLVM IR -> MLIR, for `ingest`: LLVM's intrinsics, the operations of `record.OPERATIONS`, NVVM's where a
record still has them; mathematics is in `ingest_mathematics`.
"""
from __future__ import annotations

import math
import re
from collections.abc import Callable

from reactant.kernels.form import assertions
from reactant.kernels.form.form import CALLS
from reactant.kernels.llvm_ir.llvm_text import Instruction
from reactant.kernels.llvm_ir.llvm_types import Type
from reactant.kernels.stages.ingest_mathematics import bare_name, collective, mathematics, shifted
from reactant.kernels.stages.ingest_writer import IngestWriter

INTEGER = {"smax": "maxsi", "smin": "minsi", "umax": "maxui", "umin": "minui"}
IGNORED = re.compile(r"""llvm\.(assume|lifetime|dbg|donothing|experimental\.noalias\.scope|prefetch|sideeffect|
    invariant|var\.annotation|stackrestore|fake\.use|nvvm\.membar|nvvm\.fence|nvvm\.prefetch|pseudoprobe|codeview)|
    __nv_threadfence|__syncmemory|nanosleep|llvm\.nvvm\.nanosleep""", re.VERBOSE)
SAME = re.compile(r"llvm\.(expect|ssa\.copy|launder\.invariant\.group|strip\.invariant\.group|ptr\.annotation|"
                  r"annotation|threadlocal\.address|arithmetic\.fence|canonicalize)")

REFUSED = {"vprintf": "printf", "malloc": "dynamic allocation (malloc)", "free": "dynamic allocation (free)",
           "llvm.trap": "a trap", "__assertfail": "assert"}


def call(at: IngestWriter, made: Instruction, results: list[str]) -> None:
    """Emit one call."""
    target = made.target
    if target.kind == "asm":
        return assembly(at, made, results)
    if target.kind != "global":
        raise at.unsupported("a call through a pointer")
    name = target.of
    if IGNORED.match(name):
        return None
    if SAME.match(name):
        return at.alias(results, at.scalars(made.operands[0]))
    for pattern, handler in HANDLERS:
        if match := pattern.fullmatch(name):
            return handler(at, made, results, match)
    if vector := next((k for k, _ in made.operands if k.kind == "vector"), None):
        return elementwise(at, made, results, vector.count)
    if mathematics(at, made, results, bare_name(name)):
        return None
    raise at.unsupported(REFUSED.get(name, f"the function {name}"))


def elementwise(at: IngestWriter, made: Instruction, results: list[str], count: int) -> None:
    """A call on vectors, lane by lane (scalar operands are used by every lane)."""
    name = made.target.of
    for lane in range(count):
        operands = []
        for kind, value in made.operands:
            if kind.kind == "vector":
                lane_name = f"lane {lane} of {id(value)}"
                at.names[lane_name] = [at.scalars((kind, value))[lane]]
                operands.append((kind.parts[0], type(value)("local", lane_name)))
            else:
                operands.append((kind, value))
        result = made.type.parts[0] if made.type.kind == "vector" else made.type
        suffix = f".{re.sub('^i', 'i', result.mlir())}"
        single = re.sub(r"\.v\d+[a-z0-9]+.*$", suffix, name)
        inner = Instruction(made.result, "call", result, operands, made.words, type(made.target)("global", single))
        call(at, inner, [results[lane]])


# -- threads, barriers, warps

AXES = {"tid": "gpu.thread_id", "ctaid": "gpu.block_id"}


def special_register(at: IngestWriter, made: Instruction, results: list[str], match: re.Match) -> None:
    register, axis = match[1], match[2]
    sizes = {"ntid": at.record.block, "nctaid": at.record.grid}
    kind = made.type.mlir()
    if register in AXES:
        index = at.emit("", f"{AXES[register]} {axis}")
        at.op("arith.index_cast", [index], f"index to {kind}", results[0])
    elif register in sizes:
        at.alias(results, [at.constant(sizes[register]["xyz".index(axis)], kind)])
    elif register == "warpsize":
        at.alias(results, [at.constant(32, kind)])
    else:
        at.alias(results, [lane_register(at, register)])


def thread_number(at: IngestWriter) -> str:
    """The thread's number in the block, as i32."""
    total = ""
    for axis, size in reversed(list(zip("xyz", at.record.block, strict=True))):
        index = at.emit("", f"gpu.thread_id {axis}")
        narrow = at.op("arith.index_cast", [index], "index to i32")
        if total:
            scaled = at.op("arith.muli", [total, at.constant(size, "i32")], "i32", "", " overflow<nsw, nuw>")
            narrow = at.op("arith.addi", [scaled, narrow], "i32", "", " overflow<nsw, nuw>")
        total = narrow
    return total


def lane_register(at: IngestWriter, register: str) -> str:
    """laneid, warpid, nwarpid and the lane masks, as i32."""
    thread, width = thread_number(at), at.constant(32, "i32")
    if register == "warpid":
        return at.op("arith.divui", [thread, width], "i32")
    if register == "nwarpid":
        return at.constant(-(-math.prod(at.record.block) // 32), "i32")
    lane = at.op("arith.remui", [thread, width], "i32")
    if register == "laneid":
        return lane
    one, ones = at.constant(1, "i32"), at.constant(-1, "i32")
    bit = at.op("arith.shli", [one, lane], "i32")
    below = at.op("arith.subi", [bit, one], "i32")
    through = at.op("arith.ori", [below, bit], "i32")
    masks = {"eq": bit, "lt": below, "le": through}
    which = register.removeprefix("lanemask.")
    return masks.get(which) or at.op("arith.xori", [{"gt": through, "ge": below}[which], ones], "i32")


def barrier(at: IngestWriter, made: Instruction, results: list[str], match: re.Match) -> None:
    at.emit(None, "gpu.barrier")


def own_collective(at: IngestWriter, made: Instruction, results: list[str], match: re.Match) -> None:
    """The operations of `record.OPERATIONS`: same name, same operands."""
    name = made.target.of
    operands = [(at.scalar(o), o[0].mlir()) for o in made.operands]
    if name not in CALLS:
        raise at.unsupported(f"the operation {name}")
    result = made.type.mlir() if made.type.kind != "void" else ""
    collective(at, name, operands, result, results[0] if results else ("" if result else None))


def assertion(at: IngestWriter, made: Instruction, results: list[str], match: re.Match) -> None:
    """A thread is here that must not be."""
    place = at.module.place(made.location)
    message = assertions.message_of(made.target.of, at.record.name, place)
    escaped = "".join(c if c.isascii() and c.isprintable() and c not in '"\\' else f"\\{ord(c):02X}" if ord(c) < 256
                      else "?" for c in message)
    at.emit(None, f'cf.assert {at.constant(0, "i1")}, "{escaped}"')


def own_shuffle(at: IngestWriter, made: Instruction, results: list[str], match: re.Match) -> None:
    _, value, lane, width = (at.scalar(o) for o in made.operands)
    shuffle(at, match[1], value, made.operands[1][0].mlir(), lane, width, results)


def shuffle(at: IngestWriter, mode: str, value: str, kind: str, lane: str, width: str, results: list[str]) -> None:
    names = [*results, *(at.fresh() for _ in range(2 - len(results)))]
    at.emit(f"{names[0]}, {names[1]}", f"gpu.shuffle {mode} {value}, {lane}, {width} : {kind}")


def nvvm_shuffle(at: IngestWriter, made: Instruction, results: list[str], match: re.Match) -> None:
    """llvm.nvvm.shfl.sync.<mode>.<type>[p](mask, value, lane, clamp), and Numba's with the mode as a number."""
    operands = list(made.operands)
    mode = {"bfly": "xor"}.get(match[1] or "", match[1])
    if mode is None:
        mode = ("idx", "up", "down", "xor")[operands.pop(1)[1].of]
    clamp = operands[3][1]
    if clamp.kind == "int":
        width = at.constant(32 - (clamp.of >> 8 & 31), "i32")
    else:
        segment = at.op("arith.shrui", [at.scalar(operands[3]), at.constant(8, "i32")], "i32")
        width = at.op("arith.subi", [at.constant(32, "i32"), segment], "i32")
    shuffle(at, mode, at.scalar(operands[1]), operands[1][0].mlir(), at.scalar(operands[2]), width, results)


def nvvm_vote(at: IngestWriter, made: Instruction, results: list[str], match: re.Match) -> None:
    mask, predicate = (at.scalar(o) for o in made.operands[:2])
    name = f"reactant.vote.{match[1]}"
    collective(at, name, [(mask, "i32"), (predicate, "i1")], "i32" if match[1] == "ballot" else "i1", results[0])


def nvvm_match(at: IngestWriter, made: Instruction, results: list[str], match: re.Match) -> None:
    mask, value = (at.scalar(o) for o in made.operands[:2])
    collective(at, f"reactant.match.{match[1]}.{match[2]}", [(mask, "i32"), (value, match[2])], "i32", results[0])
    if len(results) == 2:
        at.op("arith.cmpi ne,", [results[0], at.constant(0, "i32")], "i32", results[1])


def nvvm_barrier_reduction(at: IngestWriter, made: Instruction, results: list[str], match: re.Match) -> None:
    kind, _ = made.operands[-1]
    predicate = at.scalar(made.operands[-1])
    if kind.count == 1:
        predicate = at.op("arith.extui", [predicate], "i1 to i32")
    name = {"popc": "count"}.get(match[1], match[1])
    narrow = bool(results) and made.type.count == 1
    target = at.fresh() if narrow or not results else results[0]
    collective(at, f"reactant.barrier.{name}", [(predicate, "i32")], "i32", target)
    if narrow:
        at.op("arith.cmpi ne,", [target, at.constant(0, "i32")], "i32", results[0])


def warp_barrier(at: IngestWriter, made: Instruction, results: list[str], match: re.Match) -> None:
    mask = at.scalar(made.operands[0]) if made.operands else at.constant(-1, "i32")
    collective(at, "reactant.barrier.warp", [(mask, "i32")], "", None)


def active_mask(at: IngestWriter, made: Instruction, results: list[str], match: re.Match) -> None:
    collective(at, "reactant.activemask", [], "i32", results[0])


def grid_handle(at: IngestWriter, made: Instruction, results: list[str], match: re.Match) -> None:
    at.alias(results, [at.constant(0, made.type.mlir())])


def grid_barrier(at: IngestWriter, made: Instruction, results: list[str], match: re.Match) -> None:
    collective(at, "reactant.barrier.grid", [], "", None)
    if results:
        at.alias(results, [at.constant(0, made.type.mlir())])


def assembly(at: IngestWriter, made: Instruction, results: list[str]) -> None:
    """Inline PTX with a meaning of its own."""
    code = made.target.of[0].replace("\\09", " ").strip().rstrip(";").strip()
    if register := re.fullmatch(r"mov\.[us]32 +\$0, *%+(laneid|warpid|nwarpid|lanemask_(?:eq|lt|le|gt|ge))", code):
        return at.alias(results, [lane_register(at, register[1].replace("_", "."))])
    if re.fullmatch(r"mov\.[us]32 +\$0, *%+dynamic_smem_size", code):
        return at.alias(results, [at.constant(at.record.dynamic_shared, "i32")])
    if re.fullmatch(r"activemask\.b32 +\$0", code):
        return collective(at, "reactant.activemask", [], "i32", results[0])
    if not code or re.match(r"membar|fence|prefetch|nanosleep", code):
        return None
    raise at.unsupported(f"inline assembly ({code})")


# -- integers

def integer_minimum(at: IngestWriter, made: Instruction, results: list[str], match: re.Match) -> None:
    kinds = made.type.elements()
    left, right = (at.scalars(o) for o in made.operands)
    for result, a, b, (t, _) in zip(results, left, right, kinds, strict=True):
        at.op(f"arith.{INTEGER[match[1]]}", [a, b], t.mlir(), result)


def absolute(at: IngestWriter, made: Instruction, results: list[str], match: re.Match) -> None:
    for result, a, (t, _) in zip(results, at.scalars(made.operands[0]), made.type.elements(), strict=True):
        at.op("math.absi", [a], t.mlir(), result)


def count_bits(at: IngestWriter, made: Instruction, results: list[str], match: re.Match) -> None:
    for result, a, (t, _) in zip(results, at.scalars(made.operands[0]), made.type.elements(), strict=True):
        at.op(f"math.{match[1]}", [a], t.mlir(), result)


def permuted(at: IngestWriter, made: Instruction, results: list[str], match: re.Match) -> None:
    """bswap and bitreverse: halves swapped, then the halves of those... of the next power of two of bits, at the top of
    which the result of fewer bits then is."""
    count = made.type.count
    width = 1 << (count - 1).bit_length()
    kind, value = f"i{width}", at.scalar(made.operands[0])
    if count < width:
        value = at.op("arith.extui", [value], f"{made.type.mlir()} to {kind}")
    size = width // 2
    while size >= (8 if match[1] == "bswap" else 1):
        mask = sum(((1 << size) - 1) << start for start in range(0, width, 2 * size))
        signed_mask = mask - (1 << width) if mask >> (width - 1) else mask
        low = at.op("arith.andi", [value, at.constant(signed_mask, kind)], kind)
        high = at.op("arith.andi", [shifted(at, "shrui", value, size, kind), at.constant(signed_mask, kind)], kind)
        value = at.op("arith.ori", [shifted(at, "shli", low, size, kind), high], kind)
        size //= 2
    if count < width:
        top = shifted(at, "shrui", value, width - count, kind)
        value = at.op("arith.trunci", [top], f"{kind} to {made.type.mlir()}")
    at.alias(results, [value])


def funnel(at: IngestWriter, made: Instruction, results: list[str], match: re.Match) -> None:
    """fshl(a, b, s): the high half of (a:b) << s; fshr: the low half of (a:b) >> s. s modulo the width."""
    kind, width = made.type.mlir(), made.type.count
    a, b, amount = (at.scalar(o) for o in made.operands)
    if width & (width - 1):
        amount = at.op("arith.remui", [amount, at.constant(width, kind)], kind)
    else:
        amount = at.op("arith.andi", [amount, at.constant(width - 1, kind)], kind)
    rest = at.op("arith.subi", [at.constant(width - 1, kind), amount], kind)
    if match[1] == "fshl":  # b >> (width - s) as (b >> 1) >> (width - 1 - s): no shift by the width
        high = at.op("arith.shli", [a, amount], kind)
        low = at.op("arith.shrui", [shifted(at, "shrui", b, 1, kind), rest], kind)
    else:
        low = at.op("arith.shrui", [b, amount], kind)
        high = at.op("arith.shli", [shifted(at, "shli", a, 1, kind), rest], kind)
    at.op("arith.ori", [high, low], kind, results[0])


def overflowing(at: IngestWriter, name: str, a: str, b: str, kind: Type) -> tuple[str, str]:
    """(result, whether it overflowed) of sadd, uadd, ssub, usub, smul, umul."""
    text, zero = kind.mlir(), at.constant(0, kind.mlir())
    if name in ("smul", "umul"):
        low, high = at.fresh(), at.fresh()
        at.emit(f"{low}, {high}", f"arith.mul{name[0]}i_extended {a}, {b} : {text}")
        expected = zero if name == "umul" else shifted(at, "shrsi", low, kind.count - 1, text)
        return low, at.op("arith.cmpi ne,", [high, expected], text)
    result = at.op("arith.addi" if "add" in name else "arith.subi", [a, b], text)
    if name == "uadd":
        return result, at.op("arith.cmpi ult,", [result, a], text)
    if name == "usub":
        return result, at.op("arith.cmpi ult,", [a, b], text)
    first = at.op("arith.xori", [a, result], text)
    second = at.op("arith.xori", [b, result] if name == "sadd" else [a, b], text)
    both = at.op("arith.andi", [first, second], text)
    return result, at.op("arith.cmpi slt,", [both, zero], text)


def with_overflow(at: IngestWriter, made: Instruction, results: list[str], match: re.Match) -> None:
    a, b = (at.scalar(o) for o in made.operands)
    at.alias(results, list(overflowing(at, match[1], a, b, made.operands[0][0])))


def saturating(at: IngestWriter, made: Instruction, results: list[str], match: re.Match) -> None:
    kind = made.type
    a, b = (at.scalar(o) for o in made.operands)
    value, over = overflowing(at, match[1], a, b, kind)
    if match[1][0] == "u":
        limit = at.constant(-1 if match[1] == "uadd" else 0, kind.mlir())
    else:  # overflow goes to the side of a
        half = 1 << (kind.count - 1)
        negative = at.op("arith.cmpi slt,", [a, at.constant(0, kind.mlir())], kind.mlir())
        limit = at.op("arith.select", [negative, at.constant(-half, kind.mlir()), at.constant(half - 1, kind.mlir())],
                      kind.mlir())
    at.op("arith.select", [over, limit, value], kind.mlir(), results[0])


def float_to_saturated(at: IngestWriter, made: Instruction, results: list[str], match: re.Match) -> None:
    """fptosi.sat, fptoui.sat: NaN is 0, beyond the limits is the limit."""
    source, kind = made.operands[0][0].mlir(), made.type
    x, width, signed = at.scalar(made.operands[0]), made.type.count, match[1] == "s"
    low, high = (-(1 << (width - 1)), (1 << (width - 1)) - 1) if signed else (0, (1 << width) - 1)
    under = at.op("arith.cmpf ole,", [x, at.constant(float(low), source)], source)
    over = at.op("arith.cmpf oge,", [x, at.constant(float(high + 1), source)], source)
    nan = at.op("arith.cmpf uno,", [x, x], source)
    value = at.op(f"arith.fpto{match[1]}i", [x], f"{source} to {kind.mlir()}")
    value = at.op("arith.select", [under, at.constant(low, kind.mlir()), value], kind.mlir())
    value = at.op("arith.select", [over, at.constant(high if signed else -1, kind.mlir()), value], kind.mlir())
    at.op("arith.select", [nan, at.constant(0, kind.mlir()), value], kind.mlir(), results[0])


def product_high(at: IngestWriter, made: Instruction, results: list[str], match: re.Match) -> None:
    sign = "u" if match[1].startswith("u") or match[1].endswith(("ui", "ull")) else "s"
    a, b = (at.scalar(o) for o in made.operands)
    at.emit(f"{at.fresh()}, {results[0]}", f"arith.mul{sign}i_extended {a}, {b} : {made.type.mlir()}")


def memory_intrinsic(at: IngestWriter, made: Instruction, results: list[str], match: re.Match) -> None:
    """memcpy, memmove, memset of a constant number of bytes stay LLVM's; `pointers` writes them out."""
    pointers = [(at.scalar(o), o[0].mlir()) for o in made.operands[:2]]
    length = at.scalar(made.operands[2])
    length_kind = made.operands[2][0]
    if length_kind.count != 64:
        length = at.op("arith.extui", [length], f"{length_kind.mlir()} to i64")
    (a, ta), (b, tb) = pointers
    at.emit(None, f'"llvm.intr.{match[1]}"({a}, {b}, {length}) <{{isVolatile = false}}> : ({ta}, {tb}, i64) -> ()')


def constant_answer(at: IngestWriter, made: Instruction, results: list[str], match: re.Match) -> None:
    at.alias(results, [at.constant(-1 if match[1] == "objectsize" else 0, made.type.mlir())])


def float_class(at: IngestWriter, made: Instruction, results: list[str], match: re.Match) -> None:
    """llvm.is.fpclass: which of ten classes, as bits of a mask, x belongs to."""
    kind, mask = made.operands[0][0], made.operands[1][1].of
    text, x = kind.mlir(), at.scalar(made.operands[0])
    digits, bits = {"half": (10, 16), "bfloat": (7, 16), "float": (23, 32), "double": (52, 64)}[kind.kind]
    whole = f"i{bits}"
    pattern = at.op("arith.bitcast", [x], f"{text} to {whole}")
    negative = at.op("arith.cmpi slt,", [pattern, at.constant(0, whole)], whole)
    positive = at.op("arith.xori", [negative, at.constant(1, "i1")], "i1")
    size = at.op("arith.andi", [pattern, at.constant((1 << (bits - 1)) - 1, whole)], whole)
    infinity = at.constant(((1 << (bits - 1 - digits)) - 1) << digits, whole)
    quiet = at.constant((((1 << (bits - 1 - digits)) - 1) << digits) | 1 << (digits - 1), whole)
    smallest, zero = at.constant(1 << digits, whole), at.constant(0, whole)

    def compare(predicate: str, other: str) -> str:
        return at.op(f"arith.cmpi {predicate},", [size, other], whole)

    def both(a: str, b: str) -> str:
        return at.op("arith.andi", [a, b], "i1")
    answer = at.constant(0, "i1")
    subnormal = [compare("ult", smallest), compare("ne", zero)]
    normal = [compare("uge", smallest), compare("ult", infinity)]
    classes = [(1, [compare("ugt", infinity), compare("ult", quiet)]), (2, [compare("uge", quiet)]),
               (4, [negative, compare("eq", infinity)]), (8, [negative, *normal]), (16, [negative, *subnormal]),
               (32, [negative, compare("eq", zero)]), (64, [positive, compare("eq", zero)]),
               (128, [positive, *subnormal]), (256, [positive, *normal]), (512, [positive, compare("eq", infinity)])]
    for bit, conditions in classes:
        if mask & bit:
            held = conditions[0]
            for condition in conditions[1:]:
                held = both(held, condition)
            answer = at.op("arith.ori", [answer, held], "i1")
    at.alias(results, [answer])


def vector_reduction(at: IngestWriter, made: Instruction, results: list[str], match: re.Match) -> None:
    """llvm.vector.reduce.*"""
    name = {"add": "arith.addi", "mul": "arith.muli", "and": "arith.andi", "or": "arith.ori", "xor": "arith.xori",
            "smax": "arith.maxsi", "smin": "arith.minsi", "umax": "arith.maxui", "umin": "arith.minui",
            "fadd": "arith.addf", "fmul": "arith.mulf", "fmax": "arith.maxnumf", "fmin": "arith.minnumf"}[match[1]]
    names = [n for o in made.operands for n in at.scalars(o)]
    total = names[0]
    for name_of_lane in names[1:]:
        total = at.op(name, [total, name_of_lane], made.type.mlir())
    at.alias(results, [total])


def first_element(at: IngestWriter, made: Instruction, results: list[str], match: re.Match) -> None:
    """llvm.experimental.cttz.elts: the number of the first element that is not zero, their count if all are."""
    names, kind = at.scalars(made.operands[0]), made.operands[0][0].parts[0].mlir()
    answer = at.constant(len(names), made.type.mlir())
    for number, name in reversed(list(enumerate(names))):
        here = at.op("arith.cmpi ne,", [name, at.constant(0, kind)], kind)
        answer = at.op("arith.select", [here, at.constant(number, made.type.mlir()), answer], made.type.mlir())
    at.alias(results, [answer])


def reinterpretation(at: IngestWriter, made: Instruction, results: list[str], match: re.Match) -> None:
    """__nv_float_as_int and the like."""
    at.reinterpret(at.scalar(made.operands[0]), made.operands[0][0], made.type, results[0])


def conversion(at: IngestWriter, made: Instruction, results: list[str], match: re.Match) -> None:
    """__nv_double2int_rz and the like: <source>2<target>_<rounding>."""
    source, target, mode = match[1], match[2], match[3]
    x, old, new = at.scalar(made.operands[0]), made.operands[0][0], made.type
    unsigned = (source if old.kind == "int" else target).startswith("u")
    if old.kind == "int":
        at.op(f"arith.{'u' if unsigned else 's'}itofp", [x], f"{old.mlir()} to {new.mlir()}", results[0])
    elif new.kind != "int":
        name = "arith.truncf" if old.size() > new.size() else "arith.extf"
        at.op(name, [x], f"{old.mlir()} to {new.mlir()}", results[0])
    else:
        if mode in ("rn", "ru", "rd"):
            x = at.op({"rn": "math.roundeven", "ru": "math.ceil", "rd": "math.floor"}[mode], [x], old.mlir())
        at.op(f"arith.fpto{'u' if unsigned else 's'}i", [x], f"{old.mlir()} to {new.mlir()}", results[0])


Handler = Callable[[IngestWriter, Instruction, list[str], re.Match], None]
HANDLERS: list[tuple[re.Pattern, Handler]] = [(re.compile(pattern), handler) for pattern, handler in [
    (r"llvm\.nvvm\.read\.ptx\.sreg\.(tid|ctaid|ntid|nctaid)\.([xyz])", special_register),
    (r"llvm\.nvvm\.read\.ptx\.sreg\.(warpsize|laneid|warpid|nwarpid|lanemask\.\w\w)()", special_register),
    (r"llvm\.nvvm\.(barrier0|barrier\.cta\.sync\.aligned\.all|barrier\.sync|barrier\.cta\.sync\.all|barrier\.n)",
     barrier),
    (r"llvm\.nvvm\.barrier(?:0\.|\.cta\.red\.(?:aligned\.)?)(popc|and|or)(?:\.(?:aligned\.)?all)?",
     nvvm_barrier_reduction),
    (r"llvm\.nvvm\.bar\.warp\.sync", warp_barrier),
    (r"reactant\.shuffle\.(idx|up|down|xor)\.\w+", own_shuffle),
    (r"reactant\.assertion\..*", assertion), (r"reactant\..*", own_collective),
    (r"llvm\.nvvm\.shfl\.sync\.(idx|up|down|bfly)\.\w+", nvvm_shuffle),
    (r"llvm\.nvvm\.shfl\.sync\.i32()", nvvm_shuffle),
    (r"llvm\.nvvm\.vote\.(ballot|any|all|uni)(?:\.sync)?", nvvm_vote),
    (r"llvm\.nvvm\.match\.(any|all)\.sync\.(i32|i64)p?", nvvm_match),
    (r"llvm\.nvvm\.activemask", active_mask),
    (r"cudaCGGetIntrinsicHandle", grid_handle), (r"cudaCGSynchronize", grid_barrier),
    (r"llvm\.(smax|smin|umax|umin)\..*", integer_minimum), (r"llvm\.abs\..*", absolute),
    (r"llvm\.(ctpop|ctlz|cttz)\..*", count_bits), (r"llvm\.(bswap|bitreverse)\.i\d+", permuted),
    (r"llvm\.(fshl|fshr)\.i\d+", funnel), (r"llvm\.([su](?:add|sub|mul))\.with\.overflow\.i\d+", with_overflow),
    (r"llvm\.([su](?:add|sub))\.sat\.i\d+", saturating), (r"llvm\.fpto([su])i\.sat\.i\d+.*", float_to_saturated),
    (r"(?:__nv_|llvm\.nvvm\.)(u?mul(?:64)?hi(?:\.\w+)?)", product_high),
    (r"llvm\.(memcpy|memmove|memset)(?:\.inline)?\..*", memory_intrinsic),
    (r"llvm\.(is\.constant|objectsize)\..*", constant_answer), (r"llvm\.is\.fpclass\..*", float_class),
    (r"llvm\.experimental\.cttz\.elts\..*", first_element),
    (r"llvm\.vector\.reduce\.(\w+)\..*", vector_reduction),
    (r"(?:__nv_|__)(?:float|int|uint|double|longlong|ulonglong)_as_\w+", reinterpretation),
    (r"__nv_(double|float|u?int|u?ll)2(double|float|u?int|u?ll)_(r[nzud])", conversion),
]]
