//! Backups of both headers, the copies at the end, and what is restored from them; cuts.

use super::change::{HIDDEN, LEN, NEW, OLD, bytes, decrypted, made, narrow, opened, opens, secret};
use keyway_volume::device::storage::{Faulty, Memory};
use keyway_volume::kind::tcrypt::Restore;
use keyway_volume::{Error, OsRandom, Result, Storage, UnlockOptions};
use std::path::PathBuf;

pub(super) fn backup_file(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("keyway-header-{name}-{}", std::process::id()))
}

pub(super) fn restore(
    device: &dyn Storage,
    backup: Option<&dyn Storage>,
    hidden: bool,
    key: &str,
) -> Result<Restore> {
    Restore::prepare(device, backup, &narrow(hidden, false), &secret(key), &UnlockOptions::default())
}

/// VeraCrypt's file: both headers, each under a salt of its own, and noise.
#[test]
fn a_backup_is_veracrypts_file_and_restores_both_headers() {
    let (before, file) = (made(), backup_file("both"));
    let device = Memory::from(before.clone());
    let (outer, hidden) = (
        opened(&device, &narrow(false, false), OLD).unwrap(),
        opened(&device, &narrow(true, false), HIDDEN).unwrap(),
    );
    outer.back_up(Some(&hidden), &file, &mut OsRandom).unwrap();
    let again = outer.back_up(None, &file, &mut OsRandom).unwrap_err().to_string();
    assert_eq!(again, format!("Requested header backup file {} already exists.", file.display()));
    let content = std::fs::read(&file).unwrap();
    assert_eq!(content.len(), 131_072);
    assert_eq!(
        decrypted(&content, &narrow(false, false), OLD),
        decrypted(&before, &narrow(false, false), OLD)
    );
    assert_eq!(
        decrypted(&content, &narrow(true, false), HIDDEN),
        decrypted(&before, &narrow(true, false), HIDDEN)
    );
    assert_ne!(content[..64], before[..64], "its salt is fresh");
    assert!(content.chunks(64).all(|chunk| chunk.iter().any(|byte| *byte != chunk[0])));
    let backup = Memory::from(content);
    let damaged = Memory::zeroed(LEN);
    for (is_hidden, key) in [(false, OLD), (true, HIDDEN)] {
        let restore = restore(&damaged, Some(&backup), is_hidden, key).unwrap();
        assert_eq!((restore.other_key, restore.leaves_room), (false, None));
        restore.run(&damaged, &mut OsRandom).unwrap();
        for copy in [false, true] {
            let of = narrow(is_hidden, copy);
            assert_eq!(decrypted(&bytes(&damaged), &of, key), decrypted(&before, &of, key));
        }
    }
    std::fs::remove_file(&file).unwrap();

    outer.back_up(None, &file, &mut OsRandom).unwrap();
    let alone = Memory::from(std::fs::read(&file).unwrap());
    let none = restore(&damaged, Some(&alone), true, HIDDEN).err().unwrap();
    assert!(matches!(none, Error::WrongPassphrase), "{none}");
    std::fs::remove_file(&file).unwrap();
}

/// The copy at the end puts the first header back, and is not touched.
#[test]
fn the_copy_at_the_end_restores_the_first_header() {
    let before = made();
    for (hidden, key, at) in [(false, OLD, 0), (true, HIDDEN, 65536)] {
        let mut damaged = before.clone();
        damaged[at..at + 512].fill(7);
        let faulty = Faulty::new(damaged.clone());
        restore(&faulty, None, hidden, key).unwrap().run(&faulty, &mut OsRandom).unwrap();
        let of = narrow(hidden, false);
        assert_eq!(decrypted(&faulty.image(), &of, key), decrypted(&before, &of, key));
        assert!(faulty.image()[at + 512..] == damaged[at + 512..], "only the header is written");
        for cut in faulty.cuts() {
            assert!(opens(&faulty.image_at(cut), &narrow(hidden, true), key), "{cut:?}");
        }
    }
}

/// What opens stays until the other copy does.
#[test]
fn a_cut_while_a_backup_is_restored_leaves_what_opened() {
    let (before, file) = (made(), backup_file("cuts"));
    let of = |copy| narrow(false, copy);
    opened(&Memory::from(before.clone()), &of(false), OLD)
        .unwrap()
        .back_up(None, &file, &mut OsRandom)
        .unwrap();
    let backup = Memory::from(std::fs::read(&file).unwrap());
    std::fs::remove_file(&file).unwrap();
    for damaged in [None, Some(0), Some(LEN - 131_072)] {
        let mut image = before.clone();
        if let Some(at) = damaged {
            image[at..at + 512].fill(7);
        }
        let faulty = Faulty::new(image);
        restore(&faulty, Some(&backup), false, OLD).unwrap().run(&faulty, &mut OsRandom).unwrap();
        assert!([false, true].into_iter().all(|copy| opens(&faulty.image(), &of(copy), OLD)));
        for cut in faulty.cuts() {
            let image = faulty.image_at(cut);
            assert!(
                [false, true].into_iter().any(|copy| opens(&image, &of(copy), OLD)),
                "{damaged:?} {cut:?}"
            );
        }
    }
}

#[test]
fn what_a_restore_says_before_it_writes() {
    let (before, file) = (made(), backup_file("says"));
    let device = Memory::from(before.clone());
    opened(&device, &narrow(false, false), OLD).unwrap().back_up(None, &file, &mut OsRandom).unwrap();
    let backup = Memory::from(std::fs::read(&file).unwrap());
    std::fs::remove_file(&file).unwrap();
    let wrong = restore(&device, Some(&backup), false, NEW).err().unwrap();
    assert!(matches!(wrong, Error::WrongPassphrase), "{wrong}");
    // Made again with the same passphrase: another volume key.
    let other = Memory::from(made());
    assert!(restore(&other, Some(&backup), false, OLD).unwrap().other_key);
    // Another device.
    let short = restore(&Memory::zeroed(LEN - 4096), Some(&backup), false, OLD).err().unwrap().to_string();
    assert!(
        short.starts_with("its data is bytes 131072 to 393216 of the device, and a device of 520192 bytes"),
        "{short}"
    );
    let larger = restore(&Memory::zeroed(LEN + 4096), Some(&backup), false, OLD).unwrap();
    assert_eq!(larger.leaves_room, Some((LEN as u64 - 262_144, LEN as u64 - 258_048)));
    let lengths =
        |len: usize| restore(&device, Some(&Memory::zeroed(len)), false, OLD).err().unwrap().to_string();
    assert_eq!(
        lengths(131_071),
        "it has 131071 bytes, but header backups of TrueCrypt and VeraCrypt have 131072"
    );
    assert!(lengths(1024).starts_with("it is a header backup of TrueCrypt 5 or earlier"));
    assert!(bytes(&device) == before);
}
