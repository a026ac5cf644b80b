//! Creates volumes with Keyway, each with the same file in an ext4, and damaging them.

use keyway_boot::loader::grub::{Disk, Judgement, Loader};
use keyway_tests::{Scratch, keyway, peer, random};
use std::fs;
use std::path::{Path, PathBuf};

/// The inputs for all volumes.
pub(crate) struct Kit {
    pub(crate) scratch: Scratch,
    /// The file in the file system.
    pub(crate) file: Vec<u8>,
    ext4: PathBuf,
}

/// A volume with the passphrase of one of its keyslots.
pub(crate) struct Volume {
    pub(crate) path: PathBuf,
    pub(crate) passphrase: Vec<u8>,
    pub(crate) slot: u64,
}

pub(crate) const PASSPHRASE: &str = "correct horse battery staple";

impl Kit {
    pub(crate) fn new() -> Self {
        let scratch = Scratch::new();
        // It spans several sectors of 4096 bytes and does not end at a sector boundary.
        let file = random(77, 201_111);
        let files = scratch.path("files");
        fs::create_dir(&files).and_then(|()| fs::write(files.join("file"), &file)).unwrap();
        let ext4 = scratch.path("ext4");
        peer("mke2fs", "-q -t ext4 -O ^has_journal -b 4096 -d").arg(&files).arg(&ext4).arg("1M").ok();
        scratch.file("key", PASSPHRASE);
        Self { scratch, file, ext4 }
    }

    pub(crate) fn key(&self) -> PathBuf {
        self.scratch.path("key")
    }

    /// `keyway build OPTIONS`: PASSPHRASE in keyslot 0.
    pub(crate) fn build(&self, name: &str, options: &str) -> Volume {
        let path = self.scratch.path(name);
        keyway("build -q --allow-weak-cipher")
            .args(options)
            .arg("--key-file")
            .arg(self.key())
            .arg(&self.ext4)
            .arg(&path)
            .ok();
        Volume { path, passphrase: PASSPHRASE.into(), slot: 0 }
    }
}

impl Volume {
    /// One more keyslot; from now on its passphrase is used for the volume.
    pub(crate) fn add_key(mut self, kit: &Kit, slot: u64, options: &str) -> Self {
        let passphrase = format!("passphrase of keyslot {slot}");
        let file = self.path.with_extension(format!("key{slot}"));
        fs::write(&file, &passphrase).unwrap();
        let run = keyway("luksAddKey -q").args(options).arg("--key-slot").arg(slot.to_string());
        run.arg("--key-file").arg(kit.key()).arg(&self.path).arg(&file).ok();
        (self.passphrase, self.slot) = (passphrase.into(), slot);
        self
    }

    /// A keyway command on it.
    pub(crate) fn keyway(self, line: &str) -> Self {
        keyway(line).arg(&self.path).ok();
        self
    }

    /// Uses keyslot 0's passphrase from now on.
    pub(crate) fn by_the_first(mut self) -> Self {
        (self.passphrase, self.slot) = (PASSPHRASE.into(), 0);
        self
    }

    /// Rebuilds it with the file system one mebibyte after the start of its data.
    pub(crate) fn behind_a_mebibyte(self, kit: &Kit, options: &str) -> Self {
        let image = [vec![0; 1 << 20], fs::read(&kit.ext4).unwrap()].concat();
        let image = kit.scratch.file("a-mebibyte-behind", image);
        fs::remove_file(&self.path).unwrap();
        keyway("build -q").args(options).arg("--key-file").arg(kit.key()).arg(&image).arg(&self.path).ok();
        self
    }

    /// Rebuilds it until its base64 has a slash: one volume in eight has none.
    pub(crate) fn with_a_slash(self, kit: &Kit, options: &str) -> Self {
        let bytes = fs::read(&self.path).unwrap();
        let end = bytes[4096..].iter().position(|byte| *byte == 0).unwrap();
        if bytes[4096..][..end].contains(&b'/') {
            return self;
        }
        fs::remove_file(&self.path).unwrap();
        let name = self.path.file_name().unwrap().to_str().unwrap();
        kit.build(name, options).with_a_slash(kit, options)
    }

    /// Changes its bytes.
    pub(crate) fn damage(self, change: impl FnOnce(&mut Vec<u8>)) -> Self {
        let mut bytes = fs::read(&self.path).unwrap();
        change(&mut bytes);
        fs::write(&self.path, bytes).unwrap();
        self
    }

    /// Changes the JSON text of both copies. (The checksums are not updated: GRUB ignores them.)
    pub(crate) fn json(self, change: impl Fn(&str) -> String) -> Self {
        self.damage(|bytes| {
            let size = u64::from_be_bytes(bytes[8..16].try_into().unwrap()) as usize;
            for start in [4096, size + 4096] {
                let area = &mut bytes[start..start + size - 4096];
                let end = area.iter().position(|byte| *byte == 0).unwrap();
                let text = change(std::str::from_utf8(&area[..end]).unwrap());
                area.fill(0);
                area[..text.len()].copy_from_slice(text.as_bytes());
            }
        })
    }
}

/// The oracle's verdict on a volume.
pub(crate) fn judge(volume: &Path, loader: &Loader) -> Judgement {
    let bytes = fs::read(volume).unwrap();
    let read = |offset: u64, len: usize| {
        let start = usize::try_from(offset).ok()?;
        bytes.get(start..start.checked_add(len)?).map(<[u8]>::to_vec)
    };
    loader.judge(&Disk::new(&read, bytes.len() as u64))
}
