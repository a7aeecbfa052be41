typedef double2 Complex;
typedef struct { Complex e[3][3]; } su3_matrix;
typedef struct { su3_matrix link[4]; int x, y, z, t, index; char parity; double pad[1]; } site;
#define CMULSUM(a, b, c) { (c).x += (a).x * (b).x - (a).y * (b).y; (c).y += (a).x * (b).y + (a).y * (b).x; }
extern "C" __global__ void su3(const su3_matrix *a, const su3_matrix *b, su3_matrix *c, int total) {
    int id = blockIdx.x * blockDim.x + threadIdx.x;
    int s = id / 36;
    if (s < total) {
        int j = (id % 36) / 9, k = (id % 9) / 3, l = id % 3;
        Complex cc = {0.0, 0.0};
        for (int m = 0; m < 3; m++) CMULSUM(a[s * 4 + j].e[k][m], b[j].e[m][l], cc);
        c[s * 4 + j].e[k][l] = cc;
    }
}
