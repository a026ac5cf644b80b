//! `keyway boot uki` beside objcopy, with systemd's stub and Debian's kernel; and started by OVMF.

use keyway_tests::console::FIRMWARE;
use keyway_tests::vm::{Machine, is_prepared, prepared};
use keyway_tests::{Board, Scratch, keyway, need, need_that, peer};
use std::fs;
use std::path::Path;

pub(crate) const STUB: &str = "/usr/lib/systemd/boot/efi/linuxx64.efi.stub";

/// Name, size, address and file offset of each section, as objdump sees them.
#[track_caller]
fn sections(image: &Path) -> Vec<Vec<String>> {
    let text = peer("objdump", "-h -w").arg(image).ok().text();
    let rows = text.lines().filter(|line| line.trim_start().starts_with(|c: char| c.is_ascii_digit()));
    rows.map(|row| row.split_whitespace().skip(1).take(5).map(str::to_owned).collect()).collect()
}

#[test]
fn the_sections_are_what_objcopy_reads_and_writes() {
    need!("objdump", "objcopy");
    need_that!(Path::new(STUB).exists(), "systemd-boot-efi is not installed");
    need_that!(prepared("vmlinuz").exists(), "the virtual machine's kernel was not fetched (./dev test vm)");
    let scratch = Scratch::new();
    let initrd = scratch.random_file("initrd", 2, 70_001);
    let release = scratch.file("os-release", "ID=test\nNAME=Test\n");
    let out = scratch.path("out.efi");
    let make = |out: &Path| {
        keyway("boot uki --kernel")
            .arg(prepared("vmlinuz"))
            .arg("--ramdisk")
            .arg(&initrd)
            .arg("--os-release")
            .arg(&release)
            .arg("--cmdline")
            .arg("console=ttyS0 root=/dev/mapper/root")
            .arg("-o")
            .arg(out)
    };
    make(&out).ok();
    let again = scratch.path("again.efi");
    make(&again).ok();
    assert!(fs::read(&out).unwrap() == fs::read(&again).unwrap());
    let (stub, made) = (sections(Path::new(STUB)), sections(&out));
    assert_eq!(made[..stub.len()], stub, "the stub's sections are where they were");
    let names: Vec<&str> = made[stub.len()..].iter().map(|row| &row[0][..]).collect();
    assert_eq!(names, [".osrel", ".cmdline", ".uname", ".initrd", ".linux"]);
    // Addresses ascend, are page-aligned, and do not overlap.
    let number = |text: &str| u64::from_str_radix(text, 16).unwrap();
    for pair in made[stub.len() - 1..].windows(2) {
        let (end, next) = (number(&pair[0][2]) + number(&pair[0][1]), number(&pair[1][2]));
        assert!(next >= end && next & 0xfff == 0, "{pair:?}");
    }
    // objcopy extracts each section unchanged.
    for (section, file) in
        [(".initrd", initrd.clone()), (".linux", prepared("vmlinuz")), (".osrel", release.clone())]
    {
        let (dump, copy) = (scratch.path("dump"), scratch.path("copy.efi"));
        let argument = format!("--dump-section={section}={}", dump.display());
        peer("objcopy", "-O pei-x86-64").arg(argument).arg(&out).arg(&copy).ok();
        let (dumped, original) = (fs::read(dump).unwrap(), fs::read(file).unwrap());
        let length = original.len().min(dumped.len());
        assert!(
            dumped[..length] == original[..length] && dumped[length..].iter().all(|byte| *byte == 0),
            "{section}"
        );
        assert!(dumped.len() >= original.len(), "{section}");
    }
    keyway("boot uki --list").arg(&out).ok().says("console=ttyS0 root=/dev/mapper/root").says("6.1.0-");
}

/// The firmware starts the image by itself; kernel, command line and initramfs come from the image.
#[test]
fn it_boots_under_ovmf() {
    need!("qemu-system-x86_64");
    need_that!(Path::new(STUB).exists(), "systemd-boot-efi is not installed");
    need_that!(Path::new(FIRMWARE).exists(), "ovmf is not installed");
    need_that!(is_prepared(), "the virtual machine's kernel was not fetched (./dev test vm)");
    let scratch = Scratch::new();
    let (kernel, initramfs) = Machine::new().file("init", INIT).into_boot_files();
    let (kernel, initramfs) = (scratch.file("kernel", kernel), scratch.file("initramfs", initramfs));
    let directory = scratch.path("esp/EFI/BOOT");
    fs::create_dir_all(&directory).unwrap();
    keyway("boot uki --cmdline")
        .arg("console=ttyS0 no_timer_check panic=-1 quiet keyway.word=spoken")
        .arg("--kernel")
        .arg(kernel)
        .arg("--ramdisk")
        .arg(initramfs)
        .arg("-o")
        .arg(directory.join("BOOTX64.EFI"))
        .ok();
    let said = Board::pc().firmware(&scratch, &scratch.path("esp")).start().ends();
    assert!(said.lines().any(|line| line == "REACHED=spoken"), "{said}");
}

/// Replaces the image's own /init.
const INIT: &str = "#!/bin/busybox sh
/bin/busybox mkdir -p /proc
/bin/busybox mount -t proc proc /proc
echo REACHED=$(/bin/busybox sed 's/.*keyway.word=//' /proc/cmdline)
/bin/busybox poweroff -f
";

#[test]
fn what_is_no_kernel_or_no_stub_is_refused() {
    let scratch = Scratch::new();
    let out = scratch.path("out");
    let noise = scratch.file("noise", "no kernel");
    keyway("boot uki --kernel").arg(&noise).arg("-o").arg(&out).fails(1).says("not a PE image");
    keyway("boot uki --kernel")
        .arg(&noise)
        .arg("--stub")
        .arg(&noise)
        .arg("-o")
        .arg(&out)
        .fails(1)
        .says("not a PE image");
    keyway("boot uki -o").arg(&out).fails(1).says("boot uki takes --kernel FILE");
    assert!(!out.exists());
}
