// Texture and surface objects: addressing, filtering and conversion as CUDA documents them.
//
// Linear filtering weighs texels by fractions of 8 bits, as the hardware's documentation has it.
#include <cmath>
#include <cstring>
#include <type_traits>

#include "runtime.h"

using namespace reactant;

namespace {

// One level of what a texture reads: texels of an array, of linear memory, or of pitched memory.
struct Image {
    const char *data; cudaChannelFormatDesc format; size_t element, pitch, slice;
    int64_t width, height, depth; bool layered;
};

struct Texture {
    cudaResourceDesc resource; cudaTextureDesc description;
    std::vector<Image> levels;
    int channels; bool floats;          // what is read: floats, or 32-bit integers
};

struct Surface { cudaResourceDesc resource; cudaArray *array; };

struct Texel { float f[4]; int32_t i[4]; };

int64_t addressed(int64_t index, int64_t extent, cudaTextureAddressMode mode, bool *border) {
    if (index >= 0 && index < extent) return index;
    switch (mode) {
    case cudaAddressModeWrap: index %= extent; return index < 0 ? index + extent : index;
    case cudaAddressModeMirror:
        index %= 2 * extent;
        if (index < 0) index += 2 * extent;
        return index < extent ? index : 2 * extent - 1 - index;
    case cudaAddressModeBorder: *border = true; return 0;
    default: return index < 0 ? 0 : extent - 1;
    }
}

float half_to_float(uint16_t bits) {
    uint32_t sign = (uint32_t)(bits & 0x8000) << 16, exponent = bits >> 10 & 31, fraction = bits & 1023;
    float value;
    if (exponent == 0) value = std::ldexp((float)fraction, -24);
    else {
        uint32_t whole = exponent == 31 ? 0x7f800000u | fraction << 13 : (exponent + 112) << 23 | fraction << 13;
        memcpy(&value, &whole, 4);
    }
    uint32_t word;
    memcpy(&word, &value, 4);
    word |= sign;
    memcpy(&value, &word, 4);
    return value;
}

float linear_of_srgb(float c) { return c <= 0.04045f ? c / 12.92f : std::pow((c + 0.055f) / 1.055f, 2.4f); }

template <class T> T element_at(const char *at) {
    T value;
    memcpy(&value, at, sizeof value);
    return value;
}

Texel texel(const Texture &texture, const Image &image, int64_t x, int64_t y, int64_t z, bool border) {
    Texel result{};
    const int bits[4] = {image.format.x, image.format.y, image.format.z, image.format.w};
    if (border) {
        for (int c = 0; c < 4; ++c) {
            result.f[c] = texture.description.borderColor[c];
            result.i[c] = (int32_t)texture.description.borderColor[c];
        }
        return result;
    }
    const char *at = image.data + z * (int64_t)image.slice + y * (int64_t)image.pitch + x * (int64_t)image.element;
    for (int c = 0; c < 4 && bits[c]; at += bits[c] / 8, ++c) {
        if (image.format.f == cudaChannelFormatKindFloat) {
            result.f[c] = bits[c] == 16 ? half_to_float(element_at<uint16_t>(at)) : element_at<float>(at);
            continue;
        }
        bool sign = image.format.f == cudaChannelFormatKindSigned;
        int64_t value = bits[c] == 8 ? (sign ? (int64_t)element_at<int8_t>(at) : element_at<uint8_t>(at))
                        : bits[c] == 16 ? (sign ? (int64_t)element_at<int16_t>(at) : element_at<uint16_t>(at))
                                        : (int64_t)element_at<int32_t>(at);
        result.i[c] = (int32_t)value;
        if (texture.floats) {
            float most = (float)((1ll << (bits[c] - (sign ? 1 : 0))) - 1);
            result.f[c] = (float)value / most;
            if (result.f[c] < -1) result.f[c] = -1;
            if (texture.description.sRGB && bits[c] == 8 && c < 3) result.f[c] = linear_of_srgb(result.f[c]);
        }
    }
    return result;
}

// A coordinate as texels and, for linear filtering, the weight of the second one.
struct Place { int64_t first, second; float weight; bool border_first, border_second; };

Place place(float coordinate, int64_t extent, const cudaTextureDesc &description, int axis, bool linear) {
    Place result{};
    cudaTextureAddressMode mode = description.addressMode[axis];
    float at = coordinate;
    if (description.normalizedCoords) at *= (float)extent;
    else if (mode == cudaAddressModeWrap || mode == cudaAddressModeMirror) mode = cudaAddressModeClamp;
    if (!(at > -1e9f)) at = -1e9f;
    if (at > 1e9f) at = 1e9f;
    if (!linear) {
        result.first = addressed((int64_t)std::floor(at), extent, mode, &result.border_first);
        return result;
    }
    float below = std::floor(at - 0.5f);
    result.weight = std::floor((at - 0.5f - below) * 256.0f + 0.5f) / 256.0f;
    result.first = addressed((int64_t)below, extent, mode, &result.border_first);
    result.second = addressed((int64_t)below + 1, extent, mode, &result.border_second);
    return result;
}

void mix(float *into, const Texel &from, float weight) {
    for (int c = 0; c < 4; ++c)
        if (weight != 0) into[c] += weight * from.f[c];
}

// Texture coordinates of a direction: the face, and where on it.
int face_of(float x, float y, float z, float *u, float *v) {
    float ax = std::fabs(x), ay = std::fabs(y), az = std::fabs(z), m, s, t;
    int face;
    if (ax >= ay && ax >= az) face = x >= 0 ? 0 : 1, m = ax, s = x >= 0 ? -z : z, t = -y;
    else if (ay >= az) face = y >= 0 ? 2 : 3, m = ay, s = x, t = y >= 0 ? z : -z;
    else face = z >= 0 ? 4 : 5, m = az, s = z >= 0 ? x : -x, t = -y;
    *u = (s / m + 1) / 2, *v = (t / m + 1) / 2;
    return face;
}

void read_level(const Texture &texture, const Image &image, int kind, float x, float y, float z, int layer,
                void *four) {
    const cudaTextureDesc &d = texture.description;
    bool linear = d.filterMode == cudaFilterModeLinear && texture.floats;
    int dimensions = kind == REACTANT_TEXTURE_1D || kind == REACTANT_TEXTURE_1D_LAYERED ? 1
                     : kind == REACTANT_TEXTURE_3D ? 3 : 2;
    cudaTextureDesc faces;
    const cudaTextureDesc *used = &d;
    if (kind == REACTANT_TEXTURE_CUBE || kind == REACTANT_TEXTURE_CUBE_LAYERED) {
        float u, v;
        layer = (kind == REACTANT_TEXTURE_CUBE_LAYERED ? layer * 6 : 0) + face_of(x, y, z, &u, &v);
        x = u, y = v;
        faces = d;
        faces.normalizedCoords = 1;
        faces.addressMode[0] = faces.addressMode[1] = cudaAddressModeClamp;
        used = &faces;
    }
    bool layered = kind >= REACTANT_TEXTURE_1D_LAYERED;
    int64_t slice = layer < 0 ? 0 : layer >= image.depth ? image.depth - 1 : layer;
    Place px = place(x, image.width, *used, 0, linear), py{}, pz{};
    if (dimensions > 1) py = place(y, image.height, *used, 1, linear);
    if (dimensions > 2) pz = place(z, image.depth, *used, 2, linear);
    if (layered) pz.first = slice;
    if (!linear) {
        Texel found = texel(texture, image, px.first, py.first, pz.first,
                            px.border_first || py.border_first || pz.border_first);
        memcpy(four, texture.floats ? (const void *)found.f : (const void *)found.i, 16);
        return;
    }
    float sum[4] = {0, 0, 0, 0};
    for (int k = 0; k < 1 << dimensions; ++k) {
        bool bx = k & 1, by = k & 2, bz = k & 4;
        float weight = (bx ? px.weight : 1 - px.weight) * (dimensions > 1 ? (by ? py.weight : 1 - py.weight) : 1) *
                       (dimensions > 2 ? (bz ? pz.weight : 1 - pz.weight) : 1);
        bool border = (bx ? px.border_second : px.border_first) || (by ? py.border_second : py.border_first) ||
                      (bz ? pz.border_second : pz.border_first);
        mix(sum, texel(texture, image, bx ? px.second : px.first, by ? py.second : py.first,
                       bz ? pz.second : pz.first, border), weight);
    }
    memcpy(four, sum, 16);
}

Image image_of(const cudaArray &array) {
    return Image{array.data, array.format, array.element, array.pitch, array.slice, (int64_t)array.extent.width,
                 (int64_t)array.rows, (int64_t)array.slices, (array.flags & cudaArrayLayered) != 0};
}

cudaError_t images_of(const cudaResourceDesc &resource, std::vector<Image> *levels) {
    switch (resource.resType) {
    case cudaResourceTypeArray:
        if (!resource.res.array.array) return cudaErrorInvalidValue;
        levels->push_back(image_of(*resource.res.array.array));
        return cudaSuccess;
    case cudaResourceTypeMipmappedArray:
        if (!resource.res.mipmap.mipmap) return cudaErrorInvalidValue;
        for (cudaArray *each : resource.res.mipmap.mipmap->levels) levels->push_back(image_of(*each));
        return cudaSuccess;
    case cudaResourceTypeLinear: {
        auto &r = resource.res.linear;
        size_t element = element_bytes(r.desc);
        if (!r.devPtr || !element) return cudaErrorInvalidValue;
        levels->push_back(Image{(const char *)r.devPtr, r.desc, element, r.sizeInBytes, r.sizeInBytes,
                                (int64_t)(r.sizeInBytes / element), 1, 1, false});
        return cudaSuccess;
    }
    case cudaResourceTypePitch2D: {
        auto &r = resource.res.pitch2D;
        size_t element = element_bytes(r.desc);
        if (!r.devPtr || !element || r.pitchInBytes < r.width * element) return cudaErrorInvalidValue;
        levels->push_back(Image{(const char *)r.devPtr, r.desc, element, r.pitchInBytes, r.pitchInBytes * r.height,
                                (int64_t)r.width, (int64_t)r.height, 1, false});
        return cudaSuccess;
    }
    }
    return cudaErrorInvalidValue;
}

}  // namespace

extern "C" {

cudaError_t cudaCreateTextureObject(cudaTextureObject_t *texture, const cudaResourceDesc *resource,
                                    const cudaTextureDesc *description, const cudaResourceViewDesc *view) {
    return call([&] {
        if (!texture || !resource || !description) return cudaErrorInvalidValue;
        if (view && view->format != cudaResViewFormatNone) return cudaErrorNotSupported;
        auto made = std::make_unique<Texture>();
        made->resource = *resource, made->description = *description;
        if (cudaError_t error = images_of(*resource, &made->levels)) return error;
        const cudaChannelFormatDesc &format = made->levels[0].format;
        bool float_texels = format.f == cudaChannelFormatKindFloat;
        made->floats = float_texels || description->readMode == cudaReadModeNormalizedFloat;
        if (description->filterMode == cudaFilterModeLinear && !made->floats) {
            explain("linear filtering reads floats: the texture has integers, and reads them as they are");
            return cudaErrorInvalidFilterSetting;
        }
        if (description->readMode == cudaReadModeNormalizedFloat && !float_texels && format.x > 16)
            return cudaErrorInvalidNormSetting;
        *texture = (cudaTextureObject_t)(uintptr_t)made.release();
        return cudaSuccess;
    });
}

cudaError_t cudaDestroyTextureObject(cudaTextureObject_t texture) {
    return call([&] {
        delete (Texture *)(uintptr_t)texture;
        return cudaSuccess;
    });
}

cudaError_t cudaGetTextureObjectResourceDesc(cudaResourceDesc *resource, cudaTextureObject_t texture) {
    return call([&] {
        if (!resource || !texture) return cudaErrorInvalidValue;
        *resource = ((Texture *)(uintptr_t)texture)->resource;
        return cudaSuccess;
    });
}

cudaError_t cudaGetTextureObjectTextureDesc(cudaTextureDesc *description, cudaTextureObject_t texture) {
    return call([&] {
        if (!description || !texture) return cudaErrorInvalidValue;
        *description = ((Texture *)(uintptr_t)texture)->description;
        return cudaSuccess;
    });
}

cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t *surface, const cudaResourceDesc *resource) {
    return call([&] {
        if (!surface || !resource || resource->resType != cudaResourceTypeArray || !resource->res.array.array)
            return cudaErrorInvalidValue;
        *surface = (cudaSurfaceObject_t)(uintptr_t) new Surface{*resource, resource->res.array.array};
        return cudaSuccess;
    });
}

cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t surface) {
    return call([&] {
        delete (Surface *)(uintptr_t)surface;
        return cudaSuccess;
    });
}

cudaError_t cudaGetSurfaceObjectResourceDesc(cudaResourceDesc *resource, cudaSurfaceObject_t surface) {
    return call([&] {
        if (!resource || !surface) return cudaErrorInvalidValue;
        *resource = ((Surface *)(uintptr_t)surface)->resource;
        return cudaSuccess;
    });
}

void reactant_texture(uint64_t object, int kind, float x, float y, float z, int layer, float level, void *four) {
    const Texture &texture = *(const Texture *)(uintptr_t)object;
    const cudaTextureDesc &d = texture.description;
    size_t most = texture.levels.size() - 1;
    if (most == 0) return read_level(texture, texture.levels[0], kind, x, y, z, layer, four);
    float at = level + d.mipmapLevelBias;
    if (at < d.minMipmapLevelClamp) at = d.minMipmapLevelClamp;
    if (at > d.maxMipmapLevelClamp) at = d.maxMipmapLevelClamp;
    if (!(at > 0)) at = 0;
    if (at > (float)most) at = (float)most;
    if (d.mipmapFilterMode == cudaFilterModePoint || !texture.floats)
        return read_level(texture, texture.levels[(size_t)std::lround(at)], kind, x, y, z, layer, four);
    size_t below = (size_t)at;
    float weight = at - (float)below, first[4], second[4];
    auto scaled = [&](size_t which, float *into) {
        float factor = d.normalizedCoords ? 1 : 1 / (float)(1 << which);
        read_level(texture, texture.levels[which], kind, x * factor, y * factor, z * factor, layer, into);
    };
    scaled(below, first);
    scaled(below < most ? below + 1 : most, second);
    for (int c = 0; c < 4; ++c) ((float *)four)[c] = first[c] + weight * (second[c] - first[c]);
}

void reactant_texture_fetch(uint64_t object, int64_t index, void *four) {
    const Texture &texture = *(const Texture *)(uintptr_t)object;
    const Image &image = texture.levels[0];
    memset(four, 0, 16);
    if (index < 0 || index >= image.width) return;
    Texel found = texel(texture, image, index, 0, 0, false);
    memcpy(four, texture.floats ? (const void *)found.f : (const void *)found.i, 16);
}

void reactant_texture_gather(uint64_t object, float x, float y, int component, void *four) {
    const Texture &texture = *(const Texture *)(uintptr_t)object;
    const Image &image = texture.levels[0];
    Place px = place(x, image.width, texture.description, 0, true);
    Place py = place(y, image.height, texture.description, 1, true);
    auto at = [&](bool right, bool below) {
        return texel(texture, image, right ? px.second : px.first, below ? py.second : py.first, 0,
                     (right ? px.border_second : px.border_first) || (below ? py.border_second : py.border_first));
    };
    const Texel around[4] = {at(false, true), at(true, true), at(true, false), at(false, false)};
    for (int k = 0; k < 4; ++k) {
        if (texture.floats) ((float *)four)[k] = around[k].f[component & 3];
        else ((int32_t *)four)[k] = around[k].i[component & 3];
    }
}

void *reactant_surface(uint64_t object, int kind, int64_t x, int64_t y, int64_t z, int layer, uint64_t bytes, int mode) {
    cudaArray &array = *((Surface *)(uintptr_t)object)->array;
    if (kind == REACTANT_TEXTURE_1D || kind == REACTANT_TEXTURE_1D_LAYERED) y = 0;
    if (kind >= REACTANT_TEXTURE_1D_LAYERED) z = layer;
    else if (kind != REACTANT_TEXTURE_3D) z = 0;
    int64_t width = (int64_t)array.pitch - (int64_t)bytes, rows = (int64_t)array.rows, slices = (int64_t)array.slices;
    if (x < 0 || x > width || y < 0 || y >= rows || z < 0 || z >= slices) {
        if (mode != 1) return nullptr;          // of 0, a trap, the caller makes one: it has the launch
        auto clamped = [](int64_t v, int64_t most) { return v < 0 ? 0 : v > most ? most : v; };
        x = clamped(x, width), y = clamped(y, rows - 1), z = clamped(z, slices - 1);
    }
    return array.data + x + y * (int64_t)array.pitch + z * (int64_t)array.slice;
}

}
