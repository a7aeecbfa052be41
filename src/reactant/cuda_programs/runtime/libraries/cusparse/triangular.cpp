// Systems with sparse triangular matrices. Entries of the other triangle are not looked at.
#include "sparse.h"

using namespace reactant;
using namespace reactant::sparse;

struct cusparseSpSVDescr { bool analysed = false; };
struct cusparseSpSMDescr { bool analysed = false; };

namespace {

// `lower`, `unit`: of op(A). The right sides go side by side: x(i, j) is at x[i * down + j * across].
template <class T, class I, class Get, class At> void solved(const Rows<T, I> &a, bool lower, bool unit, T alpha,
                                                             int64_t columns, const Get &right_side, const At &at) {
    each(columns, 2 * a.entries() + 1, [&](uint64_t j) {
        for (int64_t step = 0; step < a.rows; ++step) {
            const int64_t i = lower ? step : a.rows - 1 - step;
            T sum = alpha * right_side(i, j), diagonal = T(0);
            for (int64_t e = a.first(i); e < a.last(i); ++e) {
                const int64_t k = a.indices[e] - a.base;
                if (k == i) diagonal += a.values[e];
                else if (lower ? k < i : k > i) sum -= a.values[e] * at(k, j);
            }
            at(i, j) = unit ? sum : sum / diagonal;
        }
    });
}

bool is_lower(const cusparseSpMatDescr &a, cusparseOperation_t op) {
    return (a.fill == CUSPARSE_FILL_MODE_LOWER) == (op == CUSPARSE_OPERATION_NON_TRANSPOSE);
}

cusparseStatus_t checked(cusparseHandle_t handle, cusparseConstSpMatDescr_t a, cudaDataType compute) {
    NEED_HANDLE(handle);
    NEED(a && a->rows == a->columns);
    NEED_KIND(has_kind(*a, compute));
    return CUSPARSE_STATUS_SUCCESS;
}

}  // namespace

#define STATES(NAME)                                                                                           \
    extern "C" cusparseStatus_t cusparse##NAME##_createDescr(cusparse##NAME##Descr_t *state) {                 \
        NEED(state);                                                                                           \
        *state = new cusparse##NAME##Descr;                                                                    \
        return CUSPARSE_STATUS_SUCCESS;                                                                        \
    }                                                                                                          \
    extern "C" cusparseStatus_t cusparse##NAME##_destroyDescr(cusparse##NAME##Descr_t state) {                 \
        delete state;                                                                                          \
        return CUSPARSE_STATUS_SUCCESS;                                                                        \
    }
STATES(SpSV)
STATES(SpSM)

extern "C" {

cusparseStatus_t cusparseSpSV_bufferSize(cusparseHandle_t handle, cusparseOperation_t, const void *,
                                         cusparseConstSpMatDescr_t a, cusparseConstDnVecDescr_t, cusparseDnVecDescr_t,
                                         cudaDataType compute, cusparseSpSVAlg_t, cusparseSpSVDescr_t state, size_t *bytes) {
    if (cusparseStatus_t status = checked(handle, a, compute)) return status;
    NEED(state && bytes);
    *bytes = 8;
    return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseSpSV_analysis(cusparseHandle_t handle, cusparseOperation_t, const void *,
                                       cusparseConstSpMatDescr_t a, cusparseConstDnVecDescr_t, cusparseDnVecDescr_t,
                                       cudaDataType compute, cusparseSpSVAlg_t, cusparseSpSVDescr_t state, void *) {
    if (cusparseStatus_t status = checked(handle, a, compute)) return status;
    NEED(state);
    state->analysed = true;
    return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseSpSV_solve(cusparseHandle_t handle, cusparseOperation_t op, const void *alpha,
                                    cusparseConstSpMatDescr_t a, cusparseConstDnVecDescr_t x, cusparseDnVecDescr_t y,
                                    cudaDataType compute, cusparseSpSVAlg_t, cusparseSpSVDescr_t state) {
    if (cusparseStatus_t status = checked(handle, a, compute)) return status;
    NEED(state && state->analysed && x && y && alpha && x->size == a->rows && y->size == a->rows);
    NEED_KIND(x->type == a->type && y->type == a->type);
    return run(handle, [=, a = *a, x = *x, y = *y, alpha = Factor(handle, alpha, compute)] {
        with_types(compute, a.index_type, [&](auto element, auto index) {
            using T = decltype(element);
            const T *from = (const T *)x.values;
            T *to = (T *)y.values;
            solved(rows_of<T, decltype(index)>(a, op), is_lower(a, op), a.diag == CUSPARSE_DIAG_TYPE_UNIT, alpha.as<T>(), 1,
                   [=](int64_t i, int64_t) { return from[i]; }, [=](int64_t i, int64_t) -> T & { return to[i]; });
        });
    });
}

cusparseStatus_t cusparseSpSM_bufferSize(cusparseHandle_t handle, cusparseOperation_t, cusparseOperation_t, const void *,
                                         cusparseConstSpMatDescr_t a, cusparseConstDnMatDescr_t, cusparseDnMatDescr_t,
                                         cudaDataType compute, cusparseSpSMAlg_t, cusparseSpSMDescr_t state, size_t *bytes) {
    if (cusparseStatus_t status = checked(handle, a, compute)) return status;
    NEED(state && bytes);
    *bytes = 8;
    return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseSpSM_analysis(cusparseHandle_t handle, cusparseOperation_t, cusparseOperation_t, const void *,
                                       cusparseConstSpMatDescr_t a, cusparseConstDnMatDescr_t, cusparseDnMatDescr_t,
                                       cudaDataType compute, cusparseSpSMAlg_t, cusparseSpSMDescr_t state, void *) {
    if (cusparseStatus_t status = checked(handle, a, compute)) return status;
    NEED(state);
    state->analysed = true;
    return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseSpSM_solve(cusparseHandle_t handle, cusparseOperation_t opa, cusparseOperation_t opb,
                                    const void *alpha, cusparseConstSpMatDescr_t a, cusparseConstDnMatDescr_t b,
                                    cusparseDnMatDescr_t c, cudaDataType compute, cusparseSpSMAlg_t,
                                    cusparseSpSMDescr_t state) {
    if (cusparseStatus_t status = checked(handle, a, compute)) return status;
    NEED(state && state->analysed && b && c && alpha && c->rows == a->rows
         && (opb ? b->columns : b->rows) == c->rows && (opb ? b->rows : b->columns) == c->columns);
    NEED_KIND(b->type == a->type && c->type == a->type);
    return run(handle, [=, a = *a, b = *b, c = *c, alpha = Factor(handle, alpha, compute)] {
        with_types(compute, a.index_type, [&](auto element, auto index) {
            using T = decltype(element);
            const Dense<T> from(b, opb), to(c, CUSPARSE_OPERATION_NON_TRANSPOSE);
            solved(rows_of<T, decltype(index)>(a, opa), is_lower(a, opa), a.diag == CUSPARSE_DIAG_TYPE_UNIT, alpha.as<T>(),
                   c.columns, [&](int64_t i, int64_t j) { return from.get(i, j); },
                   [&](int64_t i, int64_t j) -> T & { return to.values[i * to.down + j * to.across]; });
        });
    });
}

}  // extern "C"
