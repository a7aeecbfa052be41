#!/usr/bin/env bash
# clang: a loop of `#pragma omp for simd reduction(+ : sum)` that also stores adds too little when it is met again.
#
# One would guess that `omp for simd reduction` is `omp for reduction` with a hint. Where the loop's body also writes an
# array and the loop stands in another one, each pass after the first adds the partial sum of one lane only: an eighth of
# what it should, without a warning, with one thread as with many, from -O1 on. At -O0 and without `simd` it is right.
#
# Seen with clang 22.1.8 of the wheel ziglang 0.17.1 and LLVM's OpenMP of cmeel-libomp 21.1.8, x86-64, one thread:
#   -O0 for simd, two passes: 2000
#   -O2 for simd, two passes: 1125
#   -O2 for, two passes: 2000
#   -O2 for simd, one pass: 1000
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check ziglang==0.17.1 cmeel-libomp==21.1.8
prefix=$(echo "$folder"/venv/lib/python3*/site-packages/cmeel.prefix)
cat > "$folder/sum.cpp" <<'PROGRAM'
#include <cstdio>
#include <vector>
int main() {
    std::vector<double> left(1000, 3.0), right(1000, 2.0);
    double *a = left.data(), *b = right.data(), sum = 0;
#pragma omp parallel
    for (int pass = 0; pass < PASSES; ++pass) {
        const double factor = 1.0;
#pragma omp LOOP reduction(+ : sum)
        for (int i = 0; i < 1000; ++i) {
            a[i] -= factor * b[i];
            sum += a[i] * a[i];
        }
    }
    std::printf("%g\n", sum);
}
PROGRAM
header=$(dirname "$(find "$prefix" -name omp.h | head -1)")
sum() {     # level, loop, passes
    "$folder/venv/bin/python" -m ziglang c++ "$1" -fopenmp -I"$header" "-DLOOP=$2" "-DPASSES=$3" \
        "$folder/sum.cpp" -o "$folder/sum" -L"$prefix/lib" -lomp -Wl,-rpath,"$prefix/lib"
    OMP_NUM_THREADS=1 "$folder/sum"
}
plain=$(sum -O0 "for simd" 2)
simd=$(sum -O2 "for simd" 2)
loop=$(sum -O2 "for" 2)
once=$(sum -O2 "for simd" 1)
echo "-O0 for simd, two passes: $plain"
echo "-O2 for simd, two passes: $simd"
echo "-O2 for, two passes: $loop"
echo "-O2 for simd, one pass: $once"
[ "$plain" = 2000 ] && [ "$loop" = 2000 ] && [ "$once" = 1000 ] || { echo "a sum that was right is wrong"; exit 1; }
[ "$simd" != 2000 ] || { echo "the sum is right now"; exit 1; }
