#undef assert
#ifdef NDEBUG
#define assert(...) ((void)0)
#else       // a call that only checked launches keep (kernels/form/assertions.py)
#ifdef __cplusplus
extern "C"
#endif
void __reactant_assertion(const char *);
#define assert(...) ((__VA_ARGS__) ? (void)0 : __reactant_assertion(#__VA_ARGS__))
#endif
#if !defined(__cplusplus) && !defined(static_assert)
#define static_assert _Static_assert
#endif
