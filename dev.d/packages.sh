# Which Debian package holds which program, and getting them.

declare -A package_of=(
    [cc]="gcc libc6-dev"
    [cryptsetup]=cryptsetup-bin
    [dislocker-file]=dislocker [bdemount]=libbde-utils [bdeinfo]=libbde-utils
    [qemu-img]=qemu-utils
    [qemu-system-x86_64]=qemu-system-x86
    [qemu-aarch64-static]=qemu-user-static
    [aarch64-linux-gnu-gcc]="gcc-aarch64-linux-gnu libc6-dev-arm64-cross"
    [qemu-system-aarch64]=qemu-system-arm
    [nbdkit]=nbdkit
    [nbd-client]=nbd-client
    [nbdcopy]=libnbd-bin
    [grub-fstest]=grub-common [grub-mkimage]=grub-common
    [/usr/lib/grub/i386-pc/boot.img]=grub-pc-bin
    [nbdinfo]=libnbd-bin [nbdfuse]=libnbd-bin
    [qemu-nbd]=qemu-utils [qemu-io]=qemu-utils
    [certtool]=gnutls-bin
    [fio]=fio
    [chromium]=chromium [chromedriver]=chromium-driver
    [fusermount3]=fuse3 [fuse2fs]=fuse2fs
    [bindfs]=bindfs
    [setpriv]=util-linux [prlimit]=util-linux
    [openssl]=openssl
    [mke2fs]=e2fsprogs [debugfs]=e2fsprogs [e2fsck]=e2fsprogs
    [mkfs.xfs]=xfsprogs [mkfs.btrfs]=btrfs-progs [mkfs.vfat]=dosfstools [mkfs.f2fs]=f2fs-tools [sload.f2fs]=f2fs-tools
    [mkfs.erofs]=erofs-utils [mksquashfs]=squashfs-tools [mkfs.nilfs2]=nilfs-tools [mkntfs]=ntfs-3g
    [mkfs.exfat]=exfatprogs [mkudffs]=udftools [genisoimage]=genisoimage [sfdisk]=fdisk [fdisk]=fdisk [blkid]=util-linux
    [busybox]=busybox-static
    [losetup]=mount [tcplay]=tcplay
    [python3]="python3 python3-venv"
    [cpio]=cpio [mkinitramfs]=initramfs-tools-core [unshare]=util-linux
    [modprobe]=kmod
    [dmsetup]=dmsetup [lvm]=lvm2 [keyctl]=keyutils
    [make]=make
    [xz]=xz-utils [zstd]=zstd [lz4]=lz4 [bzip2]=bzip2
    [mkimage]=u-boot-tools [dumpimage]=u-boot-tools [dtc]=device-tree-compiler
    [objdump]=binutils [objcopy]=binutils [/usr/lib/systemd/boot/efi/linuxx64.efi.stub]=systemd-boot-efi
    [/usr/share/OVMF/OVMF_CODE.fd]=ovmf
    [/usr/lib/u-boot/qemu_arm64/u-boot.bin]=u-boot-qemu
    [/usr/lib/x86_64-linux-gnu/libelf.so.1]=libelf1
    [script]=bsdutils [zsh]=zsh [fish]=fish [groff]=groff-base
    [loadkeys]=kbd [ckbcomp]=console-setup
    [perl]=perl [make]=make
    [libcrypto.so.3]=libssl3
    [libgcrypt.so.20]=libgcrypt20
    [libbotan-2.so.19]=libbotan-2-19
    [libargon2.so.1]=libargon2-1
    [valgrind]=valgrind [gdb]=gdb [strace]=strace
    [jsonschema]=python3-jsonschema
    [mount]=mount [umount]=mount [fstrim]=util-linux [mkswap]=util-linux [setsid]=util-linux
    [dumpe2fs]=e2fsprogs [cmp]=diffutils [kill]=procps [ps]=procps [time]=time [gzip]=gzip
    [file]=file [git]=git [jq]=jq [xxd]=xxd [hexdump]=bsdextrautils [killall]=psmisc [udevadm]=udev [uuencode]=sharutils
    [expect]="expect tcl-expect tcl8.6"
)
always_there="bash sh cat cp dd env ls chroot mkfifo sleep stat fallocate ldd truncate yes"
demo_programs="cc mke2fs debugfs"
# What a layer needs beside what its tests ask for by name (need_of).
interop_programs="cryptsetup keyctl qemu-img nbdkit grub-fstest openssl mke2fs debugfs e2fsck script prlimit"
# What makes the images that signatures are looked for in.
interop_programs+=" blkid mkfs.xfs mkfs.btrfs mkfs.vfat mkfs.f2fs mkfs.erofs mksquashfs mkfs.nilfs2 mkntfs mkfs.exfat"
interop_programs+=" mkudffs genisoimage sfdisk fdisk"
# GRUB itself, on a machine.
oracle_programs="grub-mkimage /usr/lib/grub/i386-pc/boot.img"
doors_programs="nbdfuse python3"
aarch64_programs="cc aarch64-linux-gnu-gcc qemu-aarch64-static qemu-system-aarch64"
vm_programs="qemu-system-x86_64 modprobe dmsetup keyctl nbd-client"
vm_programs+=" grub-mkimage /usr/lib/grub/i386-pc/boot.img"
# For the kernel modules of ciphers that Debian's kernel leaves out.
vm_programs+=" cc make xz /usr/lib/x86_64-linux-gnu/libelf.so.1"
boot_programs="/usr/lib/systemd/boot/efi/linuxx64.efi.stub /usr/share/OVMF/OVMF_CODE.fd modprobe"
boot_programs+=" /usr/lib/u-boot/qemu_arm64/u-boot.bin aarch64-linux-gnu-gcc"
# Packages of Debian's that are unpacked for it and not installed (tests/vm/prepare-packages).
clevis_packages="clevis clevis-luks clevis-initramfs jose libjose0 luksmeta libluksmeta0 cryptsetup cryptsetup-bin cryptsetup-initramfs curl"
dracut_packages="dracut-core kpartx systemd systemd-sysv libsystemd-shared udev kmod cryptsetup-bin libcryptsetup12"
dracut_packages+=" libapparmor1 libargon2-1 libcap2 libip4tc2 libjson-c5 libkmod2 libseccomp2 libudev1"
mdadm_packages="mdadm"
engine_programs="cc perl make libcrypto.so.3 libgcrypt.so.20 libbotan-2.so.19 libargon2.so.1"
doors_bench_programs="cc nbdkit nbdcopy nbdfuse qemu-nbd fio fusermount3 bindfs"
bench_programs="cc cryptsetup strace nbdkit nbdcopy libcrypto.so.3 libargon2.so.1"
ct_programs="cc valgrind"
# What cryptsetup's own tests call.
upstream_programs="qemu-system-x86_64 busybox modprobe cpio cc perl xz bzip2 jq keyctl expect dmsetup udevadm killall mke2fs mkfs.xfs"
upstream_programs+=" mkfs.vfat fdisk openssl xxd hexdump losetup uuencode"

all_programs() {
    echo $demo_programs $interop_programs $oracle_programs $doors_programs $aarch64_programs $vm_programs \
        $boot_programs $engine_programs $doors_bench_programs $bench_programs $ct_programs $upstream_programs $(need_of '')
}

# want_packages PROGRAM…: installs what is missing where that is possible, names it elsewhere. Never fails: whoever
# needs a program says so itself, tests by leaving themselves out by name.
want_packages() {
    local missing
    mapfile -t missing < <(packages_missing "$@")
    [ ${#missing[@]} -gt 0 ] || return 0
    if may_install; then
        # One after another: what another layer installs need not be installed here.
        (flock 9 && install_packages $(packages_missing "$@")) 9>"$logs/installing"
        mapfile -t missing < <(packages_missing "$@")
        [ ${#missing[@]} -gt 0 ] || return 0
        echo "${red}could not install ${missing[*]}$plain" >&2
    else
        echo "${red}missing packages: ${missing[*]}$plain (apt-get install ${missing[*]})" >&2
    fi
    printf '%s\n' "${missing[@]}" >>"$logs/not-installed"
}

install_packages() {
    [ $# -gt 0 ] || return 0
    say "installing $*"
    apt_get update -q || true
    # One that this release lacks must not keep the others out.
    apt_get install -q --no-install-recommends "$@" || one_by_one "$@"
}

one_by_one() {
    local package
    for package; do apt_get install -q --no-install-recommends "$package" || true; done
}

# packages_missing PROGRAM…: the packages that hold those of them that are not here.
packages_missing() {
    local program
    for program; do
        have "$program" || echo "${package_of[$program]:-$program}"
    done | tr ' ' '\n' | sort -u
}

# At the end of a run, where nobody has to look for it.
what_is_not_installed() {
    [ ! -s "$logs/not-installed" ] || say "not installed: $(sort -u "$logs/not-installed" | tr '\n' ' ')"
}

# need_of SUITE…: the programs that these suites of tests/tests ask for.
need_of() {
    (cd tests/tests && grep -rhozE 'need!\([^)]*\)' ${@/%/*}) | tr '\0' '\n' | grep -oE '"[^"]+"' | tr -d '"' | sort -u
}

# Every program that a test asks for is in a package that is known here, or in every Debian.
known_packages() {
    local program unknown=()
    for program in $(all_programs); do
        [ -n "${package_of[$program]:-}" ] || [[ " $always_there " = *" $program "* ]] || unknown+=("$program")
    done
    [ ${#unknown[@]} = 0 ] || { echo "dev.d/packages.sh knows no package of: ${unknown[*]}" && return 1; }
}

# As root, on Debian or Ubuntu.
may_install() { [ "$(id -u)" = 0 ] && have apt-get; }

# apt_get ARG…: waits up to ten minutes for whoever else installs, and tries twice. (Lists have a lock of their own, for
# which apt-get does not wait.)
apt_get() {
    local tries=2 waited=0
    until DEBIAN_FRONTEND=noninteractive apt-get -y -o DPkg::Lock::Timeout=600 "$@" </dev/null >"$logs/apt.log" 2>&1 9>&-; do
        if [ $waited -lt 600 ] && grep -q 'Could not get lock' "$logs/apt.log"; then
            waited=$((waited + 5)) && sleep 5
        elif [ $((tries -= 1)) -gt 0 ]; then
            sleep 2
        else
            return 1
        fi
    done
}

# A program by name (also in the system directories that an ordinary user's PATH lacks), a file by its path, a shared
# library by the name that programs load.
have() {
    [ -e "$1" ] && return
    case "$1" in
        lib*.so.*) PATH=$PATH:/usr/sbin:/sbin ldconfig -p | grep -qF "$1 " ;;
        # (Of the same name as a word of the shell, there is a program "time".)
        *) PATH=$PATH:/usr/sbin:/sbin type -P "$1" >/dev/null ;;
    esac
}

want_rust() {
    have cargo && have rustc || fail "Rust is missing: install rustup from https://rustup.rs, then run this again"
    local wanted found
    wanted=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
    found=$(rustc --version | cut -d' ' -f2)
    [ "$(printf '%s\n' "$wanted" "$found" | sort -V | head -1)" = "$wanted" ] ||
        fail "Rust $wanted or newer is needed, this is $found: rustup update stable"
}

# want_target TARGET: Rust's standard library for it.
want_target() {
    ls "$(rustc --print target-libdir --target "$1")"/libcore-* &>/dev/null && return
    say "adding Rust's library for $1"
    have rustup && flock "$logs/rustup" rustup --quiet target add "$1" &>"$logs/rustup.log" ||
        fail "Rust's library for $1 is missing and could not be added: rustup target add $1 (a distribution's own Rust lacks it: https://rustup.rs)"
}

logs=target/dev
mkdir -p "$logs"
