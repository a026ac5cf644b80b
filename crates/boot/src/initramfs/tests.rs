//! Images made here in all the ways that they come in.

use super::*;
use std::io::Write;

/// An archive of ordinary files.
pub(super) fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
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

pub(super) fn gzip(bytes: &[u8]) -> Vec<u8> {
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
    assert_eq!(names(b"").unwrap_err(), "at byte 0 there is neither a cpio archive nor a packed one");
    assert_eq!(names(b"\x7fELF").unwrap_err(), "at byte 0 there is neither a cpio archive nor a packed one");
    let mut image = archive(&[("a", b"1")]);
    let end = image.len();
    image.extend(b"rubbish");
    assert_eq!(
        names(&image).unwrap_err(),
        format!("at byte {end} there is neither a cpio archive nor a packed one")
    );
    assert!(names(b"\x89LZOxxxx").unwrap_err().contains("packed with lzo, which this build does not read"));
    assert!(names(b"BZh9xxxx").is_err());
    let packed = gzip(&archive(&[("a", &[7; 5000])]));
    let error = names(&packed[..packed.len() / 2]).unwrap_err();
    assert!(error.starts_with("the archive at byte 0, unpacked (gzip): "), "{error}");
    assert!(names(&[0x28, 0xb5, 0x2f, 0xfd, 1, 2, 3]).is_err());
    assert!(names(&[0xfd, b'7', b'z', b'X', b'Z', 0, 9, 9]).is_err());
    assert!(names(&[0x02, 0x21, 0x4c, 0x18, 9, 9, 9, 9]).is_err());
}
