//! An image built by the tests, sections added to it, and everything that can be wrong with it.

use super::*;

/// An initramfs with a program for this machine.
fn ramdisk(machine: &str) -> Vec<u8> {
    use crate::initramfs::writer::{Node, Tree};
    let mut tree = Tree::default();
    tree.add("bin/sh", Node::file(0o755, crate::architecture::tests::elf(machine, false)));
    tree.archive().unwrap()
}

/// PE32+ with a section ".text" of 512 bytes, and room for eight more rows.
pub(super) fn image(machine: u16) -> Vec<u8> {
    let mut file = vec![0; 1024 + 512];
    let mut put = |at: usize, bytes: &[u8]| file[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, b"MZ");
    put(60, &64_u32.to_le_bytes());
    put(64, b"PE\0\0");
    put(68, &machine.to_le_bytes());
    put(70, &1_u16.to_le_bytes());
    put(84, &240_u16.to_le_bytes());
    let optional = 88;
    put(optional, &PE32_PLUS.to_le_bytes());
    for (at, value) in [(32, 4096_u32), (36, 512), (56, 8192), (60, 1024), (108, 16)] {
        put(optional + at, &value.to_le_bytes());
    }
    let row = optional + 240;
    put(row, b".text");
    for (at, value) in [(8, 100_u32), (12, 4096), (16, 512), (20, 1024), (36, 0x6000_0020)] {
        put(row + at, &value.to_le_bytes());
    }
    file
}

#[test]
fn sections_stand_behind_what_was_there() {
    let stub = image(0x8664);
    let sections = [
        NewSection { name: ".osrel", content: b"ID=test\n" },
        NewSection { name: ".big", content: &[7; 5000] },
    ];
    let made = append(&stub, &sections).unwrap();
    let read = Image::parse(&made).unwrap();
    let rows: Vec<_> = read
        .sections
        .iter()
        .map(|row| (&row.name[..], row.virtual_size, row.address, row.size, row.place))
        .collect();
    assert_eq!(
        rows,
        [(".text", 100, 4096, 512, 1024), (".osrel", 8, 8192, 512, 1536), (".big", 5000, 12288, 5120, 2048)]
    );
    assert_eq!(read.content(&made, ".osrel"), Some(&b"ID=test\n"[..]));
    assert_eq!(read.content(&made, ".big"), Some(&[7; 5000][..]));
    assert_eq!(word(&made, 88 + 56), Some(20480), "SizeOfImage");
    assert_eq!(&made[1024..1536], &stub[1024..]);
    assert_ne!(word(&made, 88 + 64), Some(0), "the checksum");
    assert_eq!(append(&made, &sections[..1]), Err(Error::Twice(".osrel".into())));
}

#[test]
fn what_does_not_fit_is_refused() {
    let stub = image(0xaa64);
    let names: Vec<String> = (0..20).map(|number| format!(".s{number}")).collect();
    let many: Vec<_> = names.iter().map(|name| NewSection { name, content: b"" }).collect();
    assert_eq!(append(&stub, &many), Err(Error::NoRoom { wanted: 20, room: 16 }));
    assert!(append(&stub, &many[..16]).is_ok());
    let mut signed = stub.clone();
    signed[88 + 112 + 4 * 8..][..8].copy_from_slice(&[0, 6, 0, 0, 8, 0, 0, 0]);
    assert_eq!(append(&signed, &many[..1]), Err(Error::Signed));
    assert_eq!(
        append(&stub, &[NewSection { name: ".toolong1", content: b"" }]),
        Err(Error::LongName(".toolong1".into()))
    );
    let mut used = stub.clone();
    used[88 + 240 + 40] = 1;
    assert_eq!(append(&used, &many[..1]), Err(Error::NoRoom { wanted: 1, room: 0 }));
}

/// Found by mutation: data written to one header was read from another.
#[test]
fn headers_that_overlap_are_refused() {
    let mut short = image(0x8664);
    short[84] = 48;
    assert_eq!(Image::parse(&short), Err(Error::Damaged("its optional header is too short")));
    let mut early = image(0x8664);
    early[60] = 8;
    early[8..12].copy_from_slice(b"PE\0\0");
    assert_eq!(Image::parse(&early), Err(Error::Damaged("its headers overlap")));
}

#[test]
fn damage_never_panics() {
    let stub = image(0x8664);
    assert_eq!(Image::parse(b"MZ"), Err(Error::NotPe));
    for length in 0..stub.len() {
        assert!(Image::parse(&stub[..length]).is_err(), "{length}");
    }
    for at in 0..400 {
        for value in [0, 1, 0x7f, 0xff] {
            let mut damaged = stub.clone();
            damaged[at] = value;
            let _ = append(&damaged, &[NewSection { name: ".x", content: b"x" }]);
        }
    }
}

#[test]
fn a_unified_kernel_image() {
    let stub = image(0x8664);
    let unified = Unified {
        linux: image(0x8664),
        initrd: Some(b"initrd".to_vec()),
        cmdline: Some("root=/dev/mapper/root".into()),
        os_release: Some(b"ID=x\n".to_vec()),
        uname: Some("6.1.0".into()),
        dtb: None,
    };
    let made = unified.image(&stub).unwrap();
    let names: Vec<_> = Image::parse(&made).unwrap().sections.into_iter().map(|row| row.name).collect();
    assert_eq!(names, [".text", ".osrel", ".cmdline", ".uname", ".initrd", ".linux"]);
    let why = |unified: Unified| unified.image(&stub).unwrap_err().to_string();
    assert_eq!(
        why(Unified { initrd: Some(ramdisk("aarch64")), ..unified.clone() }),
        ".initrd: it is for aarch64, but the kernel is for x86_64"
    );
    for initrd in [ramdisk("x86_64"), ramdisk("i686")] {
        assert!(Unified { initrd: Some(initrd), ..unified.clone() }.image(&stub).is_ok());
    }
    assert_eq!(
        why(Unified { linux: image(0xaa64), ..unified.clone() }),
        ".linux: kernel and stub are for different architectures"
    );
    assert!(
        why(Unified { linux: b"\x1f\x8b".to_vec(), ..unified.clone() })
            .starts_with(".linux: not a kernel with an EFI stub")
    );
    assert_eq!(why(Unified { dtb: Some(b"x".to_vec()), ..unified }), ".dtb: it is not a device tree");
}
