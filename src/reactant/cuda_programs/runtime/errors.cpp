// Error codes, their names and texts; the last error of each thread, and the one that breaks the context.
#include <cstdarg>
#include <cstdio>
#include <cstdlib>

#include "checks.h"
#include "runtime.h"

namespace {

struct Row { int number; const char *name, *text; };
constexpr Row rows[] = {
#define REACTANT_ERROR(NAME, NUMBER, TEXT) {NUMBER, "cuda" #NAME, TEXT},
#include "reactant_program/errors.inc"
#undef REACTANT_ERROR
};

thread_local cudaError_t last = cudaSuccess;
std::atomic<int> sticky{0};

const Row *row_of(cudaError_t error) {
    for (const Row &row : rows)
        if (row.number == error) return &row;
    return nullptr;
}

}  // namespace

namespace reactant {

cudaError_t broken() { return (cudaError_t)sticky.load(std::memory_order_relaxed); }

cudaError_t report(cudaError_t error) {
    if (error != cudaSuccess && error != cudaErrorNotReady) {
        last = error;
        if (checked_program) failed_call(error);
        else explain("%s (%s)", cudaGetErrorName(error), cudaGetErrorString(error));
    }
    return error;
}

void break_context(cudaError_t error) {
    int none = 0;
    sticky.compare_exchange_strong(none, error);
}

bool checking() {
    static const bool on = [] {
        const char *text = getenv("REACTANT_CUDA_CHECK");
        return text && *text && *text != '0';
    }();
    return on || checked_program;
}

void explain(const char *format, ...) {
    if (!checking()) return;
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(stderr, "reactant: %s\n", text);
}

}  // namespace reactant

extern "C" {

cudaError_t cudaGetLastError(void) {
    if (cudaError_t error = reactant::broken()) return error;
    cudaError_t error = last;
    last = cudaSuccess;
    return error;
}

cudaError_t cudaPeekAtLastError(void) {
    cudaError_t error = reactant::broken();
    return error != cudaSuccess ? error : last;
}

const char *cudaGetErrorName(cudaError_t error) {
    const Row *row = row_of(error);
    return row ? row->name : "unrecognized error code";
}

const char *cudaGetErrorString(cudaError_t error) {
    const Row *row = row_of(error);
    return row ? row->text : "unrecognized error code";
}

}
