#!/bin/sh
# Unpacks those Debian packages for arm64 that are named, and what they depend on, into a folder, which the
# cross compiler and qemu take as the root of an aarch64 system. apt works on lists of its own, so that
# nothing changes on this system and no second architecture is added to it.
#
#   tools/arm64-root.sh FOLDER PACKAGE...
#
# Nothing is asked of the network if FOLDER has been made from the same list.
set -eu
mkdir -p "$1"
root=$(cd "$1" && pwd)
shift
if [ "$(cat "$root/packages" 2>/dev/null)" = "links $*" ]; then
    exit 0
fi
rm -rf "${root:?}"
mkdir -p "$root/apt/lists/partial" "$root/apt/archives/partial"
: >"$root/apt/status"
cat >"$root/apt/conf" <<END
APT::Architecture "arm64";
APT::Architectures { "arm64"; };
APT::Sandbox::User "";
Dir::State "$root/apt";
Dir::State::status "$root/apt/status";
Dir::State::lists "$root/apt/lists";
Dir::Cache "$root/apt";
Debug::NoLocking "true";
END
export APT_CONFIG="$root/apt/conf"
echo "unpacking for arm64: $*"
apt-get -qq update
apt-get -qq -y install --download-only --no-install-recommends "$@" >/dev/null
for package in "$root"/apt/archives/*.deb; do
    dpkg-deb -x "$package" "$root"
done
rm -rf "$root/apt"
# Links to absolute paths lead into the folder: the linker would look for libm.so's on this system, and take
# libm.a instead.
find "$root" -type l | while read -r link; do
    target=$(readlink "$link")
    case $target in /*) ln -sfn "$root$target" "$link" ;; esac
done
echo "links $*" >"$root/packages"
