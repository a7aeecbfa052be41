#include <omp.h>
#include <cuda_runtime.h>
int main() {
    int sum = 0, most = 0;
#pragma omp parallel for reduction(+ : sum) reduction(max : most) num_threads(3)
    for (int i = 0; i < 9; ++i) sum += i, most = omp_get_num_threads() > most ? omp_get_num_threads() : most;
    return sum == 36 && most == 3 ? 0 : 1;
}
