"""Random GPU kernels in the structured form, without races: every thread has one slot of shared memory to write."""
from __future__ import annotations

import random

DECLARATIONS = """
func.func private @reactant.barrier.count(i32) -> i32
func.func private @reactant.barrier.and(i32) -> i32
func.func private @reactant.barrier.or(i32) -> i32
func.func private @reactant.barrier.warp(i32)
func.func private @reactant.barrier.grid()
func.func private @reactant.vote.ballot(i32, i1) -> i32
func.func private @reactant.vote.any(i32, i1) -> i1
func.func private @reactant.vote.all(i32, i1) -> i1
func.func private @reactant.vote.uni(i32, i1) -> i1
func.func private @reactant.match.any.i32(i32, i32) -> i32
func.func private @reactant.activemask() -> i32
"""
SHARED = "#gpu.address_space<workgroup>"


class Generator:
    """Writes one kernel. `whole`: every thread of the block is here; `last`: no barrier follows."""

    def __init__(self, seed: int, block: tuple[int, int, int], blocks: int, warps: bool, parted: bool = False,
                 loops: bool = False) -> None:
        self.random = random.Random(seed)
        self.block, self.threads, self.warps = block, block[0] * block[1] * block[2], warps
        self.blocks = blocks
        self.parted, self.loops = parted, loops
        """Warp operations also where some lanes are elsewhere, who come together after it; in loops that lanes leave
        one after the other, too."""
        self.lines: list[str] = []
        self.guarded = False
        """Inside an early return: the thread that counts may be gone."""
        self.names = 0

    def let(self, text: str) -> str:
        self.names += 1
        self.lines.append(f"%v{self.names} = {text}")
        return f"%v{self.names}"

    def kernel(self, size: int) -> str:
        t = self.threads
        grid, sizes = f"{self.blocks}, 1, 1", ", ".join(map(str, self.block))
        head = f"""
func.func @kernel(%in: memref<?xi32>, %out: memref<?xi32>, %count: memref<?xi32>, %n: i32)
    attributes {{gpu.kernel, reactant.grid = array<i64: {grid}>, reactant.block = array<i64: {sizes}>}} {{
  %shared = memref.alloca() : memref<{t}xi32, {SHARED}>
  %local = memref.alloca() : memref<4xi32>
  %flag = memref.alloca() : memref<2xi32, {SHARED}>
"""
        for value in (*range(9), 31, 64, t - 1, t, t * self.blocks):
            self.lines.append(f"%c{value} = arith.constant {value} : index")
        for value in (-1, *range(17), 31, 32, 77):
            self.lines.append(f"%k{value if value >= 0 else 'm'} = arith.constant {value} : i32")
        self.lines = list(dict.fromkeys(self.lines))
        self.lines += [f"%t{d} = gpu.thread_id {d}" for d in "xyz"] + ["%bx = gpu.block_id x"]
        for value in self.block[:2]:
            self.lines.append(f"%size{self.names} = arith.constant {value} : index")
            self.names += 1
        row = self.let(f"arith.muli %tz, %size{self.names - 1} : index")
        row = self.let(f"arith.addi {row}, %ty : index")
        row = self.let(f"arith.muli {row}, %size0 : index")
        self.lines.append(f"%t = arith.addi {row}, %tx : index")
        base = self.let(f"arith.muli %bx, %c{t} : index")
        self.lines.append(f"%g = arith.addi {base}, %t : index")
        first = self.let("arith.cmpi eq, %t, %c0 : index")
        # threads that have returned write nothing later: what others read of theirs must be something
        self.lines.append(f"memref.store %k0, %shared[%t] : memref<{t}xi32, {SHARED}>")
        self.lines += [f"scf.if {first} {{", f"memref.store %n, %flag[%c0] : memref<2xi32, {SHARED}>",
                       f"memref.store %k2, %flag[%c1] : memref<2xi32, {SHARED}>", "}", "gpu.barrier"]
        for i in range(4):
            self.lines.append(f"memref.store %k{i}, %local[%c{i}] : memref<4xi32>")
        number, place, block = (self.let(f"arith.index_cast {v} : index to i32") for v in ("%t", "%g", "%bx"))
        variables = [number, place, self.let("memref.load %in[%g] : memref<?xi32>"), "%n", block]
        result = self.body(variables, size, True, True, 0)
        self.lines.append(f"memref.store {result}, %out[%g] : memref<?xi32>")
        return head + "\n".join("  " + line for line in self.lines) + "\n  return\n}\n" + DECLARATIONS

    def body(self, outer: list[str], size: int, whole: bool, last: bool, depth: int) -> str:
        """Statements; the sum of two of their values."""
        own = list(outer)
        for step in range(size):
            kinds = ["arith", "arith", "select", "input", "local"]
            if depth < 3:
                kinds += ["for", "if", "divergent if", "loop"]
            if whole:
                kinds += ["exchange", "exchange", "count", "while", "uniform if", "flag", "flag loop", "shared value"]
                if last and step == size - 1 and depth < 3:
                    kinds += ["guard"] * 3
            if self.warps and (whole or self.parted):
                kinds += ["shuffle", "vote"]
            kind = self.random.choice(kinds)
            made = getattr(self, kind.replace(" ", "_"))(own, whole, last and step == size - 1, depth)
            if made:
                own.append(made)
        return self.let(f"arith.addi {own[-1]}, {self.random.choice(own)} : i32")

    def pick(self, own: list[str]) -> str:
        return self.random.choice(own[-6:] + own[:5])

    def arith(self, own, *_):
        op = self.random.choice(["addi", "subi", "muli", "xori", "maxsi", "minsi", "andi", "ori"])
        return self.let(f"arith.{op} {self.pick(own)}, {self.pick(own)} : i32")

    def select(self, own, *_):
        test = self.random.choice(["slt", "eq", "uge", "ne"])
        c = self.let(f"arith.cmpi {test}, {self.pick(own)}, {self.pick(own)} : i32")
        return self.let(f"arith.select {c}, {self.pick(own)}, {self.pick(own)} : i32")

    def bounded(self, own: list[str], bound: str, kind: str = "i32") -> str:
        return self.let(f"arith.remui {self.pick(own)}, {bound} : {kind}")

    def index(self, own: list[str], extent: int) -> str:
        wide = self.let(f"arith.index_castui {self.pick(own)} : i32 to index")
        return self.let(f"arith.remui {wide}, %c{extent} : index")

    def input(self, own, *_):
        return self.let(f"memref.load %in[{self.index(own, self.threads * self.blocks)}] : memref<?xi32>")

    def local(self, own, *_):
        i, j = self.index(own, 4), self.index(own, 4)
        self.lines.append(f"memref.store {self.pick(own)}, %local[{i}] : memref<4xi32>")
        if self.random.random() < 0.3:
            k = self.index(own, 8)
            self.let(f"memref.atomic_rmw addi {self.pick(own)}, %count[{k}] : (i32, memref<?xi32>) -> i32")
        return self.let(f"memref.load %local[{j}] : memref<4xi32>")

    def exchange(self, own, *_):
        shift = self.let(f"arith.addi %t, %c{self.random.choice([0, 1, 5])} : index")
        slot = self.let(f"arith.remui {shift}, %c{self.threads} : index")
        kind = f"memref<{self.threads}xi32, {SHARED}>"
        self.lines += [f"memref.store {self.pick(own)}, %shared[{slot}] : {kind}", "gpu.barrier"]
        made = self.let(f"memref.load %shared[{self.index(own, self.threads)}] : {kind}")
        self.lines.append("gpu.barrier")
        return made

    def flag(self, own, *_):
        """One thread writes a number that all read after a barrier."""
        c = self.let(f"arith.cmpi eq, %t, %c{self.random.choice([0, self.threads - 1])} : index")
        kind = f"memref<2xi32, {SHARED}>"
        self.lines += ["gpu.barrier", f"scf.if {c} {{", f"memref.store {self.pick(own)}, %flag[%c0] : {kind}", "}",
                       "gpu.barrier"]
        made = self.let(f"memref.load %flag[%c0] : {kind}")
        self.lines.append("gpu.barrier")
        return made

    def shared_value(self, own, *_):
        """A number that one thread wrote before, or the start, decides for all where they go."""
        return self.let(f"memref.load %flag[%c1] : memref<2xi32, {SHARED}>")

    def flag_loop(self, own, whole, last, depth):
        """As often as a number in shared memory says, which a thread counts down."""
        if depth > 1 or self.guarded:
            return None
        self.names += 1
        number, kind = self.names, f"memref<2xi32, {SHARED}>"
        first = self.let("arith.cmpi eq, %t, %c0 : index")
        self.lines += ["gpu.barrier", f"scf.if {first} {{",
                       f"memref.store %k{self.random.choice([0, 1, 3])}, %flag[%c0] : {kind}", "}", "gpu.barrier",
                       f"%v{number} = scf.while (%a{number} = {self.pick(own)}) : (i32) -> i32 {{",
                       f"%l{number} = memref.load %flag[%c0] : {kind}",
                       f"%m{number} = arith.cmpi sgt, %l{number}, %k0 : i32",
                       f"scf.condition(%m{number}) %a{number} : i32", "} do {", f"^bb0(%b{number}: i32):"]
        made = self.body([*own, f"%b{number}"], 2, False, False, depth + 1)
        self.lines += ["gpu.barrier", f"scf.if {first} {{", f"%n{number} = memref.load %flag[%c0] : {kind}",
                       f"%o{number} = arith.subi %n{number}, %k1 : i32",
                       f"memref.store %o{number}, %flag[%c0] : {kind}", "}", "gpu.barrier",
                       f"scf.yield {made} : i32", "}"]
        return f"%v{number}"

    def count(self, own, *_):
        how = self.random.choice(["count", "and", "or"])
        bit = self.let(f"arith.andi {self.pick(own)}, %k{self.random.choice([1, 3, 16])} : i32")
        return self.let(f"func.call @reactant.barrier.{how}({bit}) : (i32) -> i32")

    def shuffle(self, own, *_):
        mode = self.random.choice(["xor", "up", "down", "idx"])
        offset = f"%k{self.random.choice([0, 1, 2, 4, 8, 16, 31])}" if self.random.random() < 0.7 \
            else self.let(f"arith.andi {self.pick(own)}, %k31 : i32")
        width = self.random.choice([32, 32, 16, 8])
        self.names += 1
        results = f"%v{self.names}, %ok{self.names}"
        self.lines.append(f"{results} = gpu.shuffle {mode} {self.pick(own)}, {offset}, %k{width} : i32")
        flag = self.let(f"arith.extui %ok{self.names} : i1 to i32")
        return self.let(f"arith.addi %v{self.names - 1}, {flag} : i32")

    def vote(self, own, *_):
        c = self.let(f"arith.cmpi slt, {self.pick(own)}, {self.pick(own)} : i32")
        how = self.random.choice(["ballot", "any", "all", "warp"])
        mask = "%km" if self.random.random() < 0.7 else "%k77"
        if how == "warp":
            self.lines.append("func.call @reactant.barrier.warp(%km) : (i32) -> ()")
            return None
        kind = "i32" if how == "ballot" else "i1"
        made = self.let(f"func.call @reactant.vote.{how}({mask}, {c}) : (i32, i1) -> {kind}")
        return made if kind == "i32" else self.let(f"arith.extui {made} : i1 to i32")

    # -- control flow

    def carried(self, own: list[str], head: str, inside) -> str:
        """A loop with two carried values that may swap."""
        self.names += 1
        name = f"%v{self.names}"
        a, b = f"%p{self.names}", f"%q{self.names}"
        first, second = self.pick(own), self.pick(own)
        self.lines.append(f"{name}:2 = {head} iter_args({a} = {first}, {b} = {second}) -> (i32, i32) {{")
        made = inside([*own, a, b])
        swapped = self.random.random() < 0.5
        self.lines.append(f"scf.yield {b if swapped else made}, {made if swapped else a} : i32, i32")
        self.lines.append("}")
        return self.let(f"arith.xori {name}#0, {name}#1 : i32")

    def _for(self, own, whole, last, depth):
        counter = f"%i{self.names}"
        upper = self.random.choice(["%c0", "%c2", "%c3"])
        head = f"scf.for {counter} = %c0 to {upper} step %c1"

        def inside(mine):
            number = self.let(f"arith.index_cast {counter} : index to i32")
            return self.body([*mine, number], 3, whole, False, depth + 1)
        return self.carried(own, head, inside)

    def loop(self, own, whole, last, depth):
        """As many times as a value of the thread says."""
        trips = self.index(own, 4)
        before, self.parted = self.parted, self.parted and self.loops
        made = self.carried(own, f"scf.for %i{self.names} = %c0 to {trips} step %c1",
                            lambda mine: self.body(mine, 2, False, False, depth + 1))
        self.parted = before
        return made

    def _while(self, own, whole, last, depth):
        self.names += 1
        number = self.names
        self.lines.append(f"%v{number}:3 = scf.while (%a{number} = %k0, %b{number} = {self.pick(own)}, "
                          f"%d{number} = {self.pick(own)}) : (i32, i32, i32) -> (i32, i32, i32) {{")
        made = f"%b{number}"
        if depth < 3:
            made = self.body([*own, f"%b{number}", f"%d{number}"], 2, whole, False, depth + 1)
        c = self.let(f"arith.cmpi slt, %a{number}, %k{self.random.choice([0, 2, 3])} : i32")
        self.lines.append(f"scf.condition({c}) %a{number}, {made}, %b{number} : i32, i32, i32")
        self.lines.append(f"}} do {{\n^bb0(%e{number}: i32, %f{number}: i32, %h{number}: i32):")
        more = self.let(f"arith.addi %e{number}, %k1 : i32")
        made = f"%f{number}"
        if depth < 3:
            made = self.body([*own, f"%f{number}", f"%h{number}"], 2, whole, False, depth + 1)
        self.lines.append(f"scf.yield {more}, {made}, %f{number} : i32, i32, i32\n}}")
        return self.let(f"arith.xori %v{number}#1, %v{number}#2 : i32")

    def _branches(self, own, condition, whole, last, depth):
        self.names += 1
        name = f"%v{self.names}"
        self.lines.append(f"{name}:2 = scf.if {condition} -> (i32, i32) {{")
        for _ in range(2):
            made = self.body(own, 2, whole, last, depth + 1)
            self.lines.append(f"scf.yield {made}, {self.pick(own)} : i32, i32")
            self.lines.append("} else {")
        self.lines[-1] = "}"
        return self.let(f"arith.subi {name}#0, {name}#1 : i32")

    def uniform_if(self, own, whole, last, depth):
        if depth > 2:
            return None
        block = self.let("arith.index_cast %bx : index to i32")
        c = self.let(f"arith.cmpi slt, {self.random.choice([block, '%n'])}, %k1 : i32")
        return self._branches(own, c, whole, last, depth)

    def divergent_if(self, own, whole, last, depth):
        c = self.let(f"arith.cmpi slt, {self.pick(own)}, {self.pick(own)} : i32")
        return self._branches(own, c, False, False, depth)

    def _if(self, own, whole, last, depth):
        """No results, one branch, a store of the thread's own."""
        c = self.let(f"arith.cmpi slt, {self.pick(own)}, {self.pick(own)} : i32")
        self.lines.append(f"scf.if {c} {{")
        made = self.body(own, 2, False, False, depth + 1)
        self.lines += [f"memref.store {made}, %out[%g] : memref<?xi32>", "}"]
        return None

    def guard(self, own, whole, last, depth):
        """An early return: some threads do the rest, barriers included."""
        c = self.let(f"arith.cmpi slt, {self.pick(own)}, {self.pick(own)} : i32")
        self.lines.append(f"scf.if {c} {{")
        before, self.guarded = self.guarded, True
        made = self.body(own, 4, True, True, depth + 1)
        self.guarded = before
        self.lines += [f"memref.store {made}, %out[%g] : memref<?xi32>", "}"]
        return None


setattr(Generator, "for", Generator._for)
setattr(Generator, "if", Generator._if)
setattr(Generator, "while", Generator._while)
