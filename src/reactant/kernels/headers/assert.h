#undef assert
#ifdef NDEBUG
#define assert(...) ((void)0)
#else       // a call that only checked launches keep (kernels/form/assertions.py)
#define assert(...) ((__VA_ARGS__) ? (void)0 : __reactant_assertion(#__VA_ARGS__))
#endif
