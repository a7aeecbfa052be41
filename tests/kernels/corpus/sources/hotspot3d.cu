extern "C" __global__ void hot3d(const double *p, const double *tin, double *tout, int nx, int ny, int nz, double ce, double cn, double ct, double step) {
    int i = blockDim.x * blockIdx.x + threadIdx.x, j = blockDim.y * blockIdx.y + threadIdx.y;
    if (i >= nx || j >= ny) return;
    const double amb = 80.0;
    double cc = 1.0 - (2.0 * ce + 2.0 * cn + 3.0 * ct);
    int c = i + j * nx, xy = nx * ny;
    int W = (i == 0) ? c : c - 1, E = (i == nx - 1) ? c : c + 1;
    int N = (j == 0) ? c : c - nx, S = (j == ny - 1) ? c : c + nx;
    double t1, t2, t3;
    t1 = t2 = tin[c];
    t3 = tin[c + xy];
    tout[c] = cc * t2 + cn * tin[S] + cn * tin[N] + ce * tin[E] + ce * tin[W] + ct * t1 + ct * t3 + step * p[c] + ct * amb;
    c += xy; W += xy; E += xy; N += xy; S += xy;
    for (int k = 1; k < nz - 1; ++k) {
        t1 = t2; t2 = t3; t3 = tin[c + xy];
        tout[c] = cc * t2 + cn * tin[S] + cn * tin[N] + ce * tin[E] + ce * tin[W] + ct * t1 + ct * t3 + step * p[c] + ct * amb;
        c += xy; W += xy; E += xy; N += xy; S += xy;
    }
    t1 = t2; t2 = t3;
    tout[c] = cc * t2 + cn * tin[S] + cn * tin[N] + ce * tin[E] + ce * tin[W] + ct * t1 + ct * t3 + step * p[c] + ct * amb;
}
