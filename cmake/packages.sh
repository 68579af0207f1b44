# SPDX-License-Identifier: Apache-2.0
# What quickstart and check share: the Debian packages that assay needs, installed when allowed. Sourced, not run.
assay_packages="gcc g++ make cmake ninja-build pkg-config libdnnl-dev zlib1g-dev libcmocka-dev"

assay_missing_packages() {
    missing=""
    for package in "$@"; do
        dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q '^install ok installed' || missing="$missing $package"
    done
    echo "$missing"
}

# assay_install PACKAGE...: installs what is missing, as root or through sudo where that asks no password. Names what is
# missing and fails otherwise.
assay_install() {
    command -v dpkg-query >/dev/null 2>&1 || {
        echo "This script sets up Debian and its relatives. Elsewhere install: $* and build with cmake." >&2
        return 1
    }
    missing=$(assay_missing_packages "$@")
    [ -z "$missing" ] && return 0
    run=""
    if [ "$(id -u)" != 0 ]; then
        if command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
            run="sudo"
        else
            echo "These packages are missing, and this user may not install them:" >&2
            echo "   $missing" >&2
            echo "Install them with: sudo apt-get install$missing" >&2
            return 1
        fi
    fi
    echo "installing$missing"
    # A new machine's package lists may be old or absent; other package managers may hold the lock for a while.
    $run env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=120 update >/dev/null || true
    $run env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=120 --no-install-recommends install $missing \
        >/dev/null || {
        echo "apt-get could not install:$missing" >&2
        return 1
    }
}
