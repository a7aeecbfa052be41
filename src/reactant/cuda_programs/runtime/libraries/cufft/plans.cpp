// Plans, and what they do: transforms along one axis after another.
#include <map>

#include "cufft.h"
#include "lines.h"

using namespace reactant;
using namespace reactant::fft;

namespace {

struct Shape {
    std::vector<int64_t> n, from_embed, to_embed;           // without embeds: dense, and padded in place
    int64_t from_step = 1, from_apart = 0, to_step = 1, to_apart = 0, batch = 1;
    bool embedded = false;
};

template <class R> struct Transforms {
    std::map<int64_t, std::unique_ptr<Transform<R>>> of_complex;
    std::unique_ptr<RealTransform<R>> of_real;
    const Transform<R> &along(int64_t n) {
        auto &made = of_complex[n];
        if (!made) made = std::make_unique<Transform<R>>(n);
        return *made;
    }
};

struct Plan {
    bool made = false; cufftType type{}; Shape shape; cudaStream_t stream = nullptr;
    Transforms<float> single; Transforms<double> twice;
    template <class R> Transforms<R> &transforms() { if constexpr (std::is_same_v<R, float>) return single; else return twice; }
};

struct Plans { std::mutex mutex; std::map<int, std::shared_ptr<Plan>> all; int next = 1; };
Plans &plans() { static Plans *const made = new Plans; return *made; }
std::shared_ptr<Plan> plan_of(cufftHandle handle) {
    std::lock_guard lock(plans().mutex);
    auto found = plans().all.find(handle);
    return found == plans().all.end() ? nullptr : found->second;
}

// ---- where things lie ----

struct Layout { std::vector<int64_t> strides; int64_t apart; };

Layout dense(const std::vector<int64_t> &n, int64_t last) {
    Layout made{std::vector<int64_t>(n.size()), last};
    int64_t step = 1;
    for (size_t k = n.size(); k-- > 0;) made.strides[k] = step, step *= k + 1 == n.size() ? last : n[k];
    made.apart = step;
    return made;
}

Layout embedded(const std::vector<int64_t> &embed, int64_t step, int64_t apart) {
    Layout made{std::vector<int64_t>(embed.size()), apart};
    for (size_t k = embed.size(); k-- > 0;) made.strides[k] = step, step *= embed[k];
    return made;
}

// The lines along an axis; `last`: how many numbers the last axis has, where it is another one.
Lines lines_of(const Shape &shape, size_t axis, int64_t last, const Layout &from, const Layout &to) {
    Lines made{{{shape.batch, from.apart, to.apart}}, from.strides[axis], to.strides[axis]};
    for (size_t k = 0; k < shape.n.size(); ++k)
        if (k != axis) made.across.push_back({k + 1 == shape.n.size() ? last : shape.n[k], from.strides[k], to.strides[k]});
    return made;
}

// The numbers of an array up to its last one.
int64_t extent(const Shape &shape, int64_t last, const Layout &layout) {
    int64_t end = (shape.batch - 1) * layout.apart + (last - 1) * layout.strides.back() + 1;
    for (size_t k = 0; k + 1 < shape.n.size(); ++k) end += (shape.n[k] - 1) * layout.strides[k];
    return end;
}

bool same(const Layout &a, const Layout &b, int64_t factor) {
    for (size_t k = 0; k + 1 < a.strides.size(); ++k) if (a.strides[k] != factor * b.strides[k]) return false;
    return a.apart == factor * b.apart && a.strides.back() == b.strides.back();
}

// ---- the three kinds ----

template <class R> void run_complex(Plan &plan, const std::complex<R> *from, std::complex<R> *to, bool inverse) {
    const Shape &shape = plan.shape;
    const int64_t last = shape.n.back();
    const Layout in = shape.embedded ? embedded(shape.from_embed, shape.from_step, shape.from_apart) : dense(shape.n, last);
    const Layout out = shape.embedded ? embedded(shape.to_embed, shape.to_step, shape.to_apart) : in;
    std::vector<std::complex<R>> copy;
    if (from == to && !same(in, out, 1)) copy.assign(from, from + extent(shape, last, in)), from = copy.data();
    size_t axis = shape.n.size() - 1;
    complex_lines(plan.transforms<R>().along(last), lines_of(shape, axis, last, in, out), inverse, from, to);
    while (axis-- > 0)
        complex_lines(plan.transforms<R>().along(shape.n[axis]), lines_of(shape, axis, last, out, out), inverse,
                      (const std::complex<R> *)to, to);
}

template <class R> void run_forward(Plan &plan, const R *from, std::complex<R> *to) {
    const Shape &shape = plan.shape;
    const int64_t n = shape.n.back(), half = n / 2 + 1;
    const bool in_place = (const void *)from == (const void *)to;
    const Layout in = shape.embedded ? embedded(shape.from_embed, shape.from_step, shape.from_apart)
                                     : dense(shape.n, in_place ? 2 * half : n);
    const Layout out = shape.embedded ? embedded(shape.to_embed, shape.to_step, shape.to_apart) : dense(shape.n, half);
    std::vector<R> copy;
    if (in_place && !same(in, out, 2)) copy.assign(from, from + extent(shape, n, in)), from = copy.data();
    size_t axis = shape.n.size() - 1;
    forward_lines(*plan.transforms<R>().of_real, lines_of(shape, axis, n, in, out), from, to);
    while (axis-- > 0)
        complex_lines(plan.transforms<R>().along(shape.n[axis]), lines_of(shape, axis, half, out, out), false,
                      (const std::complex<R> *)to, to);
}

template <class R> void run_inverse(Plan &plan, const std::complex<R> *from, R *to) {
    const Shape &shape = plan.shape;
    const int64_t n = shape.n.back(), half = n / 2 + 1;
    const bool in_place = (const void *)from == (const void *)to;
    Layout in = shape.embedded ? embedded(shape.from_embed, shape.from_step, shape.from_apart) : dense(shape.n, half);
    const Layout out = shape.embedded ? embedded(shape.to_embed, shape.to_step, shape.to_apart)
                                      : dense(shape.n, in_place ? 2 * half : n);
    std::vector<std::complex<R>> copy;
    if (shape.n.size() > 1) {           // the other axes first, in a copy: the input stays what it is
        const Layout own = dense(shape.n, half);
        copy.resize(shape.batch * own.apart);
        for (size_t axis = 0; axis + 1 < shape.n.size(); ++axis)
            complex_lines(plan.transforms<R>().along(shape.n[axis]), lines_of(shape, axis, half, axis ? own : in, own), true,
                          axis ? (const std::complex<R> *)copy.data() : from, copy.data());
        from = copy.data(), in = own;
    } else if (in_place && !same(out, in, 2))
        copy.assign(from, from + extent(shape, half, in)), from = copy.data();
    inverse_lines(*plan.transforms<R>().of_real, lines_of(shape, shape.n.size() - 1, n, in, out), from, to);
}

// ---- making plans ----

bool known(cufftType type) {
    return type == CUFFT_R2C || type == CUFFT_C2R || type == CUFFT_C2C || type == CUFFT_D2Z || type == CUFFT_Z2D
        || type == CUFFT_Z2Z;
}

template <class R> void prepare(Plan &plan, bool real) {
    const std::vector<int64_t> &n = plan.shape.n;
    for (size_t k = 0; k + (real ? 1 : 0) < n.size(); ++k) plan.transforms<R>().along(n[k]);
    if (real) plan.transforms<R>().of_real = std::make_unique<RealTransform<R>>(n.back());
}

template <class I> cufftResult make(cufftHandle handle, int rank, const I *n, const I *from_embed, I from_step, I from_apart,
                                    const I *to_embed, I to_step, I to_apart, cufftType type, I batch, size_t *bytes) {
    auto plan = plan_of(handle);
    if (!plan || plan->made) return CUFFT_INVALID_PLAN;
    if (!known(type)) return CUFFT_INVALID_TYPE;
    if (rank < 1 || rank > 3 || !n) return CUFFT_INVALID_VALUE;
    if (batch < 1) return CUFFT_INVALID_SIZE;
    Shape shape;
    for (int k = 0; k < rank; ++k) {
        if (n[k] < 1) return CUFFT_INVALID_SIZE;
        shape.n.push_back(n[k]);
    }
    shape.batch = batch;
    shape.embedded = from_embed && to_embed;
    if (shape.embedded) {
        shape.from_embed.assign(from_embed, from_embed + rank), shape.to_embed.assign(to_embed, to_embed + rank);
        shape.from_step = from_step, shape.from_apart = from_apart, shape.to_step = to_step, shape.to_apart = to_apart;
        if (from_step < 1 || to_step < 1) return CUFFT_INVALID_VALUE;
    }
    plan->shape = std::move(shape);
    plan->type = type;
    const bool twice = type == CUFFT_D2Z || type == CUFFT_Z2D || type == CUFFT_Z2Z;
    const bool real = type != CUFFT_C2C && type != CUFFT_Z2Z;
    if (twice) prepare<double>(*plan, real);
    else prepare<float>(*plan, real);
    plan->made = true;
    if (bytes) *bytes = 0;
    return CUFFT_SUCCESS;
}

template <class... Arguments> cufftResult planned(cufftHandle *handle, cufftResult (*make)(cufftHandle, Arguments..., size_t *),
                                                  std::common_type_t<Arguments>... arguments) {
    if (!handle) return CUFFT_INVALID_VALUE;
    if (cufftResult result = cufftCreate(handle)) return result;
    size_t bytes;
    cufftResult result = make(*handle, arguments..., &bytes);
    if (result) cufftDestroy(*handle);
    return result;
}

template <class Body> cufftResult run(cufftHandle handle, cufftType type, const void *from, const void *to,
                                      const Body &body) {
    auto plan = plan_of(handle);
    if (!plan || !plan->made) return CUFFT_INVALID_PLAN;
    if (plan->type != type) return CUFFT_INVALID_TYPE;
    if (!from || !to) return CUFFT_INVALID_VALUE;
    return in_stream(plan->stream, [=] { body(*plan); }) ? CUFFT_EXEC_FAILED : CUFFT_SUCCESS;
}

template <class R, class E> cufftResult run_complex_of(cufftHandle handle, cufftType type, E *from, E *to, int direction) {
    if (direction != CUFFT_FORWARD && direction != CUFFT_INVERSE) return CUFFT_INVALID_VALUE;
    return run(handle, type, from, to, [=](Plan &plan) { run_complex<R>(plan, cast(from), cast(to), direction > 0); });
}

}  // namespace

extern "C" {

cufftResult cufftCreate(cufftHandle *handle) {
    if (!handle) return CUFFT_INVALID_VALUE;
    if (broken()) return CUFFT_SETUP_FAILED;
    std::lock_guard lock(plans().mutex);
    *handle = plans().next++;
    plans().all[*handle] = std::make_shared<Plan>();
    return CUFFT_SUCCESS;
}
cufftResult cufftDestroy(cufftHandle handle) {
    std::lock_guard lock(plans().mutex);
    return plans().all.erase(handle) ? CUFFT_SUCCESS : CUFFT_INVALID_PLAN;
}

cufftResult cufftMakePlanMany64(cufftHandle plan, int rank, long long *n, long long *inembed, long long istride,
                                long long idist, long long *onembed, long long ostride, long long odist, cufftType type,
                                long long batch, size_t *bytes) {
    return make(plan, rank, n, inembed, istride, idist, onembed, ostride, odist, type, batch, bytes);
}
cufftResult cufftMakePlanMany(cufftHandle plan, int rank, int *n, int *inembed, int istride, int idist, int *onembed,
                              int ostride, int odist, cufftType type, int batch, size_t *bytes) {
    return make(plan, rank, n, inembed, istride, idist, onembed, ostride, odist, type, batch, bytes);
}
cufftResult cufftMakePlan1d(cufftHandle plan, int nx, cufftType type, int batch, size_t *bytes) {
    return cufftMakePlanMany(plan, 1, &nx, nullptr, 1, 0, nullptr, 1, 0, type, batch, bytes);
}
cufftResult cufftMakePlan2d(cufftHandle plan, int nx, int ny, cufftType type, size_t *bytes) {
    int n[] = {nx, ny};
    return cufftMakePlanMany(plan, 2, n, nullptr, 1, 0, nullptr, 1, 0, type, 1, bytes);
}
cufftResult cufftMakePlan3d(cufftHandle plan, int nx, int ny, int nz, cufftType type, size_t *bytes) {
    int n[] = {nx, ny, nz};
    return cufftMakePlanMany(plan, 3, n, nullptr, 1, 0, nullptr, 1, 0, type, 1, bytes);
}
cufftResult cufftPlan1d(cufftHandle *plan, int nx, cufftType type, int batch) {
    return planned<int, cufftType, int>(plan, cufftMakePlan1d, nx, type, batch);
}
cufftResult cufftPlan2d(cufftHandle *plan, int nx, int ny, cufftType type) {
    return planned<int, int, cufftType>(plan, cufftMakePlan2d, nx, ny, type);
}
cufftResult cufftPlan3d(cufftHandle *plan, int nx, int ny, int nz, cufftType type) {
    return planned<int, int, int, cufftType>(plan, cufftMakePlan3d, nx, ny, nz, type);
}
cufftResult cufftPlanMany(cufftHandle *plan, int rank, int *n, int *inembed, int istride, int idist, int *onembed,
                          int ostride, int odist, cufftType type, int batch) {
    return planned<int, int *, int *, int, int, int *, int, int, cufftType, int>(
        plan, cufftMakePlanMany, rank, n, inembed, istride, idist, onembed, ostride, odist, type, batch);
}

cufftResult cufftEstimate1d(int, cufftType, int, size_t *bytes) { return bytes ? *bytes = 0, CUFFT_SUCCESS : CUFFT_INVALID_VALUE; }
cufftResult cufftEstimate2d(int, int, cufftType, size_t *bytes) { return bytes ? *bytes = 0, CUFFT_SUCCESS : CUFFT_INVALID_VALUE; }
cufftResult cufftEstimate3d(int, int, int, cufftType, size_t *bytes) {
    return bytes ? *bytes = 0, CUFFT_SUCCESS : CUFFT_INVALID_VALUE;
}
cufftResult cufftEstimateMany(int, int *, int *, int, int, int *, int, int, cufftType, int, size_t *bytes) {
    return bytes ? *bytes = 0, CUFFT_SUCCESS : CUFFT_INVALID_VALUE;
}
cufftResult cufftGetSize(cufftHandle plan, size_t *bytes) {
    if (!plan_of(plan)) return CUFFT_INVALID_PLAN;
    return cufftEstimate1d(1, CUFFT_C2C, 1, bytes);
}
cufftResult cufftSetWorkArea(cufftHandle plan, void *) { return plan_of(plan) ? CUFFT_SUCCESS : CUFFT_INVALID_PLAN; }
cufftResult cufftSetAutoAllocation(cufftHandle plan, int) { return plan_of(plan) ? CUFFT_SUCCESS : CUFFT_INVALID_PLAN; }
cufftResult cufftSetStream(cufftHandle handle, cudaStream_t stream) {
    auto plan = plan_of(handle);
    if (!plan) return CUFFT_INVALID_PLAN;
    plan->stream = stream;
    return CUFFT_SUCCESS;
}
cufftResult cufftGetVersion(int *version) {
    if (!version) return CUFFT_INVALID_VALUE;
    *version = CUFFT_VERSION;
    return CUFFT_SUCCESS;
}
cufftResult cufftGetProperty(libraryPropertyType type, int *value) {
    if (!value || type < MAJOR_VERSION || type > PATCH_LEVEL) return CUFFT_INVALID_VALUE;
    constexpr int parts[] = {CUFFT_VER_MAJOR, CUFFT_VER_MINOR, CUFFT_VER_PATCH};
    *value = parts[type];
    return CUFFT_SUCCESS;
}

cufftResult cufftExecC2C(cufftHandle handle, cufftComplex *from, cufftComplex *to, int direction) {
    return run_complex_of<float>(handle, CUFFT_C2C, from, to, direction);
}
cufftResult cufftExecZ2Z(cufftHandle handle, cufftDoubleComplex *from, cufftDoubleComplex *to, int direction) {
    return run_complex_of<double>(handle, CUFFT_Z2Z, from, to, direction);
}
cufftResult cufftExecR2C(cufftHandle handle, cufftReal *from, cufftComplex *to) {
    return run(handle, CUFFT_R2C, from, to, [=](Plan &plan) { run_forward<float>(plan, from, cast(to)); });
}
cufftResult cufftExecD2Z(cufftHandle handle, cufftDoubleReal *from, cufftDoubleComplex *to) {
    return run(handle, CUFFT_D2Z, from, to, [=](Plan &plan) { run_forward<double>(plan, from, cast(to)); });
}
cufftResult cufftExecC2R(cufftHandle handle, cufftComplex *from, cufftReal *to) {
    return run(handle, CUFFT_C2R, from, to, [=](Plan &plan) { run_inverse<float>(plan, cast(from), to); });
}
cufftResult cufftExecZ2D(cufftHandle handle, cufftDoubleComplex *from, cufftDoubleReal *to) {
    return run(handle, CUFFT_Z2D, from, to, [=](Plan &plan) { run_inverse<double>(plan, cast(from), to); });
}

}  // extern "C"
