#!/bin/sh
# Tries the packages of `make deb tarball` on minimal systems: Debian 12 for all three, and Debian 13, whose libraries have other
# versions, for the tarball. Needs root, mmdebstrap and a Debian mirror; takes about a minute.
#   tools/try_packages.sh [MIRROR]
set -eu
cd "$(dirname "$0")/.."
mirror=${1:-http://deb.debian.org/debian}
packages=$PWD/build/release/packages
if [ "${HEARTH_TRIES:-}" != inside ]; then exec env HEARTH_TRIES=inside unshare --mount "$0" "$mirror"; fi  # mounts end with it

folder=$(mktemp -d)
trap 'umount "$folder"/*/proc; rm -rf "$folder"' EXIT
for release in bookworm trixie; do
  mmdebstrap --quiet --variant=minbase $release "$folder/$release" "$mirror"
  mount -t proc proc "$folder/$release/proc"
  cp /etc/resolv.conf "$folder/$release/etc/"
  cp "$packages"/*.deb "$packages"/*.tar.gz "$folder/$release/"
done
mkdir "$folder/bookworm/project"
cp examples/minimal.cpp "$folder/bookworm/project/"
cat > "$folder/bookworm/project/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.25)
project(user CXX)
find_package(hearth REQUIRED)
add_executable(minimal minimal.cpp)
target_link_libraries(minimal PRIVATE hearth::hearth)
END
apt="env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends"
generate='generate -p "a red house" --steps 4 --seed 4 -o'

inside() {
  release=$1
  shift
  echo "try_packages: $release: $*"
  chroot "$folder/$release" sh -eu -c "$*" > "$folder/log" 2>&1 || { cat "$folder/log" && exit 1; } >&2
}
for release in bookworm trixie; do
  inside $release "mkdir /any && tar xzf /hearth-*.tar.gz -C /any && mv /any/* '/any/a folder' && '/any/a folder/bin/hearth' $generate /unpacked.png"
done
inside bookworm "apt-get -qq update && $apt /hearth_*.deb && hearth --version && hearth $generate /installed.png && hearth complete -p 'The' --max-tokens 8"
inside bookworm "$apt /libhearth-dev_*.deb g++ cmake make && cmake -S /project -B /build && cmake --build /build && /build/minimal /minimal.png"
cmp "$folder/bookworm/unpacked.png" "$folder/bookworm/installed.png"
cmp "$folder/bookworm/unpacked.png" "$folder/trixie/unpacked.png"
echo "try_packages: all of them run, and generate the same image"
