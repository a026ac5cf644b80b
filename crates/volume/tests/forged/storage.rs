//! Storage that gives out another header the second time: nothing asks a second time.

use super::{Disk, secret};
use keyway_crypto::Cpu;
use keyway_volume::change::edit;
use keyway_volume::device::storage::Memory;
use keyway_volume::unlock;
use keyway_volume::{
    Access, Admitted, DataDevice, Locking, Luks, OsRandom, Storage, Terms, UnlockOptions, Volume,
};
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Shows the first header until it is told to show the second.
struct Turncoat {
    sound: Arc<Memory>,
    forged: Vec<u8>,
    turned: AtomicBool,
}

impl Storage for Turncoat {
    fn len(&self) -> u64 {
        self.sound.len()
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        self.sound.read_at(buf, offset)?;
        let headers = self.forged.len() as u64;
        if self.turned.load(Ordering::Relaxed) && offset < headers {
            let there = buf.len().min((headers - offset) as usize);
            buf[..there].copy_from_slice(&self.forged[offset as usize..][..there]);
        }
        Ok(())
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.sound.write_at(buf, offset)
    }

    fn flush(&self) -> io::Result<()> {
        Ok(())
    }

    fn discard(&self, _: Range<u64>) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_header_that_changes_after_it_was_judged_changes_nothing() {
    let disk = Disk::luks2();
    let sound = disk.storage.to_vec();
    for (from, to) in [
        ("\"type\":\"crypt\"", "\"type\":\"linear\""),
        (
            "\"encryption\":\"aes-xts-plain64\",\"sector_size\"",
            "\"encryption\":\"cipher_null-ecb\",\"sector_size\"",
        ),
        ("\"offset\":\"9437184\"", "\"offset\":\"9441280\""),
    ] {
        disk.storage.write_at(&sound, 0).unwrap();
        disk.forge(|json| json.replacen(from, to, 1));
        // Both copies, and not the keyslots' areas.
        let forged = disk.storage.to_vec()[..32 << 10].to_vec();
        disk.storage.write_at(&sound, 0).unwrap();
        let storage =
            Arc::new(Turncoat { sound: disk.storage.clone(), forged, turned: AtomicBool::new(false) });

        let luks = Luks::open_with(storage.clone(), Access::Write, Locking::Disabled).unwrap();
        storage.turned.store(true, Ordering::Relaxed);
        let data = DataDevice { len: storage.len(), holds_header: true };
        let admitted = Admitted::judge(luks, Some(data), &Terms::default()).unwrap();
        let unlocked = unlock(admitted.luks(), &secret("owner"), &UnlockOptions::default()).unwrap();
        let opened = admitted.open(unlocked.volume_key, unlocked.digest).unwrap();
        let volume =
            Volume::new(storage.clone(), opened.layout(), opened.volume_key(), Cpu::detect()).unwrap();
        let mut found = vec![0; volume.len() as usize];
        volume.read_at(&mut found, 0).unwrap();
        assert!(found == disk.plaintext, "{to}");

        // An edit writes what was judged, or nothing.
        let (mut luks, ..) = opened.into_parts();
        let refused = edit::set_label(&mut luks, Some("mine"), None, None, &mut OsRandom).err().unwrap();
        assert!(refused.to_string().contains("concurrent LUKS metadata update"), "{refused}");
        assert!(disk.storage.to_vec() == sound);
        // And the next opening sees the forged one.
        let again = Luks::open_with(storage, Access::Probe, Locking::Disabled).unwrap();
        if to.contains("offset") {
            assert!(!again.is_same(&luks));
        } else {
            assert!(Admitted::judge(again, Some(data), &Terms::default()).is_err());
        }
    }
}
