# runtime.sh: builds what the suite `runtime` runs. Sourced by scripts/bench.
step "building runtime.c" cc -std=c11 -O2 -I"$root/core/include" -o "$build/bench/runtime" \
  "$root/scripts/benchmarks/runtime.c" -L"$build/lib" -Wl,-rpath,"$build/lib" -lccw -lpthread
