# Which Debian package holds which program, and getting them.

declare -A package_of=(
    [cc]="gcc libc6-dev"
    [cryptsetup]=cryptsetup-bin
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
    [mkfs.xfs]=xfsprogs [mkfs.btrfs]=btrfs-progs [mkfs.vfat]=dosfstools [mkfs.f2fs]=f2fs-tools
    [mkfs.erofs]=erofs-utils [mksquashfs]=squashfs-tools [mkfs.nilfs2]=nilfs-tools [mkntfs]=ntfs-3g
    [mkfs.exfat]=exfatprogs [mkudffs]=udftools [genisoimage]=genisoimage [sfdisk]=fdisk [blkid]=util-linux
    [busybox]=busybox-static
    [losetup]=mount
    [python3]="python3 python3-venv"
    [cpio]=cpio [mkinitramfs]=initramfs-tools-core [unshare]=util-linux
    [modprobe]=kmod
    [dmsetup]=dmsetup [keyctl]=keyutils
    [make]=make
    [xz]=xz-utils [zstd]=zstd [lz4]=lz4 [bzip2]=bzip2
    [mkimage]=u-boot-tools [dumpimage]=u-boot-tools [dtc]=device-tree-compiler
    [objdump]=binutils [objcopy]=binutils [/usr/lib/systemd/boot/efi/linuxx64.efi.stub]=systemd-boot-efi
    [/usr/share/OVMF/OVMF_CODE.fd]=ovmf
    [/usr/lib/u-boot/qemu_arm64/u-boot.bin]=u-boot-qemu
    [/usr/lib/x86_64-linux-gnu/libelf.so.1]=libelf1
    [script]=bsdutils [zsh]=zsh [fish]=fish [groff]=groff-base
    [perl]=perl [make]=make
    [libcrypto.so.3]=libssl3
    [libgcrypt.so.20]=libgcrypt20
    [libbotan-2.so.19]=libbotan-2-19
    [libargon2.so.1]=libargon2-1
    [valgrind]=valgrind [gdb]=gdb [strace]=strace
    [jsonschema]=python3-jsonschema
)
demo_programs="cc mke2fs debugfs"
cli_programs="zsh fish groff jsonschema cpio python3"
interop_programs="cryptsetup keyctl qemu-img nbdkit grub-fstest openssl mke2fs debugfs e2fsck script prlimit"
# What makes the images that signatures are looked for in.
interop_programs+=" blkid mkfs.xfs mkfs.btrfs mkfs.vfat mkfs.f2fs mkfs.erofs mksquashfs mkfs.nilfs2 mkntfs mkfs.exfat"
interop_programs+=" mkudffs genisoimage sfdisk"
oracle_programs="grub-fstest mke2fs cryptsetup chromium chromedriver"
# GRUB itself, on a machine.
oracle_programs+=" grub-mkimage /usr/lib/grub/i386-pc/boot.img qemu-system-x86_64"
doors_programs="nbdinfo nbdcopy nbdfuse qemu-nbd fio fusermount3 certtool busybox python3 losetup"
doors_programs+=" fuse2fs qemu-img qemu-io nbdkit cryptsetup mke2fs debugfs e2fsck setpriv gdb perl"
aarch64_programs="cc aarch64-linux-gnu-gcc qemu-aarch64-static qemu-system-aarch64"
vm_programs="cryptsetup qemu-system-x86_64 mke2fs debugfs e2fsck busybox cpio modprobe dmsetup keyctl nbd-client fio fusermount3 prlimit"
vm_programs+=" grub-mkimage /usr/lib/grub/i386-pc/boot.img"
# Initramfs images come packed with these, too.
vm_programs+=" zstd lz4 mkinitramfs unshare"
# For the kernel modules of ciphers that Debian's kernel leaves out.
vm_programs+=" cc make xz /usr/lib/x86_64-linux-gnu/libelf.so.1"
boot_programs="cpio busybox xz zstd lz4 bzip2 mkimage dumpimage dtc objdump objcopy /usr/lib/systemd/boot/efi/linuxx64.efi.stub"
boot_programs+=" /usr/share/OVMF/OVMF_CODE.fd qemu-system-x86_64 mke2fs mkinitramfs unshare modprobe"
boot_programs+=" /usr/lib/u-boot/qemu_arm64/u-boot.bin qemu-system-aarch64 aarch64-linux-gnu-gcc"
engine_programs="cc perl make libcrypto.so.3 libgcrypt.so.20 libbotan-2.so.19 libargon2.so.1"
doors_bench_programs="cc nbdkit nbdcopy nbdfuse qemu-nbd fio fusermount3 bindfs"
bench_programs="cc cryptsetup strace nbdkit nbdcopy libcrypto.so.3 libargon2.so.1"
ct_programs="cc valgrind"
measure_programs="jsonschema python3 openssl chromium chromedriver"
all_programs="cc $cli_programs $ct_programs $measure_programs $interop_programs $doors_programs $aarch64_programs $vm_programs $boot_programs $bench_programs $doors_bench_programs $engine_programs"

# want_packages PROGRAM…: installs what is missing where that is possible, names it elsewhere. Never fails: whoever
# needs a program says so itself, tests by leaving themselves out by name.
want_packages() {
    local program missing=()
    for program; do
        have "$program" || missing+=(${package_of[$program]})
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    mapfile -t missing < <(printf '%s\n' "${missing[@]}" | sort -u)
    if may_install; then
        say "installing ${missing[*]}"
        apt_get update -q && apt_get install -q --no-install-recommends "${missing[@]}" ||
            echo "${red}could not install ${missing[*]}$plain" >&2
    else
        echo "${red}missing packages: ${missing[*]}$plain (apt-get install ${missing[*]})" >&2
    fi
}

# As root, on Debian or Ubuntu.
may_install() { [ "$(id -u)" = 0 ] && have apt-get; }

apt_get() { DEBIAN_FRONTEND=noninteractive apt-get -y "$@" </dev/null >"$logs/apt.log" 2>&1; }

# A program by name (also in the system directories that an ordinary user's PATH lacks), a file by its path, a shared
# library by the name that programs load.
have() {
    [ -e "$1" ] && return
    case "$1" in
        lib*.so.*) PATH=$PATH:/usr/sbin:/sbin ldconfig -p | grep -qF "$1 " ;;
        *) PATH=$PATH:/usr/sbin:/sbin command -v "$1" >/dev/null ;;
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
    have rustup && rustup --quiet target add "$1" &>"$logs/rustup.log" ||
        fail "Rust's library for $1 is missing and could not be added: rustup target add $1 (a distribution's own Rust lacks it: https://rustup.rs)"
}

logs=target/dev
mkdir -p "$logs"
