#define GAMMA 1.4
#define NVAR 5
__host__ __device__ inline void velocity(double &density, double3 &momentum, double3 &v) {
    v.x = momentum.x / density; v.y = momentum.y / density; v.z = momentum.z / density;
}
__device__ inline double speed2(double3 &v) { return v.x * v.x + v.y * v.y + v.z * v.z; }
__device__ inline double pressure_of(double &d, double &e, double &s2) { return (GAMMA - 1.0) * (e - 0.5 * d * s2); }
extern "C" __global__ void flux(const int *around, const double *normals, const double *vars, double *fluxes, int nel) {
    const int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i >= nel) return;
    double density = vars[i], energy = vars[i + 4 * nel];
    double3 mom; mom.x = vars[i + nel]; mom.y = vars[i + 2 * nel]; mom.z = vars[i + 3 * nel];
    double3 v; velocity(density, mom, v);
    double s2 = speed2(v), pressure = pressure_of(density, energy, s2);
    double out[NVAR] = {0, 0, 0, 0, 0};
    #pragma unroll
    for (int j = 0; j < 4; j++) {
        int nb = around[i + j * nel];
        double3 normal; normal.x = normals[i + (j * 3) * nel]; normal.y = normals[i + (j * 3 + 1) * nel]; normal.z = normals[i + (j * 3 + 2) * nel];
        if (nb >= 0) {
            double d = vars[nb], e = vars[nb + 4 * nel];
            double3 m; m.x = vars[nb + nel]; m.y = vars[nb + 2 * nel]; m.z = vars[nb + 3 * nel];
            double3 w; velocity(d, m, w);
            double q2 = speed2(w), p = pressure_of(d, e, q2);
            double factor = -sqrt(speed2(normal)) * 0.2 * 0.5 * (sqrt(s2) + sqrt(q2));
            out[0] += factor * (density - d) + 0.5 * normal.x * (m.x + mom.x);
            out[1] += factor * (mom.x - m.x) + 0.5 * normal.y * (p + pressure);
            out[2] += factor * (mom.y - m.y); out[3] += factor * (mom.z - m.z); out[4] += factor * (energy - e);
        } else if (nb == -1) {
            out[1] += normal.x * pressure; out[2] += normal.y * pressure; out[3] += normal.z * pressure;
        } else if (nb == -2) {
            out[0] += 0.5 * normal.x; out[4] += 0.5 * normal.z;
        }
    }
    for (int k = 0; k < NVAR; k++) fluxes[i + k * nel] = out[k];
}
