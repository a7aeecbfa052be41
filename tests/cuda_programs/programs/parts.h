extern __device__ int shared_counter;
extern __constant__ int base[2];
__device__ int twice(int x);
void first(int *);
void second(int *);
