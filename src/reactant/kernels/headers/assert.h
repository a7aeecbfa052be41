#ifdef __REACTANT_PROGRAM__
#include_next <assert.h>
#ifdef __CUDACC__
extern "C" __attribute__((device, noreturn)) void __assert_fail(const char *, const char *, unsigned, const char *);
#endif
#else
#undef assert
#ifdef NDEBUG
#define assert(...) ((void)0)
#else       // a call that only checked launches keep (kernels/form/assertions.py)
#define assert(...) ((__VA_ARGS__) ? (void)0 : __reactant_assertion(#__VA_ARGS__))
#endif
#endif
