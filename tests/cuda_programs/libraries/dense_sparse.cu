// dense_sparse RESULTS: cuSPARSE, cuSOLVER and NCCL.
#include <cusolverDn.h>
#include <cusparse.h>
#include <nccl.h>

#include <algorithm>
#include <type_traits>

#include "numbers.h"

// ---- sparse: a matrix of 7 x 5 with an empty row and an empty column ----
template <class T> constexpr cudaDataType data_type() {
    return std::is_same_v<T, float> ? CUDA_R_32F : std::is_same_v<T, double> ? CUDA_R_64F
         : std::is_same_v<T, cuComplex> ? CUDA_C_32F : CUDA_C_64F;
}
template <class I> struct Places { std::vector<I> offsets, rows, columns; };
// Of the places (i, j), those with (3 i + 5 j + i j) % 7 < 3 but for row 2 and column 3; `diagonal` adds (i, i).
template <class I> Places<I> places(int rows, int columns, int base, bool diagonal) {
    Places<I> made;
    made.offsets.push_back(base);
    for (int i = 0; i < rows; ++i) {
        for (int j = 0; j < columns; ++j)
            if (((3 * i + 5 * j + i * j) % 7 < 3 && i != 2 && j != 3) || (diagonal && i == j))
                made.rows.push_back(i + base), made.columns.push_back(j + base);
        made.offsets.push_back(I(made.rows.size()) + base);
    }
    return made;
}
template <class T> T value(double re, double im) {
    if constexpr (std::is_floating_point_v<T>) return T(re);
    else { T made; made.x = re; made.y = im; return made; }
}

static cusparseHandle_t sparse;

template <class T, class I> void sparse_products(const std::string &name, int base) {
    const auto type = data_type<T>();
    const auto index = sizeof(I) == 4 ? CUSPARSE_INDEX_32I : CUSPARSE_INDEX_64I;
    const auto start = base ? CUSPARSE_INDEX_BASE_ONE : CUSPARSE_INDEX_BASE_ZERO;
    const Places<I> at = places<I>(7, 5, base, false);
    const int entries = int(at.rows.size());
    T *values = numbers<T>(1, entries), *x = numbers<T>(2, 40), *b = numbers<T>(4, 80);
    const T alpha = value<T>(1.5, -0.25), beta = value<T>(0.5, 0.75), zero = value<T>(0, 0);
    cusparseSpMatDescr_t forms[3];
    GOOD(cusparseCreateCsr(&forms[0], 7, 5, entries, on_device(at.offsets), on_device(at.columns), values, index, index, start, type));
    GOOD(cusparseCreateCsc(&forms[1], 5, 7, entries, on_device(at.offsets), on_device(at.columns), values, index, index, start, type));
    GOOD(cusparseCreateCoo(&forms[2], 7, 5, entries, on_device(at.rows), on_device(at.columns), values, index, start, type));
    for (int form = 0; form < 3; ++form)
        for (int op = 0; op < 3; ++op) {
            const bool turned = (op != 0) != (form == 1);
            const int from = turned ? 7 : 5, to = turned ? 5 : 7;
            const auto operation = cusparseOperation_t(op);
            T *y = numbers<T>(3, to);
            cusparseDnVecDescr_t dx, dy;
            size_t bytes = 0;
            GOOD(cusparseCreateDnVec(&dx, from, x, type));
            GOOD(cusparseCreateDnVec(&dy, to, y, type));
            const T *kept = op == 1 ? &zero : &beta;
            GOOD(cusparseSpMV_bufferSize(sparse, operation, &alpha, forms[form], dx, kept, dy, type, CUSPARSE_SPMV_ALG_DEFAULT, &bytes));
            GOOD(cusparseSpMV(sparse, operation, &alpha, forms[form], dx, kept, dy, type, CUSPARSE_SPMV_ALG_DEFAULT, nullptr));
            const std::string s = name + "," + std::to_string(form) + "," + std::to_string(op);
            save("spmv," + s, y, to);
            // Three columns: B by columns and C by rows, or B turned and C by columns.
            for (int way = 0; way < 2; ++way) {
                T *c = numbers<T>(5, 40);
                cusparseDnMatDescr_t db, dc;
                if (way == 0) {
                    GOOD(cusparseCreateDnMat(&db, from, 3, 9, b, type, CUSPARSE_ORDER_COL));
                    GOOD(cusparseCreateDnMat(&dc, to, 3, 5, c, type, CUSPARSE_ORDER_ROW));
                } else {
                    GOOD(cusparseCreateDnMat(&db, 3, from, 8, b, type, CUSPARSE_ORDER_ROW));
                    GOOD(cusparseCreateDnMat(&dc, to, 3, 10, c, type, CUSPARSE_ORDER_COL));
                }
                GOOD(cusparseSpMM(sparse, operation, cusparseOperation_t(way * 2), &alpha, forms[form], db, &beta, dc, type,
                                  CUSPARSE_SPMM_ALG_DEFAULT, nullptr));
                save("spmm," + s + "," + std::to_string(way), c, 40);
            }
        }
    // Dense and back.
    T *dense = numbers<T>(6, 60);
    cusparseDnMatDescr_t whole;
    GOOD(cusparseCreateDnMat(&whole, 7, 5, 8, dense, type, CUSPARSE_ORDER_COL));
    GOOD(cusparseSparseToDense(sparse, forms[0], whole, CUSPARSE_SPARSETODENSE_ALG_DEFAULT, nullptr));
    save("dense," + name, dense, 60);
    cusparseSpMatDescr_t again;
    I *offsets = on_device(std::vector<I>(8));
    GOOD(cusparseCreateCsr(&again, 7, 5, 0, offsets, nullptr, nullptr, index, index, start, type));
    GOOD(cusparseDenseToSparse_analysis(sparse, whole, again, CUSPARSE_DENSETOSPARSE_ALG_DEFAULT, nullptr));
    int64_t rows, columns, found;
    GOOD(cusparseSpMatGetSize(again, &rows, &columns, &found));
    save("found," + name, int(found));
    T *made = numbers<T>(7, 60);
    I *indices = on_device(std::vector<I>(60));
    GOOD(cusparseCsrSetPointers(again, offsets, indices, made));
    GOOD(cusparseDenseToSparse_convert(sparse, whole, again, CUSPARSE_DENSETOSPARSE_ALG_DEFAULT, nullptr));
    save("again," + name, made, found);
    for (int k = 0; k < 8; ++k) if (offsets[k] != at.offsets[k]) save("wrong_offsets," + name, k);
    for (int k = 0; k < found; ++k) if (indices[k] != at.columns[k]) save("wrong_columns," + name, k);
}

template <class T> void sparse_systems(const std::string &name) {
    const auto type = data_type<T>();
    Places<int> at = places<int>(6, 6, 0, true);
    const int entries = int(at.rows.size());
    std::vector<T> host(entries);
    for (int e = 0; e < entries; ++e)
        host[e] = value<T>(number(1, e) / 4 + (at.rows[e] == at.columns[e] ? 2 : 0), number(2, e) / 4);
    T *values = on_device(host), *x = numbers<T>(3, 6), *b = numbers<T>(4, 40);
    const T alpha = value<T>(1.5, -0.25);
    cusparseSpMatDescr_t a;
    GOOD(cusparseCreateCsr(&a, 6, 6, entries, on_device(at.offsets), on_device(at.columns), values, CUSPARSE_INDEX_32I,
                           CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, type));
    save("system," + name, values, entries);
    for (int fill = 0; fill < 2; ++fill)
        for (int unit = 0; unit < 2; ++unit)
            for (int op = 0; op < 3; ++op) {
                GOOD(cusparseSpMatSetAttribute(a, CUSPARSE_SPMAT_FILL_MODE, &fill, sizeof fill));
                GOOD(cusparseSpMatSetAttribute(a, CUSPARSE_SPMAT_DIAG_TYPE, &unit, sizeof unit));
                const std::string s = name + "," + std::to_string(fill) + "," + std::to_string(unit) + "," + std::to_string(op);
                const auto operation = cusparseOperation_t(op);
                T *y = numbers<T>(5, 6), *c = numbers<T>(5, 40);
                cusparseDnVecDescr_t dx, dy;
                cusparseSpSVDescr_t state;
                size_t bytes;
                GOOD(cusparseCreateDnVec(&dx, 6, x, type));
                GOOD(cusparseCreateDnVec(&dy, 6, y, type));
                GOOD(cusparseSpSV_createDescr(&state));
                GOOD(cusparseSpSV_bufferSize(sparse, operation, &alpha, a, dx, dy, type, CUSPARSE_SPSV_ALG_DEFAULT, state, &bytes));
                GOOD(cusparseSpSV_analysis(sparse, operation, &alpha, a, dx, dy, type, CUSPARSE_SPSV_ALG_DEFAULT, state, nullptr));
                GOOD(cusparseSpSV_solve(sparse, operation, &alpha, a, dx, dy, type, CUSPARSE_SPSV_ALG_DEFAULT, state));
                GOOD(cusparseSpSV_destroyDescr(state));
                save("spsv," + s, y, 6);
                cusparseDnMatDescr_t db, dc;
                cusparseSpSMDescr_t states;
                GOOD(cusparseCreateDnMat(&db, 6, 3, 8, b, type, CUSPARSE_ORDER_COL));
                GOOD(cusparseCreateDnMat(&dc, 6, 3, 4, c, type, CUSPARSE_ORDER_ROW));
                GOOD(cusparseSpSM_createDescr(&states));
                GOOD(cusparseSpSM_analysis(sparse, operation, CUSPARSE_OPERATION_NON_TRANSPOSE, &alpha, a, db, dc, type,
                                           CUSPARSE_SPSM_ALG_DEFAULT, states, nullptr));
                GOOD(cusparseSpSM_solve(sparse, operation, CUSPARSE_OPERATION_NON_TRANSPOSE, &alpha, a, db, dc, type,
                                        CUSPARSE_SPSM_ALG_DEFAULT, states));
                save("spsm," + s, c, 40);
            }
    // The square of the matrix.
    cusparseSpMatDescr_t square;
    cusparseSpGEMMDescr_t state;
    const T zero = value<T>(0, 0);
    const auto plain = CUSPARSE_OPERATION_NON_TRANSPOSE;
    size_t bytes;
    int *offsets = on_device(std::vector<int>(7));
    void *buffer = numbers<T>(1, 8);
    GOOD(cusparseCreateCsr(&square, 6, 6, 0, offsets, nullptr, nullptr, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                           CUSPARSE_INDEX_BASE_ZERO, type));
    GOOD(cusparseSpGEMM_createDescr(&state));
    for (void *given : {(void *)nullptr, buffer})
        GOOD(cusparseSpGEMM_workEstimation(sparse, plain, plain, &alpha, a, a, &zero, square, type, CUSPARSE_SPGEMM_DEFAULT, state, &bytes, given));
    for (void *given : {(void *)nullptr, buffer})
        GOOD(cusparseSpGEMM_compute(sparse, plain, plain, &alpha, a, a, &zero, square, type, CUSPARSE_SPGEMM_DEFAULT, state, &bytes, given));
    int64_t rows, columns, count;
    GOOD(cusparseSpMatGetSize(square, &rows, &columns, &count));
    T *to = numbers<T>(6, count), *dense = numbers<T>(7, 36);
    GOOD(cusparseCsrSetPointers(square, offsets, on_device(std::vector<int>(count)), to));
    GOOD(cusparseSpGEMM_copy(sparse, plain, plain, &alpha, a, a, &zero, square, type, CUSPARSE_SPGEMM_DEFAULT, state));
    cusparseDnMatDescr_t whole;
    GOOD(cusparseCreateDnMat(&whole, 6, 6, 6, dense, type, CUSPARSE_ORDER_ROW));
    GOOD(cusparseSparseToDense(sparse, square, whole, CUSPARSE_SPARSETODENSE_ALG_DEFAULT, nullptr));
    save("square," + name, dense, 36);
}

static void older_calls() {
    const Places<int> at = places<int>(7, 5, 1, false);
    const int entries = int(at.rows.size());
    double *values = numbers<double>(1, entries), *x = numbers<double>(2, 5), *y = numbers<double>(3, 7), alpha = 2, beta = -1;
    cusparseMatDescr_t matrix;
    GOOD(cusparseCreateMatDescr(&matrix));
    GOOD(cusparseSetMatIndexBase(matrix, CUSPARSE_INDEX_BASE_ONE));
    int *offsets = on_device(at.offsets), *columns = on_device(at.columns), *rows = on_device(std::vector<int>(entries));
    GOOD(cusparseDcsrmv(sparse, CUSPARSE_OPERATION_NON_TRANSPOSE, 7, 5, entries, &alpha, matrix, values, offsets, columns, x, &beta, y));
    save("csrmv", y, 7);
    GOOD(cusparseXcsr2coo(sparse, offsets, entries, 7, rows, CUSPARSE_INDEX_BASE_ONE));
    save("csr2coo", int(std::equal(rows, rows + entries, at.rows.begin())));
    int *back = on_device(std::vector<int>(8));
    GOOD(cusparseXcoo2csr(sparse, rows, entries, 7, back, CUSPARSE_INDEX_BASE_ONE));
    save("coo2csr", int(std::equal(back, back + 8, at.offsets.begin())));
    double *turned = numbers<double>(4, entries);
    int *by_column = on_device(std::vector<int>(6)), *row_of = on_device(std::vector<int>(entries));
    GOOD(cusparseCsr2cscEx2(sparse, 7, 5, entries, values, offsets, columns, turned, by_column, row_of, CUDA_R_64F,
                            CUSPARSE_ACTION_NUMERIC, CUSPARSE_INDEX_BASE_ONE, CUSPARSE_CSR2CSC_ALG1, nullptr));
    save("csc_values", turned, entries), save("csc_offsets", by_column, 6), save("csc_rows", row_of, entries);
    cusparseDnVecDescr_t wrong;
    cusparseSpMatDescr_t a;
    GOOD(cusparseCreateDnVec(&wrong, 4, x, CUDA_R_64F));
    GOOD(cusparseCreateCsr(&a, 7, 5, entries, offsets, columns, values, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                           CUSPARSE_INDEX_BASE_ONE, CUDA_R_64F));
    save("wrong_length", int(cusparseSpMV(sparse, CUSPARSE_OPERATION_NON_TRANSPOSE, &alpha, a, wrong, &beta, wrong, CUDA_R_64F,
                                          CUSPARSE_SPMV_ALG_DEFAULT, nullptr)));
}

// ---- dense systems ----
#define OF_TYPE(NAME, COMPLEX)                                                                             \
    template <class T, class... A> cusolverStatus_t NAME(A... a) {                                         \
        if constexpr (std::is_same_v<T, float>) return cusolverDnS##NAME(a...);                            \
        else if constexpr (std::is_same_v<T, double>) return cusolverDnD##NAME(a...);                      \
        else if constexpr (std::is_same_v<T, cuComplex>) return cusolverDnC##COMPLEX(a...);                \
        else return cusolverDnZ##COMPLEX(a...);                                                            \
    }
OF_TYPE(getrf, getrf) OF_TYPE(getrs, getrs) OF_TYPE(potrf, potrf) OF_TYPE(potrs, potrs) OF_TYPE(geqrf, geqrf)
OF_TYPE(ormqr, unmqr) OF_TYPE(orgqr, ungqr) OF_TYPE(gesvd, gesvd) OF_TYPE(gesvdj, gesvdj) OF_TYPE(syevd, heevd)
OF_TYPE(sygvd, hegvd) OF_TYPE(getrf_bufferSize, getrf_bufferSize) OF_TYPE(syevd_bufferSize, heevd_bufferSize)

static cusolverDnHandle_t dense;

template <class T> void dense_systems() {
    using R = typename Scalars<T>::Part;
    const std::string name = type_name<T>();
    const bool complex = Scalars<T>::parts == 2;
    int *pivots = on_device(std::vector<int>(8)), *info = on_device(std::vector<int>(1, 77)), size = 0;
    T *work = numbers<T>(9, 8);
    R *w = numbers<R>(9, 8);
    T *a = numbers<T>(1, 48), *b = numbers<T>(2, 24);
    GOOD(getrf_bufferSize<T>(dense, 6, 6, a, 8, &size));
    GOOD(getrf<T>(dense, 6, 6, a, 8, work, pivots, info));
    GOOD(getrs<T>(dense, CUBLAS_OP_T, 6, 3, a, 8, pivots, b, 8, info));
    save(name + ",solved", b, 24), save(name + ",solved_info", info, 1);
    // A singular matrix says where.
    T *zeros = on_device(std::vector<T>(36));
    GOOD(getrf<T>(dense, 6, 6, zeros, 6, work, pivots, info));
    save(name + ",singular_info", info, 1);
    // The symmetric matrix that tests make of `numbers` 3: positive definite.
    std::vector<T> symmetric(36), host(36);
    for (int i = 0; i < 6; ++i)
        for (int j = 0; j <= i; ++j) {
            const double re = number(3, 6 * i + j) / 4 + (i == j ? 3 : 0), im = i == j ? 0 : number(4, 6 * i + j) / 4;
            symmetric[i + 6 * j] = value<T>(re, im), symmetric[j + 6 * i] = value<T>(re, -im);
        }
    T *s = on_device(symmetric), *t = on_device(symmetric);
    save(name + ",symmetric", s, 36);
    b = numbers<T>(2, 24);
    GOOD(potrf<T>(dense, CUBLAS_FILL_MODE_LOWER, 6, s, 6, work, 1, info));
    GOOD(potrs<T>(dense, CUBLAS_FILL_MODE_LOWER, 6, 3, s, 6, b, 8, info));
    save(name + ",by_cholesky", b, 24), save(name + ",cholesky_info", info, 1);
    GOOD(syevd_bufferSize<T>(dense, CUSOLVER_EIG_MODE_VECTOR, CUBLAS_FILL_MODE_UPPER, 6, t, 6, w, &size));
    GOOD(syevd<T>(dense, CUSOLVER_EIG_MODE_VECTOR, CUBLAS_FILL_MODE_UPPER, 6, t, 6, w, work, size, info));
    save(name + ",eigenvalues", w, 6), save(name + ",eigenvectors", t, 36);
    s = on_device(symmetric), t = on_device(symmetric);
    GOOD(sygvd<T>(dense, CUSOLVER_EIG_TYPE_1, CUSOLVER_EIG_MODE_NOVECTOR, CUBLAS_FILL_MODE_LOWER, 6, s, 6, t, 6, w, work, 1, info));
    save(name + ",of_itself", w, 6);
    // 7 x 4: Q and R, and Q applied.
    a = numbers<T>(5, 36), b = numbers<T>(6, 36);
    T *tau = numbers<T>(7, 4);
    GOOD(geqrf<T>(dense, 7, 4, a, 9, tau, work, 1, info));
    save(name + ",r", a, 36);
    GOOD(ormqr<T>(dense, CUBLAS_SIDE_LEFT, complex ? CUBLAS_OP_C : CUBLAS_OP_T, 7, 3, 4, a, 9, tau, b, 9, work, 1, info));
    save(name + ",q_applied", b, 36);
    GOOD(orgqr<T>(dense, 7, 4, 4, a, 9, tau, work, 1, info));
    save(name + ",q", a, 36);
    // Singular values of it, by both methods.
    a = numbers<T>(5, 36);
    T *u = numbers<T>(8, 63), *v = numbers<T>(8, 24);
    GOOD(gesvd<T>(dense, 'S', 'A', 7, 4, a, 9, w, u, 9, v, 6, work, 1, (R *)nullptr, info));
    save(name + ",singular_values", w, 4), save(name + ",u", u, 63), save(name + ",vt", v, 24);
    gesvdjInfo_t parameters;
    GOOD(cusolverDnCreateGesvdjInfo(&parameters));
    a = numbers<T>(5, 36);
    GOOD(gesvdj<T>(dense, CUSOLVER_EIG_MODE_VECTOR, 1, 7, 4, a, 9, w, u, 9, v, 6, work, 1, info, parameters));
    save(name + ",jacobi_values", w, 4), save(name + ",jacobi_u", u, 63), save(name + ",jacobi_v", v, 24);
}

static void one_rank() {
    ncclComm_t communicator;
    ncclUniqueId id;
    GOOD(ncclGetUniqueId(&id));
    save("two_ranks", int(ncclCommInitRank(&communicator, 2, id, 0)));
    GOOD(ncclCommInitRank(&communicator, 1, id, 0));
    double *a = numbers<double>(1, 10), *b = numbers<double>(2, 10), *c = numbers<double>(3, 10);
    GOOD(ncclAllReduce(a, b, 10, ncclDouble, ncclSum, communicator, nullptr));
    save("all_reduced", b, 10);
    GOOD(ncclGroupStart());
    GOOD(ncclSend(a, 5, ncclDouble, 0, communicator, nullptr));
    GOOD(ncclRecv(c + 5, 5, ncclDouble, 0, communicator, nullptr));
    GOOD(ncclGroupEnd());
    save("received", c, 10);
    save("alone", int(ncclSend(a, 5, ncclDouble, 0, communicator, nullptr)));
    GOOD(ncclCommDestroy(communicator));
}

int main(int, char **arguments) {
    results() = std::fopen(arguments[1], "wb");
    GOOD(cusparseCreate(&sparse));
    sparse_products<float, int>("f4", 0), sparse_products<double, int64_t>("f8", 1);
    sparse_products<cuComplex, int64_t>("c8", 0), sparse_products<cuDoubleComplex, int>("c16", 1);
    sparse_systems<float>("f4"), sparse_systems<cuDoubleComplex>("c16");
    older_calls();
    GOOD(cusparseDestroy(sparse));
    GOOD(cusolverDnCreate(&dense));
    dense_systems<float>(), dense_systems<double>(), dense_systems<cuComplex>(), dense_systems<cuDoubleComplex>();
    GOOD(cusolverDnDestroy(dense));
    one_rank();
    std::fclose(results());
}
