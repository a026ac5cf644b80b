//! What an edit of a header refuses: a key that was found elsewhere, a device that is open for
//! reading, a header that breaks the caller's terms.

use keyway::*;

fn key(text: &str) -> Key {
    Key::passphrase(text)
}

fn quick() -> NewKeyslot {
    NewKeyslot::new().kdf(NewKdf::pbkdf2(1000))
}

fn volume() -> Device {
    Create::luks2().kdf(NewKdf::pbkdf2(1000)).in_memory(1 << 20, &key("old")).unwrap()
}

#[test]
fn a_key_that_was_found_on_another_header_edits_nothing() {
    let (here, elsewhere) = (volume(), volume());
    let (mut header, other) = (here.header().unwrap(), elsewhere.header().unwrap());
    let found = other.try_key(&key("old")).unwrap();
    let refused = header.add_key_with(&found, &key("new"), &quick()).unwrap_err();
    assert_eq!(refused.kind(), &ErrorKind::WrongVolumeKey);
    let refused = header.change_key_with(found, &key("new"), &quick()).unwrap_err();
    assert_eq!(refused.kind(), &ErrorKind::WrongVolumeKey);
    // A header that was read again is another one: it may have changed.
    let found = here.header().unwrap().try_key(&key("old")).unwrap();
    assert!(header.add_key_with(&found, &key("new"), &quick()).is_err());
    assert_eq!(here.header().unwrap().keyslots().len(), 1);
    assert_eq!(here.unlock(&key("new")).unwrap_err().kind(), &ErrorKind::WrongPassphrase);
}

#[test]
fn a_volume_key_belongs_to_no_keyslot_that_could_be_changed() {
    let device = volume();
    let mut header = device.header().unwrap();
    let secret = Secret::copy_from(header.try_key(&key("old")).unwrap().expose().expose());
    let refused = header.change_key(&Key::VolumeKey(secret), &key("new"), &quick()).unwrap_err();
    assert!(matches!(refused.kind(), ErrorKind::Refused { .. }), "{refused}");
    device.unlock(&key("old")).unwrap();
}

#[test]
fn an_unbound_keyslot_is_changed_and_converted_but_authorizes_nothing() {
    let device = volume();
    let mut header = device.header().unwrap();
    header.add_unbound_key(&Secret::copy_from(&[7; 32]), &key("own"), &quick()).unwrap();
    let refused = header.add_key(&key("own"), &key("new"), &quick()).unwrap_err();
    assert_eq!(refused.kind(), &ErrorKind::WrongPassphrase);
    let number = header.change_key(&key("own"), &key("other"), &quick()).unwrap();
    assert_eq!(header.convert_key(&key("other"), &quick().hash("sha512")).unwrap(), number);
    assert_eq!(header.try_keyslot(&key("other")).unwrap().expose().expose(), [7; 32]);
    assert!(header.try_key(&key("other")).is_err());
}

#[test]
fn another_key_is_proved_whatever_keyslot_the_terms_name() {
    let device = volume();
    let mut header = device.header_with(&Unlock::new().keyslot(0)).unwrap();
    assert_eq!(header.prove_another_key(0, &key("old")).unwrap(), 0, "it is the last one");
    for (number, text) in [(5, "second"), (7, "third")] {
        header.add_key(&key("old"), &key(text), &quick().number(number)).unwrap();
    }
    assert_eq!(header.prove_another_key(0, &key("third")).unwrap(), 7);
    assert_eq!(header.prove_another_key(7, &key("second")).unwrap(), 5);
    let refused = header.prove_another_key(7, &key("third")).unwrap_err();
    assert_eq!(refused.kind(), &ErrorKind::WrongPassphrase);
}

#[test]
fn a_new_keyslot_is_as_it_was_described() {
    let device = volume();
    let mut header = device.header().unwrap();
    let argon2 = NewKdf::argon2id_forced(4, 1024, 1);
    let options = NewKeyslot::new().number(9).kdf(argon2).hash("sha512").cipher("serpent-xts-plain64", 256);
    header.add_key(&key("old"), &key("new"), &options).unwrap();
    let added = header.keyslots().pop().unwrap();
    assert_eq!((added.number, added.cipher.as_deref()), (9, Some("serpent-xts-plain64")));
    assert!(
        matches!(added.kdf, Kdf::Argon2 { passes: 4, memory_kib: 1024, lanes: 1, .. }),
        "{:?}",
        added.kdf
    );
    // The hash of its stripes, and the length of its area's key, which only the JSON shows.
    let written = header_text(&device);
    assert!(written.contains(r#""stripes":4000,"hash":"sha512""#), "{written}");
    assert!(written.contains(r#""encryption":"serpent-xts-plain64","key_size":32"#), "{written}");
    device.unlock(&key("new")).unwrap();
}

/// The JSON of the header on the device.
fn header_text(device: &Device) -> String {
    let path = std::env::temp_dir().join(format!("keyway-json-{}", std::process::id()));
    device.header().unwrap().backup(&path).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let json = bytes[4096..16384].split(|byte| *byte == 0).next().unwrap();
    String::from_utf8(json.to_vec()).unwrap()
}

/// Every edit, by its name.
type Edit = fn(&mut Header) -> Result<()>;

const EDITS: [(&str, Edit); 17] = [
    ("add_key", |it| it.add_key(&key("old"), &key("new"), &quick()).map(drop)),
    ("add_unbound_key", |it| {
        it.add_unbound_key(&Secret::copy_from(&[7; 32]), &key("new"), &quick()).map(drop)
    }),
    ("change_key", |it| it.change_key(&key("old"), &key("new"), &quick()).map(drop)),
    ("convert_key", |it| it.convert_key(&key("old"), &quick()).map(drop)),
    ("kill_keyslot", |it| it.kill_keyslot(0, LastKeyslot::Kill)),
    ("erase", Header::erase),
    ("set_label", |it| it.set_label("x")),
    ("set_names", |it| it.set_names("x", "y")),
    ("set_uuid", |it| it.set_uuid("d1a5e3a4-0000-4000-8000-3c0754d1a5e3")),
    ("set_priority", |it| it.set_priority(0, Priority::Prefer)),
    ("add_keyring_token", |it| it.add_keyring_token("x", &NewToken::new()).map(drop)),
    ("import_token", |it| it.import_token(r#"{"type":"x","keyslots":[]}"#, &NewToken::new()).map(drop)),
    ("remove_token", |it| it.remove_token(0)),
    ("assign_token", |it| it.assign_token(0, 0)),
    ("unassign_token", |it| it.unassign_token(0, 0)),
    ("seal", |it| it.seal(&key("old"), None)),
    ("convert", |it| it.convert(Version::Luks1)),
];

#[test]
fn a_device_that_is_open_for_reading_is_not_edited() {
    let directory = std::env::temp_dir().join(format!("keyway-edits-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let path = directory.join("disk");
    Create::luks2().kdf(NewKdf::pbkdf2(1000)).size(1 << 20).create(&path, &key("old")).unwrap();
    let before = std::fs::read(&path).unwrap();
    for (name, edit) in EDITS.into_iter().chain([("unseal", (|it| it.unseal().map(drop)) as Edit)]) {
        let mut header = Device::open(&path).unwrap().header().unwrap();
        assert_eq!(edit(&mut header).unwrap_err().kind(), &ErrorKind::ReadOnly, "{name}");
    }
    assert_eq!(Device::open(&path).unwrap().repair().unwrap_err().kind(), &ErrorKind::ReadOnly);
    assert!(std::fs::read(&path).unwrap() == before);
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn terms_that_the_header_breaks_stop_edits_that_a_key_authorizes() {
    let device = volume();
    let strict = Unlock::new().policy("fleet", "sealed = true").unwrap();
    let unmet = &ErrorKind::Policy { rule: "sealed" };
    let mut header = device.header_with(&strict).unwrap();
    assert_eq!(header.check().unwrap_err().kind(), unmet);
    for (name, edit) in &EDITS[..4] {
        if *name != "add_unbound_key" {
            assert_eq!(edit(&mut header).unwrap_err().kind(), unmet, "{name}");
        }
    }
    // A policy that concerns the key is judged with the key.
    let short = Unlock::new().policy("fleet", "min-key-bits = 1024").unwrap();
    assert!(matches!(
        device.header_with(&short).unwrap().try_key(&key("old")).unwrap_err().kind(),
        ErrorKind::Policy { .. }
    ));
    assert_eq!(device.header().unwrap().keyslots().len(), 1);
}

#[test]
fn a_header_that_would_not_be_opened_is_not_sealed() {
    let weak = Create::luks2().cipher("aes-ecb", 256).weak_cipher().kdf(NewKdf::pbkdf2(1000));
    let made = weak.in_memory(1 << 20, &key("old")).unwrap();
    let refused = made.header().unwrap().seal(&key("old"), None).unwrap_err();
    assert_eq!(refused.kind(), &ErrorKind::Policy { rule: "weak-cipher" });
    assert!(!made.header().unwrap().is_sealed());
    let tolerant = Unlock::new().weak_ciphers();
    made.header_with(&tolerant).unwrap().seal(&key("old"), None).unwrap();
    assert!(made.header().unwrap().is_sealed());
}

#[test]
fn a_broken_seal_is_replaced_but_authorizes_nothing() {
    let device = volume();
    device.header().unwrap().seal(&key("old"), None).unwrap();
    device.header().unwrap().set_label("changed").unwrap();
    let mut header = device.header().unwrap();
    let refused = header.add_key(&key("old"), &key("new"), &quick()).unwrap_err();
    assert_eq!(refused.kind(), &ErrorKind::Policy { rule: "seal" });
    header.seal(&key("old"), None).unwrap();
    header.add_key(&key("old"), &key("new"), &quick()).unwrap();
    device.unlock(&key("new")).unwrap();
}

#[test]
fn a_keyslot_gets_an_empty_passphrase_only_if_that_is_said() {
    let device = volume();
    let mut header = device.header().unwrap();
    let unbound = Secret::copy_from(&[7; 32]);
    let refused = |result: Result<u32>| assert_eq!(result.unwrap_err().kind(), &ErrorKind::EmptyPassphrase);
    refused(header.add_key(&key("old"), &key(""), &quick()));
    refused(header.change_key(&key("old"), &key(""), &quick()));
    refused(header.add_unbound_key(&unbound, &key(""), &quick()));
    assert_eq!(header.keyslots().len(), 1);
    device.unlock(&key("old")).unwrap();

    let said = || quick().allow_empty_passphrase();
    assert_eq!(header.add_key(&key("old"), &key(""), &said()).unwrap(), 1);
    // It is there already: its cost changes without a word, and another passphrase replaces it.
    header.convert_key(&key(""), &quick()).unwrap();
    header.change_key(&key(""), &key("new"), &quick()).unwrap();
    header.change_key(&key("new"), &key(""), &said()).unwrap();
    device.unlock(&key("")).unwrap();
    header.add_unbound_key(&unbound, &key(""), &said()).unwrap();
}

#[test]
fn a_reencryption_makes_no_empty_passphrase_unless_that_is_said() {
    let begin = |device: &Device, found: &str, new: &str, slot: NewKeyslot| {
        let header = device.header().unwrap();
        let found = header.try_key(&key(found)).unwrap();
        let how = Reencrypt::new().keyslot(slot);
        device.begin_reencryption(header, &how, vec![(found, key(new))]).map(drop)
    };
    let device = volume();
    let refused = begin(&device, "old", "", quick()).unwrap_err();
    assert_eq!(refused.kind(), &ErrorKind::EmptyPassphrase);
    assert!(!device.header().unwrap().is_in_reencryption().unwrap());
    begin(&device, "old", "", quick().allow_empty_passphrase()).unwrap();

    // It opens that keyslot already.
    let device = volume();
    device.header().unwrap().change_key(&key("old"), &key(""), &quick().allow_empty_passphrase()).unwrap();
    begin(&device, "", "", quick()).unwrap();
    assert!(device.header().unwrap().is_in_reencryption().unwrap());
}

#[test]
fn a_luks1_reencryption_makes_no_empty_passphrase_either() {
    let directory = std::env::temp_dir().join(format!("keyway-empty-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let path = directory.join("disk");
    Create::luks1().kdf(NewKdf::pbkdf2(1000)).size(1 << 20).create(&path, &key("old")).unwrap();
    let device = Device::open_rw(&path).unwrap();
    let header = device.header().unwrap();
    let files = Luks1Files::new(&directory, header.uuid());
    let found = header.try_key(&key("old")).unwrap();
    let change = Luks1Change::Reencrypt(header, vec![(found, key(""))]);
    let refused = device.begin_luks1(change, &Reencrypt::new(), &files).unwrap_err();
    assert_eq!(refused.kind(), &ErrorKind::EmptyPassphrase);
    assert!(!files.are_there() && device.luks1_in_reencryption().unwrap().is_none());
    device.unlock(&key("old")).unwrap();
    std::fs::remove_dir_all(&directory).unwrap();
}
