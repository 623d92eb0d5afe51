# decode.sh: builds what the suite `decode` runs, once with gcc and once with clang. Sourced by scripts/bench.
headers=$build/wheels/jaxlib-0.12.0.1/jaxlib/include
[ -e "$headers/xla/ffi/api/ffi.h" ] || die "decode needs the headers of jaxlib 0.12.0.1: scripts/test fetches them"

# build_decode C C++: the program decode-C, and in its folder the objects, with one handler more as well, to compare sizes.
build_decode() {
  local sources=$root/scripts/benchmarks folder=$build/bench/decode-$1 c=$1 cxx=$2 more flag
  if ! command -v "$c" >/dev/null || ! command -v "$cxx" >/dev/null; then
    say "there is no $c and $cxx here: their figures are left out"
    rm -rf "$folder"
    return
  fi
  mkdir -p "$folder"
  for more in "" _more; do
    flag=${more:+-DONE_MORE}
    step "building decode.c with $c" "$c" -std=c11 -O2 $flag -I"$root/core/include" -c -o "$folder/ours$more.o" "$sources/decode.c"
    # This one takes seconds, and of what we write only these two files go into it.
    [ "$folder/official$more.o" -nt "$sources/decode_official.cc" ] && [ "$folder/official$more.o" -nt "$sources/decode.h" ] ||
      step "building decode_official.cc with $cxx" "$cxx" -std=c++17 -O2 -DNDEBUG -w $flag -I"$headers" -c \
        -o "$folder/official$more.o" "$sources/decode_official.cc"
  done
  step "building decode_main.c with $c" "$c" -std=c11 -O2 -I"$root/core/include" -c -o "$folder/main.o" "$sources/decode_main.c"
  step "linking decode with $cxx" "$cxx" -o "$folder/decode" "$folder/main.o" "$folder/ours.o" "$folder/official.o"
}

build_decode gcc g++
build_decode clang clang++
step "building decode_runtime.c" cc -std=c11 -O2 -I"$root/core/include" -o "$build/bench/decode_runtime" \
  "$root/scripts/benchmarks/decode_runtime.c" -L"$build/lib" -Wl,-rpath,"$build/lib" -lccw
