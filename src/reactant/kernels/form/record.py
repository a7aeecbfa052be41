"""What a way in hands to the steps after it: one kernel, for one list of argument types, at one launch.

Every way in (Numba-CUDA, CUDA C++, C, LLVM IR) ends in a `KernelRecord`. Its LLVM module has been cleaned, all that the
launch knows is a constant in it, and its entry function has one parameter for each piece of memory and one for each
number known only at run time:

* arrays that are views of one memory (slices, transposes, an array given twice) are *one* `Buffer`, and so one pointer:
  the offset and the strides of each view are constants in the function. Two pointer parameters never alias (`noalias`).
* the sizes of grid and block are constants; thread and block indices carry the range of this launch.
* dynamic shared memory is a sized global in address space 3; `__constant__` memory with known content is an initialised
  global in address space 4, that with run-time content a `Buffer`; `__device__` variables are `Buffer`s.
* device functions are inlined, libdevice's functions are LLVM intrinsics or functions of libm (`memory(none)`).

What a kernel does beyond arithmetic and memory is left as calls with one spelling, whatever the way in (`OPERATIONS`).
Instructions keep their debug locations: file and line of the kernel's source.
"""
from __future__ import annotations

import numpy as np

from reactant.support.records import dataclass

Dim3 = tuple[int, int, int]

OPERATIONS = {
    "llvm.nvvm.read.ptx.sreg.tid.{x,y,z}": "() -> i32: thread index; ctaid.{x,y,z}: block index. Sizes are constants",
    "llvm.nvvm.barrier.cta.sync.aligned.all": "(i32 0): barrier of the block (`__syncthreads`)",
    "reactant.barrier.{count,and,or}": "(i32 predicate) -> i32: barrier of the block, reducing the predicate",
    "reactant.barrier.warp": "(i32 mask): barrier of the warp, and of its memory",
    "reactant.barrier.grid": "(): barrier of all blocks",
    "reactant.shuffle.{idx,up,down,xor}.{i32,i64,f32,f64}":
        "(i32 mask, T value, i32 lane or distance, i32 width) -> T: the value of another lane of the warp; a lane that "
        "would leave its segment of `width` lanes gets its own value",
    "reactant.vote.ballot": "(i32 mask, i1 predicate) -> i32: bit of every lane in mask whose predicate holds",
    "reactant.vote.{any,all,uni}": "(i32 mask, i1 predicate) -> i1",
    "reactant.match.any.{i32,i64}": "(i32 mask, T value) -> i32: the lanes in mask with the same value",
    "reactant.activemask": "() -> i32: the lanes of the warp that are here",
    "fence": "orders the thread's memory accesses: syncscope(\"block\"), (\"device\") or that of the system",
    "atomicrmw, cmpxchg": "on buffers and shared memory, with LLVM's meaning (uinc_wrap, fmax... included)",
}
"""Calls that the LLVM module of a record may hold besides LLVM intrinsics and libm: name -> signature and meaning."""


@dataclass(frozen=True)
class Field:
    """A member of the structs in a piece of memory: `count` numbers of `dtype`, `offset` bytes from where it begins."""

    name: str
    offset: int
    dtype: np.dtype
    count: int = 1


@dataclass(frozen=True)
class Table:
    """What the pointers in a buffer point into: the buffer's content is their distances in elements.

    memory: the name of the buffer. size: bytes of its elements. first, step: where the distances are first + i * step.
    """

    memory: str
    size: int
    first: int = 0
    step: int | None = None

    def __str__(self) -> str:
        return f"{self.size}:{self.first}:{'' if self.step is None else self.step}:{self.memory}"

    @classmethod
    def of(cls, text: str) -> Table:
        """The inverse of `str`."""
        size, first, step, memory = text.split(":", 3)
        return cls(memory, int(size), int(first), int(step) if step else None)


@dataclass(frozen=True)
class Buffer:
    """A pointer parameter: one piece of memory, of `elements` values of `dtype`, that starts at the pointer.

    dtype: one of int8..int64, float16, bfloat16, float32, float64. Unsigned and boolean memory is given as integers of
        its width, complex memory as pairs (shape ends in 2); the launch converts. The kernel may still access it as
        another type.
    shape: how the memory's owner sees it, row-major; a hint for recovering dimensions from flat indices. Its product
        is `elements`.
    written: whether the kernel may write it (LLVM could not prove that it does not).
    fields: of structs whose members are of several types, which are rows of the shape: as tensors every member is an
        array of its own (`records`).
    table: of pointers, as a kernel's `float **` has them: what they point into.
    """

    name: str
    dtype: np.dtype
    shape: tuple[int, ...]
    written: bool = True
    fields: tuple[Field, ...] = ()
    table: Table | None = None

    @property
    def elements(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))


@dataclass(frozen=True)
class Scalar:
    """A number known only at run time; dtypes as those of buffers (booleans int8, a complex number two scalars)."""

    name: str
    dtype: np.dtype


@dataclass(frozen=True)
class KernelRecord:
    """One kernel at one launch. See the module's text for what the LLVM module guarantees.

    name: the kernel's name in its source. entry: its function in the module, which returns void.
    llvm: the text of the LLVM module (opaque pointers).
    parameters: one for each parameter of the entry function, in order.
    grid, block: blocks of the grid, threads of a block; (1, 1, 1) both for plain C and LLVM functions.
    dynamic_shared: bytes of dynamic shared memory.
    frontend: "numba", "cuda", "c" or "llvm". source, line: where the kernel is defined ("" and 0 where not known).
    """

    name: str
    entry: str
    llvm: str
    parameters: tuple[Buffer | Scalar, ...]
    grid: Dim3
    block: Dim3
    dynamic_shared: int = 0
    frontend: str = "llvm"
    source: str = ""
    line: int = 0

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        """The parameters that are memory."""
        return tuple(p for p in self.parameters if isinstance(p, Buffer))

    @property
    def threads(self) -> int:
        """Threads of the whole launch."""
        return int(np.prod(self.grid, dtype=np.int64) * np.prod(self.block, dtype=np.int64))
