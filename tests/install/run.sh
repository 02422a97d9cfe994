#!/bin/bash
# Installs a build into a prefix of its own, moves the prefix, and uses it as a stranger would: a C program through
# pkg-config, C and C++ programs and the examples through find_package, and every installed program, with the source and
# the build out of reach. run.sh BUILD SOURCE CC CXX
set -euo pipefail
build=$1 source=$2 cc=$3 cxx=$4
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

step() { printf '\n== %s\n' "$*"; }
die() {
  printf 'FAILED: %s\n' "$*" >&2
  exit 1
}

step "what is not built is named before a file is copied, with the command that builds it"
check=$(find "$build" -maxdepth 1 -name 'check_installed_*.cmake' -print -quit)
sed 's/libstria\.so/libno_such\.so/' "$check" >"$work/check.cmake"
if cmake -P "$work/check.cmake" >"$work/out" 2>&1; then die "a missing library is accepted"; fi
grep -q 'libno_such.so' "$work/out" || die "the missing file is not named: $(cat "$work/out")"
grep -qF -e "cmake --build $build --target installed" "$work/out" || die "no command is named: $(cat "$work/out")"

step "install"
cmake --install "$build" --prefix "$work/first" --strip >"$work/install.log" 2>&1 ||
  { tail -20 "$work/install.log"; die "cmake --install; was everything built?"; }
mv "$work/first" "$work/prefix" # a prefix may be moved
prefix=$work/prefix

step "what must be there"
libdir=$(dirname "$(find "$prefix" -name libstria.so -print -quit)")
[[ $libdir == "$prefix"/* ]] || die "no libstria.so"
for file in include/stria/stria.h include/stria/stria.hpp include/stria/provider.h include/stria/provider_coresident.h bin/stria_info bin/osu_compare; do
  [[ -e $prefix/$file ]] || die "no $file"
done
diff <(cd "$source/include" && find stria -type f | sort) <(cd "$prefix/include" && find stria -type f | sort) ||
  die "the headers installed are not those of the tree"
for file in pkgconfig/stria.pc cmake/stria/stria-config.cmake stria/providers; do
  [[ -e $libdir/$file ]] || die "no $file in $libdir"
done
for program in latency bw bibw mbw_mr multi_lat datatype match threads floor datatype_floor; do
  [[ -x $prefix/libexec/stria/native/osu_$program ]] || die "no native osu_$program"
done
if grep -q '^STRIA_MPI:BOOL=ON' "$build/CMakeCache.txt"; then
  for name in mca_pml_stria mca_mpool_stria; do
    component=$libdir/openmpi/$name.so
    [[ -e $component ]] || die "no $component"
    ldd "$component" >"$work/ldd"
    grep -q "libstria.so.* => $prefix/" "$work/ldd" || die "$name does not find its library: $(cat "$work/ldd")"
  done
  for program in libexec/stria/mpi/osu_latency bin/stria_mpirun; do
    [[ -x $prefix/$program ]] || die "no $program"
  done
fi

step "all that is installed is built by the target installed"
find "$prefix/bin" "$prefix/libexec" "$libdir" -type f | while read -r file; do
  [[ $(head -c 4 "$file" | tail -c 3) != ELF ]] || grep -qF "/${file##*/}\"" "$check" || echo "${file#"$prefix/"}"
done >"$work/out"
[[ ! -s $work/out ]] || die "not part of it: $(tr '\n' ' ' <"$work/out")"

step "nothing names the build, the source or the first prefix"
if grep -rIlF -e "$build" -e "$source" -e "$work/first" "$prefix/include" "$libdir/pkgconfig" "$libdir/cmake"; then
  die "the files above hold paths of the build"
fi

step "the version: header, soname, pkg-config"
number() { sed -n "s/^#define STRIA_VERSION_$1 //p" "$prefix/include/stria/stria.h"; }
major=$(number MAJOR) minor=$(number MINOR)
version=$major.$minor.$(number PATCH)
interface=$major
((major > 0)) || interface=0.$minor # before 1.0 each minor version may change the interface
soname=$(readelf -d "$libdir/libstria.so" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')
[[ $soname == "libstria.so.$interface" ]] || die "soname $soname for version $version"
[[ $(PKG_CONFIG_PATH=$libdir/pkgconfig pkg-config --modversion stria) == "$version" ]] || die "pkg-config's version"

step "the library exports its API and nothing else"
nm -D --defined-only "$libdir/libstria.so" | awk '{ print $NF }' | sed 's/@.*//' | sort -u >"$work/exported"
if grep -v '^stria_' "$work/exported"; then die "the symbols above are exported"; fi
# Every function that the header declares is there.
grep -oE 'STRIA_API [^;(]*[ *](stria_[a-z0-9_]+)\(' "$prefix/include/stria/stria.h" |
  grep -oE 'stria_[a-z0-9_]+\($' | tr -d '(' | sort -u >"$work/declared"
[[ $(wc -l <"$work/declared") -ge 40 ]] || die "found only $(wc -l <"$work/declared") functions in stria.h"
missing=$(comm -23 "$work/declared" "$work/exported")
[[ -z $missing ]] || die "declared but not exported: $missing"

step "no library ties a program to another C++ library"
"$here/libraries" "$libdir" || die "the libraries above"

step "C, by pkg-config"
export PKG_CONFIG_PATH=$libdir/pkgconfig
[[ $(pkg-config --variable=prefix --define-variable=pcfiledir="$libdir/pkgconfig" stria) ]] || die "no prefix variable"
read -ra flags <<<"$(pkg-config --cflags --libs stria)"
"$cc" -std=c11 -Wall -Wextra -Werror -pedantic "$here/c_program/loopback.c" -o "$work/c_loopback" "${flags[@]}"
LD_LIBRARY_PATH=$libdir timeout 180 "$work/c_loopback"

step "C and C++, by find_package"
cmake -S "$here/c_program" -B "$work/c" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$cc" >/dev/null
cmake --build "$work/c" >/dev/null
timeout 180 "$work/c/loopback"
cmake -S "$here/cpp_program" -B "$work/cpp" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_CXX_COMPILER="$cxx" \
  -DCMAKE_CXX_FLAGS="-Wall -Wextra -Werror" -DWANTED="$version" >/dev/null
cmake --build "$work/cpp" >/dev/null
timeout 180 "$work/cpp/loopback"

step "the installed examples, by find_package and by the commands of their README"
cp -r "$prefix/share/doc/stria/examples" "$work/examples"
cmake -S "$work/examples" -B "$work/examples/build" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$cc" \
  -DCMAKE_CXX_COMPILER="$cxx" >/dev/null
cmake --build "$work/examples/build" >/dev/null
timeout 180 "$work/examples/run_pair.sh" "$work/examples/build/tag_pingpong" >/dev/null
timeout 180 "$work/examples/build/column_exchange" 64 >/dev/null
"$cc" "$work/examples/tag_pingpong.c" -o "$work/tag_pingpong" "${flags[@]}"
"$cxx" -std=c++20 "$work/examples/column_exchange.cpp" -o "$work/column_exchange" "${flags[@]}"
LD_LIBRARY_PATH=$libdir timeout 180 "$work/examples/run_pair.sh" "$work/tag_pingpong" >/dev/null
LD_LIBRARY_PATH=$libdir timeout 180 "$work/column_exchange" 64 >/dev/null

step "stria.hpp under an older standard is one sentence"
if "$cxx" -std=c++17 -fsyntax-only -I"$prefix/include" -x c++ - <<<'#include <stria/stria.hpp>' 2>"$work/out"; then
  die "stria.hpp is accepted as C++17"
fi
[[ $(grep -c 'error:' "$work/out") == 1 ]] || die "not one sentence: $(cat "$work/out")"
grep -q 'stria.hpp needs C++20' "$work/out" || die "the standard is not named: $(cat "$work/out")"

step "every installed header compiles alone"
while read -r header; do
  "$cxx" -std=c++20 -Wall -Wextra -Werror -fsyntax-only -I"$prefix/include" -x c++ - <<<"#include \"$header\"" ||
    die "$header"
done < <(cd "$prefix/include" && find stria -type f)

step "every installed program, with the source and the build out of reach"
cp "$here/programs" "$work/programs" # the folder of this script is out of reach then
"$work/programs" "$prefix" "$source" "$build"

step "a provider from outside the tree"
socket=$source/tests/provider_out_of_tree/socket/socket.cpp
"$cxx" -std=c++20 -fPIC -shared "$socket" -I"$prefix/include" -o "$work/libstria_provider_socket.so"
STRIA_PROVIDER_PATH=$work STRIA_PROVIDERS=socket,shm "$prefix/bin/stria_info" --providers >"$work/providers"
grep -A1 '^socket ' "$work/providers" | grep "$work/libstria_provider_socket.so; in use, choice 1" ||
  { cat "$work/providers"; die "the provider was not loaded"; }
if STRIA_PROVIDER_PATH=$work STRIA_PROVIDERS=socket LD_LIBRARY_PATH=$libdir timeout 180 "$work/c_loopback"; then :; else
  die "the C program does not run over the provider"
fi
# In the provider folder of the prefix, which was moved, it is found without being told where.
cp "$work/libstria_provider_socket.so" "$libdir/stria/providers/"
(cd / && PATH=$prefix/bin:$PATH STRIA_PROVIDERS=socket,shm stria_info --providers) >"$work/providers"
grep -A1 '^socket ' "$work/providers" | grep "$libdir/stria/providers/libstria_provider_socket.so; in use, choice 1" ||
  { cat "$work/providers"; die "the tool does not find the provider in its own prefix"; }
STRIA_PROVIDERS=socket LD_LIBRARY_PATH=$libdir timeout 180 "$work/c_loopback" ||
  die "the library does not find the provider in its own prefix"

step "done"
