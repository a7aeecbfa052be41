// Sparse times sparse, row by row of the result (Gustavson, ACM TOMS 4, 1978).
#include "sparse.h"

using namespace reactant;
using namespace reactant::sparse;

struct cusparseSpGEMMDescr { std::vector<int64_t> offsets, indices; std::vector<char> values; };

namespace {

// A row of the product at a time in a dense row of sums.
template <class T, class I> void multiplied(const Rows<T, I> &a, const Rows<T, I> &b, cusparseSpGEMMDescr *to) {
    std::vector<T> sums(b.columns);
    std::vector<int64_t> seen(b.columns, -1), columns;
    to->offsets.assign(1, 0);
    to->indices.clear(), to->values.clear();
    for (int64_t i = 0; i < a.rows; ++i) {
        columns.clear();
        for (int64_t e = a.first(i); e < a.last(i); ++e) {
            const int64_t k = a.indices[e] - a.base;
            for (int64_t f = b.first(k); f < b.last(k); ++f) {
                const int64_t j = b.indices[f] - b.base;
                if (seen[j] != i) seen[j] = i, sums[j] = 0, columns.push_back(j);
                sums[j] += a.values[e] * b.values[f];
            }
        }
        std::sort(columns.begin(), columns.end());
        to->indices.insert(to->indices.end(), columns.begin(), columns.end());
        const size_t before = to->values.size();
        to->values.resize(before + columns.size() * sizeof(T));
        for (size_t k = 0; k < columns.size(); ++k) ((T *)(to->values.data() + before))[k] = sums[columns[k]];
        to->offsets.push_back((int64_t)to->indices.size());
    }
}

cusparseStatus_t checked(cusparseHandle_t handle, cusparseOperation_t opa, cusparseOperation_t opb,
                         cusparseConstSpMatDescr_t a, cusparseConstSpMatDescr_t b, cusparseConstSpMatDescr_t c,
                         cudaDataType compute, cusparseSpGEMMDescr_t state) {
    NEED_HANDLE(handle);
    NEED(a && b && c && state && a->rows == c->rows && a->columns == b->rows && b->columns == c->columns);
    NEED_KIND(opa == CUSPARSE_OPERATION_NON_TRANSPOSE && opb == CUSPARSE_OPERATION_NON_TRANSPOSE);
    NEED_KIND(a->format == CUSPARSE_FORMAT_CSR && b->format == CUSPARSE_FORMAT_CSR && c->format == CUSPARSE_FORMAT_CSR);
    NEED_KIND(has_kind(*a, compute) && has_kind(*b, compute) && has_kind(*c, compute) && a->index_type == b->index_type
              && a->index_type == c->index_type);
    return CUSPARSE_STATUS_SUCCESS;
}

}  // namespace

extern "C" {

cusparseStatus_t cusparseSpGEMM_createDescr(cusparseSpGEMMDescr_t *state) {
    NEED(state);
    *state = new cusparseSpGEMMDescr;
    return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseSpGEMM_destroyDescr(cusparseSpGEMMDescr_t state) { delete state; return CUSPARSE_STATUS_SUCCESS; }

cusparseStatus_t cusparseSpGEMM_workEstimation(cusparseHandle_t handle, cusparseOperation_t opa, cusparseOperation_t opb,
                                               const void *, cusparseConstSpMatDescr_t a, cusparseConstSpMatDescr_t b,
                                               const void *, cusparseSpMatDescr_t c, cudaDataType compute,
                                               cusparseSpGEMMAlg_t, cusparseSpGEMMDescr_t state, size_t *bytes, void *buffer) {
    if (cusparseStatus_t status = checked(handle, opa, opb, a, b, c, compute, state)) return status;
    NEED(bytes);
    if (!buffer) *bytes = 8;
    return CUSPARSE_STATUS_SUCCESS;
}

// How many entries C has is known when it returns, as callers ask for it next: no part of a graph.
cusparseStatus_t cusparseSpGEMM_compute(cusparseHandle_t handle, cusparseOperation_t opa, cusparseOperation_t opb,
                                        const void *, cusparseConstSpMatDescr_t a, cusparseConstSpMatDescr_t b, const void *,
                                        cusparseSpMatDescr_t c, cudaDataType compute, cusparseSpGEMMAlg_t,
                                        cusparseSpGEMMDescr_t state, size_t *bytes, void *buffer) {
    if (cusparseStatus_t status = checked(handle, opa, opb, a, b, c, compute, state)) return status;
    NEED(bytes);
    if (!buffer) { *bytes = 8; return CUSPARSE_STATUS_SUCCESS; }
    bool capturing;
    if (ready(handle->stream, &capturing) != cudaSuccess || capturing) return CUSPARSE_STATUS_EXECUTION_FAILED;
    with_types(compute, a->index_type, [&](auto element, auto index) {
        using T = decltype(element);
        using I = decltype(index);
        multiplied(rows_of<T, I>(*a, opa), rows_of<T, I>(*b, opb), state);
    });
    c->entries = (int64_t)state->indices.size();
    return CUSPARSE_STATUS_SUCCESS;
}

// C = alpha A B + beta C: C has the places of A B.
cusparseStatus_t cusparseSpGEMM_copy(cusparseHandle_t handle, cusparseOperation_t opa, cusparseOperation_t opb,
                                     const void *alpha, cusparseConstSpMatDescr_t a, cusparseConstSpMatDescr_t b,
                                     const void *beta, cusparseSpMatDescr_t c, cudaDataType compute, cusparseSpGEMMAlg_t,
                                     cusparseSpGEMMDescr_t state) {
    if (cusparseStatus_t status = checked(handle, opa, opb, a, b, c, compute, state)) return status;
    NEED(alpha && beta && (int64_t)state->offsets.size() == c->rows + 1 && (c->entries == 0 || (c->indices && c->values)));
    return run(handle, [=, c = *c, alpha = Factor(handle, alpha, compute), beta = Factor(handle, beta, compute)] {
        with_types(compute, c.index_type, [&](auto element, auto index) {
            using T = decltype(element);
            using I = decltype(index);
            for (int64_t k = 0; k <= c.rows; ++k) ((I *)c.offsets)[k] = (I)(state->offsets[k] + c.base);
            const T *values = (const T *)state->values.data(), factor = alpha.as<T>(), kept = beta.as<T>();
            for (int64_t e = 0; e < c.entries; ++e) {
                T &to = ((T *)c.values)[e];
                ((I *)c.indices)[e] = (I)(state->indices[e] + c.base);
                to = kept == T(0) ? factor * values[e] : factor * values[e] + kept * to;
            }
        });
    });
}

}  // extern "C"
