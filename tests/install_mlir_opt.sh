#!/bin/sh
# Install a real mlir-opt where this machine can, and say so where it cannot: the tests that need one are then skipped.
set -u
wanted="mlir-22-tools mlir-21-tools mlir-20-tools mlir-19-tools"

for tool in mlir-opt mlir-opt-22 mlir-opt-21 mlir-opt-20 mlir-opt-19; do
    if command -v "$tool" >/dev/null; then
        echo "mlir-opt: $(command -v "$tool") is here"
        exit 0
    fi
done
if ! command -v apt-get >/dev/null || [ "$(id -u)" -ne 0 ]; then
    echo "mlir-opt: SKIPPED, installing one needs apt-get and root; put mlir-opt on the PATH to run its tests"
    exit 0
fi
apt-get update -qq || echo "mlir-opt: apt-get update failed, trying with the lists at hand"
for package in $wanted; do
    candidate=$(apt-cache policy "$package" | sed -n 's/^ *Candidate: //p')
    if [ -z "$candidate" ] || [ "$candidate" = "(none)" ]; then
        echo "mlir-opt: this Debian has no $package"
    elif DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$package" >/dev/null; then
        echo "mlir-opt: installed $package $candidate"
        exit 0
    else
        echo "mlir-opt: $package $candidate did not install"
    fi
done
echo "mlir-opt: SKIPPED, none of: $wanted"
