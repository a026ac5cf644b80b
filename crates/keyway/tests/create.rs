//! What a new volume may be asked for, and what is refused before anything is written.

use keyway::*;
use std::path::PathBuf;

fn key() -> Key {
    Key::passphrase("correct horse")
}

fn quick(version: Version) -> Create {
    Create::new(version).kdf(NewKdf::pbkdf2(1000))
}

fn secret(len: usize) -> Secret {
    Secret::copy_from(&vec![7; len])
}

struct Directory(PathBuf);

impl Directory {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("keyway-create-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn is_empty(&self) -> bool {
        std::fs::read_dir(&self.0).unwrap().next().is_none()
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn what_cannot_be_had_is_refused_and_leaves_no_file() {
    use Version::{Luks1, Luks2};
    let directory = Directory::new("refused");
    let measured = Create::luks2().kdf(NewKdf::argon2id());
    for (name, create) in [
        ("LUKS1 has no room for a seal", quick(Luks1).seal(None)),
        ("a volume key of another length", quick(Luks2).volume_key(secret(32))),
        ("a seed, and a measured cost", measured.seed(secret(32))),
        ("a seed, and one key stream for all", quick(Luks2).cipher("aes-ctr-plain64", 256).seed(secret(32))),
        ("a sector size of LUKS2", quick(Luks1).sector_size(4096)),
        ("an area over the data", quick(Luks2).data_offset(8)),
        ("a keyslot that does not exist", quick(Luks1).keyslot(8)),
        ("a metadata size that the format lacks", quick(Luks2).metadata_size(20 << 10)),
    ] {
        let path = directory.path("disk");
        let made = create.clone().size(1 << 20).create(&path, &key());
        assert!(made.is_err(), "{name}: create");
        let mut bytes = &[1; 512][..];
        let content = Content::reader(&mut bytes);
        assert!(create.build(&path, &key(), content).is_err(), "{name}: build");
        assert!(directory.is_empty(), "{name}");
    }
}

#[test]
fn a_seed_gives_the_same_bytes_and_another_seed_gives_others() {
    let directory = Directory::new("seed");
    let make = |name: &str, seed: usize, sealed: bool| {
        let create = quick(Version::Luks2).seed(secret(seed));
        let create = if sealed { create.seal(Some("host 17")) } else { create };
        let path = directory.path(name);
        create.build(&path, &key(), Content::reader(&mut &[1; 8192][..])).unwrap();
        std::fs::read(path).unwrap()
    };
    let first = make("a", 32, true);
    assert!(first == make("b", 32, true));
    assert!(first != make("c", 33, true));
    assert!(first != make("d", 32, false));
    let opened = Device::open(directory.path("a")).unwrap();
    let volume = opened.unlock_with(&key(), &Unlock::new().seal_context("host 17")).unwrap();
    let mut bytes = [0; 8192];
    volume.read_at(&mut bytes, 0).unwrap();
    assert_eq!(bytes, [1; 8192]);
}

#[test]
fn every_way_of_creating_seals() {
    let directory = Directory::new("seal");
    let sealed = || quick(Version::Luks2).seal(Some("here"));
    let terms = || Unlock::new().seal_context("here");
    let (file, header, data) = (directory.path("file"), directory.path("header"), directory.path("data"));
    sealed().size(1 << 20).create(&file, &key()).unwrap().unlock_with(&key(), &terms()).unwrap();
    sealed().overwrite().create(&file, &key()).unwrap().unlock_with(&key(), &terms()).unwrap();
    let apart = sealed().header(&header).size(1 << 20).create(&data, &key()).unwrap();
    apart.unlock_with(&key(), &terms()).unwrap();
    let built = sealed().build(directory.path("built"), &key(), Content::reader(&mut &[1; 512][..]));
    built.unwrap().unlock_with(&key(), &terms()).unwrap();
    // The length of the data is sealed: a longer device is another one.
    std::fs::File::options().write(true).open(&data).unwrap().set_len(2 << 20).unwrap();
    let longer = Device::options().header(&header).open(&data).unwrap();
    assert_eq!(longer.unlock_with(&key(), &terms()).unwrap_err().kind(), &ErrorKind::Policy { rule: "seal" });
}

#[test]
fn a_given_volume_key_is_the_one_that_opens() {
    let made = quick(Version::Luks1).cipher("aes-xts-plain64", 256).volume_key(secret(32));
    let device = made.in_memory(1 << 20, &key()).unwrap();
    let found = device.header().unwrap().try_key(&key()).unwrap();
    assert_eq!(found.expose().expose(), [7; 32]);
    device.unlock(&Key::VolumeKey(secret(32))).unwrap();
}

#[test]
fn a_volume_key_of_another_length_is_refused_with_both_lengths() {
    let refused = quick(Version::Luks2).volume_key(secret(32)).in_memory(1 << 20, &key()).unwrap_err();
    assert_eq!(refused.to_string(), "the volume key has 256 bits, the cipher needs 512");
}

#[test]
fn a_key_that_can_be_guessed_is_a_weak_cipher() {
    let policy = &ErrorKind::Policy { rule: "weak-cipher" };
    let short = || quick(Version::Luks2).cipher("cast5-cbc-plain64", 64);
    assert_eq!(short().in_memory(1 << 20, &key()).unwrap_err().kind(), policy);
    short().weak_cipher().in_memory(1 << 20, &key()).unwrap();
    quick(Version::Luks2).cipher("cast5-cbc-plain64", 128).in_memory(1 << 20, &key()).unwrap();
}

/// Nor is an empty key file taken, whichever way a volume is made.
#[test]
fn an_empty_passphrase_makes_a_volume_only_if_that_is_said() {
    let directory = Directory::new("empty");
    let file = directory.path("key");
    std::fs::write(&file, "").unwrap();
    let path = directory.path("disk");
    for version in [Version::Luks1, Version::Luks2] {
        for empty in [Key::passphrase(""), Key::key_file(&file)] {
            let create = quick(version).size(1 << 20);
            let existing = directory.path("existing");
            std::fs::write(&existing, vec![5; 24 << 20]).unwrap();
            let mut bytes = &[1; 512][..];
            for refused in [
                create.create(&path, &empty).unwrap_err(),
                create.build(&path, &empty, Content::reader(&mut bytes)).unwrap_err(),
                create.in_memory(1 << 20, &empty).unwrap_err(),
                quick(version).overwrite().create(&existing, &empty).unwrap_err(),
                create.clone().header(directory.path("header")).create(&path, &empty).unwrap_err(),
            ] {
                assert_eq!(refused.kind(), &ErrorKind::EmptyPassphrase);
                let line = refused.to_string();
                assert!(
                    line.ends_with("the new passphrase is empty: anyone with the volume could open it"),
                    "{line}"
                );
            }
            assert!(std::fs::read(&existing).unwrap() == vec![5; 24 << 20], "nothing was written");
            std::fs::remove_file(&existing).unwrap();
            assert!(!path.exists() && !directory.path("header").exists());
            create.allow_empty_passphrase().create(&path, &empty).unwrap().unlock(&empty).unwrap();
            std::fs::remove_file(&path).unwrap();
        }
    }
}
