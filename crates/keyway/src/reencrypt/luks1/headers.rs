//! The headers that LUKS1 volumes have afterwards, each in a file of its own.

use super::{KEEP_IT, Luks1Files};
use crate::reencrypt::Reencrypt;
use crate::reencrypt::begin::{Wanted, passphrase_for};
use crate::{Error, Header, Key, Result, VolumeKey};
use keyway_crypto::Secret;
use keyway_format::luks1::{self, KeyslotLayout};
use keyway_volume::change::create::{Luks1Params, create_luks1};
use keyway_volume::change::edit::{AddKey, add_key};
use keyway_volume::device::storage::File;
use keyway_volume::{Access, Cost, KdfChoice, Luks, OsRandom, Storage};
use std::path::PathBuf;
use std::sync::Arc;

/// The header of plaintext that becomes a volume.
pub(super) fn first_header(
    how: &Reencrypt,
    key: &Key,
    (keyslot, uuid): (u32, Option<&str>),
    files: &Luks1Files,
) -> Result<(Luks, Secret)> {
    let default = Luks1Params::default();
    let (cipher, bits) = how.cipher.clone().unwrap_or((default.cipher.clone(), default.key_bits));
    let hash = how.keyslot.hash_name().unwrap_or(default.hash.clone());
    let volume_key = match &how.new_key {
        Some(given) => Secret::copy_from(given.0.expose()),
        None => keyway_volume::change::create::random_volume_key(bits, &mut OsRandom)?,
    };
    let passphrase = how.keyslot.read_new(key)?;
    let params = Luks1Params {
        cipher,
        key_bits: bits,
        kdf: how.keyslot.kdf_choice().unwrap_or(default.kdf.clone()),
        hash,
        payload_offset: Some(how.data_shift / 512),
        uuid: uuid.map(str::to_owned),
        detached: true,
        keyslot: Some(keyslot),
        ..default
    };
    // Under its name it is whole: an attempt that was cut off is gone on with.
    let draft = files.new_draft();
    let _ = std::fs::remove_file(&draft);
    let luks = create_luks1(create_file(draft.clone())?, &params, &volume_key, &passphrase, &mut OsRandom)?;
    let io = |source| keyway_volume::Error::Io {
        what: format!("writing {}", files.new_header().display()),
        source,
    };
    std::fs::rename(draft, files.new_header()).and_then(|()| files.sync()).map_err(io)?;
    Ok((luks, volume_key))
}

/// The header that an earlier attempt has made for the plaintext, and of which nothing says how far that got: only
/// what makes the same of it goes on.
pub(super) fn left_header(
    how: &Reencrypt,
    key: &Key,
    uuid: Option<&str>,
    files: &Luks1Files,
) -> Result<(Luks, Secret)> {
    let path = files.new_header();
    let keep = |why: &str| Error::refused(format!("{}{KEEP_IT}. {why}", path.display()));
    let luks = files.open(path.clone(), Access::Read)?;
    let keyway_volume::Header::Luks1(header) = luks.header() else { return Err(keep("It is LUKS2")) };
    let default = Luks1Params::default();
    let (cipher, bits) = how.cipher.clone().unwrap_or((default.cipher, default.key_bits));
    let wanted = (cipher, bits, how.data_shift / 512);
    let is_as_wanted = wanted == (header.cipher(), header.key_bytes * 8, header.payload_offset.0)
        && uuid.is_none_or(|uuid| uuid == header.uuid);
    if !is_as_wanted {
        return Err(keep("It was begun with other options: resume with those"));
    }
    let passphrase = key.read_passphrase()?;
    let found = keyway_volume::unlock(&luks, &passphrase, &keyway_volume::UnlockOptions::default());
    let found = found.map_err(|why| keep(&format!("It resumes only with its own passphrase: {why}")))?;
    let is_given = how.new_key.as_ref().is_none_or(|given| given.0.ct_eq(found.volume_key.expose()));
    match is_given {
        true => Ok((luks, found.volume_key)),
        false => Err(keep("Its volume key is not the one that was given")),
    }
}

/// The header of a volume that gets another key, with a keyslot for each of `keys`, under its number.
pub(super) fn new_header(
    header: &Header,
    how: &Reencrypt,
    keys: &[(VolumeKey, Key)],
    files: &Luks1Files,
) -> Result<(Luks, Secret)> {
    let keyway_volume::Header::Luks1(old) = header.luks.header() else {
        return Err(Error::refused("this is LUKS2"));
    };
    let first = &keys[0].0;
    let wanted = Wanted::new(header, how, first)?;
    check_room(old, how.data_shift, wanted.key.as_ref().map_or(old.key_bytes, |key| key.len() as u32))?;
    let volume_key = wanted.key.unwrap_or_else(|| Secret::copy_from(first.secret.expose()));
    let hash = how.keyslot.hash_name().unwrap_or_else(|| Luks1Params::default().hash);
    let mut luks: Option<Luks> = None;
    for (found, key) in keys {
        let slot = found.keyslot().unwrap_or(0);
        let passphrase = passphrase_for(header, how, found.keyslot(), key)?;
        let same =
            KdfChoice::Pbkdf2 { hash: hash.clone(), cost: Cost::Forced(old.slots[slot as usize].iterations) };
        let kdf = how.keyslot.kdf_choice().unwrap_or(same);
        match &mut luks {
            Some(luks) => {
                let options = AddKey { keyslot: Some(slot), kdf, weak_cipher_too: true, ..AddKey::default() };
                add_key(luks, &volume_key, &passphrase, &options, &mut OsRandom)?;
            }
            None => {
                let params = Luks1Params {
                    cipher: wanted.cipher.clone(),
                    key_bits: volume_key.len() as u32 * 8,
                    hash: hash.clone(),
                    kdf,
                    payload_offset: Some(old.payload_offset.0 + how.data_shift / 512),
                    uuid: Some(old.uuid.clone()),
                    detached: true,
                    keyslot: Some(slot),
                    ..Luks1Params::default()
                };
                let file = create_file(files.new_header())?;
                luks = Some(create_luks1(file, &params, &volume_key, &passphrase, &mut OsRandom)?);
            }
        }
    }
    match luks {
        Some(luks) => Ok((luks, volume_key)),
        None => Err(Error::no_key()),
    }
}

/// Keyslots are as long as their volume key asks for, and lie before the data.
fn check_room(old: &luks1::Header, shift: u64, key_bytes: u32) -> Result<()> {
    let (end, start) = (KeyslotLayout::new(key_bytes).end.0 * 512, old.payload_offset.0 * 512);
    if start > 0 && end > start + shift {
        return Err(Error::refused(format!(
            "the keyslots of a {}-bit key end at byte {end}, but the data starts at byte {}: --reduce-device-size \
             moves it back",
            key_bytes * 8,
            start + shift
        )));
    }
    Ok(())
}

fn create_file(path: PathBuf) -> keyway_volume::Result<Arc<dyn Storage>> {
    let io = |source| keyway_volume::Error::Io { what: format!("creating {}", path.display()), source };
    Ok(Arc::new(File::create_new(&path).map_err(io)?))
}
