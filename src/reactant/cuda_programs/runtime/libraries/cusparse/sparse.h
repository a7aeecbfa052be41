// What the files of cuSPARSE share: descriptions, and any sparse matrix as rows.
#pragma once
#include <vector>

#include "common/libraries.h"
#include "cusparse.h"

struct cusparseContext { cudaStream_t stream = nullptr; cusparsePointerMode_t pointers = CUSPARSE_POINTER_MODE_HOST; };
struct cusparseMatDescr {
    cusparseMatrixType_t type = CUSPARSE_MATRIX_TYPE_GENERAL; cusparseFillMode_t fill = CUSPARSE_FILL_MODE_LOWER;
    cusparseDiagType_t diag = CUSPARSE_DIAG_TYPE_NON_UNIT; cusparseIndexBase_t base = CUSPARSE_INDEX_BASE_ZERO;
};
// offsets: of CSR's rows or CSC's columns; COO's row indices.
struct cusparseSpMatDescr {
    cusparseFormat_t format; int64_t rows, columns, entries; void *offsets, *indices, *values;
    cusparseIndexType_t offset_type, index_type; cusparseIndexBase_t base; cudaDataType type;
    cusparseFillMode_t fill = CUSPARSE_FILL_MODE_LOWER; cusparseDiagType_t diag = CUSPARSE_DIAG_TYPE_NON_UNIT;
};
struct cusparseDnVecDescr { int64_t size; void *values; cudaDataType type; };
struct cusparseDnMatDescr { int64_t rows, columns, leading; void *values; cudaDataType type; cusparseOrder_t order; };

#define NEED(CONDITION)                                                                                        \
    if (!(CONDITION)) {                                                                                        \
        reactant::explain("%s: it needs %s", __func__, #CONDITION);                                            \
        return CUSPARSE_STATUS_INVALID_VALUE;                                                                  \
    }
#define NEED_HANDLE(HANDLE) if (!(HANDLE)) return CUSPARSE_STATUS_NOT_INITIALIZED
#define NEED_KIND(CONDITION)                                                                                   \
    if (!(CONDITION)) {                                                                                        \
        reactant::explain("%s: it is there for %s only", __func__, #CONDITION);                                \
        return CUSPARSE_STATUS_NOT_SUPPORTED;                                                                  \
    }

namespace reactant::sparse {

using namespace reactant::libraries;

template <class Work> cusparseStatus_t run(cusparseHandle_t handle, Work work) {
    cudaError_t error = in_stream(handle->stream, std::move(work));
    return error == cudaSuccess ? CUSPARSE_STATUS_SUCCESS : error == cudaErrorInvalidResourceHandle
         ? CUSPARSE_STATUS_INVALID_VALUE : CUSPARSE_STATUS_EXECUTION_FAILED;
}

inline bool is_element(cudaDataType type) {
    return type == CUDA_R_32F || type == CUDA_R_64F || type == CUDA_C_32F || type == CUDA_C_64F;
}
inline size_t bytes_of(cudaDataType type) { return type == CUDA_R_32F ? 4 : type == CUDA_C_64F ? 16 : 8; }

// body(T()) for the type of elements.
template <class Body> void with_type(cudaDataType type, const Body &body) {
    if (type == CUDA_R_32F) body(float());
    else if (type == CUDA_R_64F) body(double());
    else if (type == CUDA_C_32F) body(std::complex<float>());
    else body(std::complex<double>());
}
// body(T(), I()), also for the type of indices.
template <class Body> void with_types(cudaDataType type, cusparseIndexType_t index, const Body &body) {
    with_type(type, [&](auto element) {
        if (index == CUSPARSE_INDEX_32I) body(element, int32_t());
        else body(element, int64_t());
    });
}

// A number that a call is told by address, of a type that is known when it runs.
struct Factor {
    Factor(cusparseHandle_t handle, const void *address, cudaDataType type)
        : address(address), of_device(handle->pointers == CUSPARSE_POINTER_MODE_DEVICE) {
        if (!of_device) std::copy_n((const char *)address, bytes_of(type), known);
    }
    template <class T> T as() const { T value; std::copy_n(of_device ? (const char *)address : known, sizeof(T), (char *)&value); return value; }
private:
    const void *address; bool of_device; char known[16];
};

// op(A) by rows, indices counted from 0 after `base` is taken off. Borrowed from the description or made here.
template <class T, class I> struct Rows {
    int64_t rows, columns; const I *offsets, *indices; const T *values; I base;
    std::vector<I> own_offsets, own_indices; std::vector<T> own_values;
    int64_t first(int64_t row) const { return offsets[row] - base; }
    int64_t last(int64_t row) const { return offsets[row + 1] - base; }
    int64_t entries() const { return rows ? last(rows - 1) : 0; }
};

// Entries (major, minor) ordered by `major`, which keep their order within it.
template <class T, class I, class Major> void ordered(Rows<T, I> *to, int64_t majors, int64_t entries, const Major &major,
                                                      const I *minor, const T *values, I minor_base) {
    to->own_offsets.assign(majors + 1, 0);
    to->own_indices.resize(entries);
    to->own_values.resize(entries);
    for (int64_t e = 0; e < entries; ++e) ++to->own_offsets[major(e) + 1];
    for (int64_t k = 0; k < majors; ++k) to->own_offsets[k + 1] += to->own_offsets[k];
    std::vector<I> next(to->own_offsets.begin(), to->own_offsets.end() - 1);
    for (int64_t e = 0; e < entries; ++e) {
        const I at = next[major(e)]++;
        to->own_indices[at] = minor[e] - minor_base;
        if (values) to->own_values[at] = values[e];
    }
    to->offsets = to->own_offsets.data(), to->indices = to->own_indices.data(), to->values = to->own_values.data();
    to->base = 0;
}

// The row that each entry of offsets belongs to.
template <class I> std::vector<I> majors_of(const I *offsets, int64_t majors, I base) {
    std::vector<I> found(majors ? offsets[majors] - base : 0);
    for (int64_t k = 0; k < majors; ++k)
        std::fill(found.begin() + (offsets[k] - base), found.begin() + (offsets[k + 1] - base), (I)k);
    return found;
}

template <class T, class I> Rows<T, I> rows_of(const cusparseSpMatDescr &a, cusparseOperation_t op) {
    Rows<T, I> made;
    const bool turned = op != CUSPARSE_OPERATION_NON_TRANSPOSE;
    made.rows = turned ? a.columns : a.rows;
    made.columns = turned ? a.rows : a.columns;
    const I *offsets = (const I *)a.offsets, *indices = (const I *)a.indices, base = (I)a.base;
    const T *values = (const T *)a.values;
    if (a.format == CUSPARSE_FORMAT_COO) {
        if (turned) std::swap(offsets, indices);
        ordered(&made, made.rows, a.entries, [=](int64_t e) { return offsets[e] - base; }, indices, values, base);
    } else if ((a.format == CUSPARSE_FORMAT_CSR) != turned) {
        made.offsets = offsets, made.indices = indices, made.values = values, made.base = base;
    } else {
        const std::vector<I> majors = majors_of(offsets, made.columns, base);
        ordered(&made, made.rows, (int64_t)majors.size(), [=](int64_t e) { return indices[e] - base; }, majors.data(),
                values, I(0));
    }
    if (is_complex<T> && op == CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE) {
        const int64_t count = made.entries();
        std::vector<T> conjugated(count);
        for (int64_t e = 0; e < count; ++e) conjugated[e] = conjugate(made.values[e]);
        made.own_values.swap(conjugated);
        made.values = made.own_values.data();
    }
    return made;
}

// A dense matrix, or its transpose: element (i, j) lies i * down + j * across from the first.
template <class T> struct Dense {
    T *values; int64_t rows, columns, down, across; bool conjugated;
    Dense(const cusparseDnMatDescr &m, cusparseOperation_t op)
        : values((T *)m.values), rows(m.rows), columns(m.columns), down(m.order == CUSPARSE_ORDER_COL ? 1 : m.leading),
          across(m.order == CUSPARSE_ORDER_COL ? m.leading : 1),
          conjugated(is_complex<T> && op == CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE) {
        if (op != CUSPARSE_OPERATION_NON_TRANSPOSE) std::swap(rows, columns), std::swap(down, across);
    }
    T get(int64_t i, int64_t j) const {
        const T value = values[i * down + j * across];
        return conjugated ? conjugate(value) : value;
    }
};

inline bool has_kind(const cusparseSpMatDescr &a, cudaDataType compute) {
    return is_element(a.type) && compute == a.type && (a.format == CUSPARSE_FORMAT_COO || a.offset_type == a.index_type)
        && a.index_type != CUSPARSE_INDEX_16U;
}

}  // namespace reactant::sparse
