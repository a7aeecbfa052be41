// Texture and surface objects: every addressing mode, both filters, as the appendix of CUDA's guide defines them.
#include "checks.h"
#include <vector>
__global__ void at2d(cudaTextureObject_t t, const float *x, const float *y, float *out) { int i = threadIdx.x; out[i] = tex2D<float>(t, x[i], y[i]); }
__global__ void at1d(cudaTextureObject_t t, const float *x, float *out) { int i = threadIdx.x; out[i] = tex1D<float>(t, x[i]); }
__global__ void at3d(cudaTextureObject_t t, float x, float y, float z, float *out) { *out = tex3D<float>(t, x, y, z); }
__global__ void fetched(cudaTextureObject_t t, int *out) { int4 v = tex1Dfetch<int4>(t, threadIdx.x); out[threadIdx.x] = v.x + 10 * v.y + 100 * v.z + 1000 * v.w; }
__global__ void normalised(cudaTextureObject_t t, float *out) { uchar4 none; (void)none; float4 v = tex2D<float4>(t, 1.5f, 0.5f); out[0] = v.x; out[1] = v.w; }
__global__ void surface(cudaSurfaceObject_t s, int width) {
    int x = threadIdx.x, y = blockIdx.x;
    float v;
    surf2Dread(&v, s, x * 4, y);
    surf2Dwrite(v * 2 + y, s, x * 4, y);
}

static float wanted(const std::vector<float> &h, int w, int n, float x, float y, int mode, bool linear, bool unit) {
    auto axis = [&](int i, int e, bool *out) {
        if (i >= 0 && i < e) return i;
        if (unit && mode == cudaAddressModeWrap) return ((i % e) + e) % e;
        if (unit && mode == cudaAddressModeMirror) { int m = ((i % (2 * e)) + 2 * e) % (2 * e); return m < e ? m : 2 * e - 1 - m; }
        if (mode == cudaAddressModeBorder) { *out = true; return 0; }
        return i < 0 ? 0 : e - 1;
    };
    auto texel = [&](int i, int j) { bool out = false; i = axis(i, w, &out); j = axis(j, n, &out); return out ? 0.f : h[j * w + i]; };
    if (unit) x *= w, y *= n;
    if (!linear) return texel((int)floorf(x), (int)floorf(y));
    float bx = floorf(x - 0.5f), by = floorf(y - 0.5f);
    float a = floorf((x - 0.5f - bx) * 256 + 0.5f) / 256, b = floorf((y - 0.5f - by) * 256 + 0.5f) / 256;
    int i = (int)bx, j = (int)by;
    return (1 - a) * (1 - b) * texel(i, j) + a * (1 - b) * texel(i + 1, j) + (1 - a) * b * texel(i, j + 1) + a * b * texel(i + 1, j + 1);
}

static void planes() {
    const int w = 7, n = 5, count = 200;
    std::vector<float> h(w * n);
    for (int i = 0; i < w * n; ++i) h[i] = 0.37f * i * i - i;
    cudaArray_t array;
    auto format = cudaCreateChannelDesc<float>();
    CHECK(cudaMallocArray(&array, &format, w, n) == cudaSuccess && cudaMemcpy2DToArray(array, 0, 0, h.data(), w * 4, w * 4, n, cudaMemcpyHostToDevice) == cudaSuccess);
    float *x, *y, *out;
    cudaMallocManaged(&x, 4 * count), cudaMallocManaged(&y, 4 * count), cudaMallocManaged(&out, 4 * count);
    for (int unit = 0; unit < 2; ++unit)
        for (int mode = 0; mode < 4; ++mode)
            for (int linear = 0; linear < 2; ++linear) {
                cudaResourceDesc resource = {};
                resource.resType = cudaResourceTypeArray, resource.res.array.array = array;
                cudaTextureDesc d = {};
                d.addressMode[0] = d.addressMode[1] = (cudaTextureAddressMode)mode;
                d.filterMode = linear ? cudaFilterModeLinear : cudaFilterModePoint, d.normalizedCoords = unit;
                cudaTextureObject_t t;
                CHECK(cudaCreateTextureObject(&t, &resource, &d, nullptr) == cudaSuccess);
                for (int i = 0; i < count; ++i) {
                    x[i] = (-1.3f + 0.019f * i) * (unit ? 1 : w), y[i] = (2.1f - 0.017f * i) * (unit ? 1 : n);
                }
                at2d<<<1, count>>>(t, x, y, out);
                CHECK(cudaDeviceSynchronize() == cudaSuccess);
                for (int i = 0; i < count; ++i) {
                    float f = wanted(h, w, n, x[i], y[i], mode, linear, unit);
                    if (!(fabsf(out[i] - f) <= 1e-4f * (1 + fabsf(f)))) { SAME(out[i], f); printf("unit %d mode %d linear %d at %g %g\n", unit, mode, linear, x[i], y[i]); break; }
                }
                CHECK(cudaDestroyTextureObject(t) == cudaSuccess);
            }
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray, resource.res.array.array = array;
    cudaSurfaceObject_t s;
    CHECK(cudaCreateSurfaceObject(&s, &resource) == cudaSuccess);
    surface<<<n, w>>>(s, w);
    std::vector<float> g(w * n);
    CHECK(cudaMemcpy2DFromArray(g.data(), w * 4, array, 0, 0, w * 4, n, cudaMemcpyDeviceToHost) == cudaSuccess);
    for (int i = 0; i < w * n; ++i) SAME(g[i], h[i] * 2 + i / w);
    cudaDestroySurfaceObject(s), cudaFreeArray(array);
}

static void linear_memory() {
    int4 h[8], *d;
    int *out;
    for (int i = 0; i < 8; ++i) h[i] = make_int4(i, 1, -i, 2);
    cudaMalloc(&d, sizeof h), cudaMemcpy(d, h, sizeof h, cudaMemcpyHostToDevice), cudaMallocManaged(&out, 40);
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeLinear, resource.res.linear.devPtr = d, resource.res.linear.desc = cudaCreateChannelDesc<int4>(), resource.res.linear.sizeInBytes = sizeof h;
    cudaTextureDesc description = {};
    cudaTextureObject_t t;
    CHECK(cudaCreateTextureObject(&t, &resource, &description, nullptr) == cudaSuccess);
    fetched<<<1, 10>>>(t, out);
    CHECK(cudaDeviceSynchronize() == cudaSuccess && out[0] == 2010 && out[3] == 3 + 10 - 300 + 2000 && out[8] == 0 && out[9] == 0);
    description.filterMode = cudaFilterModeLinear;
    CHECK(cudaCreateTextureObject(&t, &resource, &description, nullptr) == cudaErrorInvalidFilterSetting);
    uchar4 *c; float *f; size_t pitch;
    cudaMallocPitch(&c, &pitch, 2 * sizeof(uchar4), 1), cudaMallocManaged(&f, 8);
    uchar4 colours[2] = {make_uchar4(0, 0, 0, 0), make_uchar4(255, 0, 0, 51)};
    cudaMemcpy2D(c, pitch, colours, 8, 8, 1, cudaMemcpyHostToDevice);
    cudaResourceDesc plane = {};
    plane.resType = cudaResourceTypePitch2D, plane.res.pitch2D.devPtr = c, plane.res.pitch2D.desc = cudaCreateChannelDesc<uchar4>(), plane.res.pitch2D.width = 2, plane.res.pitch2D.height = 1, plane.res.pitch2D.pitchInBytes = pitch;
    description.filterMode = cudaFilterModePoint, description.readMode = cudaReadModeNormalizedFloat;
    CHECK(cudaCreateTextureObject(&t, &plane, &description, nullptr) == cudaSuccess);
    normalised<<<1, 1>>>(t, f);
    CHECK(cudaDeviceSynchronize() == cudaSuccess && f[0] == 1 && fabsf(f[1] - 0.2f) < 1e-6f);
    cudaGetLastError();
}

static void cubes() {
    float h[2][3][2], *out;
    for (int i = 0; i < 12; ++i) h[0][0][i] = i;
    cudaArray_t array;
    auto format = cudaCreateChannelDesc<float>();
    cudaMallocManaged(&out, 4), cudaMalloc3DArray(&array, &format, make_cudaExtent(2, 3, 2));
    cudaMemcpy3DParms p = {};
    p.srcPtr = make_cudaPitchedPtr(h, 8, 2, 3), p.dstArray = array, p.extent = make_cudaExtent(2, 3, 2), p.kind = cudaMemcpyHostToDevice;
    CHECK(cudaMemcpy3D(&p) == cudaSuccess);
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray, resource.res.array.array = array;
    cudaTextureDesc d = {};
    d.addressMode[0] = d.addressMode[1] = d.addressMode[2] = cudaAddressModeClamp, d.filterMode = cudaFilterModeLinear;
    cudaTextureObject_t t;
    CHECK(cudaCreateTextureObject(&t, &resource, &d, nullptr) == cudaSuccess);
    at3d<<<1, 1>>>(t, 1.0f, 1.5f, 1.0f, out);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    SAME(*out, (2 + 3 + 8 + 9) / 4.f);
}

int main(int argc, char **argv) {
    const Subject subjects[] = {{"planes", planes}, {"linear", linear_memory}, {"cubes", cubes}};
    return run_subjects(subjects, 3, argc, argv);
}
