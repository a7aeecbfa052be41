"""Phases of a random kernel, which all threads of a block reach: what they tell each other."""
from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.kernels.fuzz.dialects import Python

from tests.kernels.fuzz.numbers import LIMIT, Number


class Phases:
    """Part of `KernelWriter`."""

    r: random.Random
    d: Python
    in_block: int
    dynamic_bytes: int
    used: dict[str, None]
    new: Any
    add: Any
    whole: Any
    real: Any
    clamped: Any
    inside: Any
    condition: Any

    def exchange_phase(self) -> None:
        """Each thread writes its place of shared memory, all read any."""
        r, d = self.r, self.d
        name, kind = self.new("tile"), r.choice(["float64", "float64", "float32", "int32"])
        dynamic = not self.dynamic_bytes and r.random() < 0.25
        size = self.in_block
        if dynamic:
            self.dynamic_bytes = size * (8 if kind == "float64" else 4)
        d.shared(name, (size,), kind, dynamic)
        own = r.choice(["t", f"({size - 1} - t)", f"(t + {r.randint(1, 5)}) % {size}"])
        value = (self.clamped(self.whole(), 1000) if kind == "int32" else self.clamped(self.real())).text
        if kind == "int32":
            value = f"({value}) % 1000"
        d.assign(f"{name}[{own}]", value)
        d.barrier()
        found = self.new()
        text = f"{name}[{self.inside(self.whole(1), size)}]"
        if r.random() < 0.4:
            text = d.select("t > 0", f"{name}[{d.larger('t - 1', '0')}]", text)
        if r.random() < 0.3:
            d.declare(found, "0.0", "float")
            d.open_for("z", "0", str(min(size, r.choice([3, 8, 16]))), 1)
            d.assign(found, f"{found} + {d.real(f'{name}[z]')}")
            d.close()
            self.add("float", Number(found, -16 * LIMIT, 16 * LIMIT))
        else:
            d.declare(found, d.real(text), "float")
            self.add("float", Number(found, -LIMIT, LIMIT))
        d.barrier()

    def tree_phase(self) -> None:
        """A reduction in shared memory."""
        r, d = self.r, self.d
        size, top = self.in_block, 1
        while top * 2 < size:
            top *= 2
        name, step = self.new("tree"), self.new("half")
        d.shared(name, (size,), "float64", False)
        d.assign(f"{name}[t]", self.clamped(self.real(1), 64.0).text)
        d.barrier()
        d.declare(step, str(top), "int")
        d.open_while(f"{step} > 0")
        guard = f"t < {step}" if size == 2 * top else d.both(f"t < {step}", f"t + {step} < {size}")
        d.open_if(guard)
        d.assign(f"{name}[t]", f"{name}[t] + {name}[t + {step}]")
        d.close()
        d.barrier()
        d.assign(step, d.divide(step, 2))
        d.close()
        found = self.new()
        d.declare(found, f"{name}[{r.choice(['0', '0', 't'])}]", "float")
        self.add("float", Number(found, -8192, 8192))
        d.barrier()

    def rounds_phase(self) -> None:
        """A loop with barriers, in which neighbours exchange."""
        r, d = self.r, self.d
        name, iteration = self.new("ring"), self.new("iteration")
        size, iterations = self.in_block, r.randint(1, 4)
        d.shared(name, (size,), "float64", False)
        mine = self.new()
        d.declare(mine, d.real(self.clamped(self.real(1), 64.0).text), "float")
        d.open_for(iteration, "0", str(iterations), 1)
        d.assign(f"{name}[t]", mine)
        d.barrier()
        if r.random() < 0.3:
            d.open_if(f"t >= {iteration}")
            d.assign(mine, f"{mine} + {name}[t - {iteration}]")
            d.close()
        else:
            d.assign(mine, f"{mine} + {name}[(t + {iteration} + {r.randint(0, 2)}) % {size}]")
        d.barrier()
        d.close()
        self.add("float", Number(mine, -64 * 16, 64 * 16))

    def count_phase(self) -> None:
        """A histogram in shared memory."""
        r, d = self.r, self.d
        name, size = self.new("bins"), r.choice([1, 4, 9])
        d.shared(name, (size,), "int32", False)
        d.open_if(f"t < {size}") if self.in_block >= size else d.open_for("z", "t", str(size), self.in_block)
        d.assign(f"{name}[{'t' if self.in_block >= size else 'z'}]", "0")
        d.close()
        d.barrier()
        operation = r.choice(["add", "max"])
        if r.random() < 0.5:
            d.open_if(self.condition(1))
            d.atomic(operation, name, self.inside(self.whole(1), size), str(r.randint(1, 3)))
            d.close()
        else:
            d.atomic(operation, name, self.inside(self.whole(1), size), str(r.randint(1, 3)))
        d.barrier()
        found = self.new()
        d.declare(found, self.d.loaded(f"{name}[{self.inside(self.whole(1), size)}]", "int"), "int")
        self.add("int", Number(found, 0, 200))
        d.barrier()

    def warp_phase(self) -> None:
        """Shuffles and votes, of whole warps and of the last one (CUDA C++ only: Numba's simulator has none)."""
        r, d = self.r, self.d
        if d.name == "numba":
            return self.exchange_phase()
        value, found = self.new(), self.new()
        d.declare(value, self.clamped(self.real(1), 64.0).text, "float")
        kind = r.choice(["tree", "down", "up", "idx", "ballot", "any", "all"])
        if kind in ("ballot", "any", "all"):
            d.line(f"int {found} = (int)(__{kind}_sync(0xffffffffu, {self.condition(1)}) & 0xffff);")
            self.add("int", Number(found, 0, 65535))
            return
        width = r.choice([32, 32, 16, 8, 4])
        if kind == "tree":
            d.declare(found, value, "float")
            d.line(f"for (int m = {width // 2}; m > 0; m /= 2) {found} += __shfl_xor_sync(0xffffffffu, {found}, m, "
                   f"{width});")
        elif kind == "idx":
            source = self.inside(self.whole(1), width)
            d.declare(found, f"__shfl_sync(0xffffffffu, {value}, {source}, {width})", "float")
        else:
            d.declare(found, f"__shfl_{kind}_sync(0xffffffffu, {value}, {r.choice([1, 2, 3])}, {width})", "float")
        self.add("float", Number(found, -64 * 32, 64 * 32))

    def relay_phase(self) -> None:
        """A place of the caller's memory: all threads of a block read it, one of them writes it, all read it again."""
        d, before, after = self.d, self.new(), self.new()
        self.used["w0"] = None
        d.declare(before, d.loaded("w0[b]", "int"), "int")
        d.barrier()
        d.open_if(f"t == {before} % {self.in_block}")
        d.store("w0[b]", f"({self.whole(1).text}) & 63", "int32")
        d.close()
        d.barrier()
        d.declare(after, d.loaded("w0[b]", "int"), "int")
        d.barrier()
        self.add("int", Number(before, 0, 63))
        self.add("int", Number(after, 0, 63))

    def block_vote_phase(self) -> None:
        """How many threads of the block, or whether any, or all."""
        found, kind = self.new(), self.r.choice(["count", "or", "and"])
        self.d.declare(found, self.d.block_vote(kind, self.condition(1)), "int")
        self.add("int", Number(found, 0, self.in_block if kind == "count" else 1))

    def match_phase(self) -> None:
        """Which lanes of the warp hold the same number (CUDA C++ only)."""
        if self.d.name == "numba":
            return self.relay_phase()
        found = self.new()
        self.d.line(f"int {found} = (int)(__match_any_sync(0xffffffffu, {self.whole(1).text}) & 0xffff);")
        self.add("int", Number(found, 0, 65535))
