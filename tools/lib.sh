# shellcheck shell=bash
# What the tools share: messages, missing packages, the build. Sourced, never run.

# The top of the tree.
stria_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# How many tests run at a time. Entries that keep two processors busy, as two ranks that spin, say so (PROCESSORS 2): one of
# them and another entry go at a time, or three others, which wait for half of their time.
export CTEST_PARALLEL_LEVEL=${CTEST_PARALLEL_LEVEL:-3}

say() { printf '%s\n' "== $*" >&2; }

die() {
  printf '%s: %s\n' "$(basename "$0")" "$*" >&2
  exit 1
}

# packages_of GROUP...: the packages of these groups, each once.
packages_of() {
  local group
  for group in "$@"; do
    awk -v group="$group" '$1 == group { print $2 }' "${STRIA_PACKAGES:-$stria_root/tools/packages}"
  done | sort -u
}

# missing_packages GROUP...: those of them that are not installed.
missing_packages() {
  local wanted installed
  wanted=$(packages_of "$@")
  # A package that dpkg never heard of makes dpkg-query fail: what it prints of the others still counts.
  # shellcheck disable=SC2086  # one word a package
  installed=$(dpkg-query -W -f='${db:Status-Status} ${Package}\n' $wanted 2>/dev/null |
    awk '$1 == "installed" { print $2 }' | sort -u) || true
  comm -23 <(printf '%s\n' "$wanted") <(printf '%s\n' "$installed")
}

# need_packages GROUP...: installs what is missing as root; otherwise names the command that does and ends.
need_packages() {
  local missing sudo=
  command -v dpkg-query >/dev/null || die "this needs Debian 12 (no dpkg-query here)"
  missing=$(missing_packages "$@" | tr '\n' ' ')
  missing=${missing% }
  [[ -z $missing ]] && return 0
  if ((EUID != 0)); then
    command -v sudo >/dev/null && sudo="sudo "
    printf '%s\n' "Debian packages are missing. Install them as root, or have them installed, then start again:" "" \
      "  ${sudo}apt-get install --no-install-recommends -y $missing" "" >&2
    exit 1
  fi
  say "installing Debian packages: $missing"
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -q </dev/null >&2
  # shellcheck disable=SC2086  # one word a package
  apt-get install -q -y --no-install-recommends $missing </dev/null >&2
}

# debian_archive: the first archive that apt fetches packages of Debian itself from.
debian_archive() {
  local found
  # shellcheck disable=SC2016  # apt's own words
  found=$(apt-get indextargets --format '$(REPO_URI) $(ORIGIN) $(COMPONENT) $(CREATED_BY)' 2>/dev/null |
    awk '$2 == "Debian" && $3 == "main" && $4 == "Packages" && $1 !~ /security/ { print $1; exit }') || true
  printf '%s\n' "${found:-http://deb.debian.org/debian}"
}

# compile COMMAND...: runs COMMAND, which starts compilers, with huge pages for their heaps where the system gives those that
# are asked for: clang takes a fifth less of a processor's time. Without them glibc does as ever.
compile() { GLIBC_TUNABLES=${GLIBC_TUNABLES:-glibc.malloc.hugetlb=1} "$@"; }

# build_preset PRESET [CMAKE_BUILD_ARGUMENT...]: configures and builds into build/PRESET; all output on stderr.
build_preset() {
  local preset=$1
  shift
  say "building: preset $preset into build/$preset"
  (cd "$stria_root" && cmake --preset "$preset" -Wno-dev --log-level=WARNING >&2 &&
    compile cmake --build --preset "$preset" "$@" >&2)
}

# build_tests PRESET TARGET... -- CTEST_ARGUMENT...: builds, in a preset that is configured, the programs of the tests that
# ctest chooses by its arguments (-L LABEL, -R NAME), the given targets, and nothing else.
build_tests() {
  local preset=$1
  local -a installed=() programs targets wanted
  shift
  while [[ $1 != -- ]]; do
    installed+=("$1")
    shift
  done
  shift
  cd "$stria_root" || return
  # What has a target's name is one: the test itself (stria_test() names it so; ctest leaves out a command that is not
  # built yet) and each word of its command, less the "mpi_" that a target of tests/mpi has in front of its program's name.
  mapfile -t programs < <(ctest --preset "$preset" "$@" --show-only=json-v1 | python3 -c '
import json, os, sys
tests = json.load(sys.stdin)["tests"]
words = {os.path.basename(word) for test in tests for word in [test["name"], *test.get("command", [])]}
print(*sorted(words | {"mpi_" + word for word in words}), sep="\n")')
  mapfile -t targets < <(cmake --build --preset "$preset" --target help | sed -n 's/^\([^:]*\): phony$/\1/p' | sort -u)
  mapfile -t wanted < <(comm -12 <(printf '%s\n' "${programs[@]}" | sort -u) <(printf '%s\n' "${targets[@]}" | sort -u))
  ((${#wanted[@]} > 0)) || die "no test that ctest chooses by '$*' has a program to build"
  say "$preset: building ${#wanted[@]} test programs"
  compile cmake --build --preset "$preset" --target "${wanted[@]}" "${installed[@]}"
}

# The seconds since the script began, for its last line.
elapsed() { printf '%d min %02d s' $((SECONDS / 60)) $((SECONDS % 60)); }
