//! TrueCrypt and VeraCrypt volumes: every KDF, cipher and place of a header; key files; what is
//! refused.

mod careful;
mod change;
mod made;
mod new;
mod refused;
mod restore;

use keyway_crypto::{CascadeMode, Cpu, Secret, Stop};
use keyway_format::Sectors;
use keyway_format::tcrypt::{CIPHERS, KDFS, Position, Program};
use keyway_volume::device::storage::Memory;
use keyway_volume::kind::tcrypt::{Place, Programs, Tcrypt, Unlocked};
use keyway_volume::kind::{Key, Kind, Subject};
use keyway_volume::{Error, Mapping, Result, Storage, UnlockOptions, Volume};
use made::{DATA, Made, cipher, kdf, plaintext};
use std::path::PathBuf;
use std::sync::Arc;

fn open(of: &Tcrypt, device: &Arc<Memory>, passphrase: &str) -> Result<Unlocked> {
    of.read(&**device)?.unlock(&Secret::copy_from(passphrase.as_bytes()), &UnlockOptions::default())
}

/// Opens it, reads the plaintext, writes a part of it and reads that again.
#[track_caller]
fn check(of: &Tcrypt, device: Vec<u8>) -> Unlocked {
    let device = Arc::new(Memory::from(device));
    let unlocked = open(of, &device, "correct horse").unwrap();
    let found = unlocked.found(device.len()).unwrap();
    let volume = Volume::new(device.clone(), &found.layout, &found.volume_key, Cpu::detect()).unwrap();
    let mut data = vec![0; DATA];
    volume.read_at(&mut data, 0).unwrap();
    assert!(data == plaintext(), "{} {}", unlocked.cipher.chain, unlocked.cipher.mode_name());
    volume.write_at(b"written", 1000).unwrap();
    volume.read_at(&mut data, 0).unwrap();
    assert_eq!(data[1000..1007], *b"written");
    assert_eq!(data[1007..], plaintext()[1007..]);
    unlocked
}

fn place(hidden: bool, backup: bool) -> Tcrypt {
    Tcrypt { place: Place::Volume { hidden, backup }, ..Tcrypt::default() }
}

fn system(partition: Option<Sectors>) -> Tcrypt {
    Tcrypt { place: Place::System { partition }, ..Tcrypt::default() }
}

#[test]
fn every_chain_in_every_mode() {
    for cipher in &CIPHERS {
        let truecrypt = cipher.is_of(Program::TrueCrypt);
        let made = match truecrypt {
            true => Made::new(kdf(Program::TrueCrypt, "sha512", false), cipher),
            false => Made::new(kdf(Program::VeraCrypt, "sha512", false), cipher).with(|it| it.pim = Some(1)),
        };
        let programs = if truecrypt { Programs::TrueCrypt } else { Programs::VeraCrypt };
        let of = Tcrypt { programs, hash: Some("sha512".into()), pim: made.pim, ..Tcrypt::default() };
        let unlocked = check(&of, made.device());
        assert_eq!(unlocked.cipher, cipher);
        let layout = unlocked.found(1 << 20).unwrap().layout;
        let is_chain = matches!(layout.segments[0].mapping, Mapping::Chain { .. });
        assert_eq!(is_chain, !cipher.is_single() || cipher.chain == "blowfish_le");
    }
}

#[test]
fn every_kdf() {
    for kdf in &KDFS {
        let pim = (kdf.program == Program::VeraCrypt).then_some(1);
        let made = Made::new(kdf, cipher("aes", CascadeMode::Xts)).with(|it| {
            it.pim = pim;
            it.position = if kdf.boot { Position::System } else { Position::Normal };
        });
        let of = if kdf.boot { system(None) } else { Tcrypt::default() };
        let unlocked = check(&Tcrypt { pim, hash: Some(kdf.name.into()), ..of }, made.device());
        assert_eq!(unlocked.kdf, kdf);
    }
}

/// Without a word from the user, as the lowest of the costs that VeraCrypt has by default.
#[test]
fn veracrypts_default() {
    let made = Made::new(kdf(Program::VeraCrypt, "sha512", false), cipher("aes", CascadeMode::Xts));
    assert_eq!(check(&Tcrypt::default(), made.device()).kdf, made.kdf);
}

#[test]
fn every_place() {
    let mut device = Made::quick().device();
    Made::quick().hidden(Position::Hidden).add_to(&mut device);
    Made::quick().with(|it| it.position = Position::Backup).add_to(&mut device);
    Made::quick().hidden(Position::HiddenBackup).add_to(&mut device);
    let positions = [(false, false), (true, false), (false, true), (true, true)].map(|(hidden, backup)| {
        let unlocked = check(&place(hidden, backup), device.clone());
        assert_eq!(unlocked.header.hidden_size.0, if hidden { DATA as u64 } else { 0 });
        unlocked.position
    });
    assert_eq!(positions, [Position::Normal, Position::Hidden, Position::Backup, Position::HiddenBackup]);
}

#[test]
fn hidden_volumes_before_truecrypt_6() {
    for mode in [CascadeMode::Xts, CascadeMode::Lrw, CascadeMode::Cbc] {
        let made = Made::new(kdf(Program::TrueCrypt, "ripemd160", false), cipher("twofish-aes", mode));
        let made = made.hidden(Position::OldHidden).with(|it| {
            it.fields.version = if mode == CascadeMode::Xts { 3 } else { 2 };
            // Too short for a header of TrueCrypt 6.
            it.len = 100 * 512;
        });
        assert_eq!(check(&place(true, false), made.device()).position, Position::OldHidden);
    }
}

/// A disk, and a copy of one of its partitions with the disk's header beside it.
#[test]
fn encrypted_systems() {
    let disk = Made::quick().with(|it| {
        it.position = Position::System;
        it.fields.flags = 1;
    });
    let disk = disk.with(|it| it.kdf = kdf(Program::TrueCrypt, "ripemd160", true)).device();
    let unlocked = check(&system(None), disk.clone());
    assert!(unlocked.kdf.boot);
    let partition = Arc::new(Memory::from(disk[260 * 512..290 * 512 + 100].to_vec()));
    let of = system(Some(Sectors(260)));
    let unlocked = open(&of, &Arc::new(Memory::from(disk)), "correct horse").unwrap();
    let found = unlocked.found(partition.len()).unwrap();
    let volume = Volume::new(partition, &found.layout, &found.volume_key, Cpu::detect()).unwrap();
    let mut data = vec![0; 30 * 512];
    volume.read_at(&mut data, 0).unwrap();
    assert_eq!((data, volume.len()), (plaintext()[4 * 512..34 * 512].to_vec(), 30 * 512));
}

#[test]
fn a_header_on_another_device() {
    let device = Made::quick().device();
    let header: Arc<dyn Storage> = Arc::new(Memory::from(device[..512].to_vec()));
    let mut data = device;
    data[..512].fill(0);
    let of = Tcrypt { header: Some(header), ..Tcrypt::default() };
    let data: Arc<dyn Storage> = Arc::new(Memory::from(data));
    let subject = Subject { data: &data, device: "data", writes: true, weak_ciphers: false };
    let judged = of.judge(&subject).unwrap();
    assert_eq!((judged.uuid(), judged.volume_key_len()), (None, None));
    let key = Secret::copy_from(b"correct horse");
    let found = judged.open(Key::Passphrase(&key), &UnlockOptions::default()).unwrap();
    assert_eq!((found.volume_key.len(), found.layout.segments[0].length), (64, Some(DATA as u64)));
    let why = judged.open(Key::Volume(&found.volume_key), &UnlockOptions::default()).unwrap_err().to_string();
    assert!(why.starts_with("a TCRYPT volume cannot be opened with its volume key:"), "{why}");
}

/// A folder of key files that is removed with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str, files: &[(&str, &[u8])]) -> Self {
        let path = std::env::temp_dir().join(format!("keyway-{}-{name}", std::process::id()));
        std::fs::create_dir_all(path.join("folder")).unwrap();
        files.iter().for_each(|(name, content)| std::fs::write(path.join(name), content).unwrap());
        Self(path)
    }

    fn files(&self, names: &[&str]) -> Tcrypt {
        let key_files = names.iter().map(|name| self.0.join(name)).collect();
        Tcrypt { key_files, programs: Programs::TrueCrypt, ..Tcrypt::default() }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn pool(passphrase: &[u8], contents: &[&[u8]]) -> Vec<u8> {
    let mut pool = keyway_format::tcrypt::Pool::default();
    contents.iter().for_each(|content| pool.mix(content));
    pool.with(&Secret::copy_from(passphrase)).unwrap().expose().to_vec()
}

#[test]
fn key_files_with_and_without_a_passphrase() {
    let (one, two) = (&[3; 5000][..], &b"another"[..]);
    let files = [("one", one), ("two", two), (".hidden", b"h"), ("empty", b""), ("folder/deep", b"d")];
    let folder = Folder::new("key-files", &files);
    let device = |passphrase: &[u8], contents: &[&[u8]]| {
        let password = pool(passphrase, contents);
        Arc::new(Memory::from(Made::quick().with(|it| it.password = password).device()))
    };
    let opens = |names: &[&str], passphrase: &str, device: &Arc<Memory>| {
        open(&folder.files(names), device, passphrase).is_ok()
    };
    let both = device(b"pw", &[one, two]);
    assert!(opens(&["one", "two"], "pw", &both) && opens(&["two", "one"], "pw", &both));
    assert!(!opens(&["one"], "pw", &both) && !opens(&["one", "two"], "", &both) && !opens(&[], "pw", &both));
    assert!(opens(&["one"], "", &device(b"", &[one])));
    let refusal = |names: &[&str]| open(&folder.files(names), &both, "pw").err().unwrap().to_string();
    let at = folder.0.display();
    assert_eq!(refusal(&["empty"]), format!("key file {at}/empty is empty"));
    assert!(refusal(&["none"]).starts_with(&format!("reading key file {at}/none: No such file")));
    std::fs::remove_file(folder.0.join("empty")).unwrap();
    assert!(opens(&["."], "pw", &both), "all files that are not hidden");
    std::fs::rename(folder.0.join("folder/deep"), folder.0.join("folder/.deep")).unwrap();
    assert_eq!(refusal(&["folder"]), format!("{at}/folder has no key files (hidden files do not count)"));
    // What a key file alone opens.
    let data: Arc<dyn Storage> = device(b"", &[one, two]);
    let subject = Subject { data: &data, device: "data", writes: false, weak_ciphers: false };
    let judged = folder.files(&["two"]).judge(&subject).unwrap();
    assert!(judged.open(Key::File(&Secret::copy_from(one)), &UnlockOptions::default()).is_ok());
}

/// Only VeraCrypt takes more than 64 bytes, and then the pool is longer.
#[test]
fn long_passphrases() {
    let folder = Folder::new("long", &[("one", b"a key file")]);
    for len in [64, 65, 128] {
        let passphrase = "x".repeat(len);
        let made = Made::new(kdf(Program::VeraCrypt, "sha512", false), cipher("aes", CascadeMode::Xts));
        let password = pool(passphrase.as_bytes(), &[b"a key file"]);
        let made = made.with(|it| (it.pim, it.password) = (Some(1), password));
        let of = Tcrypt { programs: Programs::Both, pim: Some(1), ..folder.files(&["one"]) };
        assert!(open(&of, &Arc::new(Memory::from(made.device())), &passphrase).is_ok(), "{len}");
    }
}

#[test]
fn a_stop_from_outside_ends_the_search() {
    let stop = Arc::new(Stop::new());
    stop.stop();
    let options = UnlockOptions { stop: Some(stop), ..UnlockOptions::default() };
    let locked = Tcrypt::default().read(&Memory::zeroed(1 << 20)).unwrap();
    let stopped = locked.unlock(&Secret::copy_from(b"pw"), &options).err().unwrap();
    assert!(matches!(stopped, Error::Crypto(keyway_crypto::Error::Stopped)), "{stopped}");
}

#[test]
fn the_header_as_text() {
    let device = Arc::new(Memory::from(Made::quick().hidden(Position::Hidden).device()));
    let unlocked = open(&place(true, false), &device, "correct horse").unwrap();
    assert_eq!(
        unlocked.dump("disk"),
        "TCRYPT header information for disk\nVersion:       \t5\nDriver req.:\t7.0\nSector size:\t512\nMK offset:\t163840\n\
         PBKDF2 hash:\tsha512\nCipher chain:\taes\nCipher mode:\txts-plain64\nMK bits:       \t512\n"
    );
    let text = unlocked.dump_volume_key("disk").unwrap();
    let expected = "TCRYPT header information for disk\nCipher chain:  \taes\nCipher mode:   \txts-plain64\n\
                    Payload offset:\t320\nMK bits:       \t512\n\
                    MK dump:\t05 4e 97 e0 29 72 bb 04 4d 96 df 28 71 ba 03 4c \n\t\t95 ";
    assert!(text.expose().starts_with(expected.as_bytes()), "{}", String::from_utf8_lossy(text.expose()));
    let rows = String::from_utf8(text.expose().to_vec()).unwrap();
    assert_eq!((rows.lines().count(), rows.ends_with("fd 46 8f d8 21 6a b3 fc \n")), (9, true), "{rows}");
    let made = Made::new(kdf(Program::VeraCrypt, "argon2id", false), cipher("aes", CascadeMode::Xts));
    let device = Arc::new(Memory::from(made.with(|it| it.pim = Some(1)).device()));
    let of = Tcrypt { pim: Some(1), hash: Some("argon2id".into()), ..Tcrypt::default() };
    let text = open(&of, &device, "correct horse").unwrap().dump("disk");
    assert!(text.starts_with("VERACRYPT header information for disk\n"), "{text}");
    assert!(
        text.contains("Driver req.:\t1.b\n") && text.contains("PBKDF:\t\tArgon2id\nCipher chain:"),
        "{text}"
    );
}
