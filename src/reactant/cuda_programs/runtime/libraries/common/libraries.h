// What the libraries share: work in the order of streams, loops on the pool's threads, OpenBLAS.
#pragma once
#include <algorithm>
#include <complex>
#include <type_traits>
#include <utility>

#include "runtime.h"
#include "library_types.h"

namespace reactant::libraries {

// ---- streams ----

// A call that may be done later: where it is, what does it, what makes a copy that lasts.
struct Work { void *object; void (*run)(void *); void *(*copied)(const void *); };
cudaError_t submit(cudaStream_t stream, const Work &work);
// The work is done now or, where the stream captures, becomes a node of its graph.
template <class F> cudaError_t in_stream(cudaStream_t stream, F work) {
    return submit(stream, Work{&work, [](void *object) { (*(F *)object)(); },
                               [](const void *object) -> void * { return new F(*(const F *)object); }});
}

// A number that a call is told by address: read when the work is done where it is the device's, else now.
template <class T> struct Scalar {
    Scalar(const T *address, bool of_device) : address(address), of_device(of_device), known(of_device ? T() : *address) {}
    operator T() const { return of_device ? *address : known; }
private:
    const T *address; bool of_device; T known;
};

// ---- loops ----

// body(first, last) over ranges of [0, items), of about `grain` items each, on the pool's threads.
template <class Body> void in_ranges(uint64_t items, uint64_t grain, const Body &body) {
    parallel(items, grain ? grain : 1, [](void *context, uint64_t first, uint64_t last) {
        (*(const Body *)context)(first, last); }, (void *)&body);
}

// body(i) for each i. `cost`: about how many simple steps one is, so that small loops stay on this thread.
template <class Body> void each(uint64_t items, uint64_t cost, const Body &body) {
    constexpr uint64_t worth = 16384;
    uint64_t grain = worth / (cost ? cost : 1);
    in_ranges(items, grain ? grain : 1, [&](uint64_t first, uint64_t last) {
        for (uint64_t i = first; i < last; ++i) body(i);
    });
}

// ---- types of elements ----

template <class T> struct Real { using type = T; };
template <class R> struct Real<std::complex<R>> { using type = R; };
template <class T> using real_of = typename Real<T>::type;
template <class T> constexpr bool is_complex = !std::is_same_v<T, real_of<T>>;
template <class T> inline T conjugate(T x) { if constexpr (is_complex<T>) return std::conj(x); else return x; }

// CUDA's complex numbers as C++'s, which lie in memory as they do.
template <class T> struct Element { using type = T; };
template <> struct Element<float2> { using type = std::complex<float>; };
template <> struct Element<double2> { using type = std::complex<double>; };
template <class T> using element_of = typename Element<std::remove_const_t<T>>::type;
template <class T> auto cast(T *x) {
    using E = element_of<T>;
    if constexpr (std::is_const_v<T>) return (const E *)x; else return (E *)x;
}
template <class T> auto cast(T *const *x) {
    using E = element_of<T>;
    if constexpr (std::is_const_v<T>) return (const E *const *)x; else return (E *const *)x;
}

// ---- OpenBLAS: BLAS and LAPACK ----

bool openblas(const char *library);         // loads it; where that fails, says on standard error what `library` lacks
void *routine(char prefix, const char *name);                   // of the Fortran interface; ends the program if it lacks
void *routine(const char *name);                                // by its whole name
template <class T> constexpr char prefix_of = std::is_same_v<T, float> ? 's' : std::is_same_v<T, double> ? 'd'
                                            : std::is_same_v<T, std::complex<float>> ? 'c' : 'z';
// OpenBLAS's own threads are left out while many small problems are shared out over the pool's.
struct OneThread { OneThread(); ~OneThread(); };

template <class Result = void, class... Arguments> Result invoke(void *routine, Arguments... arguments) {
    return ((Result (*)(Arguments...))routine)(arguments...);
}

}  // namespace reactant::libraries

// The address of a Fortran routine for a type of elements, looked up once.
#define ROUTINE(T, NAME) ([]() -> void * {                                                                     \
        static void *const found = reactant::libraries::routine(reactant::libraries::prefix_of<T>, NAME);      \
        return found; }())
