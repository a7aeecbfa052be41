/* What device objects and the runtime of CUDA programs have to know of each other. C, so that any back end can follow it.

   A device object (one for each translation unit) has one constructor, which calls reactant_register_module with a
   table of its kernels and of its variables. All its other symbols are local, or, of relocatable device code
   (-rdc=true), begin with "reactant_device__": host code has functions and variables of the same mangled names.

   The runtime calls a kernel's blocks function from the threads of a pool, with ranges of block numbers. Functions
   below that are marked "device" are for compiled kernels; they may be called from inside a blocks function only. */
#ifndef REACTANT_LAUNCH_H
#define REACTANT_LAUNCH_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define REACTANT_ABI_VERSION 3u

typedef struct ReactantKernel ReactantKernel;

/* One launch, as the blocks functions see it: read only. */
typedef struct ReactantLaunch {
    uint32_t version;                   /* REACTANT_ABI_VERSION */
    uint32_t flags;                     /* REACTANT_LAUNCH_... */
    uint32_t grid[3];                   /* extents in blocks: x, y, z */
    uint32_t block[3];                  /* extents in threads: x, y, z */
    uint64_t dynamic_shared;            /* bytes of dynamic shared memory of a block */
    uint64_t blocks;                    /* grid[0] * grid[1] * grid[2] */
    uint64_t number;                    /* of the launch in this process, from 1 */
    const ReactantKernel *kernel;
    void *runtime;                      /* the runtime's own */
    uint32_t whole[3];                  /* the program's own extents in blocks, of which `grid` has fewer, larger ones */
    uint32_t reserved[5];
} ReactantLaunch;

enum { REACTANT_LAUNCH_COOPERATIVE = 1u };

/* Runs the blocks numbered first ... last - 1 (x fastest) one after another on the calling thread.
   arguments[k] is the address of the k-th argument's value, as cudaLaunchKernel has it. */
typedef void ReactantBlocks(const ReactantLaunch *launch, void *const *arguments, uint64_t first, uint64_t last);

enum {
    /* Meets at barriers of the grid. The grid is cut into as many ranges as threads run it, each is given to one
       call, all calls run at the same time; a call that has brought all its blocks to the barrier calls
       reactant_grid_wait. A kernel without the flag may be called any number of times in any order. */
    REACTANT_KERNEL_GRID_BARRIER = 1u,
    /* Its blocks communicate while they run (they spin on what other blocks write): ranges of few blocks in order. */
    REACTANT_KERNEL_SPINS = 2u,
    /* Tells of its accesses (checks.h): all blocks run on one thread, one after the other. */
    REACTANT_KERNEL_CHECKED = 4u,
    REACTANT_KERNEL_RACES = 8u          /* and is checked for races */
};

typedef struct ReactantParameter {
    uint32_t offset;                    /* in CUDA's parameter buffer (natural alignment) */
    uint32_t size;                      /* bytes */
} ReactantParameter;

/* Another way to run a kernel's blocks, with the same results: what `reactant nvcc --tune` chooses from. */
typedef struct ReactantVersion {
    const char *label;
    ReactantBlocks *blocks;
    uint32_t threads[3], merged[3];     /* of how many threads of a block, and of how many blocks, one does the work */
    uint32_t flags;                     /* REACTANT_VERSION_... */
    uint32_t reserved;
} ReactantVersion;

enum { REACTANT_VERSION_WARPS = 1u };   /* its rows have to be whole warps */

/* What each block accesses through one of the program's pointers: [low, high) bytes from `address`, `step` bytes further
   from block to block (grids with one dimension), and the same again each `period` bytes, in both directions. */
typedef struct ReactantAccess {
    uint64_t root;                      /* the pointer, or a variable's address; 0: nothing is accessed */
    uint64_t address;
    int64_t low, high, step;
    uint64_t period;                    /* 0: none */
    uint32_t flags;                     /* REACTANT_ACCESS_... */
    uint32_t reserved;
} ReactantAccess;

/* ANYWHERE: in the allocation or variable of `root`. */
enum { REACTANT_ACCESS_WRITES = 1u, REACTANT_ACCESS_ANYWHERE = 2u };

/* Writes down all accesses of a launch, at most access_count, and returns how many there are. */
typedef uint32_t ReactantReach(const ReactantLaunch *launch, void *const *arguments, ReactantAccess *accesses);

struct ReactantKernel {
    const char *name;                   /* mangled, as __cudaRegisterFunction has it */
    ReactantBlocks *blocks;
    uint32_t flags;                     /* REACTANT_KERNEL_... */
    uint32_t max_threads;               /* of __launch_bounds__; 0: none, 1024 */
    uint64_t static_shared;             /* bytes of a block */
    uint64_t local_bytes;               /* of a thread, for cudaFuncGetAttributes; 0: not determined */
    uint32_t registers;                 /* of a thread, an estimate; 0: not determined */
    uint32_t work;                      /* estimate of nanoseconds of one thread times 100; 0: not determined */
    uint32_t parameter_count;
    uint32_t version_count;
    const ReactantParameter *parameters;
    const ReactantVersion *versions;    /* others than `blocks` */
    ReactantReach *reach;               /* NULL: not known, or it does more than access memory */
    uint32_t access_count;
    uint32_t reserved;
};

enum { REACTANT_SYMBOL_CONSTANT = 1u, REACTANT_SYMBOL_MANAGED = 2u };

typedef struct ReactantSymbol {
    const char *name;                   /* mangled, as __cudaRegisterVar has it */
    void *address;
    uint64_t size;                      /* bytes */
    uint32_t flags;                     /* REACTANT_SYMBOL_... */
    uint32_t reserved;
} ReactantSymbol;

typedef struct ReactantModule {
    uint32_t version;                   /* REACTANT_ABI_VERSION */
    uint32_t flags;                     /* of modules with versions: a number for their code; else 0 */
    const char *identity;               /* of the translation unit; the host object's GPU binary is the same text */
    const ReactantKernel *kernels;
    uint64_t kernel_count;
    const ReactantSymbol *symbols;
    uint64_t symbol_count;
} ReactantModule;

/* Called by the constructors of device objects, before main and in any order. The tables stay where they are. */
void reactant_register_module(const ReactantModule *module);

/* Always 0, which compilers of device code do not know: it hides numbers from them (device/affine.py). */
extern uint32_t reactant_zero;

/* ---- device: memory ---- */

/* Memory of the calling CPU thread, aligned to 64 bytes, not initialised, given back when the blocks function returns:
   shared memory, frames of coroutines, what warps exchange. Ask once for a call, not once for a block. */
void *reactant_scratch(uint64_t bytes);

/* malloc and free of device code; NULL when the heap (cudaLimitMallocHeapSize) is used up. */
void *reactant_device_malloc(uint64_t bytes);
void reactant_device_free(void *memory);

/* ---- device: barriers of the grid ---- */

void reactant_grid_wait(const ReactantLaunch *launch);

/* ---- device: what threads say ---- */

/* CUDA's vprintf: `packed` holds the arguments in order, each aligned to its own size (4, or 8 for double, 64-bit
   integers and pointers). Returns the number of arguments, or -1. Written at once, one call is never torn. */
int reactant_device_printf(const char *format, const void *packed);

/* A failed assertion: says what CUDA says, with block and thread; the launch ends with cudaErrorAssert. `block` is the
   number of the block in the grid, `thread` that of the thread in the block (x fastest). Does not return (longjmp out
   of the blocks function). */
void reactant_device_assert(const ReactantLaunch *launch, uint64_t block, uint64_t thread, const char *expression,
                            const char *file, unsigned line, const char *function) __attribute__((noreturn));

/* __trap() and what counts as one: the launch ends with `error`, a cudaError_t (cudaErrorLaunchFailure is 719,
   cudaErrorIllegalAddress 700, cudaErrorIllegalInstruction 715, cudaErrorMisalignedAddress 716). `what`: a sentence
   that is written to standard error, or NULL. Does not return. */
void reactant_device_trap(const ReactantLaunch *launch, uint64_t block, uint64_t thread, int error, const char *what)
    __attribute__((noreturn));

/* clock64 and globaltimer (nanoseconds). */
int64_t reactant_device_clock(void);
uint64_t reactant_device_nanoseconds(void);

/* ---- device: textures and surfaces ---- */

/* A value of a texture object at coordinates (those that the texture has not are 0), of a layer, at a level, as four
   elements: floats where the texture reads floats (elements of type float or normalised reads), else 32-bit integers,
   sign or zero extended. */
enum { REACTANT_TEXTURE_1D = 1, REACTANT_TEXTURE_2D = 2, REACTANT_TEXTURE_3D = 3, REACTANT_TEXTURE_1D_LAYERED = 4,
       REACTANT_TEXTURE_2D_LAYERED = 5, REACTANT_TEXTURE_CUBE = 6, REACTANT_TEXTURE_CUBE_LAYERED = 7 };
void reactant_texture(uint64_t texture, int kind, float x, float y, float z, int layer, float level, void *four);
/* tex1Dfetch: element `index` of linear memory; outside: zeros. */
void reactant_texture_fetch(uint64_t texture, int64_t index, void *four);
/* tex2Dgather: component `component` of the four texels around (x, y), in CUDA's order. */
void reactant_texture_gather(uint64_t texture, float x, float y, int component, void *four);
/* The address of `bytes` bytes of a surface, x in bytes. Outside, `mode` decides: 0 trap (returns NULL, the kernel traps), 1 clamp,
   2 zero (returns NULL: reads are zeros, writes nothing). */
void *reactant_surface(uint64_t surface, int kind, int64_t x, int64_t y, int64_t z, int layer, uint64_t bytes, int mode);

/* ---- device: launches by kernels (dynamic parallelism) ---- */

/* What a launch of device code names: a kernel of any module by its name, one of the same object by its row as well. */
typedef struct ReactantLaunched { const char *name; const ReactantKernel *kernel; } ReactantLaunched;

/* Memory for the values of a launch's arguments, each at its offset (ReactantParameter); the launch gives it back. */
void *reactant_parameter_buffer(uint64_t bytes);
/* Runs a grid; it is over when this returns. Returns a cudaError_t, which the thread's last error of the device is, too. */
int reactant_launch_from_device(const ReactantLaunched *launched, void *parameters, const uint32_t grid[3], const uint32_t block[3],
                                uint32_t dynamic_shared);
int reactant_last_error_of_device(int clear);

#ifdef __cplusplus
}
#endif
#endif
