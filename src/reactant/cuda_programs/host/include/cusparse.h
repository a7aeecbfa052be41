/* cuSPARSE: what is declared here is there. Elements are float, double and their complex numbers. */
#ifndef CUSPARSE_H_
#define CUSPARSE_H_
#include "reactant_libraries/sparse_types.h"
#ifdef __cplusplus
extern "C" {
#endif
#define SPARSE_ cusparseStatus_t
/* ---- handles ---- */
SPARSE_ cusparseCreate(cusparseHandle_t *handle);
SPARSE_ cusparseDestroy(cusparseHandle_t handle);
SPARSE_ cusparseGetVersion(cusparseHandle_t handle, int *version);
SPARSE_ cusparseGetProperty(libraryPropertyType type, int *value);
SPARSE_ cusparseSetStream(cusparseHandle_t handle, cudaStream_t stream);
SPARSE_ cusparseGetStream(cusparseHandle_t handle, cudaStream_t *stream);
SPARSE_ cusparseSetPointerMode(cusparseHandle_t handle, cusparsePointerMode_t mode);
SPARSE_ cusparseGetPointerMode(cusparseHandle_t handle, cusparsePointerMode_t *mode);
const char *cusparseGetErrorName(cusparseStatus_t status);
const char *cusparseGetErrorString(cusparseStatus_t status);

/* ---- the older descriptions of matrices ---- */
SPARSE_ cusparseCreateMatDescr(cusparseMatDescr_t *matrix);
SPARSE_ cusparseDestroyMatDescr(cusparseMatDescr_t matrix);
SPARSE_ cusparseSetMatType(cusparseMatDescr_t matrix, cusparseMatrixType_t type);
cusparseMatrixType_t cusparseGetMatType(const cusparseMatDescr_t matrix);
SPARSE_ cusparseSetMatFillMode(cusparseMatDescr_t matrix, cusparseFillMode_t fill);
cusparseFillMode_t cusparseGetMatFillMode(const cusparseMatDescr_t matrix);
SPARSE_ cusparseSetMatDiagType(cusparseMatDescr_t matrix, cusparseDiagType_t diag);
cusparseDiagType_t cusparseGetMatDiagType(const cusparseMatDescr_t matrix);
SPARSE_ cusparseSetMatIndexBase(cusparseMatDescr_t matrix, cusparseIndexBase_t base);
cusparseIndexBase_t cusparseGetMatIndexBase(const cusparseMatDescr_t matrix);

/* ---- descriptions ---- */
SPARSE_ cusparseCreateCsr(cusparseSpMatDescr_t *matrix, int64_t rows, int64_t columns, int64_t entries, void *offsets,
                          void *indices, void *values, cusparseIndexType_t offset_type, cusparseIndexType_t index_type,
                          cusparseIndexBase_t base, cudaDataType type);
SPARSE_ cusparseCreateCsc(cusparseSpMatDescr_t *matrix, int64_t rows, int64_t columns, int64_t entries, void *offsets,
                          void *indices, void *values, cusparseIndexType_t offset_type, cusparseIndexType_t index_type,
                          cusparseIndexBase_t base, cudaDataType type);
SPARSE_ cusparseCreateCoo(cusparseSpMatDescr_t *matrix, int64_t rows, int64_t columns, int64_t entries, void *row_indices,
                          void *column_indices, void *values, cusparseIndexType_t index_type, cusparseIndexBase_t base,
                          cudaDataType type);
SPARSE_ cusparseCreateConstCsr(cusparseConstSpMatDescr_t *matrix, int64_t rows, int64_t columns, int64_t entries,
                               const void *offsets, const void *indices, const void *values,
                               cusparseIndexType_t offset_type, cusparseIndexType_t index_type, cusparseIndexBase_t base,
                               cudaDataType type);
SPARSE_ cusparseDestroySpMat(cusparseConstSpMatDescr_t matrix);
SPARSE_ cusparseSpMatGetSize(cusparseConstSpMatDescr_t matrix, int64_t *rows, int64_t *columns, int64_t *entries);
SPARSE_ cusparseSpMatGetFormat(cusparseConstSpMatDescr_t matrix, cusparseFormat_t *format);
SPARSE_ cusparseSpMatGetIndexBase(cusparseConstSpMatDescr_t matrix, cusparseIndexBase_t *base);
SPARSE_ cusparseSpMatGetValues(cusparseSpMatDescr_t matrix, void **values);
SPARSE_ cusparseSpMatSetValues(cusparseSpMatDescr_t matrix, void *values);
SPARSE_ cusparseSpMatGetAttribute(cusparseConstSpMatDescr_t matrix, cusparseSpMatAttribute_t attribute, void *data,
                                  size_t bytes);
SPARSE_ cusparseSpMatSetAttribute(cusparseSpMatDescr_t matrix, cusparseSpMatAttribute_t attribute, void *data, size_t bytes);
SPARSE_ cusparseCsrGet(cusparseSpMatDescr_t matrix, int64_t *rows, int64_t *columns, int64_t *entries, void **offsets,
                       void **indices, void **values, cusparseIndexType_t *offset_type, cusparseIndexType_t *index_type,
                       cusparseIndexBase_t *base, cudaDataType *type);
SPARSE_ cusparseCooGet(cusparseSpMatDescr_t matrix, int64_t *rows, int64_t *columns, int64_t *entries, void **row_indices,
                       void **column_indices, void **values, cusparseIndexType_t *index_type, cusparseIndexBase_t *base,
                       cudaDataType *type);
SPARSE_ cusparseCsrSetPointers(cusparseSpMatDescr_t matrix, void *offsets, void *indices, void *values);
SPARSE_ cusparseCscSetPointers(cusparseSpMatDescr_t matrix, void *offsets, void *indices, void *values);
SPARSE_ cusparseCooSetPointers(cusparseSpMatDescr_t matrix, void *row_indices, void *column_indices, void *values);
SPARSE_ cusparseCreateDnVec(cusparseDnVecDescr_t *vector, int64_t size, void *values, cudaDataType type);
SPARSE_ cusparseCreateConstDnVec(cusparseConstDnVecDescr_t *vector, int64_t size, const void *values, cudaDataType type);
SPARSE_ cusparseDestroyDnVec(cusparseConstDnVecDescr_t vector);
SPARSE_ cusparseDnVecGet(cusparseDnVecDescr_t vector, int64_t *size, void **values, cudaDataType *type);
SPARSE_ cusparseDnVecGetValues(cusparseDnVecDescr_t vector, void **values);
SPARSE_ cusparseDnVecSetValues(cusparseDnVecDescr_t vector, void *values);
SPARSE_ cusparseCreateDnMat(cusparseDnMatDescr_t *matrix, int64_t rows, int64_t columns, int64_t leading, void *values,
                            cudaDataType type, cusparseOrder_t order);
SPARSE_ cusparseCreateConstDnMat(cusparseConstDnMatDescr_t *matrix, int64_t rows, int64_t columns, int64_t leading,
                                 const void *values, cudaDataType type, cusparseOrder_t order);
SPARSE_ cusparseDestroyDnMat(cusparseConstDnMatDescr_t matrix);
SPARSE_ cusparseDnMatGet(cusparseDnMatDescr_t matrix, int64_t *rows, int64_t *columns, int64_t *leading, void **values,
                         cudaDataType *type, cusparseOrder_t *order);
SPARSE_ cusparseDnMatGetValues(cusparseDnMatDescr_t matrix, void **values);
SPARSE_ cusparseDnMatSetValues(cusparseDnMatDescr_t matrix, void *values);

/* ---- products ---- */
SPARSE_ cusparseSpMV_bufferSize(cusparseHandle_t handle, cusparseOperation_t op, const void *alpha,
                                cusparseConstSpMatDescr_t a, cusparseConstDnVecDescr_t x, const void *beta,
                                cusparseDnVecDescr_t y, cudaDataType compute, cusparseSpMVAlg_t algorithm, size_t *bytes);
SPARSE_ cusparseSpMV_preprocess(cusparseHandle_t handle, cusparseOperation_t op, const void *alpha,
                                cusparseConstSpMatDescr_t a, cusparseConstDnVecDescr_t x, const void *beta,
                                cusparseDnVecDescr_t y, cudaDataType compute, cusparseSpMVAlg_t algorithm, void *buffer);
SPARSE_ cusparseSpMV(cusparseHandle_t handle, cusparseOperation_t op, const void *alpha, cusparseConstSpMatDescr_t a,
                     cusparseConstDnVecDescr_t x, const void *beta, cusparseDnVecDescr_t y, cudaDataType compute,
                     cusparseSpMVAlg_t algorithm, void *buffer);
SPARSE_ cusparseSpMM_bufferSize(cusparseHandle_t handle, cusparseOperation_t opa, cusparseOperation_t opb,
                                const void *alpha, cusparseConstSpMatDescr_t a, cusparseConstDnMatDescr_t b,
                                const void *beta, cusparseDnMatDescr_t c, cudaDataType compute,
                                cusparseSpMMAlg_t algorithm, size_t *bytes);
SPARSE_ cusparseSpMM_preprocess(cusparseHandle_t handle, cusparseOperation_t opa, cusparseOperation_t opb,
                                const void *alpha, cusparseConstSpMatDescr_t a, cusparseConstDnMatDescr_t b,
                                const void *beta, cusparseDnMatDescr_t c, cudaDataType compute,
                                cusparseSpMMAlg_t algorithm, void *buffer);
SPARSE_ cusparseSpMM(cusparseHandle_t handle, cusparseOperation_t opa, cusparseOperation_t opb, const void *alpha,
                     cusparseConstSpMatDescr_t a, cusparseConstDnMatDescr_t b, const void *beta, cusparseDnMatDescr_t c,
                     cudaDataType compute, cusparseSpMMAlg_t algorithm, void *buffer);
SPARSE_ cusparseSDDMM_bufferSize(cusparseHandle_t handle, cusparseOperation_t opa, cusparseOperation_t opb,
                                 const void *alpha, cusparseConstDnMatDescr_t a, cusparseConstDnMatDescr_t b,
                                 const void *beta, cusparseSpMatDescr_t c, cudaDataType compute,
                                 cusparseSDDMMAlg_t algorithm, size_t *bytes);
SPARSE_ cusparseSDDMM(cusparseHandle_t handle, cusparseOperation_t opa, cusparseOperation_t opb, const void *alpha,
                      cusparseConstDnMatDescr_t a, cusparseConstDnMatDescr_t b, const void *beta, cusparseSpMatDescr_t c,
                      cudaDataType compute, cusparseSDDMMAlg_t algorithm, void *buffer);
SPARSE_ cusparseSpGEMM_createDescr(cusparseSpGEMMDescr_t *state);
SPARSE_ cusparseSpGEMM_destroyDescr(cusparseSpGEMMDescr_t state);
SPARSE_ cusparseSpGEMM_workEstimation(cusparseHandle_t handle, cusparseOperation_t opa, cusparseOperation_t opb,
                                      const void *alpha, cusparseConstSpMatDescr_t a, cusparseConstSpMatDescr_t b,
                                      const void *beta, cusparseSpMatDescr_t c, cudaDataType compute,
                                      cusparseSpGEMMAlg_t algorithm, cusparseSpGEMMDescr_t state, size_t *bytes,
                                      void *buffer);
SPARSE_ cusparseSpGEMM_compute(cusparseHandle_t handle, cusparseOperation_t opa, cusparseOperation_t opb,
                               const void *alpha, cusparseConstSpMatDescr_t a, cusparseConstSpMatDescr_t b,
                               const void *beta, cusparseSpMatDescr_t c, cudaDataType compute,
                               cusparseSpGEMMAlg_t algorithm, cusparseSpGEMMDescr_t state, size_t *bytes, void *buffer);
SPARSE_ cusparseSpGEMM_copy(cusparseHandle_t handle, cusparseOperation_t opa, cusparseOperation_t opb, const void *alpha,
                            cusparseConstSpMatDescr_t a, cusparseConstSpMatDescr_t b, const void *beta,
                            cusparseSpMatDescr_t c, cudaDataType compute, cusparseSpGEMMAlg_t algorithm,
                            cusparseSpGEMMDescr_t state);

/* ---- triangular systems ---- */
SPARSE_ cusparseSpSV_createDescr(cusparseSpSVDescr_t *state);
SPARSE_ cusparseSpSV_destroyDescr(cusparseSpSVDescr_t state);
SPARSE_ cusparseSpSV_bufferSize(cusparseHandle_t handle, cusparseOperation_t op, const void *alpha,
                                cusparseConstSpMatDescr_t a, cusparseConstDnVecDescr_t x, cusparseDnVecDescr_t y,
                                cudaDataType compute, cusparseSpSVAlg_t algorithm, cusparseSpSVDescr_t state,
                                size_t *bytes);
SPARSE_ cusparseSpSV_analysis(cusparseHandle_t handle, cusparseOperation_t op, const void *alpha,
                              cusparseConstSpMatDescr_t a, cusparseConstDnVecDescr_t x, cusparseDnVecDescr_t y,
                              cudaDataType compute, cusparseSpSVAlg_t algorithm, cusparseSpSVDescr_t state, void *buffer);
SPARSE_ cusparseSpSV_solve(cusparseHandle_t handle, cusparseOperation_t op, const void *alpha,
                           cusparseConstSpMatDescr_t a, cusparseConstDnVecDescr_t x, cusparseDnVecDescr_t y,
                           cudaDataType compute, cusparseSpSVAlg_t algorithm, cusparseSpSVDescr_t state);
SPARSE_ cusparseSpSM_createDescr(cusparseSpSMDescr_t *state);
SPARSE_ cusparseSpSM_destroyDescr(cusparseSpSMDescr_t state);
SPARSE_ cusparseSpSM_bufferSize(cusparseHandle_t handle, cusparseOperation_t opa, cusparseOperation_t opb,
                                const void *alpha, cusparseConstSpMatDescr_t a, cusparseConstDnMatDescr_t b,
                                cusparseDnMatDescr_t c, cudaDataType compute, cusparseSpSMAlg_t algorithm,
                                cusparseSpSMDescr_t state, size_t *bytes);
SPARSE_ cusparseSpSM_analysis(cusparseHandle_t handle, cusparseOperation_t opa, cusparseOperation_t opb,
                              const void *alpha, cusparseConstSpMatDescr_t a, cusparseConstDnMatDescr_t b,
                              cusparseDnMatDescr_t c, cudaDataType compute, cusparseSpSMAlg_t algorithm,
                              cusparseSpSMDescr_t state, void *buffer);
SPARSE_ cusparseSpSM_solve(cusparseHandle_t handle, cusparseOperation_t opa, cusparseOperation_t opb, const void *alpha,
                           cusparseConstSpMatDescr_t a, cusparseConstDnMatDescr_t b, cusparseDnMatDescr_t c,
                           cudaDataType compute, cusparseSpSMAlg_t algorithm, cusparseSpSMDescr_t state);

/* ---- conversions ---- */
SPARSE_ cusparseSparseToDense_bufferSize(cusparseHandle_t handle, cusparseConstSpMatDescr_t a, cusparseDnMatDescr_t b,
                                         cusparseSparseToDenseAlg_t algorithm, size_t *bytes);
SPARSE_ cusparseSparseToDense(cusparseHandle_t handle, cusparseConstSpMatDescr_t a, cusparseDnMatDescr_t b,
                              cusparseSparseToDenseAlg_t algorithm, void *buffer);
SPARSE_ cusparseDenseToSparse_bufferSize(cusparseHandle_t handle, cusparseConstDnMatDescr_t a, cusparseSpMatDescr_t b,
                                         cusparseDenseToSparseAlg_t algorithm, size_t *bytes);
SPARSE_ cusparseDenseToSparse_analysis(cusparseHandle_t handle, cusparseConstDnMatDescr_t a, cusparseSpMatDescr_t b,
                                       cusparseDenseToSparseAlg_t algorithm, void *buffer);
SPARSE_ cusparseDenseToSparse_convert(cusparseHandle_t handle, cusparseConstDnMatDescr_t a, cusparseSpMatDescr_t b,
                                      cusparseDenseToSparseAlg_t algorithm, void *buffer);
SPARSE_ cusparseXcoo2csr(cusparseHandle_t handle, const int *row_indices, int entries, int rows, int *offsets,
                         cusparseIndexBase_t base);
SPARSE_ cusparseXcsr2coo(cusparseHandle_t handle, const int *offsets, int entries, int rows, int *row_indices,
                         cusparseIndexBase_t base);
SPARSE_ cusparseCsr2cscEx2_bufferSize(cusparseHandle_t handle, int rows, int columns, int entries, const void *values,
                                      const int *offsets, const int *indices, void *to_values, int *to_offsets,
                                      int *to_indices, cudaDataType type, cusparseAction_t action,
                                      cusparseIndexBase_t base, cusparseCsr2CscAlg_t algorithm, size_t *bytes);
SPARSE_ cusparseCsr2cscEx2(cusparseHandle_t handle, int rows, int columns, int entries, const void *values,
                           const int *offsets, const int *indices, void *to_values, int *to_offsets, int *to_indices,
                           cudaDataType type, cusparseAction_t action, cusparseIndexBase_t base,
                           cusparseCsr2CscAlg_t algorithm, void *buffer);

/* ---- products as they were before CUDA 11 ---- */
#define REACTANT_CSRMV(NAME, T)                                                                                        \
    SPARSE_ NAME(cusparseHandle_t handle, cusparseOperation_t op, int rows, int columns, int entries, const T *alpha,  \
                 const cusparseMatDescr_t matrix, const T *values, const int *offsets, const int *indices, const T *x, \
                 const T *beta, T *y);
REACTANT_CSRMV(cusparseScsrmv, float)
REACTANT_CSRMV(cusparseDcsrmv, double)
REACTANT_CSRMV(cusparseCcsrmv, cuComplex)
REACTANT_CSRMV(cusparseZcsrmv, cuDoubleComplex)
#undef REACTANT_CSRMV
#undef SPARSE_
#ifdef __cplusplus
}
#endif
#endif
