// Handles and descriptions.
#include "sparse.h"

using namespace reactant;
using namespace reactant::sparse;

namespace {

struct Name { cusparseStatus_t status; const char *name, *text; };
constexpr Name names[] = {
    {CUSPARSE_STATUS_SUCCESS, "CUSPARSE_STATUS_SUCCESS", "success"},
    {CUSPARSE_STATUS_NOT_INITIALIZED, "CUSPARSE_STATUS_NOT_INITIALIZED", "initialization error"},
    {CUSPARSE_STATUS_ALLOC_FAILED, "CUSPARSE_STATUS_ALLOC_FAILED", "out of memory"},
    {CUSPARSE_STATUS_INVALID_VALUE, "CUSPARSE_STATUS_INVALID_VALUE", "invalid value"},
    {CUSPARSE_STATUS_ARCH_MISMATCH, "CUSPARSE_STATUS_ARCH_MISMATCH", "architecture mismatch"},
    {CUSPARSE_STATUS_MAPPING_ERROR, "CUSPARSE_STATUS_MAPPING_ERROR", "texture mapping error"},
    {CUSPARSE_STATUS_EXECUTION_FAILED, "CUSPARSE_STATUS_EXECUTION_FAILED", "kernel launch failure"},
    {CUSPARSE_STATUS_INTERNAL_ERROR, "CUSPARSE_STATUS_INTERNAL_ERROR", "internal error"},
    {CUSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED, "CUSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED", "matrix type not supported"},
    {CUSPARSE_STATUS_ZERO_PIVOT, "CUSPARSE_STATUS_ZERO_PIVOT", "zero pivot"},
    {CUSPARSE_STATUS_NOT_SUPPORTED, "CUSPARSE_STATUS_NOT_SUPPORTED", "operation not supported"},
    {CUSPARSE_STATUS_INSUFFICIENT_RESOURCES, "CUSPARSE_STATUS_INSUFFICIENT_RESOURCES", "insufficient resources"},
};

cusparseStatus_t described(cusparseSpMatDescr_t *matrix, const cusparseSpMatDescr &made) {
    NEED(matrix && made.rows >= 0 && made.columns >= 0 && made.entries >= 0);
    NEED(made.base == CUSPARSE_INDEX_BASE_ZERO || made.base == CUSPARSE_INDEX_BASE_ONE);
    *matrix = new cusparseSpMatDescr(made);
    return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t pointed(cusparseSpMatDescr_t matrix, cusparseFormat_t format, void *offsets, void *indices, void *values) {
    NEED(matrix && matrix->format == format);
    matrix->offsets = offsets, matrix->indices = indices, matrix->values = values;
    return CUSPARSE_STATUS_SUCCESS;
}

template <class T, class V> void tell(T *to, V value) { if (to) *to = (T)value; }

}  // namespace

extern "C" {

cusparseStatus_t cusparseCreate(cusparseHandle_t *handle) {
    NEED(handle);
    if (broken()) return CUSPARSE_STATUS_NOT_INITIALIZED;
    *handle = new cusparseContext;
    return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseDestroy(cusparseHandle_t handle) {
    NEED_HANDLE(handle);
    delete handle;
    return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseGetVersion(cusparseHandle_t, int *version) {
    NEED(version);
    *version = CUSPARSE_VERSION;
    return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseGetProperty(libraryPropertyType type, int *value) {
    NEED(value && type >= MAJOR_VERSION && type <= PATCH_LEVEL);
    constexpr int parts[] = {CUSPARSE_VER_MAJOR, CUSPARSE_VER_MINOR, CUSPARSE_VER_PATCH};
    *value = parts[type];
    return CUSPARSE_STATUS_SUCCESS;
}
#define SET_AND_GET(NAME, TYPE, FIELD)                                                                         \
    cusparseStatus_t cusparseSet##NAME(cusparseHandle_t handle, TYPE value) {                                  \
        NEED_HANDLE(handle);                                                                                   \
        handle->FIELD = value;                                                                                 \
        return CUSPARSE_STATUS_SUCCESS;                                                                        \
    }                                                                                                          \
    cusparseStatus_t cusparseGet##NAME(cusparseHandle_t handle, TYPE *value) {                                 \
        NEED_HANDLE(handle);                                                                                   \
        NEED(value);                                                                                           \
        *value = handle->FIELD;                                                                                \
        return CUSPARSE_STATUS_SUCCESS;                                                                        \
    }
SET_AND_GET(Stream, cudaStream_t, stream)
SET_AND_GET(PointerMode, cusparsePointerMode_t, pointers)
const char *cusparseGetErrorName(cusparseStatus_t status) {
    for (const Name &each : names)
        if (each.status == status) return each.name;
    return "unrecognized error code";
}
const char *cusparseGetErrorString(cusparseStatus_t status) {
    for (const Name &each : names)
        if (each.status == status) return each.text;
    return "unrecognized error code";
}

cusparseStatus_t cusparseCreateMatDescr(cusparseMatDescr_t *matrix) {
    NEED(matrix);
    *matrix = new cusparseMatDescr;
    return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseDestroyMatDescr(cusparseMatDescr_t matrix) { delete matrix; return CUSPARSE_STATUS_SUCCESS; }
#define OF_MATRIX(NAME, TYPE, FIELD)                                                                           \
    cusparseStatus_t cusparseSetMat##NAME(cusparseMatDescr_t matrix, TYPE value) {                             \
        NEED(matrix);                                                                                          \
        matrix->FIELD = value;                                                                                 \
        return CUSPARSE_STATUS_SUCCESS;                                                                        \
    }                                                                                                          \
    TYPE cusparseGetMat##NAME(const cusparseMatDescr_t matrix) { return matrix->FIELD; }
OF_MATRIX(Type, cusparseMatrixType_t, type)
OF_MATRIX(FillMode, cusparseFillMode_t, fill)
OF_MATRIX(DiagType, cusparseDiagType_t, diag)
OF_MATRIX(IndexBase, cusparseIndexBase_t, base)

cusparseStatus_t cusparseCreateCsr(cusparseSpMatDescr_t *matrix, int64_t rows, int64_t columns, int64_t entries,
                                   void *offsets, void *indices, void *values, cusparseIndexType_t offset_type,
                                   cusparseIndexType_t index_type, cusparseIndexBase_t base, cudaDataType type) {
    return described(matrix, {CUSPARSE_FORMAT_CSR, rows, columns, entries, offsets, indices, values, offset_type, index_type,
                              base, type});
}
cusparseStatus_t cusparseCreateCsc(cusparseSpMatDescr_t *matrix, int64_t rows, int64_t columns, int64_t entries,
                                   void *offsets, void *indices, void *values, cusparseIndexType_t offset_type,
                                   cusparseIndexType_t index_type, cusparseIndexBase_t base, cudaDataType type) {
    return described(matrix, {CUSPARSE_FORMAT_CSC, rows, columns, entries, offsets, indices, values, offset_type, index_type,
                              base, type});
}
cusparseStatus_t cusparseCreateCoo(cusparseSpMatDescr_t *matrix, int64_t rows, int64_t columns, int64_t entries,
                                   void *row_indices, void *column_indices, void *values, cusparseIndexType_t index_type,
                                   cusparseIndexBase_t base, cudaDataType type) {
    return described(matrix, {CUSPARSE_FORMAT_COO, rows, columns, entries, row_indices, column_indices, values, index_type,
                              index_type, base, type});
}
cusparseStatus_t cusparseCreateConstCsr(cusparseConstSpMatDescr_t *matrix, int64_t rows, int64_t columns, int64_t entries,
                                        const void *offsets, const void *indices, const void *values,
                                        cusparseIndexType_t offset_type, cusparseIndexType_t index_type,
                                        cusparseIndexBase_t base, cudaDataType type) {
    return cusparseCreateCsr((cusparseSpMatDescr_t *)matrix, rows, columns, entries, (void *)offsets, (void *)indices,
                             (void *)values, offset_type, index_type, base, type);
}
cusparseStatus_t cusparseDestroySpMat(cusparseConstSpMatDescr_t matrix) { delete matrix; return CUSPARSE_STATUS_SUCCESS; }
cusparseStatus_t cusparseSpMatGetSize(cusparseConstSpMatDescr_t matrix, int64_t *rows, int64_t *columns, int64_t *entries) {
    NEED(matrix);
    tell(rows, matrix->rows), tell(columns, matrix->columns), tell(entries, matrix->entries);
    return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseSpMatGetFormat(cusparseConstSpMatDescr_t matrix, cusparseFormat_t *format) {
    NEED(matrix && format);
    *format = matrix->format;
    return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseSpMatGetIndexBase(cusparseConstSpMatDescr_t matrix, cusparseIndexBase_t *base) {
    NEED(matrix && base);
    *base = matrix->base;
    return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseSpMatGetValues(cusparseSpMatDescr_t matrix, void **values) {
    NEED(matrix && values);
    *values = matrix->values;
    return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseSpMatSetValues(cusparseSpMatDescr_t matrix, void *values) {
    NEED(matrix);
    matrix->values = values;
    return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseSpMatGetAttribute(cusparseConstSpMatDescr_t matrix, cusparseSpMatAttribute_t attribute, void *data,
                                           size_t bytes) {
    NEED(matrix && data && bytes >= sizeof(int));
    *(int *)data = attribute == CUSPARSE_SPMAT_FILL_MODE ? (int)matrix->fill : (int)matrix->diag;
    return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseSpMatSetAttribute(cusparseSpMatDescr_t matrix, cusparseSpMatAttribute_t attribute, void *data,
                                           size_t bytes) {
    NEED(matrix && data && bytes >= sizeof(int));
    NEED(attribute == CUSPARSE_SPMAT_FILL_MODE || attribute == CUSPARSE_SPMAT_DIAG_TYPE);
    if (attribute == CUSPARSE_SPMAT_FILL_MODE) matrix->fill = *(cusparseFillMode_t *)data;
    else matrix->diag = *(cusparseDiagType_t *)data;
    return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseCsrGet(cusparseSpMatDescr_t m, int64_t *rows, int64_t *columns, int64_t *entries, void **offsets,
                                void **indices, void **values, cusparseIndexType_t *offset_type,
                                cusparseIndexType_t *index_type, cusparseIndexBase_t *base, cudaDataType *type) {
    NEED(m && m->format == CUSPARSE_FORMAT_CSR);
    tell(rows, m->rows), tell(columns, m->columns), tell(entries, m->entries), tell(offsets, m->offsets);
    tell(indices, m->indices), tell(values, m->values), tell(offset_type, m->offset_type), tell(index_type, m->index_type);
    tell(base, m->base), tell(type, m->type);
    return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseCooGet(cusparseSpMatDescr_t m, int64_t *rows, int64_t *columns, int64_t *entries, void **row_indices,
                                void **column_indices, void **values, cusparseIndexType_t *index_type,
                                cusparseIndexBase_t *base, cudaDataType *type) {
    NEED(m && m->format == CUSPARSE_FORMAT_COO);
    tell(rows, m->rows), tell(columns, m->columns), tell(entries, m->entries), tell(row_indices, m->offsets);
    tell(column_indices, m->indices), tell(values, m->values), tell(index_type, m->index_type), tell(base, m->base);
    tell(type, m->type);
    return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseCsrSetPointers(cusparseSpMatDescr_t matrix, void *offsets, void *indices, void *values) {
    return pointed(matrix, CUSPARSE_FORMAT_CSR, offsets, indices, values);
}
cusparseStatus_t cusparseCscSetPointers(cusparseSpMatDescr_t matrix, void *offsets, void *indices, void *values) {
    return pointed(matrix, CUSPARSE_FORMAT_CSC, offsets, indices, values);
}
cusparseStatus_t cusparseCooSetPointers(cusparseSpMatDescr_t matrix, void *rows, void *columns, void *values) {
    return pointed(matrix, CUSPARSE_FORMAT_COO, rows, columns, values);
}

cusparseStatus_t cusparseCreateDnVec(cusparseDnVecDescr_t *vector, int64_t size, void *values, cudaDataType type) {
    NEED(vector && size >= 0);
    *vector = new cusparseDnVecDescr{size, values, type};
    return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseCreateConstDnVec(cusparseConstDnVecDescr_t *vector, int64_t size, const void *values,
                                          cudaDataType type) {
    return cusparseCreateDnVec((cusparseDnVecDescr_t *)vector, size, (void *)values, type);
}
cusparseStatus_t cusparseDestroyDnVec(cusparseConstDnVecDescr_t vector) { delete vector; return CUSPARSE_STATUS_SUCCESS; }
cusparseStatus_t cusparseDnVecGet(cusparseDnVecDescr_t vector, int64_t *size, void **values, cudaDataType *type) {
    NEED(vector);
    tell(size, vector->size), tell(values, vector->values), tell(type, vector->type);
    return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseDnVecGetValues(cusparseDnVecDescr_t vector, void **values) {
    return cusparseDnVecGet(vector, nullptr, values, nullptr);
}
cusparseStatus_t cusparseDnVecSetValues(cusparseDnVecDescr_t vector, void *values) {
    NEED(vector);
    vector->values = values;
    return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseCreateDnMat(cusparseDnMatDescr_t *matrix, int64_t rows, int64_t columns, int64_t leading,
                                     void *values, cudaDataType type, cusparseOrder_t order) {
    NEED(matrix && rows >= 0 && columns >= 0 && leading >= (order == CUSPARSE_ORDER_COL ? rows : columns));
    NEED(order == CUSPARSE_ORDER_COL || order == CUSPARSE_ORDER_ROW);
    *matrix = new cusparseDnMatDescr{rows, columns, leading, values, type, order};
    return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseCreateConstDnMat(cusparseConstDnMatDescr_t *matrix, int64_t rows, int64_t columns, int64_t leading,
                                          const void *values, cudaDataType type, cusparseOrder_t order) {
    return cusparseCreateDnMat((cusparseDnMatDescr_t *)matrix, rows, columns, leading, (void *)values, type, order);
}
cusparseStatus_t cusparseDestroyDnMat(cusparseConstDnMatDescr_t matrix) { delete matrix; return CUSPARSE_STATUS_SUCCESS; }
cusparseStatus_t cusparseDnMatGet(cusparseDnMatDescr_t m, int64_t *rows, int64_t *columns, int64_t *leading, void **values,
                                  cudaDataType *type, cusparseOrder_t *order) {
    NEED(m);
    tell(rows, m->rows), tell(columns, m->columns), tell(leading, m->leading), tell(values, m->values);
    tell(type, m->type), tell(order, m->order);
    return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseDnMatGetValues(cusparseDnMatDescr_t matrix, void **values) {
    return cusparseDnMatGet(matrix, nullptr, nullptr, nullptr, values, nullptr, nullptr);
}
cusparseStatus_t cusparseDnMatSetValues(cusparseDnMatDescr_t matrix, void *values) {
    NEED(matrix);
    matrix->values = values;
    return CUSPARSE_STATUS_SUCCESS;
}

}  // extern "C"
