//! A passphrase that is tried on a volume whose header somebody else wrote: what is read of it is the same for each.

use keyway_tests::{Scratch, keyway};
use keyway_volume::device::storage::File;
use keyway_volume::{Access, Error, Locking, Luks, Storage, UnlockOptions, unlock};
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// Notes what is asked of it.
#[derive(Debug)]
struct Noted {
    file: File,
    asked: Mutex<Vec<(u64, usize)>>,
}

impl Storage for Noted {
    fn len(&self) -> u64 {
        self.file.len()
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).push((offset, buf.len()));
        self.file.read_at(buf, offset)
    }

    fn write_at(&self, _: &[u8], offset: u64) -> io::Result<()> {
        panic!("a write at {offset}")
    }

    fn flush(&self) -> io::Result<()> {
        Ok(())
    }

    fn discard(&self, range: Range<u64>) -> io::Result<()> {
        panic!("a discard of {range:?}")
    }
}

/// What is read while a passphrase is tried, in whatever order keyslots are tried side by side.
fn read_for(volume: &Path, passphrase: &[u8]) -> (bool, Vec<(u64, usize)>) {
    let noted = Arc::new(Noted { file: File::open(volume).unwrap(), asked: Mutex::default() });
    let luks = Luks::open_with(noted.clone(), Access::Read, Locking::Disabled).unwrap();
    let passphrase = keyway_crypto::Secret::copy_from(passphrase);
    let opened = match unlock(&luks, &passphrase, &UnlockOptions::default()) {
        Ok(_) => true,
        Err(Error::WrongPassphrase) => false,
        Err(error) => panic!("{error}"),
    };
    let mut asked = noted.asked.lock().unwrap().clone();
    asked.sort_unstable();
    (opened, asked)
}

/// Its owner sees what is read and written, and has keyslots of all kinds there, as cheap as they may be.
#[test]
fn what_is_read_does_not_tell_a_passphrase_from_another() {
    let scratch = Scratch::new();
    for kind in ["luks1", "luks2"] {
        let volume = scratch.sized(kind, 24 << 20);
        let cheap = "--pbkdf pbkdf2 --pbkdf-force-iterations 1000";
        keyway("luksFormat -q --type")
            .arg(kind)
            .args(cheap)
            .arg(&volume)
            .arg(scratch.file("0", "guess 0"))
            .ok();
        for number in 1..8 {
            let add = keyway("luksAddKey -q").args(cheap).arg("-d").arg(scratch.file("0", "guess 0"));
            add.arg(&volume).arg(scratch.file("new", format!("guess {number}"))).ok();
        }
        let (opened, usual) = read_for(&volume, b"correct horse");
        assert!(!opened && usual.len() >= 8, "{kind}: {usual:?}");
        for passphrase in ["", "x", "guess 8", &"long ".repeat(100)] {
            assert_eq!(
                read_for(&volume, passphrase.as_bytes()),
                (false, usual.clone()),
                "{kind} {passphrase}"
            );
        }
        // One that was guessed opens; which of them it was, is not seen.
        let guessed: Vec<_> =
            (0..8).map(|number| read_for(&volume, format!("guess {number}").as_bytes())).collect();
        assert!(guessed.iter().all(|(opened, _)| *opened), "{kind}");
    }
}
