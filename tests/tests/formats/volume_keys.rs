//! `--volume-key-file`: FileVault's volume keys prove themselves, BitLocker's do not.

use keyway_tests::bitlk::Bitlk;
use keyway_tests::fvault2::Fvault2;
use keyway_tests::{Scratch, bitlk, fvault2, keyway, random};

/// A volume key's second half is a digest of the first, and of the volume.
#[test]
fn a_wrong_volume_key_opens_no_filevault_volume() {
    let scratch = Scratch::new();
    let volume = scratch.file("volume", Fvault2::default().make(&random(77, fvault2::LEN)));
    let right = Fvault2::volume_key().expose().to_vec();
    let (mut first, mut second) = (right.clone(), right.clone());
    (first[0], second[31]) = (first[0] ^ 1, second[31] ^ 0x80);
    for (name, wrong) in [("first", first), ("second", second), ("other", random(5, 32))] {
        let key = scratch.file(name, wrong);
        for line in ["read --type fvault2", "open --type fvault2 --test-passphrase"] {
            let refused = keyway(line).arg("--volume-key-file").arg(&key).arg(&volume).fails(2);
            assert_eq!(refused.errors(), "Volume key does not match the volume.\n", "{line} {name}");
            assert!(refused.stdout.is_empty());
        }
    }
    let key = scratch.file("right", right);
    keyway("open --type fvault2 --test-passphrase --volume-key-file").arg(&key).arg(&volume).ok().quiet();
}

/// What it makes of the volume is looked at: noise is said to be noise, and a file system or text is not.
#[test]
fn a_wrong_volume_key_of_bitlockers_is_doubted() {
    let scratch = Scratch::new();
    let mut ntfs = random(3, bitlk::LEN);
    ntfs[3..11].copy_from_slice(b"NTFS    ");
    let (right, wrong) =
        (scratch.file("right", Bitlk::default().volume_key().expose()), scratch.file("wrong", random(5, 32)));
    for (name, plain) in [("ntfs", ntfs), ("zeros", vec![0; bitlk::LEN])] {
        let volume = scratch.file(name, Bitlk::default().make(&plain));
        let warning = format!(
            "WARNING: {} begins with noise under this volume key, which may be another volume's: nothing in \
             the volume confirms a volume key.\n",
            volume.display()
        );
        let run = |key| keyway("read --type bitlk --volume-key-file").arg(key).arg(&volume).ok();
        run(&right).quiet();
        assert_eq!(run(&wrong).errors(), warning, "{name}");
        // Not even the right one is tested, as with cryptsetup.
        for key in [&right, &wrong] {
            let line = "bitlkOpen --test-passphrase --volume-key-file";
            let refused = keyway(line).arg(key).arg(&volume).arg("name").fails(1);
            assert!(
                refused.errors().starts_with("Nothing in a BitLocker volume confirms a volume key"),
                "{refused}"
            );
        }
    }
    let short = scratch.file("short", random(5, 31));
    let volume = scratch.path("ntfs");
    keyway("read --type bitlk --volume-key-file").arg(&short).arg(&volume).fails(1);
}
