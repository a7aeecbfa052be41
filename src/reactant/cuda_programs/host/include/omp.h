/* OpenMP's functions for the host code of .cu files, which runs on one thread: its pragmas are not followed there.
   .c and .cpp files are compiled with the C++ compiler's own OpenMP. */
#ifndef REACTANT_PROGRAM_OMP_H
#define REACTANT_PROGRAM_OMP_H
#include <time.h>
#ifdef __cplusplus
extern "C" {
#endif
typedef struct { int held; } omp_lock_t;
typedef omp_lock_t omp_nest_lock_t;
typedef enum { omp_sched_static = 1, omp_sched_dynamic = 2, omp_sched_guided = 3, omp_sched_auto = 4 } omp_sched_t;
static inline int omp_get_thread_num(void) { return 0; }
static inline int omp_get_num_threads(void) { return 1; }
static inline int omp_get_max_threads(void) { return 1; }
static inline int omp_get_num_procs(void) { return 1; }
static inline int omp_in_parallel(void) { return 0; }
static inline int omp_get_level(void) { return 0; }
static inline int omp_get_nested(void) { return 0; }
static inline int omp_get_dynamic(void) { return 0; }
static inline int omp_get_num_devices(void) { return 0; }
static inline int omp_is_initial_device(void) { return 1; }
static inline void omp_set_num_threads(int n) { (void)n; }
static inline void omp_set_nested(int n) { (void)n; }
static inline void omp_set_dynamic(int n) { (void)n; }
static inline void omp_set_schedule(omp_sched_t kind, int chunk) { (void)kind, (void)chunk; }
static inline void omp_init_lock(omp_lock_t *lock) { lock->held = 0; }
static inline void omp_destroy_lock(omp_lock_t *lock) { lock->held = 0; }
static inline void omp_set_lock(omp_lock_t *lock) { lock->held = 1; }
static inline void omp_unset_lock(omp_lock_t *lock) { lock->held = 0; }
static inline int omp_test_lock(omp_lock_t *lock) { return lock->held ? 0 : (lock->held = 1); }
static inline double omp_get_wtime(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
static inline double omp_get_wtick(void) { return 1e-9; }
#ifdef __cplusplus
}
#endif
#endif
