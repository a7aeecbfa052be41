// OpenBLAS, which SciPy's wheel brings: loaded when the first handle of a library that needs it is made.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "libraries.h"

#ifndef REACTANT_OPENBLAS
#define REACTANT_OPENBLAS ""        // the library of the Python environment that this was compiled in
#endif

namespace {

struct Loaded { void *library = nullptr; const char *prefix = ""; };

void *opened(const char *path) { return path && *path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : nullptr; }

Loaded load() {
    // Its threads would otherwise spin for a tenth of a second after each product, beside those that run kernels.
    setenv("OPENBLAS_THREAD_TIMEOUT", "16", 0);
    for (const char *path : {(const char *)getenv("REACTANT_OPENBLAS"), REACTANT_OPENBLAS, "libscipy_openblas.so",
                             "libopenblas.so.0", "libopenblas.so"})
        if (void *library = opened(path)) {
            for (const char *prefix : {"scipy_", ""}) {
                char name[32];
                snprintf(name, sizeof name, "%ssgetrf_", prefix);
                if (dlsym(library, name)) return {library, prefix};
            }
            dlclose(library);
        }
    return {};
}

const Loaded &loaded() {
    static const Loaded made = load();
    return made;
}

void *symbol(const char *name) {
    char whole[64];
    snprintf(whole, sizeof whole, "%s%s", loaded().prefix, name);
    return dlsym(loaded().library, whole);
}

std::mutex counting;
int users = 0;

void set_threads(int count) {
    static void *const found = symbol("openblas_set_num_threads");
    if (found) reactant::libraries::invoke(found, count);
}

}  // namespace

namespace reactant::libraries {

bool openblas(const char *library) {
    static const bool there = [] {
        if (!loaded().library) return false;
        set_threads(processors());
        return true;
    }();
    if (!there)
        fprintf(stderr, "reactant: %s needs OpenBLAS, and neither %s (where this program was linked) nor libopenblas.so.0 "
                "can be loaded. `pip install scipy-openblas32`, or any OpenBLAS with 32-bit integers, and "
                "REACTANT_OPENBLAS=/its/path/libscipy_openblas.so\n", library,
                *REACTANT_OPENBLAS ? REACTANT_OPENBLAS : "that of SciPy");
    return there;
}

void *routine(const char *name) {
    void *found = loaded().library ? symbol(name) : nullptr;
    if (!found) {
        fprintf(stderr, "reactant: the OpenBLAS that is loaded has no %s\n", name);
        abort();
    }
    return found;
}

void *routine(char prefix, const char *name) {
    char whole[48];
    snprintf(whole, sizeof whole, "%c%s_", prefix, name);
    return routine(whole);
}

OneThread::OneThread() {
    std::lock_guard lock(counting);
    if (users++ == 0) set_threads(1);
}

OneThread::~OneThread() {
    std::lock_guard lock(counting);
    if (--users == 0) set_threads(processors());
}

}  // namespace reactant::libraries
