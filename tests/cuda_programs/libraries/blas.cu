// blas RESULTS: each routine on odd sizes, leading dimensions larger than rows, all operations, steps of -2 and 3.
#include <cublas_v2.h>
#include <cuda_bf16.h>

#include <cmath>
#include <type_traits>

#include "numbers.h"

#define OF_TYPE(NAME)                                                                                      \
    template <class T, class... A> cublasStatus_t NAME(A... a) {                                           \
        if constexpr (std::is_same_v<T, float>) return cublasS##NAME(a...);                                \
        else if constexpr (std::is_same_v<T, double>) return cublasD##NAME(a...);                          \
        else if constexpr (std::is_same_v<T, cuComplex>) return cublasC##NAME(a...);                       \
        else return cublasZ##NAME(a...);                                                                   \
    }
#define OF_REAL(NAME)                                                                                      \
    template <class T, class... A> cublasStatus_t NAME(A... a) {                                           \
        if constexpr (std::is_same_v<T, float>) return cublasS##NAME(a...);                                \
        else return cublasD##NAME(a...);                                                                   \
    }
#define OF_COMPLEX(NAME)                                                                                   \
    template <class T, class... A> cublasStatus_t NAME(A... a) {                                           \
        if constexpr (std::is_same_v<T, cuComplex>) return cublasC##NAME(a...);                            \
        else return cublasZ##NAME(a...);                                                                   \
    }
OF_TYPE(axpy) OF_TYPE(copy) OF_TYPE(swap) OF_TYPE(scal) OF_TYPE(rot) OF_TYPE(gemv) OF_TYPE(gbmv) OF_TYPE(trmv) OF_TYPE(trsv)
OF_TYPE(tbmv) OF_TYPE(tpsv) OF_TYPE(gemm) OF_TYPE(symm) OF_TYPE(syrk) OF_TYPE(syr2k) OF_TYPE(syrkx) OF_TYPE(trsm) OF_TYPE(trmm)
OF_TYPE(geam) OF_TYPE(dgmm) OF_TYPE(symv) OF_TYPE(syr) OF_TYPE(syr2) OF_TYPE(gemmBatched) OF_TYPE(gemmStridedBatched)
OF_TYPE(getrfBatched) OF_TYPE(getrsBatched) OF_TYPE(getriBatched) OF_TYPE(trttp) OF_TYPE(tpttr) OF_TYPE(matinvBatched)
OF_REAL(dot) OF_REAL(ger) OF_REAL(sbmv) OF_REAL(spr2) OF_REAL(spmv)
OF_COMPLEX(dotu) OF_COMPLEX(dotc) OF_COMPLEX(geru) OF_COMPLEX(gerc) OF_COMPLEX(hemv) OF_COMPLEX(her2) OF_COMPLEX(hemm)
OF_COMPLEX(herk) OF_COMPLEX(her2k) OF_COMPLEX(herkx) OF_COMPLEX(hpmv)
template <class T, class... A> cublasStatus_t amax(A... a) {
    if constexpr (std::is_same_v<T, float>) return cublasIsamax(a...);
    else if constexpr (std::is_same_v<T, double>) return cublasIdamax(a...);
    else if constexpr (std::is_same_v<T, cuComplex>) return cublasIcamax(a...);
    else return cublasIzamax(a...);
}
template <class T, class... A> cublasStatus_t amin(A... a) {
    if constexpr (std::is_same_v<T, float>) return cublasIsamin(a...);
    else if constexpr (std::is_same_v<T, double>) return cublasIdamin(a...);
    else if constexpr (std::is_same_v<T, cuComplex>) return cublasIcamin(a...);
    else return cublasIzamin(a...);
}
template <class T, class... A> cublasStatus_t asum(A... a) {
    if constexpr (std::is_same_v<T, float>) return cublasSasum(a...);
    else if constexpr (std::is_same_v<T, double>) return cublasDasum(a...);
    else if constexpr (std::is_same_v<T, cuComplex>) return cublasScasum(a...);
    else return cublasDzasum(a...);
}
template <class T, class... A> cublasStatus_t nrm2(A... a) {
    if constexpr (std::is_same_v<T, float>) return cublasSnrm2(a...);
    else if constexpr (std::is_same_v<T, double>) return cublasDnrm2(a...);
    else if constexpr (std::is_same_v<T, cuComplex>) return cublasScnrm2(a...);
    else return cublasDznrm2(a...);
}

static cublasHandle_t handle;
constexpr int M = 7, N = 5, K = 6, LD = 9, ROOM = 128;       // arrays have room for ROOM numbers
constexpr cublasOperation_t OPS[] = {CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C};
constexpr cublasFillMode_t FILLS[] = {CUBLAS_FILL_MODE_LOWER, CUBLAS_FILL_MODE_UPPER};

template <class T> T value(double re, double im) {
    if constexpr (std::is_floating_point_v<T>) return T(re);
    else { T made; made.x = re; made.y = im; return made; }
}

template <class T> struct Of {
    using R = typename Scalars<T>::Part;
    static constexpr bool complex = Scalars<T>::parts == 2;
    const std::string name = type_name<T>();
    const T alpha = value<T>(1.5, -0.25), beta = value<T>(0.5, 0.75), zero = value<T>(0, 0), one = value<T>(1, 0);
    const T not_number = value<T>(NAN, NAN);
    const R real_alpha = R(1.5), real_beta = R(0.5);

    T *fresh(int seed) const { return numbers<T>(seed, ROOM); }
    // What a call leaves in array `seed`.
    template <class Call> void result(const std::string &what, int seed, const Call &call) const {
        T *to = fresh(seed);
        GOOD(call(to));
        save(name + "," + what, to, ROOM);
        GOOD(cudaFree(to));
    }

    void vectors() const {
        T *x = fresh(1);
        for (int n : {0, 1, 11}) {
            const std::string s = "," + std::to_string(n);
            result("axpy" + s, 2, [&](T *y) { return axpy<T>(handle, n, &alpha, x, -2, y, 3); });
            result("copy" + s, 2, [&](T *y) { return copy<T>(handle, n, x, 3, y, -2); });
            result("scal" + s, 2, [&](T *y) { return scal<T>(handle, n, &alpha, y, 3); });
            result("swap" + s, 2, [&](T *y) { return swap<T>(handle, n, y, 2, y + 64, -2); });
            const R c = R(0.8);
            const T sine = value<T>(0.6, 0);
            result("rot" + s, 2, [&](T *y) { return rot<T>(handle, n, y, 2, y + 64, -2, &c, &sine); });
            int place = -1, least = -1;
            R sum = -1, norm = -1;
            GOOD(amax<T>(handle, n, x, 2, &place));
            GOOD(amin<T>(handle, n, x, 2, &least));
            GOOD(asum<T>(handle, n, x, 2, &sum));
            GOOD(nrm2<T>(handle, n, x, 2, &norm));
            save(name + ",amax" + s, place), save(name + ",amin" + s, least);
            save(name + ",asum" + s, sum), save(name + ",nrm2" + s, norm);
            T product = value<T>(-1, -1);
            if constexpr (complex) {
                GOOD(dotu<T>(handle, n, x, -2, x + 60, 3, &product));
                save(name + ",dot" + s, product);
                GOOD(dotc<T>(handle, n, x, -2, x + 60, 3, &product));
                save(name + ",dotc" + s, product);
            } else {
                GOOD(dot<T>(handle, n, x, -2, x + 60, 3, &product));
                save(name + ",dot" + s, product);
            }
        }
        GOOD(cudaFree(x));
    }

    void with_vectors() const {
        T *a = fresh(1), *x = fresh(2);
        for (int op = 0; op < 3; ++op) {
            const std::string s = "," + std::to_string(op);
            result("gemv" + s, 3, [&](T *y) { return gemv<T>(handle, OPS[op], M, N, &alpha, a, LD, x, -2, &beta, y, 3); });
            result("gbmv" + s, 3, [&](T *y) { return gbmv<T>(handle, OPS[op], M, N, 2, 1, &alpha, a, LD, x, 2, &beta, y, 1); });
            for (int fill = 0; fill < 2; ++fill)
                for (int unit = 0; unit < 2; ++unit) {
                    const auto diag = unit ? CUBLAS_DIAG_UNIT : CUBLAS_DIAG_NON_UNIT;
                    const std::string t = s + "," + std::to_string(fill) + "," + std::to_string(unit);
                    result("trmv" + t, 3, [&](T *y) { return trmv<T>(handle, FILLS[fill], OPS[op], diag, M, a, LD, y, -2); });
                    result("tbmv" + t, 3, [&](T *y) { return tbmv<T>(handle, FILLS[fill], OPS[op], diag, M, 2, a, LD, y, 1); });
                }
        }
        for (int fill = 0; fill < 2; ++fill) {
            const std::string s = "," + std::to_string(fill);
            result("symv" + s, 3, [&](T *y) { return symv<T>(handle, FILLS[fill], M, &alpha, a, LD, x, 2, &beta, y, -2); });
            result("syr" + s, 3, [&](T *c) { return syr<T>(handle, FILLS[fill], M, &alpha, x, -2, c, LD); });
            result("syr2" + s, 3, [&](T *c) { return syr2<T>(handle, FILLS[fill], M, &alpha, x, -2, x + 40, 3, c, LD); });
            result("trttp" + s, 3, [&](T *c) { return trttp<T>(handle, FILLS[fill], M, a, LD, c); });
            result("tpttr" + s, 3, [&](T *c) { return tpttr<T>(handle, FILLS[fill], M, a, c, LD); });
            if constexpr (complex) {
                result("hemv" + s, 3, [&](T *y) { return hemv<T>(handle, FILLS[fill], M, &alpha, a, LD, x, 2, &beta, y, -2); });
                result("her2" + s, 3, [&](T *c) { return her2<T>(handle, FILLS[fill], M, &alpha, x, -2, x + 40, 3, c, LD); });
            }
        }
        if constexpr (complex) {
            result("ger", 3, [&](T *c) { return geru<T>(handle, M, N, &alpha, x, -2, x + 40, 3, c, LD); });
            result("gerc", 3, [&](T *c) { return gerc<T>(handle, M, N, &alpha, x, -2, x + 40, 3, c, LD); });
        } else {
            result("ger", 3, [&](T *c) { return ger<T>(handle, M, N, &alpha, x, -2, x + 40, 3, c, LD); });
        }
        result("gemv_nan", 3, [&](T *y) {
            copy<T>(handle, N, &not_number, 0, y, 1);
            return gemv<T>(handle, CUBLAS_OP_T, M, N, &alpha, a, LD, x, 1, &zero, y, 1);
        });
        GOOD(cudaFree(a));
        GOOD(cudaFree(x));
    }

    void matrices() const {
        T *a = fresh(1), *b = fresh(2);
        for (int opa = 0; opa < 3; ++opa)
            for (int opb = 0; opb < 3; ++opb)
                result("gemm," + std::to_string(opa) + "," + std::to_string(opb), 3, [&](T *c) {
                    return gemm<T>(handle, OPS[opa], OPS[opb], M, N, K, &alpha, a, LD, b, LD, &beta, c, LD); });
        result("gemm_k0", 3, [&](T *c) { return gemm<T>(handle, OPS[0], OPS[0], M, N, 0, &alpha, a, LD, b, LD, &beta, c, LD); });
        result("gemm_n0", 3, [&](T *c) { return gemm<T>(handle, OPS[0], OPS[0], M, 0, K, &alpha, a, LD, b, LD, &beta, c, LD); });
        result("gemm_nan", 3, [&](T *c) {
            copy<T>(handle, ROOM, &not_number, 0, c, 1);
            return gemm<T>(handle, OPS[0], OPS[0], M, N, K, &alpha, a, LD, b, LD, &zero, c, LD); });
        T *nans = fresh(1);
        GOOD(copy<T>(handle, ROOM, &not_number, 0, nans, 1));
        result("gemm_alpha0", 3, [&](T *c) { return gemm<T>(handle, OPS[0], OPS[0], M, N, K, &zero, nans, LD, b, LD, &beta, c, LD); });
        for (int side = 0; side < 2; ++side)
            for (int fill = 0; fill < 2; ++fill) {
                const auto left = side ? CUBLAS_SIDE_RIGHT : CUBLAS_SIDE_LEFT;
                const std::string s = "," + std::to_string(side) + "," + std::to_string(fill);
                result("symm" + s, 3, [&](T *c) { return symm<T>(handle, left, FILLS[fill], M, N, &alpha, a, LD, b, LD, &beta, c, LD); });
                if constexpr (complex)
                    result("hemm" + s, 3, [&](T *c) { return hemm<T>(handle, left, FILLS[fill], M, N, &alpha, a, LD, b, LD, &beta, c, LD); });
                for (int op = 0; op < 3; ++op) {
                    const std::string t = s + "," + std::to_string(op);
                    result("trmm" + t, 3, [&](T *c) { return trmm<T>(handle, left, FILLS[fill], OPS[op], CUBLAS_DIAG_NON_UNIT, M, N,
                                                                     &alpha, a, LD, b, LD, c, LD); });
                    result("trsm" + t, 3, [&](T *c) { return trsm<T>(handle, left, FILLS[fill], OPS[op], CUBLAS_DIAG_UNIT, M, N,
                                                                     &alpha, a, LD, c, LD); });
                }
            }
        for (int fill = 0; fill < 2; ++fill)
            for (int turned = 0; turned < 2; ++turned) {
                const std::string s = "," + std::to_string(fill) + "," + std::to_string(turned);
                const auto op = turned ? CUBLAS_OP_T : CUBLAS_OP_N, adjoint = turned ? CUBLAS_OP_C : CUBLAS_OP_N;
                result("syrk" + s, 3, [&](T *c) { return syrk<T>(handle, FILLS[fill], op, N, K, &alpha, a, LD, &beta, c, LD); });
                result("syr2k" + s, 3, [&](T *c) { return syr2k<T>(handle, FILLS[fill], op, N, K, &alpha, a, LD, b, LD, &beta, c, LD); });
                result("syrkx" + s, 3, [&](T *c) { return syrkx<T>(handle, FILLS[fill], op, N, K, &alpha, a, LD, b, LD, &beta, c, LD); });
                if constexpr (complex) {
                    result("herk" + s, 3, [&](T *c) { return herk<T>(handle, FILLS[fill], adjoint, N, K, &real_alpha, a, LD, &real_beta, c, LD); });
                    result("her2k" + s, 3, [&](T *c) { return her2k<T>(handle, FILLS[fill], adjoint, N, K, &alpha, a, LD, b, LD, &real_beta, c, LD); });
                }
            }
        for (int opa = 0; opa < 3; ++opa)
            result("geam," + std::to_string(opa), 3, [&](T *c) {
                return geam<T>(handle, OPS[opa], OPS[1], M, N, &alpha, a, LD, &beta, b, LD, c, LD); });
        result("geam_zero", 3, [&](T *c) { return geam<T>(handle, OPS[0], OPS[0], M, N, &zero, nans, LD, &beta, b, LD, c, LD); });
        result("dgmm_left", 3, [&](T *c) { return dgmm<T>(handle, CUBLAS_SIDE_LEFT, M, N, a, LD, b, -2, c, LD); });
        result("dgmm_right", 3, [&](T *c) { return dgmm<T>(handle, CUBLAS_SIDE_RIGHT, M, N, a, LD, b, 3, c, LD); });
        for (T *p : {a, b, nans}) GOOD(cudaFree(p));
    }

    void batches() const {
        T *a = fresh(1), *b = fresh(2);
        result("strided", 3, [&](T *c) {
            return gemmStridedBatched<T>(handle, OPS[1], OPS[0], 3, 2, 4, &alpha, a, 5, 25LL, b, 4, 9LL, &beta, c, 4, 11LL, 4); });
        result("batched", 3, [&](T *c) {
            T **pa = on_device(std::vector<T *>{a, a + 30, a}), **pb = on_device(std::vector<T *>{b, b, b + 20});
            T **pc = on_device(std::vector<T *>{c, c + 20, c + 40});
            return gemmBatched<T>(handle, OPS[0], OPS[2], 3, 2, 4, &alpha, pa, 3, pb, 2, &beta, pc, 4, 3); });
        result("lu", 1, [&](T *c) {
            T **pc = on_device(std::vector<T *>{c, c + 25});
            int *pivots = on_device(std::vector<int>(10)), *info = on_device(std::vector<int>(2, 9)), failed;
            GOOD(getrfBatched<T>(handle, 5, pc, 5, pivots, info, 2));
            save(name + ",lu_info", info, 2);
            result("solved", 2, [&](T *d) {
                return getrsBatched<T>(handle, OPS[2], 5, 2, pc, 5, pivots, on_device(std::vector<T *>{d, d + 10}), 5, &failed, 2); });
            result("inverse", 2, [&](T *d) {
                return getriBatched<T>(handle, 5, pc, 5, pivots, on_device(std::vector<T *>{d, d + 25}), 5, info, 2); });
            result("without_pivots", 2, [&](T *d) {
                T **pd = on_device(std::vector<T *>{d}), **pe = on_device(std::vector<T *>{d + 40});
                GOOD(getrfBatched<T>(handle, 5, pd, 5, (int *)nullptr, info, 1));
                return getrsBatched<T>(handle, OPS[1], 5, 2, pd, 5, (const int *)nullptr, pe, 5, &failed, 1); });
            return CUBLAS_STATUS_SUCCESS; });
        GOOD(cudaFree(a));
        GOOD(cudaFree(b));
    }

    void device_scalars() const {
        GOOD(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE));
        T *a = fresh(1), *b = fresh(2), *alpha_there = on_device(std::vector<T>{alpha}), *beta_there = on_device(std::vector<T>{beta});
        result("gemm_device", 3, [&](T *c) {
            return gemm<T>(handle, OPS[0], OPS[0], M, N, K, alpha_there, a, LD, b, LD, beta_there, c, LD); });
        R *norm = on_device(std::vector<R>{0});
        GOOD(nrm2<T>(handle, 11, a, 2, norm));
        save(name + ",nrm2_device", norm, 1);
        GOOD(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_HOST));
    }

    void all() const { vectors(), with_vectors(), matrices(), batches(), device_scalars(); }
};

static void half_precision() {
    std::vector<__half> a(24), b(20), c(30);
    std::vector<__nv_bfloat16> d(24), e(20);
    std::vector<signed char> i(24), j(20);
    for (int k = 0; k < 24; ++k) a[k] = float(number(1, k)), d[k] = float(number(1, k)), i[k] = (signed char)(100 * number(1, k));
    for (int k = 0; k < 20; ++k) b[k] = float(number(2, k)), e[k] = float(number(2, k)), j[k] = (signed char)(100 * number(2, k));
    const float alpha = 1.5f, beta = 0.5f;
    const int one = 1, none = 0;
    const __half half_alpha = 1.5f, half_beta = 0.0f;
    float *to = numbers<float>(3, 30);
    GOOD(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, 6, 5, 4, &alpha, on_device(a), CUDA_R_16F, 6, on_device(b), CUDA_R_16F, 4,
                      &beta, to, CUDA_R_32F, 6, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
    save("half_to_float", to, 30);
    to = numbers<float>(3, 30);
    GOOD(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, 6, 5, 4, &alpha, on_device(d), CUDA_R_16BF, 6, on_device(e), CUDA_R_16BF,
                      4, &beta, to, CUDA_R_32F, 6, CUDA_R_32F, CUBLAS_GEMM_DEFAULT_TENSOR_OP));
    save("bfloat_to_float", to, 30);
    __half *half_to = on_device(c);
    GOOD(cublasHgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 6, 5, 4, &half_alpha, on_device(a), 6, on_device(b), 4, &half_beta, half_to, 6));
    std::vector<float> widened(30);
    for (int k = 0; k < 30; ++k) widened[k] = float(half_to[k]);
    save("half", on_device(widened), 30);
    int *integers = on_device(std::vector<int>(30));
    GOOD(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, 6, 5, 4, &one, on_device(i), CUDA_R_8I, 6, on_device(j), CUDA_R_8I, 4, &none,
                      integers, CUDA_R_32I, 6, CUBLAS_COMPUTE_32I, CUBLAS_GEMM_DEFAULT));
    save("integers", integers, 30);
    save("no_such_product", int(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, 6, 5, 4, &alpha, on_device(i), CUDA_R_8I, 6,
                                             on_device(b), CUDA_R_16F, 4, &beta, to, CUDA_R_32F, 6, CUBLAS_COMPUTE_32F,
                                             CUBLAS_GEMM_DEFAULT)));
}

static void captured() {
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    double *a = numbers<double>(1, 16), *b = numbers<double>(2, 16), *c = numbers<double>(3, 16), alpha = 2, beta = 1;
    GOOD(cudaStreamCreate(&stream));
    GOOD(cublasSetStream(handle, stream));
    GOOD(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    GOOD(cublasDgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 4, 4, 4, &alpha, a, 4, b, 4, &beta, c, 4));
    alpha = 100;
    GOOD(cudaStreamEndCapture(stream, &graph));
    GOOD(cudaGraphInstantiate(&executable, graph, 0));
    for (int k = 0; k < 3; ++k) GOOD(cudaGraphLaunch(executable, stream));
    GOOD(cudaStreamSynchronize(stream));
    save("captured", c, 16);
    GOOD(cublasSetStream(handle, nullptr));
}

int main(int, char **arguments) {
    results() = std::fopen(arguments[1], "wb");
    save("no_handle", int(cublasDdot(nullptr, 0, nullptr, 1, nullptr, 1, nullptr)));
    GOOD(cublasCreate(&handle));
    Of<float>().all(), Of<double>().all(), Of<cuComplex>().all(), Of<cuDoubleComplex>().all();
    half_precision();
    captured();
    const double one = 1;
    double *a = numbers<double>(1, 100);
    save("bad_leading", int(cublasDgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 5, 5, 5, &one, a, 4, a, 5, &one, a, 5)));
    save("bad_size", int(cublasDgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, -5, 5, 5, &one, a, 5, a, 5, &one, a, 5)));
    std::printf("%s %s\n", cublasGetStatusName(CUBLAS_STATUS_INVALID_VALUE), cublasGetStatusString(CUBLAS_STATUS_NOT_SUPPORTED));
    std::vector<double> there(12), back(6);
    double *device = numbers<double>(5, 12);
    for (int k = 0; k < 12; ++k) there[k] = k;
    GOOD(cublasSetMatrix(2, 3, sizeof(double), there.data(), 4, device, 3));
    GOOD(cublasGetMatrix(2, 3, sizeof(double), device, 3, back.data(), 2));
    save("set_and_get", on_device(back), 6);
    GOOD(cublasSetVector(3, sizeof(double), there.data(), 2, device, 3));
    save("set_vector", device, 12);
    GOOD(cublasDestroy(handle));
    std::fclose(results());
}
