#!/bin/sh
# Install what runs code for AArch64 where this machine can, and say so where it cannot: the tests that need it are then skipped.
set -u
if command -v qemu-aarch64 >/dev/null && command -v aarch64-linux-gnu-gcc >/dev/null; then
    echo "qemu: $(command -v qemu-aarch64) is here"
    exit 0
fi
if ! command -v apt-get >/dev/null || [ "$(id -u)" -ne 0 ]; then
    echo "qemu: SKIPPED, installing it needs apt-get and root; put qemu-aarch64 and aarch64-linux-gnu-gcc on the PATH"
    exit 0
fi
apt-get update -qq || echo "qemu: apt-get update failed, trying with the lists at hand"
if DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    qemu-user gcc-aarch64-linux-gnu libc6-dev-arm64-cross >/dev/null; then
    echo "qemu: installed"
else
    echo "qemu: SKIPPED, the packages did not install"
fi
