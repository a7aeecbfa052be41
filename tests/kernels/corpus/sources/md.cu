extern "C" __global__ void lennard_jones(double4 *force, const double4 *position, const int *neighbours, int inum, int most, double cut) {
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx >= inum) return;
    double4 me = position[idx], f = make_double4(0, 0, 0, 0);
    int j = 0;
    while (j < most) {
        int other = neighbours[j * inum + idx];
        double4 o = position[other];
        double dx = me.x - o.x, dy = me.y - o.y, dz = me.z - o.z, r2 = dx * dx + dy * dy + dz * dz;
        if (r2 < cut && other != idx) {
            double r2inv = 1.0 / (r2 + 0.1), r6inv = r2inv * r2inv * r2inv;
            double s = r2inv * r6inv * (1.5 * r6inv - 2.0);
            f.x += dx * s; f.y += dy * s; f.z += dz * s;
        }
        j++;
    }
    force[idx] = f;
}
