# ./dev vm: Debian's kernel in QEMU, without root.

vm=$PWD/.cache/vm

# vm [DISK…]: a shell in the machine; the disks are /dev/vda, /dev/vdb, …; keyway and cryptsetup are there.
vm() {
    local disk drives=()
    want_packages $vm_programs $(need_of vm)
    build_static
    tests/vm/prepare "$vm"
    for disk; do
        drives+=(-drive "if=virtio,format=raw,file=$disk")
    done
    mkdir -p "$vm/extra/bin"
    install target/keyway "$vm/extra/bin/keyway"
    cat "$vm/initramfs.cpio" <(cd "$vm/extra" && find . | cpio --quiet -o -H newc -R 0:0) >"$vm/shell.cpio"
    exec qemu-system-x86_64 -accel tcg,thread=multi -cpu max,-erms -m 1024 -smp 2 -nographic -no-reboot \
        -kernel "$vm/vmlinuz" -initrd "$vm/shell.cpio" -append "console=ttyS0 no_timer_check panic=-1 quiet" "${drives[@]}"
}
