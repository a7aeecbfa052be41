extern "C" __global__ void potential(const float4 *atoms, int many, float *energy, int nx, int ny, int nz, float h, float cutoff2) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y, k = blockIdx.z * blockDim.z + threadIdx.z;
    if (i >= nx || j >= ny || k >= nz) return;
    float sum = 0;
    for (int a = 0; a < many; ++a) {
        float dx = i * h - atoms[a].x, dy = j * h - atoms[a].y, dz = k * h - atoms[a].z;
        float r2 = dx * dx + dy * dy + dz * dz;
        if (r2 < cutoff2) {
            float s = 1 - r2 / cutoff2;
            sum += atoms[a].w * rsqrtf(r2) * s * s;
        }
    }
    energy[(k * ny + j) * nx + i] += sum;
}
