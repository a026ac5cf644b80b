//! Edits of sealed headers: refused where the seal does not hold, renewed where the key is known.

use super::*;

/// A header with a label of its owner's and a cipher of a forger's.
fn forged() -> (Luks, Secret) {
    let (mut luks, key) = sealed(None);
    edit::set_label(&mut luks, Some("mine"), None, None, &mut OsRandom).unwrap();
    (forge(&luks, replaced("aes-xts-plain64", "aes-xts-plain")), key)
}

#[test]
fn all_differences_are_said_in_the_order_of_their_names() {
    let (luks, _) = forged();
    let broken = Seal::check(luks.header(), Some(LEN as u64 + 512)).unwrap_err();
    let said = "it does not match its seal: header.label is \"mine\", sealed as \"\"; segments.0.encryption is \
                \"aes-xts-plain\", sealed as \"aes-xts-plain64\"; data.end is \"4194816\", sealed as \"4194304\"";
    assert_eq!(broken.to_string(), said);
    assert_eq!(Seal::check(volume().0.header(), Some(LEN as u64)), Ok(()), "no seal, nothing to match");
}

/// Each edit, on a header that does not match its seal: it stays as it is, byte for byte.
#[test]
fn no_edit_passes_a_seal_that_does_not_hold() {
    type Attempt = fn(&mut Luks, &Secret) -> Result<()>;
    let attempts: [(&str, Attempt); 10] = [
        ("label", |luks, _| edit::set_label(luks, Some("x"), None, None, &mut OsRandom)),
        ("label with the key", |luks, volume_key| {
            edit::set_label(luks, Some("x"), None, Some(Renewal { volume_key }), &mut OsRandom)
        }),
        ("uuid", |luks, _| edit::set_uuid(luks, None, None, &mut OsRandom)),
        ("flags", |luks, _| edit::set_persistent_flags(luks, &[], None, &mut OsRandom)),
        ("priority", |luks, _| {
            edit::set_priority(luks, 0, keyway_format::luks2::Priority::Prefer, &mut OsRandom)
        }),
        ("token", |luks, _| {
            edit::token_import(luks, None, br#"{"type":"x","keyslots":[]}"#, &[], false, &mut OsRandom)
                .map(drop)
        }),
        ("token removed", |luks, _| edit::token_remove(luks, 0, &mut OsRandom)),
        ("key added", |luks, key| {
            let options = AddKey { kdf: pbkdf2(), ..AddKey::default() };
            edit::add_key(luks, key, &secret("new"), &options, &mut OsRandom).map(drop)
        }),
        ("unbound key added", |luks, _| {
            let options = AddKey { kdf: pbkdf2(), ..AddKey::default() };
            let unbound = Secret::copy_from(&[3; 32]);
            edit::add_unbound_key(luks, &unbound, &secret("new"), &options, &mut OsRandom).map(drop)
        }),
        ("key converted", |luks, _| {
            let options = AddKey { kdf: pbkdf2(), ..AddKey::default() };
            let unlocked = crate::unlock(luks, &secret("pass"), &crate::UnlockOptions::default())?;
            edit::convert_key(luks, &unlocked, &secret("pass"), &options, &mut OsRandom).map(drop)
        }),
    ];
    let bytes = |luks: &Luks| {
        let mut bytes = vec![0; LEN];
        luks.storage().read_at(&mut bytes, 0).unwrap();
        bytes
    };
    for (name, attempt) in attempts {
        let (mut luks, key) = forged();
        let before = bytes(&luks);
        let why = attempt(&mut luks, &key).unwrap_err().to_string();
        assert!(why.contains("header.label") && why.contains("segments.0.encryption"), "{name}: {why}");
        assert!(bytes(&luks) == before, "{name}");
        if name != "label with the key" {
            attempt(&mut luks.ignoring_seal(true), &key).unwrap_or_else(|why| panic!("{name}: {why}"));
        }
        let (mut sound, key) = sealed(None);
        attempt(&mut sound, &key).unwrap_or_else(|why| panic!("{name}: {why}"));
    }
}

#[test]
fn no_seal_keeps_a_key_alive() {
    let (mut luks, key) = sealed(None);
    let options = AddKey { kdf: pbkdf2(), ..AddKey::default() };
    edit::add_key(&mut luks, &key, &secret("second"), &options, &mut OsRandom).unwrap();
    let mut luks = forge(&luks, replaced("aes-xts-plain64", "aes-xts-plain"));
    edit::kill_slot(&mut luks, 1, &mut OsRandom).unwrap();
    assert_eq!(luks.active_keyslots(), [0]);
    edit::erase(&mut luks, &mut OsRandom).unwrap();
    assert_eq!(luks.active_keyslots(), []);
    assert!(remove(&mut luks, &mut OsRandom).unwrap(), "and a seal that does not hold can go");
}

#[test]
fn an_edit_with_the_key_renews_the_seal() {
    let (mut luks, key) = sealed(Some("kept"));
    let renewal = Some(Renewal { volume_key: &key });
    edit::set_label(&mut luks, Some("new"), Some("sub"), renewal, &mut OsRandom).unwrap();
    edit::set_uuid(&mut luks, None, renewal, &mut OsRandom).unwrap();
    edit::set_persistent_flags(&mut luks, &["allow-discards"], renewal, &mut OsRandom).unwrap();
    assert_eq!(verify(&luks, &key, Some("kept")), Ok(()));
}

/// Whoever forges the seal's list together with the header is found out with the key alone.
#[test]
fn a_list_that_was_not_made_with_the_key_is_known_as_such() {
    let (luks, key) = sealed(Some("x"));
    let seal = |luks: &Luks| Seal::of(luks.header()).unwrap().unwrap();
    assert!(seal(&luks).is_made_with(&key) && !seal(&luks).is_made_with(&Secret::copy_from(&[8; 64])));
    assert!(seal(&forged().0).is_made_with(&key), "the header differs, the list is genuine");
    let both = |json: &str| json.replace("aes-xts-plain64\",\"sector", "aes-xts-plain\",\"sector");
    assert!(!seal(&forge(&luks, both)).is_made_with(&key));
}
