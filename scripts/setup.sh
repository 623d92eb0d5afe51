# setup.sh: what scripts/start, scripts/test and scripts/bench have in common. Sourced, not run.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$root/build
mkdir -p "$build/log"

say() { printf 'ccw: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

# step WHAT COMMAND...: runs the command with its output in a log, and says in one line when it fails.
step() {
  local what=$1 log=$build/log/${1//[^A-Za-z0-9.]/-}.log line
  shift
  "$@" >"$log" 2>&1 && return
  line=$(grep -m 1 -E '([Ee]rror|ERROR|E):|[Ff]atal|[Cc]annot' "$log" || tail -n 1 "$log" || true)
  die "$what failed: $line (all of it: $log)"
}

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

apt_install() {
  as_root apt-get update || true # a list that is of no use here may be broken
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@"
}

# need PACKAGE...: installs the Debian packages that are missing. lua-check would turn the plain name `lua` into Lua 5.1:
# whatever it means now, it means afterwards.
need() {
  local missing=() package lua
  for package in "$@"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  command -v apt-get >/dev/null || die "this is no Debian: install what Debian calls ${missing[*]}"
  if [ "$(id -u)" != 0 ] && ! command -v sudo >/dev/null; then die "to install ${missing[*]} this needs root or sudo"; fi
  say "installing ${missing[*]}"
  lua=$(readlink -e /usr/bin/lua || true)
  step "installing packages" apt_install "${missing[@]}"
  if [ -n "$lua" ] && [ "$(readlink -e /usr/bin/lua)" != "$lua" ]; then
    as_root update-alternatives --set lua-interpreter "$lua" >/dev/null || true
    as_root update-alternatives --set lua-compiler "${lua/lua5/luac5}" >/dev/null || true
  fi
}

# want WHAT PACKAGE...: the same, and goes on without them where they cannot be had.
want() {
  local what=$1
  shift
  (need "$@") || say "going on without $what"
}

need_to_build() {
  need gcc g++ libc6-dev make cmake pkg-config ca-certificates lua5.4 liblua5.4-dev lua-argparse lua-lpeg libedit-dev libelf-dev libdw-dev libffi-dev libzip-dev
}

# make_in FOLDER OPTION...: configures, when that is new, and builds all or, where `targets` names some, those.
make_in() {
  local folder=$1 wanted=$1/.options
  shift
  [ -e "$folder/CMakeCache.txt" ] || say "building in ${folder#"$root"/}, for the first time"
  if [ ! -e "$folder/CMakeCache.txt" ] || [ "$(cat "$wanted" 2>/dev/null)" != "$*" ]; then
    step "configuring ${folder#"$root"/}" cmake -S "$root" -B "$folder" "$@"
    printf '%s' "$*" >"$wanted"
  fi
  step "building ${folder#"$root"/}" cmake --build "$folder" -j "$(nproc)" ${targets:+--target $targets}
}

# The Python of the system, whose libpython ccw opens; modules for it are put into build/python.
python=/usr/bin/python3

need_python() {
  need python3 python3-pip
  need "libpython$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')"
}

# fetch_from_nvidia WHAT PACKAGE...: into build/cuda/WHAT, from PyPI.
fetch_from_nvidia() {
  local what=$1
  shift
  say "fetching $what"
  "$python" -m pip install --quiet --disable-pip-version-check --target "$build/cuda/$what" "$@" >"$build/log/$what.log" 2>&1 ||
    say "$what could not be had: $(tail -n 1 "$build/log/$what.log")"
}

# Sets `nvcc` to the one of this machine or, where it has none, to one from PyPI; to "" where that could not be had. For NVRTC
# it exports CCW_NVRTC, its folder, where that is not one in which it is sought anyway.
fetch_nvcc() {
  find_nvcc() { command -v nvcc || ls /usr/local/cuda/bin/nvcc "$build"/cuda/nvcc/nvidia/*/bin/nvcc 2>/dev/null | head -n 1 || true; }
  find_nvrtc() { ls -d "$build"/cuda/nvrtc/nvidia/*/lib 2>/dev/null | head -n 1 || true; }
  nvcc=$(find_nvcc)
  if [ -z "$nvcc" ]; then
    fetch_from_nvidia nvcc nvidia-cuda-nvcc nvidia-cuda-runtime
    nvcc=$(find_nvcc)
  fi
  ldconfig -p | grep libnvrtc >/dev/null && return
  ls /usr/local/cuda/lib64/libnvrtc.so* >/dev/null 2>&1 && return
  ls "$build"/cuda/nvrtc/nvidia/*/lib/libnvrtc.so* >/dev/null 2>&1 || fetch_from_nvidia nvrtc nvidia-cuda-nvrtc
  export CCW_NVRTC=${CCW_NVRTC:-$(find_nvrtc)}
}

# The wheel of klujax is 3 MB; its module klujax_cpp needs no JAX.
klujax=0.5.2
fetch_klujax() {
  [ -e "$build/python/klujax-$klujax.dist-info" ] && return
  say "fetching klujax $klujax"
  "$python" -m pip install --quiet --disable-pip-version-check --no-deps --upgrade --target "$build/python" \
    "klujax==$klujax" >"$build/log/klujax.log" 2>&1 ||
    say "klujax $klujax could not be had: $(tail -n 1 "$build/log/klujax.log")"
}
