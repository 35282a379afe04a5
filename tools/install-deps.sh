#!/bin/sh
# Installs those of the named Debian packages that are missing; with sudo only if that is needed.
# Nothing is asked of the network when all are there.
set -eu
missing=""
for package in "$@"; do
    case "$(dpkg-query -W -f='${Status}' "$package" 2>/dev/null || true)" in
    *"ok installed"*) ;;
    *) missing="$missing $package" ;;
    esac
done
[ -n "$missing" ] || exit 0
sudo=""
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
        echo "These Debian packages are missing:$missing" >&2
        echo "As root, run: apt-get update && apt-get install -y$missing" >&2
        exit 1
    fi
    sudo=sudo
fi
echo "installing:$missing"
$sudo apt-get -qq update
# shellcheck disable=SC2086 # the list is meant to be split
$sudo env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends $missing >/dev/null
