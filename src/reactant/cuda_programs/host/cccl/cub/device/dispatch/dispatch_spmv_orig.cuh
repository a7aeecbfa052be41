// cub::DeviceSpmv is not on this device: a program that calls it does not compile.
#pragma once
#include <cub/config.cuh>
CUB_NAMESPACE_BEGIN
template <class V, class O> struct SpmvParams {
    V *d_values; O *d_row_end_offsets, *d_column_indices; V *d_vector_x, *d_vector_y; int num_rows, num_cols, num_nonzeros; V alpha, beta;
};
template <class...> struct DispatchSpmv;
CUB_NAMESPACE_END
