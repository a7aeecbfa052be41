extern "C" __global__ void spmv_ell(const double *val, const int *cols, const int *lengths, const double *vec, double *out, int dim) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t < dim) {
        double result = 0.0;
        int most = lengths[t];
        for (int i = 0; i < most; i++) {
            int ind = i * dim + t;
            result += val[ind] * vec[cols[ind]];
        }
        out[t] = result;
    }
}
