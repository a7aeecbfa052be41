// Callers of before CUDA 11 say a type of elements where the compute type is.
#pragma once
static inline cublasComputeType_t reactant_compute_type(cudaDataType type) {
    return type == CUDA_R_16F ? CUBLAS_COMPUTE_16F : type == CUDA_R_32I ? CUBLAS_COMPUTE_32I
         : type == CUDA_R_64F || type == CUDA_C_64F ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F;
}
static inline cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m,
                                          int n, int k, const void *alpha, const void *a, cudaDataType a_type, int lda,
                                          const void *b, cudaDataType b_type, int ldb, const void *beta, void *c,
                                          cudaDataType c_type, int ldc, cudaDataType compute, cublasGemmAlgo_t algorithm) {
    return cublasGemmEx(handle, transa, transb, m, n, k, alpha, a, a_type, lda, b, b_type, ldb, beta, c, c_type, ldc,
                        reactant_compute_type(compute), algorithm);
}
static inline cublasStatus_t cublasGemmStridedBatchedEx(
    cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n, int k, const void *alpha,
    const void *a, cudaDataType a_type, int lda, long long stride_a, const void *b, cudaDataType b_type, int ldb,
    long long stride_b, const void *beta, void *c, cudaDataType c_type, int ldc, long long stride_c, int count,
    cudaDataType compute, cublasGemmAlgo_t algorithm) {
    return cublasGemmStridedBatchedEx(handle, transa, transb, m, n, k, alpha, a, a_type, lda, stride_a, b, b_type, ldb,
                                      stride_b, beta, c, c_type, ldc, stride_c, count, reactant_compute_type(compute),
                                      algorithm);
}
