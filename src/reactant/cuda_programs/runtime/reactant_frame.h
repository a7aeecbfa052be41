/* A block whose threads meet, as compiled kernels and runtime/meetings.cpp see it. Codes of kinds are those of
   device/meetings.py. */
#ifndef REACTANT_FRAME_H
#define REACTANT_FRAME_H

#include "reactant_launch.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ReactantFrame ReactantFrame;

/* Runs a thread from where it waits to where it waits next: site << 8 | kind, or -1 at its end. */
typedef int32_t ReactantStep(ReactantFrame *frame, uint32_t thread, int32_t state);

struct ReactantFrame {
    const ReactantLaunch *launch;       /* 0 */
    ReactantStep *step;                 /* 8 */
    uint64_t block;                     /* 16: its number in the grid */
    uint32_t place[3];                  /* 24: blockIdx */
    uint32_t threads;                   /* 36 */
    int32_t *state;                     /* 40: of each thread; 0 at the start */
    uint64_t *x;                        /* 48: values that threads give */
    uint32_t *mask;                     /* 56 */
    int32_t *y;                         /* 64: lanes or distances */
    int32_t *z;                         /* 72: widths */
    uint64_t *answer;                   /* 80 */
    void *const *arguments;             /* 88 */
    void *own[1];                       /* 96: the kernel's shared memory, and what its threads keep */
};

/* Resumes the threads of a block until all have ended (0), or all that have not wait for the grid (1). */
int reactant_run_block(ReactantFrame *frame);

/* The answers of an operation at which the 32 threads of a warp wait; arrays of 32. */
void reactant_answer_warp(int32_t kind, uint64_t *x, uint32_t *mask, int32_t *y, int32_t *z, uint64_t *answer);

/* The answers of a barrier at which all threads of a block wait. */
void reactant_reduce_block(ReactantFrame *frame, int32_t state);

#ifdef __cplusplus
}
#endif
#endif
