//! `repair`: what it shows, asks and writes, and what it leaves alone.

use super::CHEAP;
use keyway_format::json::{Value, parse};
use keyway_tests::pty::Terminal;
use keyway_tests::{Run, Scratch, keyway, need, peer};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

struct Damaged {
    scratch: Scratch,
    volume: PathBuf,
    key: PathBuf,
    /// The volume before the damage.
    sound: Vec<u8>,
}

impl Damaged {
    fn new(options: &str) -> Self {
        let scratch = Scratch::new();
        let (volume, key) = (scratch.sized("volume", 20 << 20), scratch.file("key", "secret"));
        keyway("luksFormat -q").args(CHEAP).args(options).arg("-d").arg(&key).arg(&volume).ok();
        let sound = fs::read(&volume).unwrap();
        Self { scratch, volume, key, sound }
    }

    /// Bytes at offsets, as another tool might leave them.
    fn damage(&self, bytes: &[(usize, &[u8])]) -> &Self {
        let mut image = self.now();
        for (at, bytes) in bytes {
            image[*at..at + bytes.len()].copy_from_slice(bytes);
        }
        fs::write(&self.volume, image).unwrap();
        self
    }

    fn now(&self) -> Vec<u8> {
        fs::read(&self.volume).unwrap()
    }

    fn repair(&self, options: &str) -> Run {
        keyway("repair").args(options).arg(&self.volume)
    }

    /// Keyway under cryptsetup's name.
    fn like_cryptsetup(&self) -> Run {
        let name = self.scratch.path("cryptsetup");
        if !name.exists() {
            symlink(keyway_tests::peers::program(), &name).unwrap();
        }
        Run::new(name, "repair").arg(&self.volume)
    }
}

const MAGICS: &[(usize, &[u8])] = &[(0, b"GARBAGE!"), (16384, b"garbage!")];

#[test]
fn what_is_confirmed_is_shown_and_then_written() {
    let v = Damaged::new("--type luks2");
    v.repair("-q").ok().quiet();
    let lost = v.damage(MAGICS).damage(&[(8, &[0; 8]), (16384 + 5000, b"metadata")]).now();
    let page = "Found
  Primary LUKS2 header at byte 0: damaged, but its checksum is right after restoring: magic, version, size; sequence id 1.
  Secondary LUKS2 header at byte 16384: damaged, but its checksum is right after restoring: magic, version, JSON area (from the primary); sequence id 1.
Lost
  Nothing.
To be written
  Primary LUKS2 header is damaged: put back as it was: magic (bytes 0 to 6), version (bytes 6 to 8), size (bytes 14 to 15).
  Secondary LUKS2 header is damaged: put back as it was: magic (bytes 16384 to 16390), version (bytes 16390 to 16392), JSON area (bytes 21384 to 21392).
Key material, by sectors of 512 bytes: # random, . not, ? unreadable
  Keyslot 0  [###############################################################]
";
    assert_eq!(v.repair("--dry-run").ok().text(), page);
    assert!(v.now() == lost, "a dry run writes nothing");
    assert_eq!(v.repair("-q").ok().text(), page);
    assert!(v.now() == v.sound);
    v.repair("-q").ok().quiet();
    v.repair("-v").ok().says("No known problems detected for LUKS header.").lacks("Found");
    // A dry run needs no right to write.
    fs::set_permissions(&v.volume, std::os::unix::fs::PermissionsExt::from_mode(0o400)).unwrap();
    v.repair("--dry-run").ok().says("sound").lacks("To be written");
}

#[test]
fn only_yes_writes() {
    let v = Damaged::new("--type luks2");
    let lost = v.damage(MAGICS).now();
    for (answer, code) in [("no", 1), ("YES", 0)] {
        let asked = Terminal::start(&v.repair("")).expect("To be written");
        let asked = asked.expect("Really try to repair LUKS device header?").expect("capital letters): ");
        assert_eq!(asked.type_line(answer).finish().code, Some(code));
        assert!(v.now() == if code == 0 { v.sound.clone() } else { lost.clone() }, "{answer}");
    }
}

#[test]
fn what_nothing_confirms_is_left_alone() {
    let v = Damaged::new("--type luks2");
    let lost = v.damage(&[(4200, b"metadata"), (16384 + 4200, b"METADATA")]).now();
    for run in [v.repair("-q"), v.repair("--dry-run"), v.repair("--json"), v.like_cryptsetup()] {
        run.fails(1)
            .says("Nothing of its LUKS2 header is confirmed by a checksum. Looked at byte 0 and at the nine places")
            .says("Primary LUKS2 header at byte 0: nothing in it is confirmed (header checksum does not match).")
            .says("Secondary LUKS2 header at byte 16384: nothing in it is confirmed (header checksum does not match).")
            .says("Nothing was written. A header backup brings it back: \"keyway luksHeaderRestore\".");
        assert!(v.now() == lost);
    }
    let nothing = v.scratch.sized("nothing", 20 << 20);
    keyway("repair -q").arg(&nothing).fails(1).says("is not a valid LUKS device");
}

/// mkswap writes its signature at the end of the first 4096 bytes.
#[test]
fn another_format_is_named_before_it_is_overwritten() {
    need!("mkswap");
    let v = Damaged::new("--type luks2");
    peer("mkswap", "-q").arg(&v.volume).ok();
    let repair = v.repair("-q").ok();
    assert!(repair.text().contains("WARNING: The device also has the signature of "), "{repair}");
    assert!(repair.text().contains(", at byte 4086, which is overwritten.\n"), "{repair}");
    keyway("open --test-passphrase -d").arg(&v.key).arg(&v.volume).ok();
    assert!(v.now()[4096..] == v.sound[4096..]);
}

#[test]
fn damaged_key_material_is_shown_by_the_sector() {
    let v = Damaged::new("--type luks2");
    keyway("luksAddKey")
        .args(CHEAP)
        .arg("-d")
        .arg(&v.key)
        .arg(&v.volume)
        .arg(v.scratch.file("b", "two"))
        .ok();
    // Keyslot 0 is at 32768, keyslot 1 after its 258048 bytes.
    let second = 32768 + 258_048;
    let before = v.damage(&[(second + 128_000, &[0; 1024]), (second + 255_488, &[0xff; 512])]).now();
    let bad = format!("{}.{}.", "#".repeat(31), "#".repeat(30));
    let shown = v.repair("-q").ok();
    let lines = format!(
        "  Keyslot 0  [{}]
  Keyslot 1  [{bad}]
    not random: bytes 418816 to 419840, bytes 546304 to 546816
    No passphrase opens it any more; a header backup brings it back.
",
        "#".repeat(63)
    );
    assert!(shown.text().ends_with(&lines), "{shown}");
    let document = v.repair("--json").ok().text();
    let json = parse(document.as_bytes()).unwrap();
    let keyslots = json.as_object().unwrap().get("keyslots").unwrap().as_array().unwrap().to_vec();
    let of = |number: usize, name: &str| {
        keyslots[number].as_object().unwrap().get(name).map(Value::to_compact).unwrap()
    };
    assert_eq!(of(0, "not_random"), "[]");
    assert_eq!(of(1, "not_random"), r#"[{"offset":418816,"length":1024},{"offset":546304,"length":512}]"#);
    assert_eq!((of(1, "number"), of(1, "bar")), ("1".to_owned(), format!("\"{bad}\"")));
    // In cryptsetup's words under its name.
    let path = v.volume.display();
    let theirs = format!(
        "Keyslot 1 binary data could be corrupted.\n  Suspected offset: 0x66400\n  Suspected offset: 0x85600\nYou can use \
         hexdump -v -C -n 128 -s <offset_0xXXXX> \"{path}\" to inspect the data.\n"
    );
    assert_eq!(v.like_cryptsetup().ok().text(), theirs);
    assert!(v.now() == before, "keyslots are never written");
}

#[test]
fn a_passphrase_confirms_luks1() {
    let v = Damaged::new("--type luks1");
    let lost = v.damage(&[(0, b"EFI PART")]).now();
    let wrong = v.scratch.file("wrong", "wrong");
    let with = |key: &Path| keyway("repair -q -d").arg(key).arg(&v.volume);
    v.repair("--dry-run")
        .ok()
        .says("LUKS1 header at byte 0: its magic is lost;")
        .says("put back (bytes 0 to 8).");
    with(&wrong).fails(2).says("No key available with this passphrase.");
    assert!(v.now() == lost);
    with(&v.key).ok();
    assert!(v.now() == v.sound);
}

#[test]
fn under_cryptsetups_name_a_copy_is_mended_as_before() {
    let v = Damaged::new("--type luks2");
    v.damage(&[(0, &[0; 4096])]);
    let said = "Primary LUKS2 header is damaged or out of date: rewritten from the secondary.\n";
    let mended = v.like_cryptsetup().ok();
    assert_eq!((mended.errors(), mended.text()), (said.to_owned(), String::new()));
    assert!(v.now()[4096..] == v.sound[4096..]);
}
