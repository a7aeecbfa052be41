// Vectors of three floats.
#pragma once
#include "../common.h"

struct Vec { float x, y, z; };

HOST_DEVICE inline Vec operator+(Vec a, Vec b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
HOST_DEVICE inline Vec operator-(Vec a, Vec b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
HOST_DEVICE inline Vec operator*(float s, Vec a) { return {s * a.x, s * a.y, s * a.z}; }
HOST_DEVICE inline float dot(Vec a, Vec b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
HOST_DEVICE inline float length(Vec a) { return sqrtf(dot(a, a)); }
HOST_DEVICE inline Vec unit(Vec a) { return (1 / length(a)) * a; }
