// Sparse matrices times vectors and dense matrices; samples of dense products.
#include "sparse.h"

using namespace reactant;
using namespace reactant::sparse;

namespace {

// y = alpha A x + beta y, row by row; a beta of 0 leaves y unread.
template <class T, class I> void by_rows(const Rows<T, I> &a, T alpha, const T *x, T beta, T *y) {
    const uint64_t cost = a.rows ? 4 + 2 * a.entries() / a.rows : 1;
    const I *indices = a.indices, base = a.base;
    const T *values = a.values;
    each(a.rows, cost, [&, indices, values, base](uint64_t i) {
#pragma clang fp reassociate(on)
        T sum = 0;
        for (int64_t e = a.first(i), last = a.last(i); e < last; ++e) sum += values[e] * x[indices[e] - base];
        y[i] = beta == T(0) ? alpha * sum : alpha * sum + beta * y[i];
    });
}

// The same for the transpose of a matrix that lies by rows: its entries are added up where they belong.
template <class T, class I> void by_columns(const cusparseSpMatDescr &a, bool conjugated, T alpha, const T *x, T beta, T *y) {
    const bool by_row = a.format == CUSPARSE_FORMAT_CSR;
    const int64_t majors = by_row ? a.rows : a.columns, size = by_row ? a.columns : a.rows;
    const I *offsets = (const I *)a.offsets, *indices = (const I *)a.indices, base = (I)a.base;
    const T *values = (const T *)a.values;
    for (int64_t i = 0; i < size; ++i) y[i] = beta == T(0) ? T(0) : beta * y[i];
    for (int64_t k = 0; k < majors; ++k) {
        const T factor = alpha * x[k];
        for (int64_t e = offsets[k] - base; e < offsets[k + 1] - base; ++e)
            y[indices[e] - base] += (conjugated ? conjugate(values[e]) : values[e]) * factor;
    }
}

template <class T, class I> void product(cusparseOperation_t op, const cusparseSpMatDescr &a, T alpha, const T *x, T beta,
                                         T *y) {
    const bool turned = op != CUSPARSE_OPERATION_NON_TRANSPOSE;
    if (a.format == CUSPARSE_FORMAT_COO || (a.format == CUSPARSE_FORMAT_CSR) != turned)
        by_rows(rows_of<T, I>(a, op), alpha, x, beta, y);
    else
        by_columns<T, I>(a, op == CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE, alpha, x, beta, y);
}

constexpr int COLUMNS = 16;        // of the dense matrices, at a time

template <class T, class I> void product(const Rows<T, I> &a, T alpha, const Dense<T> &b, T beta, const Dense<T> &c) {
    const uint64_t blocks = (c.columns + COLUMNS - 1) / COLUMNS, cost = a.rows ? 2 + a.entries() / a.rows : 1;
    each(a.rows * blocks, cost * COLUMNS, [&](uint64_t item) {
        const int64_t i = item / blocks, j0 = item % blocks * COLUMNS, here = std::min<int64_t>(COLUMNS, c.columns - j0);
        T sums[COLUMNS] = {};
        for (int64_t e = a.first(i), last = a.last(i); e < last; ++e) {
            const T value = a.values[e];
            const int64_t k = a.indices[e] - a.base;
            const T *from = b.values + k * b.down + j0 * b.across;
            if (b.across == 1 && here == COLUMNS && !b.conjugated)
                for (int j = 0; j < COLUMNS; ++j) sums[j] += value * from[j];
            else
                for (int j = 0; j < here; ++j) sums[j] += value * b.get(k, j0 + j);
        }
        for (int64_t j = 0; j < here; ++j) {
            T &to = c.values[i * c.down + (j0 + j) * c.across];
            to = beta == T(0) ? alpha * sums[j] : alpha * sums[j] + beta * to;
        }
    });
}

bool known(cusparseOperation_t op) {
    return op >= CUSPARSE_OPERATION_NON_TRANSPOSE && op <= CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE;
}

template <class T> cusparseStatus_t csrmv(cusparseHandle_t handle, cusparseOperation_t op, int rows, int columns, int entries,
                                          const T *alpha, const cusparseMatDescr_t matrix, const T *values,
                                          const int *offsets, const int *indices, const T *x, const T *beta, T *y,
                                          cudaDataType type) {
    NEED_HANDLE(handle);
    NEED(rows >= 0 && columns >= 0 && entries >= 0 && matrix && alpha && beta);
    if (matrix->type != CUSPARSE_MATRIX_TYPE_GENERAL) return CUSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED;
    cusparseSpMatDescr a{CUSPARSE_FORMAT_CSR, rows, columns, entries, (void *)offsets, (void *)indices, (void *)values,
                         CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, matrix->base, type};
    cusparseDnVecDescr from{op ? rows : columns, (void *)x, type}, to{op ? columns : rows, y, type};
    return cusparseSpMV(handle, op, alpha, &a, &from, beta, &to, type, CUSPARSE_SPMV_ALG_DEFAULT, nullptr);
}

}  // namespace

extern "C" {

cusparseStatus_t cusparseSpMV(cusparseHandle_t handle, cusparseOperation_t op, const void *alpha,
                              cusparseConstSpMatDescr_t a, cusparseConstDnVecDescr_t x, const void *beta,
                              cusparseDnVecDescr_t y, cudaDataType compute, cusparseSpMVAlg_t, void *) {
    NEED_HANDLE(handle);
    NEED(a && x && y && alpha && beta && known(op));
    NEED(x->size == (op ? a->rows : a->columns) && y->size == (op ? a->columns : a->rows));
    NEED_KIND(has_kind(*a, compute) && x->type == a->type && y->type == a->type);
    return run(handle, [=, a = *a, x = *x, y = *y, alpha = Factor(handle, alpha, compute), beta = Factor(handle, beta, compute)] {
        with_types(compute, a.index_type, [&](auto element, auto index) {
            using T = decltype(element);
            product<T, decltype(index)>(op, a, alpha.as<T>(), (const T *)x.values, beta.as<T>(), (T *)y.values);
        });
    });
}

cusparseStatus_t cusparseSpMV_bufferSize(cusparseHandle_t handle, cusparseOperation_t, const void *,
                                         cusparseConstSpMatDescr_t a, cusparseConstDnVecDescr_t, const void *,
                                         cusparseDnVecDescr_t, cudaDataType compute, cusparseSpMVAlg_t, size_t *bytes) {
    NEED_HANDLE(handle);
    NEED(a && bytes);
    NEED_KIND(has_kind(*a, compute));
    *bytes = 8;                 // programs allocate it, and some take none for an error
    return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseSpMV_preprocess(cusparseHandle_t handle, cusparseOperation_t, const void *,
                                         cusparseConstSpMatDescr_t a, cusparseConstDnVecDescr_t, const void *,
                                         cusparseDnVecDescr_t, cudaDataType compute, cusparseSpMVAlg_t, void *) {
    size_t bytes;
    return cusparseSpMV_bufferSize(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, nullptr, a, nullptr, nullptr, nullptr, compute,
                                   CUSPARSE_SPMV_ALG_DEFAULT, &bytes);
}

cusparseStatus_t cusparseSpMM(cusparseHandle_t handle, cusparseOperation_t opa, cusparseOperation_t opb, const void *alpha,
                              cusparseConstSpMatDescr_t a, cusparseConstDnMatDescr_t b, const void *beta,
                              cusparseDnMatDescr_t c, cudaDataType compute, cusparseSpMMAlg_t, void *) {
    NEED_HANDLE(handle);
    NEED(a && b && c && alpha && beta && known(opa) && known(opb));
    NEED((opa ? a->columns : a->rows) == c->rows && (opa ? a->rows : a->columns) == (opb ? b->columns : b->rows)
         && (opb ? b->rows : b->columns) == c->columns);
    NEED_KIND(has_kind(*a, compute) && b->type == a->type && c->type == a->type);
    return run(handle, [=, a = *a, b = *b, c = *c, alpha = Factor(handle, alpha, compute), beta = Factor(handle, beta, compute)] {
        with_types(compute, a.index_type, [&](auto element, auto index) {
            using T = decltype(element);
            product(rows_of<T, decltype(index)>(a, opa), alpha.as<T>(), Dense<T>(b, opb), beta.as<T>(),
                    Dense<T>(c, CUSPARSE_OPERATION_NON_TRANSPOSE));
        });
    });
}

cusparseStatus_t cusparseSpMM_bufferSize(cusparseHandle_t handle, cusparseOperation_t, cusparseOperation_t, const void *,
                                         cusparseConstSpMatDescr_t a, cusparseConstDnMatDescr_t, const void *,
                                         cusparseDnMatDescr_t, cudaDataType compute, cusparseSpMMAlg_t, size_t *bytes) {
    return cusparseSpMV_bufferSize(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, nullptr, a, nullptr, nullptr, nullptr, compute,
                                   CUSPARSE_SPMV_ALG_DEFAULT, bytes);
}

cusparseStatus_t cusparseSpMM_preprocess(cusparseHandle_t handle, cusparseOperation_t, cusparseOperation_t, const void *,
                                         cusparseConstSpMatDescr_t a, cusparseConstDnMatDescr_t, const void *,
                                         cusparseDnMatDescr_t, cudaDataType compute, cusparseSpMMAlg_t, void *) {
    size_t bytes;
    return cusparseSpMV_bufferSize(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, nullptr, a, nullptr, nullptr, nullptr, compute,
                                   CUSPARSE_SPMV_ALG_DEFAULT, &bytes);
}

// C = alpha (op(A) op(B)) at the places of C + beta C.
cusparseStatus_t cusparseSDDMM(cusparseHandle_t handle, cusparseOperation_t opa, cusparseOperation_t opb, const void *alpha,
                               cusparseConstDnMatDescr_t a, cusparseConstDnMatDescr_t b, const void *beta,
                               cusparseSpMatDescr_t c, cudaDataType compute, cusparseSDDMMAlg_t, void *) {
    NEED_HANDLE(handle);
    NEED(a && b && c && alpha && beta && known(opa) && known(opb));
    NEED((opa ? a->columns : a->rows) == c->rows && (opa ? a->rows : a->columns) == (opb ? b->columns : b->rows)
         && (opb ? b->rows : b->columns) == c->columns);
    NEED_KIND(has_kind(*c, compute) && c->format == CUSPARSE_FORMAT_CSR && a->type == c->type && b->type == c->type);
    return run(handle, [=, a = *a, b = *b, c = *c, alpha = Factor(handle, alpha, compute), beta = Factor(handle, beta, compute)] {
        with_types(compute, c.index_type, [&](auto element, auto index) {
            using T = decltype(element);
            const Dense<T> left(a, opa), right(b, opb);
            const auto rows = rows_of<T, decltype(index)>(c, CUSPARSE_OPERATION_NON_TRANSPOSE);
            const T factor = alpha.as<T>(), kept = beta.as<T>();
            T *values = (T *)c.values;
            each(c.rows, 1 + left.columns * (c.rows ? c.entries / c.rows : 1), [&](uint64_t i) {
                for (int64_t e = rows.first(i); e < rows.last(i); ++e) {
                    T sum = 0;
                    for (int64_t k = 0; k < left.columns; ++k) sum += left.get(i, k) * right.get(k, rows.indices[e] - rows.base);
                    values[e] = kept == T(0) ? factor * sum : factor * sum + kept * values[e];
                }
            });
        });
    });
}

cusparseStatus_t cusparseSDDMM_bufferSize(cusparseHandle_t handle, cusparseOperation_t, cusparseOperation_t, const void *,
                                          cusparseConstDnMatDescr_t, cusparseConstDnMatDescr_t, const void *,
                                          cusparseSpMatDescr_t c, cudaDataType compute, cusparseSDDMMAlg_t, size_t *bytes) {
    return cusparseSpMV_bufferSize(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, nullptr, c, nullptr, nullptr, nullptr, compute,
                                   CUSPARSE_SPMV_ALG_DEFAULT, bytes);
}

#define CSRMV(NAME, T, TYPE)                                                                                   \
    cusparseStatus_t NAME(cusparseHandle_t h, cusparseOperation_t op, int m, int n, int entries, const T *alpha, \
                          const cusparseMatDescr_t matrix, const T *values, const int *offsets, const int *indices, \
                          const T *x, const T *beta, T *y) {                                                   \
        return csrmv(h, op, m, n, entries, alpha, matrix, values, offsets, indices, x, beta, y, TYPE);         \
    }
CSRMV(cusparseScsrmv, float, CUDA_R_32F)
CSRMV(cusparseDcsrmv, double, CUDA_R_64F)
CSRMV(cusparseCcsrmv, cuComplex, CUDA_C_32F)
CSRMV(cusparseZcsrmv, cuDoubleComplex, CUDA_C_64F)

}  // extern "C"
