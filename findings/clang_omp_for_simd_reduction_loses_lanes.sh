#!/usr/bin/env bash
# clang: `#pragma omp for simd reduction(+:sum)` over a loop that also stores adds up one lane of each vector only.
#
# One would guess that `omp for simd reduction` is `omp for reduction` with a hint. Where the loop's body also writes an
# array, clang's code keeps the partial sums of one lane and drops those of the others: a wrong sum, without a warning,
# with one thread as with many, from -O1 on. At -O0, without `simd`, and in a loop that stores nothing the sum is right.
#
# Seen with clang 22.1.8 of the wheel ziglang 0.17.1 and LLVM's OpenMP of cmeel-libomp 21.1.8, x86-64, one thread:
#   -O0 for simd, stores: 1000
#   -O2 for simd, stores: 250 (with vectors of four)
#   -O2 for, stores: 1000
#   -O2 for simd, no stores: 1000
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
#pragma omp LOOP reduction(+ : sum)
    for (int i = 0; i < 1000; ++i) {
        STORE a[i] - b[i];
        sum += VALUE;
    }
    std::printf("%g\n", sum);
}
PROGRAM
header=$(dirname "$(find "$prefix" -name omp.h | head -1)")
sum() {     # level, loop, store, value
    "$folder/venv/bin/python" -m ziglang c++ "$1" -fopenmp -I"$header" "-DLOOP=$2" "-DSTORE=$3" "-DVALUE=$4" \
        "$folder/sum.cpp" -o "$folder/sum" -L"$prefix/lib" -lomp -Wl,-rpath,"$prefix/lib"
    OMP_NUM_THREADS=1 "$folder/sum"
}
plain=$(sum -O0 "for simd" "a[i] =" "a[i]")
simd=$(sum -O2 "for simd" "a[i] =" "a[i]")
loop=$(sum -O2 "for" "a[i] =" "a[i]")
none=$(sum -O2 "for simd" "double c =" "c")
echo "-O0 for simd, stores: $plain"
echo "-O2 for simd, stores: $simd"
echo "-O2 for, stores: $loop"
echo "-O2 for simd, no stores: $none"
[ "$plain" = 1000 ] && [ "$loop" = 1000 ] && [ "$none" = 1000 ] || { echo "a sum that was right is wrong"; exit 1; }
[ "$simd" != 1000 ] || { echo "the sum is right now"; exit 1; }
