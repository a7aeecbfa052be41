/* Three heavy stages of the model as a C programmer would fuse them: the yardstick of `python -m examples.ocean speed`.
   Arrays as in the model: (nz, ny, nx) with 4 ghost cells around rows and columns. */
#include <math.h>
#include <stdlib.h>
#define H 4
#define AT(k, j, i) (((long)(k) * ny + (j)) * nx + (i))
#define SMALL 1e-20
#define SQUARE(x) ((x) * (x))

static inline double weno5(double a, double b, double c, double d, double e) {
    double q1 = (2 * a - 7 * b + 11 * c) / 6, q2 = (-b + 5 * c + 2 * d) / 6, q3 = (2 * c + 5 * d - e) / 6;
    double r1 = 13.0 / 12 * SQUARE(a - 2 * b + c) + 0.25 * SQUARE(a - 4 * b + 3 * c);
    double r2 = 13.0 / 12 * SQUARE(b - 2 * c + d) + 0.25 * SQUARE(b - d);
    double r3 = 13.0 / 12 * SQUARE(c - 2 * d + e) + 0.25 * SQUARE(3 * c - 4 * d + e);
    double tau = fabs(r1 - r3);
    double w1 = 0.1 * (1 + SQUARE(tau / (r1 + SMALL))), w2 = 0.6 * (1 + SQUARE(tau / (r2 + SMALL)));
    double w3 = 0.3 * (1 + SQUARE(tau / (r3 + SMALL)));
    return (w1 * q1 + w2 * q2 + w3 * q3) / (w1 + w2 + w3);
}

static inline double weno3(double b, double c, double d) {
    double r1 = SQUARE(c - b), r2 = SQUARE(d - c), tau = fabs(r1 - r2);
    double w1 = 1.0 / 3 * (1 + SQUARE(tau / (r1 + SMALL))), w2 = 2.0 / 3 * (1 + SQUARE(tau / (r2 + SMALL)));
    return (w1 * (1.5 * c - 0.5 * b) + w2 * 0.5 * (c + d)) / (w1 + w2);
}

/* No branches: the loops around it are vectors. */
static inline double carried(double flow, int order, double a, double b, double c, double d, double e, double f) {
    int back = flow < 0;
    double a1 = back ? f : a, b1 = back ? e : b, c1 = back ? d : c, d1 = back ? c : d, e1 = back ? b : e;
    double five = weno5(a1, b1, c1, d1, e1), three = weno3(b1, c1, d1);
    return flow * (order == 3 ? five : order == 2 ? three : c1);
}

/* carry_x, carry_y, carry_z and take_in in one pass over the cells, from the bottom upwards. */
void advect(const double *restrict t, const double *restrict flow_x, const double *restrict flow_y,
            const double *restrict up, const signed char *restrict order_x, const signed char *restrict order_y,
            const signed char *restrict order_z, const double *restrict dz, const double *restrict area,
            const double *restrict stretch, const double *restrict before, double dt, double *restrict out,
            int nz, int ny, int nx) {
    double *fx = malloc(sizeof(double) * nx), *fz = malloc(sizeof(double) * nx);
    double *fy = malloc(sizeof(double) * nx), *fy_next = malloc(sizeof(double) * nx);
    double *below = calloc((long)ny * nx, sizeof(double));
    for (int k = nz - 1; k >= 0; k--) {
        int k1 = k + 1 < nz ? k + 1 : nz - 1, k2 = k + 2 < nz ? k + 2 : nz - 1;
        int u1 = k > 0 ? k - 1 : 0, u2 = k > 1 ? k - 2 : 0, u3 = k > 2 ? k - 3 : 0;
        for (int j = H; j <= ny - H; j++) {
            double *swap = fy; fy = fy_next; fy_next = swap;
            for (int i = H; i < nx - H; i++)
                fy_next[i] = carried(flow_y[AT(k, j, i)], order_y[AT(k, j, i)], t[AT(k, j - 3, i)], t[AT(k, j - 2, i)],
                                     t[AT(k, j - 1, i)], t[AT(k, j, i)], t[AT(k, j + 1, i)], t[AT(k, j + 2, i)]);
            if (j == H) continue;
            int r = j - 1;
            for (int i = H; i <= nx - H; i++)
                fx[i] = carried(flow_x[AT(k, r, i)], order_x[AT(k, r, i)], t[AT(k, r, i - 3)], t[AT(k, r, i - 2)],
                                t[AT(k, r, i - 1)], t[AT(k, r, i)], t[AT(k, r, i + 1)], t[AT(k, r, i + 2)]);
            for (int i = H; i < nx - H; i++) {
                double flux = carried(up[AT(k, r, i)], order_z[AT(k, r, i)], t[AT(k2, r, i)], t[AT(k1, r, i)],
                                      t[AT(k, r, i)], t[AT(u1, r, i)], t[AT(u2, r, i)], t[AT(u3, r, i)]);
                fz[i] = order_z[AT(k, r, i)] > 0 ? flux : 0.0;
            }
            for (int i = H; i < nx - H; i++) {
                double leaves = fx[i + 1] - fx[i] + fy_next[i] - fy[i] + fz[i] - below[(long)r * nx + i];
                double thick = dz[AT(k, r, i)], safe = thick > 0 ? thick : 1.0;
                double made = (before[(long)r * nx + i] * out[AT(k, r, i)] - dt * leaves / (area[r] * safe))
                              / stretch[(long)r * nx + i];
                out[AT(k, r, i)] = thick > 0 ? made : out[AT(k, r, i)];
                below[(long)r * nx + i] = fz[i];
            }
        }
    }
    free(fx); free(fy); free(fy_next); free(fz); free(below);
}

static inline double density(double temperature, double salinity, double height) {
    double t = temperature / 40.0, s = sqrt((salinity + 32.0) / (40.0 * 35.16504 / 35.0)), z = -height / 1.0e4;
    double r3 = 3.7969820455e-01 * t - 1.8507636718e-02 * s - 2.3342758797e-02;
    double r2 = (-1.2419983026e+00 * t - 2.1311365518e-01 * s + 2.0564311499e+00) * t
                + (2.5019633244e+00 * s - 4.9527603989e+00) * s + 2.0660924175e+00;
    double r1 = (((5.5927935970e-01 * t - 5.5077101279e-01 * s - 2.4649669534e+00) * t
                  + (-1.8795372996e+00 * s + 3.5063081279e+00) * s + 6.7080479603e+00) * t
                 + ((-6.5399043664e-01 * s + 5.0042598061e+00) * s - 4.4870114575e+00) * s - 1.3336301113e+01) * t
                + (((6.6051753097e+00 * s - 3.0938076334e+01) * s + 5.0774768218e+01) * s - 4.2549998214e+01) * s
                + 1.9681925209e+01;
    double r0 = (((((-1.9083568888e-01 * t + 4.8169980163e-01 * s + 5.4048723791e-01) * t
                    + (-5.3563304045e+00 * s + 1.1311538584e+01) * s - 8.3627885467e+00) * t
                   + ((-3.1742946532e+00 * s + 1.9717078466e+01) * s - 3.3449108469e+01) * s + 2.1661789529e+01) * t
                  + (((-5.4723692739e+00 * s + 2.9130021253e+01) * s - 6.0362551501e+01) * s + 6.1548258127e+01) * s
                  - 3.7074170417e+01) * t
                 + ((((-1.9193502195e+00 * s + 1.7681814114e+01) * s - 5.6888046321e+01) * s + 8.1770425108e+01) * s
                    - 6.5281885265e+01) * s + 2.6010145068e+01) * t
                + (((((-6.0579916612e+01 * s + 4.3227585684e+02) * s - 1.2849161071e+03) * s + 2.0375295546e+03) * s
                    - 1.7864682637e+03) * s + 8.6672408165e+02) * s + 8.0189615746e+02;
    return ((r3 * z + r2) * z + r1) * z + r0;
}

/* compute_buoyancy and compute_pressure, the sum down the columns row by row. */
void weigh(const double *restrict temperature, const double *restrict salinity, const double *restrict height,
           const double *restrict level, const double *restrict stretch, double *restrict buoyancy,
           double *restrict pressure, int nz, int ny, int nx) {
    double *sum = malloc(sizeof(double) * nx), *last = malloc(sizeof(double) * nx);
    for (int j = 0; j < ny; j++) {
        for (int i = 0; i < nx; i++) sum[i] = last[i] = 0.0;
        for (int k = 0; k < nz; k++)
            for (int i = 0; i < nx; i++) {
                double b = -9.80665 * (density(temperature[AT(k, j, i)], salinity[AT(k, j, i)], height[k]) - 1026.0)
                           / 1026.0;
                buoyancy[AT(k, j, i)] = b;
                sum[i] -= 0.5 * (last[i] + b * level[k]);
                last[i] = b * level[k];
                pressure[AT(k, j, i)] = sum[i] * stretch[(long)j * nx + i];
            }
    }
    free(sum); free(last);
}

/* diffuse_tracer, row by row: vectors along x. */
void diffuse(double *restrict t, const double *restrict kappa, const double *restrict dz, const double *restrict height,
             const double *restrict stretch, double dt, int nz, int ny, int nx) {
    double *ratio = malloc(sizeof(double) * nx * nz);
    for (int j = H; j < ny - H; j++) {
        for (int k = 0; k < nz; k++)
            for (int i = H; i < nx - H; i++) {
                double factor = dt / SQUARE(stretch[(long)j * nx + i]), thick = dz[AT(k, j, i)];
                double safe = thick > 0 ? thick : 1.0, above = 0, below = 0;
                if (k > 0) above = factor * kappa[AT(k, j, i)] / ((height[k - 1] - height[k]) * safe);
                if (k < nz - 1) {
                    double next = factor * kappa[AT(k + 1, j, i)] / ((height[k] - height[k + 1]) * safe);
                    below = dz[AT(k + 1, j, i)] > 0 ? next : 0.0;
                }
                above = thick > 0 ? above : 0.0;
                below = thick > 0 ? below : 0.0;
                double passed = k > 0 ? ratio[(k - 1) * nx + i] : 0.0, before = k > 0 ? t[AT(k - 1, j, i)] : 0.0;
                double pivot = 1.0 + above + below - above * passed;
                ratio[k * nx + i] = below / pivot;
                t[AT(k, j, i)] = (t[AT(k, j, i)] + above * before) / pivot;
            }
        for (int k = nz - 2; k >= 0; k--)
            for (int i = H; i < nx - H; i++) t[AT(k, j, i)] += ratio[k * nx + i] * t[AT(k + 1, j, i)];
    }
    free(ratio);
}
