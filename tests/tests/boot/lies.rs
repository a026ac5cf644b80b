//! Files of a megabyte that claim gigabytes, given to every command that reads such files: each
//! answers with one line, within half a gigabyte of address space and seconds of processor time.

use flate2::{Compress, Compression, FlushCompress};
use keyway_boot::fdt::{Node, Tree};
use keyway_tests::{Outcome, Run, Scratch, keyway};
use std::fs;
use std::path::Path;

/// Properties that share a name of 500 KB: 20 GB if each had its own copy.
#[test]
fn device_trees_with_one_long_name() {
    let scratch = Scratch::new();
    let words =
        |words: &[usize]| words.iter().flat_map(|word| (*word as u32).to_be_bytes()).collect::<Vec<_>>();
    let structure = [words(&[1, 0]), words(&[3, 0, 0]).repeat(40_000), words(&[2, 9])].concat();
    let strings = [vec![b'n'; 500_000], vec![0]].concat();
    let (start, length) = (56, structure.len() + strings.len());
    let header = words(&[
        0xd00d_feed,
        start + length,
        start,
        start + structure.len(),
        40,
        17,
        16,
        0,
        strings.len(),
        structure.len(),
    ]);
    let blob = scratch.file("tree.dtb", [header, vec![0; 16], structure, strings].concat());
    let kernel = scratch.file("Image", b"kernel");
    let why = "at byte 76 of the device tree: a name is longer than 256 bytes";
    limited(keyway("boot fit --list").arg(&blob)).fails(1).says(why);
    let out = scratch.path("out");
    limited(keyway("boot fit --extract").arg(&out).arg(&blob)).fails(1).says(why);
    let fit =
        keyway("boot fit --load 0x80000 --kernel").arg(&kernel).arg("--dtb").arg(&blob).arg("-o").arg(&out);
    assert!(one_line(&limited(fit).fails(1)).contains(why));
    assert!(!out.exists());
}

#[test]
fn fit_images_that_overlap() {
    let scratch = Scratch::new();
    let mut images = Node::new("images");
    for number in 0..4000 {
        let mut image = Node::new(&format!("image-{number}"));
        image.set_cell("data-position", 0);
        image.set_cell("data-size", 1_000_000);
        images.children.push(image);
    }
    let mut blob = Tree { root: Node { children: vec![images], ..Node::default() }, ..Tree::default() }
        .to_blob()
        .unwrap();
    blob.resize(1_000_000, 7);
    let blob = scratch.file("image.itb", &blob);
    let out = scratch.path("out");
    fs::create_dir(&out).unwrap();
    let why = "/images/image-16: overlapping images and their hashes would read the file more than 16 times";
    assert!(one_line(&limited(keyway("boot fit --list").arg(&blob)).fails(1)).contains(why));
    limited(keyway("boot fit --extract").arg(&out).arg(&blob)).fails(1).says(why);
    assert_eq!(fs::read_dir(&out).unwrap().count(), 0, "nothing was given out");
}

#[test]
fn lz4_in_tiny_blocks() {
    let scratch = Scratch::new();
    let mut image = b"\x02\x21\x4c\x18".to_vec();
    let mut literal = |bytes: &[u8]| {
        image.extend((bytes.len() as u32 + 1).to_le_bytes());
        // A token with the number of literals that follow.
        image.push((bytes.len() as u8) << 4);
        image.extend(bytes);
    };
    entry("lib/modules/1/a.ko", 0o100_644, 160_000).chunks(14).for_each(&mut literal);
    (0..160_000).for_each(|_| literal(&[0]));
    let image = scratch.file("lz4", &image);
    limited(keyway("boot initramfs --list").arg(&image)).ok().says("lib/modules/1/a.ko");
    looked_into(&scratch, &image, "");
}

#[test]
fn a_link_of_four_gigabytes() {
    let scratch = Scratch::new();
    let image = scratch.file("link", gzip(&entry("init", 0o120_777, u32::MAX as usize), 4 << 10));
    let why = "no cpio entry at byte 0: its link's target has more than 4096 bytes, longer than any path";
    refused(&scratch, &image, why);
}

/// A file of that size, which every command unpacks or skips.
#[test]
fn a_file_of_four_gigabytes() {
    let scratch = Scratch::new();
    let why = "it decompresses to more than 256 MiB and 64 times the image";
    let image = |name| {
        let entry = entry(name, 0o100_755, u32::MAX as usize);
        scratch.file(name.rsplit('/').next().unwrap_or_default(), gzip(&entry, 4 << 10))
    };
    made(&scratch, &image("init"), "its first program is larger than 128 MiB");
    listing(&image("other"), why);
    looked_into(&scratch, &image("lib/modules/1/a.ko"), why);
    // A module in the image, compressed once more.
    let module = gzip(b"alias=crypto-xts\0", 4 << 10);
    let inner = [entry("lib/modules/1/xts.ko.gz", 0o100_644, module.len()), module].concat();
    let image = scratch.file("module", &inner);
    limited(keyway("xray aes-xts-plain64 --initramfs").arg(&image)).outcome().says("xts");
}

/// Not even a file larger than memory causes a crash.
#[test]
fn files_larger_than_memory() {
    let scratch = Scratch::new();
    let huge = scratch.sized("huge", 1 << 30);
    let refused = |line: &str, file: &Path| {
        let failed = limited(keyway(line).arg(file)).outcome();
        let code = if failed.errors().contains("out of memory") { 3 } else { 1 };
        assert_eq!(failed.code, Some(code), "{failed}");
        one_line(&failed);
    };
    for line in ["boot fit --list", "boot initramfs --list", "xray --initramfs"] {
        refused(line, &huge);
    }
    for line in ["boot fit --list", "xray --initramfs", "xray --proc-crypto", "bench diff /dev/zero"] {
        refused(line, Path::new("/dev/zero"));
    }
    assert!(one_line(&keyway("xray --proc-crypto /dev/zero").fails(1)).contains("larger than 4.0 MiB"));
}

/// Every command that reads an initramfs refuses this one.
fn refused(scratch: &Scratch, image: &Path, why: &str) {
    listing(image, why);
    made(scratch, image, why);
    looked_into(scratch, image, why);
}

fn listing(image: &Path, why: &str) {
    assert!(one_line(&limited(keyway("boot initramfs --list").arg(image)).fails(1)).contains(why));
    limited(keyway("boot initramfs --diff").arg(image).arg(image)).fails(1).says(why);
}

fn made(scratch: &Scratch, image: &Path, why: &str) {
    let out = scratch.path("made");
    limited(keyway("boot initramfs").arg(image).arg("-o").arg(&out)).fails(1).says(why);
    assert!(!out.exists());
}

/// The commands that look for modules in the image: refused if there is a reason, otherwise
/// successful.
fn looked_into(scratch: &Scratch, image: &Path, why: &str) {
    let volume = scratch.sized("volume", 20 << 20);
    keyway("luksFormat -q --pbkdf pbkdf2 --pbkdf-force-iterations 1000").arg(&volume).stdin("secret").ok();
    for run in [
        keyway("boot check --loader initramfs --image").arg(image).arg(&volume),
        keyway("xray aes-xts-plain64 --initramfs").arg(image),
    ] {
        let outcome = limited(run).outcome().says(why);
        assert!(matches!(outcome.code, Some(0 | 1 | 4)), "{outcome}");
    }
}

/// Limits: 512 MiB of address space, for a file of one mebibyte; five minutes of processor time: a
/// slow machine took half a minute for one of them.
fn limited(run: Run) -> Run {
    let line = "ulimit -v 524288 && ulimit -t 300 && exec \"$0\" \"$@\"";
    let shell = Run::new("/bin/sh", "-c").arg(line).arg(run.program());
    run.arguments().iter().fold(shell, Run::arg)
}

/// Its message, which is one line and not from an abort.
#[track_caller]
fn one_line(outcome: &Outcome) -> String {
    assert!(outcome.stdout.is_empty() && outcome.errors().lines().count() == 1, "{outcome}");
    outcome.errors()
}

/// An entry of a cpio archive, without its data.
fn entry(name: &str, mode: usize, size: usize) -> Vec<u8> {
    let mut bytes = b"070701".to_vec();
    let fields = [1, mode, 0, 0, 1, 0, size, 0, 0, 0, 0, name.len() + 1, 0];
    bytes.extend(fields.iter().flat_map(|field| format!("{field:08x}").into_bytes()));
    bytes.extend(name.bytes().chain([0]));
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

/// `head`, and mebibytes of zeros: compressed once and repeated, since a flushed block is
/// self-contained.
fn gzip(head: &[u8], mib: usize) -> Vec<u8> {
    let mut image = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3];
    for (bytes, times) in [(head, 1), (&vec![0; 1 << 20][..], mib)] {
        let mut packed = Vec::with_capacity(1 << 16);
        Compress::new(Compression::fast(), false)
            .compress_vec(bytes, &mut packed, FlushCompress::Full)
            .unwrap();
        image.extend(packed.repeat(times));
    }
    image
}
