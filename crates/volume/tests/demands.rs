//! Seals and policies where volumes are opened: before a key is asked for, and with it.

use keyway_crypto::Secret;
use keyway_volume::change::create::{Luks1Params, Luks2Params, create_luks1, create_luks2};
use keyway_volume::change::edit::{self, AddKey};
use keyway_volume::change::seal;
use keyway_volume::device::storage::Memory;
use keyway_volume::header::seal::Broken;
use keyway_volume::trust::admission::{self, Required, Unmet};
use keyway_volume::trust::policy::Policy;
use keyway_volume::{Access, Admitted, Cost, DataDevice, Error, KdfChoice, Luks, OsRandom, Storage, Terms};
use std::sync::Arc;

const LEN: usize = 4 << 20;

fn pbkdf2() -> KdfChoice {
    KdfChoice::Pbkdf2 { hash: "sha256".into(), cost: Cost::Forced(1000) }
}

fn secret(text: &str) -> Secret {
    Secret::copy_from(text.as_bytes())
}

fn key() -> Secret {
    Secret::copy_from(&[7; 64])
}

fn volume(context: Option<&str>, sealed: bool) -> (Arc<Memory>, Luks) {
    let storage = Arc::new(Memory::zeroed(LEN));
    let params =
        Luks2Params { kdf: pbkdf2(), keyslots_size: Some(1 << 20), key_bits: 512, ..Luks2Params::default() };
    let mut luks = create_luks2(storage.clone(), &params, &key(), &secret("pass"), &mut OsRandom).unwrap();
    if sealed {
        seal::seal(&mut luks, &key(), LEN as u64, context, &mut OsRandom).unwrap();
    }
    (storage, luks)
}

fn again(storage: &Arc<Memory>) -> Luks {
    Luks::open(storage.clone(), Access::Read).unwrap()
}

fn policy(text: &str) -> Vec<Required> {
    vec![Required { name: "ours".into(), policy: Policy::parse(text.as_bytes()).unwrap() }]
}

/// What becomes of it before the key is asked for.
fn judge(storage: &Arc<Memory>, terms: &Terms) -> Result<Admitted, Unmet> {
    let data = DataDevice { len: storage.len(), holds_header: true };
    Admitted::judge(again(storage), Some(data), terms).map_err(unmet)
}

fn open(storage: &Arc<Memory>, terms: &Terms) -> Result<(), Unmet> {
    judge(storage, terms)?.open(key(), 0).map(drop).map_err(unmet)
}

fn unmet(error: Error) -> Unmet {
    match error {
        Error::Unmet(unmet) => *unmet,
        other => panic!("{other}"),
    }
}

#[test]
fn a_seal_is_judged_before_the_key_and_with_it() {
    let (storage, mut luks) = volume(Some("c"), true);
    let terms = Terms::default();
    assert_eq!(open(&storage, &terms), Ok(()));
    let with = |context: &str| Terms { seal_context: Some(context.into()), ..Terms::default() };
    assert_eq!(open(&storage, &with("c")), Ok(()));
    assert!(judge(&storage, &with("d")).is_ok(), "only the key can tell");
    assert_eq!(open(&storage, &with("d")), Err(Unmet::Seal(Broken::Context)));
    // A volume key that was not the seal's: only with it can that be told, and then it is.
    let unopened = judge(&storage, &terms).unwrap_or_else(|e| panic!("{e}"));
    let refused = unopened.open(Secret::copy_from(&[8; 64]), 0).map(drop).map_err(unmet);
    assert_eq!(refused, Err(Unmet::Seal(Broken::Forged)));

    edit::set_label(&mut luks, Some("x"), None, None, &mut OsRandom).unwrap();
    assert!(matches!(judge(&storage, &terms).map(drop), Err(Unmet::Seal(Broken::Differs(_)))));
    let ignoring = Terms { ignore_seal: true, ..Terms::default() };
    assert_eq!(open(&storage, &ignoring), Ok(()));
    let both = Terms { policies: policy("sealed = true"), ..ignoring };
    assert!(matches!(judge(&storage, &both).map(drop), Err(Unmet::Policy { .. })));

    let (unsealed, _) = volume(None, false);
    assert_eq!(open(&unsealed, &terms), Ok(()));
    assert_eq!(judge(&unsealed, &with("c")).map(drop), Err(Unmet::Seal(Broken::Missing)));
}

#[test]
fn each_policy_is_judged_before_the_key_and_with_it() {
    let (storage, _) = volume(None, true);
    let terms = |text: &str| Terms { policies: policy(text), ..Terms::default() };
    assert_eq!(open(&storage, &terms("ciphers = [\"aes\"]\nsealed = true")), Ok(()));
    let refused = judge(&storage, &terms("ciphers = [\"aes\"]\nmin-key-bits = 1024")).map(drop).unwrap_err();
    assert_eq!(refused.to_string(), "ours:2 demands min-key-bits = 1024: 512");
    // What only the key can tell is no reason to refuse before.
    let sealed = terms("seal-context = \"c\"");
    let (with_context, _) = volume(Some("d"), true);
    assert!(judge(&with_context, &sealed).is_ok());
    let refused = open(&with_context, &sealed).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "ours:1 demands seal-context = (not shown): its seal has another context (seal-context)"
    );
    let mut both = terms("ciphers = [\"aes\"]");
    both.policies.extend(policy("ciphers = [\"serpent\"]"));
    assert!(judge(&storage, &both).is_err(), "all of them must be met");
}

/// `open --test-passphrase`: nothing is opened, and yet a forged header is no success.
#[test]
fn a_key_that_is_only_tried_is_judged_too() {
    let (storage, mut luks) = volume(None, true);
    let terms = Terms { policies: policy("sealed = true\nsize = 1"), ..Terms::default() };
    assert!(admission::check(&again(&storage), None, &terms).is_ok());
    assert!(
        admission::check_key(&again(&storage), None, &terms, &key(), 0).is_ok(),
        "its size is not checked"
    );
    let refused = admission::check_key(&again(&storage), Some(LEN as u64), &terms, &key(), 0)
        .map_err(unmet)
        .unwrap_err();
    assert_eq!(refused.to_string(), "ours:2 demands size = 1: 2097152", "unless it is known");
    let other_key = Secret::copy_from(&[8; 64]);
    let refused = admission::check_key(&again(&storage), None, &terms, &other_key, 0).map_err(unmet);
    assert_eq!(refused, Err(Unmet::Seal(Broken::Forged)));
    // An unbound key is no volume key, and opens nothing.
    let options = AddKey { kdf: pbkdf2(), ..AddKey::default() };
    edit::add_unbound_key(&mut luks, &other_key, &secret("unbound"), &options, &mut OsRandom).unwrap();
    assert!(admission::check_key(&again(&storage), None, &terms, &other_key, 1).is_ok());

    let params = Luks1Params { kdf: pbkdf2(), key_bits: 256, ..Luks1Params::default() };
    let (storage, key) = (Arc::new(Memory::zeroed(LEN)), Secret::copy_from(&[7; 32]));
    create_luks1(storage.clone(), &params, &key, &secret("pass"), &mut OsRandom).unwrap();
    let refused = admission::check_key(&again(&storage), None, &terms, &key, 0).map_err(unmet).unwrap_err();
    assert_eq!(refused.to_string(), "ours:1 demands sealed = true: it is not sealed");
}
