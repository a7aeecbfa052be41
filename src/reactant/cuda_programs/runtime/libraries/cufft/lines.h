// Transforms along one axis of an array: its lines, wherever they lie, to lines of another.
#pragma once
#include "transform.h"

namespace reactant::fft {

// The axes that lines go through, batches among them: how many steps each has, and how far apart they lie.
struct Axis { int64_t size, from, to; };

struct Lines {
    std::vector<Axis> across; int64_t from_step, to_step;
    int64_t count() const {
        int64_t product = 1;
        for (const Axis &axis : across) product *= axis.size;
        return product;
    }
    void place(int64_t line, int64_t *from, int64_t *to) const {
        *from = *to = 0;
        for (size_t k = across.size(); k-- > 0; line /= across[k].size) {
            *from += line % across[k].size * across[k].from;
            *to += line % across[k].size * across[k].to;
        }
    }
};

template <class R> std::complex<R> exchanged(std::complex<R> x) { return {x.imag(), x.real()}; }

// load(at, j): number j of the line that begins at `at`; store(at, k, value). before and after work on whole lines, of
// vectors or of numbers.
template <class R, class Load, class Store, class Before, class After>
void through(const Transform<R> &transform, const Lines &lines, uint64_t loaded, uint64_t stored, const Load &load,
             const Store &store, const Before &before, const After &after) {
    using V = typename Transform<R>::V;
    constexpr int64_t lanes = Transform<R>::lanes;
    const int64_t count = lines.count();
    const uint64_t room = std::max({loaded, stored, transform.n});
    if (transform.in_vectors() && (count >= lanes / 2 || transform.n < 64)) {
        const uint64_t cost = 8 * transform.n * lanes;
        in_ranges((count + lanes - 1) / lanes, 65536 / cost + 1, [&](uint64_t first, uint64_t last) {
            std::vector<C<V>> a(room), b(room);
            for (int64_t group = first; group < (int64_t)last; ++group) {
                const int64_t begun = group * lanes, here = std::min(lanes, count - begun);
                int64_t from[lanes], to[lanes];
                for (int64_t l = 0; l < here; ++l) lines.place(begun + l, &from[l], &to[l]);
                for (int64_t l = 0; l < here; ++l)
                    for (uint64_t j = 0; j < loaded; ++j) Transform<R>::put(a[j], l, load(from[l], j));
                before(a.data());
                transform.side_by_side(a.data(), b.data());
                after(a.data());
                for (int64_t l = 0; l < here; ++l)
                    for (uint64_t k = 0; k < stored; ++k) store(to[l], k, Transform<R>::get(a[k], l));
            }
        });
        return;
    }
    const auto one = [&](int64_t line) {
        std::vector<std::complex<R>> a(room);
        int64_t from, to;
        lines.place(line, &from, &to);
        for (uint64_t j = 0; j < loaded; ++j) a[j] = load(from, j);
        before((C<R> *)a.data());
        transform.line(a.data());
        after((C<R> *)a.data());
        for (uint64_t k = 0; k < stored; ++k) store(to, k, a[k]);
    };
    if (count < processors())
        for (int64_t line = 0; line < count; ++line) one(line);         // each on all threads
    else
        each(count, 16 * transform.n, one);
}

struct Nothing { template <class W> void operator()(C<W> *) const {} };

template <class R> void complex_lines(const Transform<R> &transform, const Lines &lines, bool inverse,
                                      const std::complex<R> *from, std::complex<R> *to) {
    const int64_t down = lines.from_step, up = lines.to_step;
    if (inverse)
        through(transform, lines, transform.n, transform.n,
                [=](int64_t at, uint64_t j) { return exchanged(from[at + (int64_t)j * down]); },
                [=](int64_t at, uint64_t k, std::complex<R> x) { to[at + (int64_t)k * up] = exchanged(x); }, Nothing(), Nothing());
    else
        through(transform, lines, transform.n, transform.n,
                [=](int64_t at, uint64_t j) { return from[at + (int64_t)j * down]; },
                [=](int64_t at, uint64_t k, std::complex<R> x) { to[at + (int64_t)k * up] = x; }, Nothing(), Nothing());
}

// Real lines of even length are complex ones of half of it: `half` has their transform, roots those of the whole length.
// Of odd length, they are complex lines without imaginary parts.
template <class R> struct RealTransform {
    const uint64_t n;
    const bool even;
    const Transform<R> transform;
    std::vector<std::complex<R>> roots;
    explicit RealTransform(uint64_t n) : n(n), even(n % 2 == 0), transform(even ? n / 2 : n) {
        if (even) for (uint64_t k = 0; k <= n / 4; ++k) roots.push_back(root<R>(k, n));
    }
};

// X(k) = (Z(k) + conj Z(h - k)) / 2 - i w^k (Z(k) - conj Z(h - k)) / 2
template <class R> struct Untangle {
    const RealTransform<R> &real;
    template <class W> void operator()(C<W> *z) const {
        const uint64_t h = real.n / 2;
        const C<W> first = z[0];
        for (uint64_t k = 1; k <= h / 2; ++k) {
            const C<W> a = z[k], b = z[h - k], sum = {(a.re + b.re) * R(0.5), (a.im - b.im) * R(0.5)};
            const C<W> difference = {(a.re - b.re) * R(0.5), (a.im + b.im) * R(0.5)};
            const C<W> turned = difference.over_i().times(real.roots[k].real(), real.roots[k].imag());
            z[k] = sum + turned;
            z[h - k] = {sum.re - turned.re, turned.im - sum.im};
        }
        z[0] = {first.re + first.im, first.re - first.re};
        z[h] = {first.re - first.im, first.re - first.re};
    }
};

// The way back, twice as large, with parts exchanged for the transform that follows.
template <class R> struct Entangle {
    const RealTransform<R> &real;
    template <class W> void operator()(C<W> *x) const {
        const uint64_t h = real.n / 2;
        const C<W> first = x[0], last = x[h];
        for (uint64_t k = 1; k <= h / 2; ++k) {
            const C<W> a = x[k], b = x[h - k], sum = {a.re + b.re, a.im - b.im}, difference = {a.re - b.re, a.im + b.im};
            const C<W> d = difference.times(real.roots[k].real(), -real.roots[k].imag()), turned = {d.im * R(-1), d.re};
            const C<W> up = sum + turned, down = {sum.re - turned.re, turned.im - sum.im};
            x[k] = {up.im, up.re};
            x[h - k] = {down.im, down.re};
        }
        x[0] = {first.re - last.re, first.re + last.re};
    }
};

template <class R> void forward_lines(const RealTransform<R> &real, const Lines &lines, const R *from, std::complex<R> *to) {
    const int64_t down = lines.from_step, up = lines.to_step;
    const auto store = [=](int64_t at, uint64_t k, std::complex<R> x) { to[at + (int64_t)k * up] = x; };
    if (real.even)
        through(real.transform, lines, real.n / 2, real.n / 2 + 1, [=](int64_t at, uint64_t j) {
            return std::complex<R>(from[at + (int64_t)(2 * j) * down], from[at + (int64_t)(2 * j + 1) * down]); },
            store, Nothing(), Untangle<R>{real});
    else
        through(real.transform, lines, real.n, real.n / 2 + 1, [=](int64_t at, uint64_t j) {
            return std::complex<R>(from[at + (int64_t)j * down]); }, store, Nothing(), Nothing());
}

template <class R> void inverse_lines(const RealTransform<R> &real, const Lines &lines, const std::complex<R> *from, R *to) {
    const int64_t down = lines.from_step, up = lines.to_step;
    const int64_t n = (int64_t)real.n;
    if (real.even)
        through(real.transform, lines, n / 2 + 1, n / 2, [=](int64_t at, uint64_t j) { return from[at + (int64_t)j * down]; },
                [=](int64_t at, uint64_t k, std::complex<R> x) {
                    to[at + (int64_t)(2 * k) * up] = x.imag(), to[at + (int64_t)(2 * k + 1) * up] = x.real(); },
                Entangle<R>{real}, Nothing());
    else
        through(real.transform, lines, n, n, [=](int64_t at, uint64_t j) {
            const int64_t k = (int64_t)j;
            const std::complex<R> x = k == 0 ? std::complex<R>(from[at].real()) : 2 * k < n ? from[at + k * down]
                                    : std::conj(from[at + (n - k) * down]);
            return exchanged(x); },
            [=](int64_t at, uint64_t k, std::complex<R> x) { to[at + (int64_t)k * up] = x.imag(); }, Nothing(), Nothing());
}

}  // namespace reactant::fft
