//! Images built by the tests in all the variants that exist.

use super::*;
use std::io::Write;

/// An archive of regular files.
pub(crate) fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = Vec::new();
    for (number, (name, content)) in files.iter().copied().chain([("TRAILER!!!", &b""[..])]).enumerate() {
        let fields = [number, 0o100_644, 0, 0, 1, 0, content.len(), 0, 0, 0, 0, name.len() + 1, 0];
        archive.extend(b"070701");
        archive.extend(fields.iter().flat_map(|field| format!("{field:08x}").into_bytes()));
        archive.extend(name.bytes().chain([0]));
        archive.resize(archive.len().next_multiple_of(4), 0);
        archive.extend(content);
        archive.resize(archive.len().next_multiple_of(4), 0);
    }
    archive
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

#[test]
fn bzip2() {
    let mut packed = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::best());
    packed.write_all(&archive(&[("init", b"sh")])).unwrap();
    let mut image = packed.finish().unwrap();
    image.extend([0; 5]);
    image.resize(image.len().next_multiple_of(4), 0);
    image.extend(archive(&[("late", b"1")]));
    assert_eq!(names(&image).unwrap(), "init=sh late=1");
}

fn names(image: &[u8]) -> Result<String, String> {
    let mut names = Vec::new();
    let mut visit = |entry: &Entry, content: &mut dyn Read| {
        let mut text = Vec::new();
        content.read_to_end(&mut text)?;
        names.push(format!("{}={}", entry.name, String::from_utf8_lossy(&text)));
        Ok(())
    };
    walk(image, &mut visit).map_err(|error| error.to_string())?;
    Ok(names.join(" "))
}

#[test]
fn microcode_in_front_of_a_packed_archive() {
    let mut image = archive(&[("kernel/x86/microcode/GenuineIntel.bin", b"mc")]);
    image.resize(image.len().next_multiple_of(512), 0);
    image.extend(gzip(&archive(&[("init", b"sh"), ("etc/a", b"b")])));
    image.resize(image.len().next_multiple_of(4), 0);
    image.extend(gzip(&archive(&[("late", b"1")])));
    image.extend(archive(&[("later", b"2")]));
    assert_eq!(
        names(&image).unwrap(),
        "kernel/x86/microcode/GenuineIntel.bin=mc init=sh etc/a=b late=1 later=2"
    );
}

#[test]
fn u_boots_header_is_passed_over() {
    let mut image = vec![0x27, 0x05, 0x19, 0x56];
    image.resize(64, 7);
    image.extend(gzip(&archive(&[("init", b"1")])));
    assert_eq!(names(&image).unwrap(), "init=1");
}

#[test]
fn what_is_no_image_is_refused_with_its_place() {
    assert_eq!(names(b"").unwrap_err(), "at byte 0 there is no cpio archive, compressed or not");
    assert_eq!(names(b"\x7fELF").unwrap_err(), "at byte 0 there is no cpio archive, compressed or not");
    let mut image = archive(&[("a", b"1")]);
    let end = image.len();
    image.extend(b"rubbish");
    assert_eq!(
        names(&image).unwrap_err(),
        format!("at byte {end} there is no cpio archive, compressed or not")
    );
    assert!(
        names(b"\x89LZOxxxx").unwrap_err().contains("compressed with lzo, which this build does not support")
    );
    assert!(names(b"BZh9xxxx").is_err());
    let packed = gzip(&archive(&[("a", &[7; 5000])]));
    let error = names(&packed[..packed.len() / 2]).unwrap_err();
    assert!(error.starts_with("the archive at byte 0, decompressed (gzip): "), "{error}");
    assert!(names(&[0x28, 0xb5, 0x2f, 0xfd, 1, 2, 3]).is_err());
    assert!(names(&[0xfd, b'7', b'z', b'X', b'Z', 0, 9, 9]).is_err());
    assert!(names(&[0x02, 0x21, 0x4c, 0x18, 9, 9, 9, 9]).is_err());
}

/// One entry, without a trailer.
fn entry(name: &str, mode: usize, size: usize) -> Vec<u8> {
    let mut bytes = b"070701".to_vec();
    let fields = [1, mode, 0, 0, 1, 0, size, 0, 0, 0, 0, name.len() + 1, 0];
    bytes.extend(fields.iter().flat_map(|field| format!("{field:08x}").into_bytes()));
    bytes.extend(name.bytes().chain([0]));
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

/// zstd blocks that repeat one byte: four bytes are 128 KiB.
fn zeros(head: &[u8], blocks: usize) -> Vec<u8> {
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0, 0x70];
    frame.extend(&((head.len() as u32) << 3).to_le_bytes()[..3]);
    frame.extend(head);
    for left in (0..blocks).rev() {
        frame.extend(&(u32::from(left == 0) | 1 << 1 | (128 << 10) << 3).to_le_bytes()[..3]);
        frame.push(0);
    }
    frame
}

fn listed(image: &[u8]) -> Result<usize, String> {
    Listing::of(image, true).map(|listing| listing.items.len()).map_err(|why| why.to_string())
}

#[test]
fn links_are_no_longer_than_paths() {
    let link = |size: usize| [entry("link", 0o120_777, size), vec![b'a'; size.min(1 << 20)]].concat();
    assert_eq!(listed(&link(4096)), Ok(1));
    let why = "no cpio entry at byte 0: its link's target has more than 4096 bytes, longer than any path";
    assert_eq!(listed(&link(4097)), Err(format!("the archive at byte 0: {why}")));
    let bomb = zeros(&entry("link", 0o120_777, u32::MAX as usize), 1 << 15);
    assert_eq!(listed(&bomb), Err(format!("the archive at byte 0, decompressed (zstd): {why}")));
}

#[test]
fn images_unpack_to_a_multiple_of_themselves() {
    let file = |mib: usize| zeros(&entry("file", 0o100_644, mib << 20), mib << 3);
    assert_eq!(listed(&file(255)), Ok(1));
    let why = listed(&file(4000)).unwrap_err();
    assert!(why.ends_with("it decompresses to more than 256 MiB and 64 times the image"), "{why}");
    assert!(why.starts_with("the archive at byte 0, decompressed (zstd): after byte "), "{why}");
    // The limit covers many parts together, and a large image may hold more.
    let why = listed(&file(100).repeat(4)).unwrap_err();
    assert!(why.contains("decompresses to more than"), "{why}");
    let mut large = archive(&[("f", &vec![7; 5 << 20])]);
    large.extend(file(280));
    assert_eq!(listed(&large), Ok(2));
    assert!(listed(&gzip(b"").repeat(5000)).unwrap_err().ends_with("it has more than 4096 parts"));
}

#[test]
fn names_have_a_ceiling() {
    let many: Vec<u8> = (0..=1 << 19).flat_map(|number| entry(&format!("{number}"), 0o100_644, 0)).collect();
    assert!(listed(&many).unwrap_err().ends_with("it has more than 524288 entries"));
    let long: Vec<u8> =
        (0..9000).flat_map(|number| entry(&format!("{number:04090}"), 0o100_644, 0)).collect();
    assert!(listed(&long).unwrap_err().ends_with("its names and links have more than 32 MiB"));
}

#[test]
fn a_first_program_has_a_ceiling() {
    let init = |mib: usize| zeros(&entry("init", 0o100_755, mib << 20), mib << 3);
    let why = Original::of(&init(200)).unwrap_err().to_string();
    assert!(why.ends_with("its first program is larger than 128 MiB"), "{why}");
    assert_eq!(Original::of(&init(2)).unwrap().init.map(|node| node.content.len()), Some(2 << 20));
}
