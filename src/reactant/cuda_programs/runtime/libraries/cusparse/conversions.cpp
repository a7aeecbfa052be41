// From one form to another.
#include "sparse.h"

using namespace reactant;
using namespace reactant::sparse;

namespace {

cusparseStatus_t checked(cusparseHandle_t handle, cusparseConstSpMatDescr_t sparse, cusparseConstDnMatDescr_t dense) {
    NEED_HANDLE(handle);
    NEED(sparse && dense && sparse->rows == dense->rows && sparse->columns == dense->columns);
    NEED_KIND(has_kind(*sparse, dense->type));
    return CUSPARSE_STATUS_SUCCESS;
}

// body(major, minor, value) for what is not 0, in the order of the format: by columns for CSC, else by rows.
template <class T, class Body> void nonzero(const cusparseDnMatDescr &dense, bool by_columns, const Body &body) {
    const Dense<T> from(dense, by_columns ? CUSPARSE_OPERATION_TRANSPOSE : CUSPARSE_OPERATION_NON_TRANSPOSE);
    for (int64_t i = 0; i < from.rows; ++i)
        for (int64_t j = 0; j < from.columns; ++j)
            if (const T value = from.get(i, j); value != T(0)) body(i, j, value);
}

template <class T, class I> void to_sparse(const cusparseDnMatDescr &dense, const cusparseSpMatDescr &to) {
    const bool by_columns = to.format == CUSPARSE_FORMAT_CSC, coordinates = to.format == CUSPARSE_FORMAT_COO;
    I *offsets = (I *)to.offsets, *indices = (I *)to.indices;
    T *values = (T *)to.values;
    const int64_t majors = by_columns ? to.columns : to.rows;
    int64_t count = 0;
    if (!coordinates) std::fill_n(offsets, majors + 1, I(0));
    nonzero<T>(dense, by_columns, [&](int64_t major, int64_t minor, T value) {
        if (coordinates) offsets[count] = (I)(major + to.base);
        else ++offsets[major + 1];
        indices[count] = (I)(minor + to.base);
        values[count++] = value;
    });
    if (coordinates) return;
    offsets[0] = (I)to.base;
    for (int64_t k = 0; k < majors; ++k) offsets[k + 1] += offsets[k];
}

template <class T> void turned(int rows, int columns, const T *values, const int *offsets, const int *indices, T *to_values,
                               int *to_offsets, int *to_indices, int base) {
    Rows<T, int> made;
    const std::vector<int> majors = majors_of(offsets, rows, base);
    ordered(&made, columns, (int64_t)majors.size(), [=](int64_t e) { return indices[e] - base; }, majors.data(), values, 0);
    for (int k = 0; k <= columns; ++k) to_offsets[k] = made.own_offsets[k] + base;
    for (size_t e = 0; e < majors.size(); ++e) {
        to_indices[e] = made.own_indices[e] + base;
        if (values) to_values[e] = made.own_values[e];
    }
}

}  // namespace

extern "C" {

cusparseStatus_t cusparseSparseToDense_bufferSize(cusparseHandle_t handle, cusparseConstSpMatDescr_t a,
                                                  cusparseDnMatDescr_t b, cusparseSparseToDenseAlg_t, size_t *bytes) {
    if (cusparseStatus_t status = checked(handle, a, b)) return status;
    NEED(bytes);
    *bytes = 8;
    return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseSparseToDense(cusparseHandle_t handle, cusparseConstSpMatDescr_t a, cusparseDnMatDescr_t b,
                                       cusparseSparseToDenseAlg_t, void *) {
    if (cusparseStatus_t status = checked(handle, a, b)) return status;
    return run(handle, [a = *a, b = *b] {
        with_types(a.type, a.index_type, [&](auto element, auto index) {
            using T = decltype(element);
            const auto rows = rows_of<T, decltype(index)>(a, CUSPARSE_OPERATION_NON_TRANSPOSE);
            const Dense<T> to(b, CUSPARSE_OPERATION_NON_TRANSPOSE);
            for (int64_t i = 0; i < to.rows; ++i) {
                for (int64_t j = 0; j < to.columns; ++j) to.values[i * to.down + j * to.across] = 0;
                for (int64_t e = rows.first(i); e < rows.last(i); ++e)
                    to.values[i * to.down + (rows.indices[e] - rows.base) * to.across] = rows.values[e];
            }
        });
    });
}

cusparseStatus_t cusparseDenseToSparse_bufferSize(cusparseHandle_t handle, cusparseConstDnMatDescr_t a,
                                                  cusparseSpMatDescr_t b, cusparseDenseToSparseAlg_t, size_t *bytes) {
    if (cusparseStatus_t status = checked(handle, b, a)) return status;
    NEED(bytes);
    *bytes = 8;
    return CUSPARSE_STATUS_SUCCESS;
}
// Counts; callers ask for the count next, and make room for the entries.
cusparseStatus_t cusparseDenseToSparse_analysis(cusparseHandle_t handle, cusparseConstDnMatDescr_t a,
                                                cusparseSpMatDescr_t b, cusparseDenseToSparseAlg_t, void *) {
    if (cusparseStatus_t status = checked(handle, b, a)) return status;
    bool capturing;
    if (ready(handle->stream, &capturing) != cudaSuccess || capturing) return CUSPARSE_STATUS_EXECUTION_FAILED;
    b->entries = 0;
    with_type(a->type, [&](auto element) {
        nonzero<decltype(element)>(*a, false, [&](int64_t, int64_t, auto) { ++b->entries; });
    });
    return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseDenseToSparse_convert(cusparseHandle_t handle, cusparseConstDnMatDescr_t a, cusparseSpMatDescr_t b,
                                               cusparseDenseToSparseAlg_t, void *) {
    if (cusparseStatus_t status = checked(handle, b, a)) return status;
    NEED(b->offsets && (b->entries == 0 || (b->indices && b->values)));
    return run(handle, [a = *a, b = *b] {
        with_types(b.type, b.index_type, [&](auto element, auto index) { to_sparse<decltype(element), decltype(index)>(a, b); });
    });
}

cusparseStatus_t cusparseXcoo2csr(cusparseHandle_t handle, const int *row_indices, int entries, int rows, int *offsets,
                                  cusparseIndexBase_t base) {
    NEED_HANDLE(handle);
    NEED(entries >= 0 && rows >= 0 && offsets);
    return run(handle, [=] {
        std::fill_n(offsets, rows + 1, 0);
        for (int e = 0; e < entries; ++e) ++offsets[row_indices[e] - base + 1];
        offsets[0] = base;
        for (int k = 0; k < rows; ++k) offsets[k + 1] += offsets[k];
    });
}
cusparseStatus_t cusparseXcsr2coo(cusparseHandle_t handle, const int *offsets, int entries, int rows, int *row_indices,
                                  cusparseIndexBase_t base) {
    NEED_HANDLE(handle);
    NEED(entries >= 0 && rows >= 0 && offsets);
    return run(handle, [=] {
        for (int k = 0; k < rows; ++k)
            std::fill(row_indices + (offsets[k] - base), row_indices + (offsets[k + 1] - base), k + (int)base);
    });
}

cusparseStatus_t cusparseCsr2cscEx2_bufferSize(cusparseHandle_t handle, int rows, int columns, int entries, const void *,
                                               const int *, const int *, void *, int *, int *, cudaDataType type,
                                               cusparseAction_t, cusparseIndexBase_t, cusparseCsr2CscAlg_t, size_t *bytes) {
    NEED_HANDLE(handle);
    NEED(rows >= 0 && columns >= 0 && entries >= 0 && bytes);
    NEED_KIND(is_element(type));
    *bytes = 8;
    return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseCsr2cscEx2(cusparseHandle_t handle, int rows, int columns, int entries, const void *values,
                                    const int *offsets, const int *indices, void *to_values, int *to_offsets,
                                    int *to_indices, cudaDataType type, cusparseAction_t action, cusparseIndexBase_t base,
                                    cusparseCsr2CscAlg_t, void *) {
    NEED_HANDLE(handle);
    NEED(rows >= 0 && columns >= 0 && entries >= 0 && to_offsets);
    NEED_KIND(is_element(type));
    return run(handle, [=] {
        with_type(type, [=](auto element) {
            using T = decltype(element);
            turned(rows, columns, action == CUSPARSE_ACTION_NUMERIC ? (const T *)values : nullptr, offsets, indices,
                   (T *)to_values, to_offsets, to_indices, (int)base);
        });
    });
}

}  // extern "C"
