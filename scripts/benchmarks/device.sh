# device.sh: builds what the suite `device` runs. Sourced by scripts/bench.
step "building device.cu" c++ -std=c++17 -O3 -I"$root/core/include" -o "$build/bench/device" -x c++ \
  "$root/scripts/benchmarks/device.cu" -x none -L"$build/lib" -Wl,-rpath,"$build/lib" -lccw
