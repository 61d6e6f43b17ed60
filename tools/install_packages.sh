#!/bin/sh
# Installs the distribution's packages that hearth needs. This is the only list, for people, `make` and CI.
#   tools/install_packages.sh                to build
#   tools/install_packages.sh test           to build and run every test
#   tools/install_packages.sh deb            to build packages of hearth
#   tools/install_packages.sh --list [test]  prints the names only
# Needs root, or sudo without a password, but only if a package is missing. Fast if nothing is missing.
set -eu

build="g++ cmake ninja-build ccache libfmt-dev nlohmann-json3-dev zlib1g-dev libpng-dev libjpeg-dev libwebp-dev libicu-dev libonig-dev libedit-dev libssl-dev libcurl4-openssl-dev libboost-dev libgtest-dev libbenchmark-dev libvalijson-dev libvulkan-dev glslc"
tests="clang-format clang-tidy chromium mesa-vulkan-drivers vulkan-validationlayers"
deb="dpkg-dev file"

list=false
if [ "${1:-}" = --list ]; then
  list=true
  shift
fi
case "${1:-build}" in
  build) wanted=$build ;;
  test) wanted="$build $tests" ;;
  deb) wanted="$build $deb" ;;
  *)
    echo "install_packages: unknown argument '$1', expected build, test or deb" >&2
    exit 2
    ;;
esac
if $list; then
  printf '%s\n' $wanted
  exit 0
fi

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  echo "install_packages: apt not found, install the packages that Debian 12 names: $wanted" >&2
  exit 0  # they may be installed in another way: CMake reports those that it does not find
fi

missing=
for package in $wanted; do
  status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) || status=
  [ "$status" = installed ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" = 0 ]; then
  as_root=
elif sudo -n true 2>/dev/null; then
  as_root="sudo -n"
else
  echo "install_packages: packages are missing and this is not root, run: sudo apt-get install$missing" >&2
  exit 1
fi

apt() { $as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=600 "$@"; }
# shellcheck disable=SC2086  # the names are words
install() { apt install -y --no-install-recommends $missing; }

echo "install_packages: installing$missing"
# Old lists name versions that the mirror has dropped, and a fresh machine has no lists: then it updates once and retries.
install || { apt update && install; }
