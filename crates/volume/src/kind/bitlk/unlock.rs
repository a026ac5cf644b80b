//! From a secret to the volume key.
//!
//! A text is tried on the protectors that it can be for, side by side: one of the form of a recovery password on those of
//! recovery passwords and passphrases, any other on those of passphrases. The volume master key that a protector gives
//! up unwraps the volume key, after it vouched for every byte of the metadata.

use super::Header;
use crate::kind::Key;
use crate::{Error, Refusal, Result, UnlockOptions};
use keyway_crypto::kdf::{STRETCH_ROUNDS, stretch};
use keyway_crypto::{Cpu, Secret, Stop};
use keyway_format::bitlk::{
    Protection, Protector, RecoveryPassword, StartupKey, passphrase_digest, recovery_digest,
};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// What opened a volume, and its key.
pub struct Unlocked {
    /// The number of the protector; `None` where the volume key itself was given.
    pub protector: Option<usize>,
    /// The volume key.
    pub volume_key: Secret,
    /// The key that it is wrapped with; `None` where the volume key itself was given.
    pub(super) master_key: Option<Secret>,
}

/// Finds the volume key.
///
/// # Errors
/// [`Error::WrongPassphrase`]; [`Error::NoUsableKeyslot`] if there is no protector that such a secret is for;
/// [`Error::WrongVolumeKey`]; a recovery password's group is wrong; the metadata are not what their digest says.
pub(super) fn unlock(header: &Header, key: Key<'_>, options: &UnlockOptions) -> Result<Unlocked> {
    match key {
        Key::Volume(key) if 8 * key.len() == header.metadata.encryption.key_bits() => {
            let volume_key = Secret::copy_from(key.expose());
            Ok(Unlocked { protector: None, volume_key, master_key: None })
        }
        Key::Volume(_) => Err(Error::WrongVolumeKey),
        Key::File(file) if StartupKey::is_likely(file.expose()) => with_startup_key(header, file),
        Key::File(text) | Key::Passphrase(text) => with_text(header, text, options),
    }
}

/// With the key that the header holds in the clear; `None` where a secret is to be asked for.
///
/// # Errors
/// No secret that can be asked for opens it: a TPM or smart card is needed. The metadata are not what their digest says.
pub(super) fn without_secret(header: &Header) -> Result<Option<Unlocked>> {
    for (number, protector) in protectors(header, Protection::ClearKey) {
        let Some(key) = &protector.clear_key else { continue };
        if let Some(master_key) = master_key(protector, &key.bytes)? {
            return volume_key(header, number, &master_key).map(Some);
        }
    }
    let secrets = [Protection::Passphrase, Protection::RecoveryPassword, Protection::StartupKey];
    if has_one_of(header, &secrets) { Ok(None) } else { Err(unusable(header)) }
}

fn with_startup_key(header: &Header, file: &Secret) -> Result<Unlocked> {
    let startup = StartupKey::parse(file.expose())?;
    let mut own = header.metadata.protectors.iter().enumerate();
    let Some((number, protector)) = own.find(|(_, protector)| protector.guid == startup.protector) else {
        let why =
            format!("the start-up key is for the protector {}, which the volume lacks", startup.protector);
        return Err(Refusal::Unusable.because(why));
    };
    if protector.protection != Protection::StartupKey {
        let why =
            format!("protector {number} needs more than a start-up key ({})", protector.protection.name());
        return Err(Refusal::Unusable.because(why));
    }
    match master_key(protector, &startup.key.bytes)? {
        Some(master_key) => volume_key(header, number, &master_key),
        None => Err(Error::WrongPassphrase),
    }
}

fn with_text(header: &Header, text: &Secret, options: &UnlockOptions) -> Result<Unlocked> {
    let mut attempts = Vec::new();
    let mut mistyped = None;
    let mut are_tried = |protection, digest: Secret| {
        let chosen = protectors(header, protection).filter(|(number, _)| is_chosen(options, *number));
        attempts.extend(chosen.map(|(number, protector)| Attempt {
            number,
            protector,
            digest: Secret::copy_from(digest.expose()),
        }));
    };
    match RecoveryPassword::parse(text) {
        RecoveryPassword::Key(key) => are_tried(Protection::RecoveryPassword, recovery_digest(&key)),
        RecoveryPassword::Mistyped(why) => mistyped = Some(why),
        RecoveryPassword::Not => {}
    }
    if let Some(digest) = passphrase_digest(text) {
        are_tried(Protection::Passphrase, digest);
    }
    if !has_one_of(header, &[Protection::Passphrase, Protection::RecoveryPassword]) {
        return Err(unusable(header));
    }
    match side_by_side(&attempts, options)? {
        Some((number, master_key)) => volume_key(header, number, &master_key),
        None => Err(mistyped.map_or(Error::WrongPassphrase, Error::from)),
    }
}

fn has_one_of(header: &Header, protections: &[Protection]) -> bool {
    header.metadata.protectors.iter().any(|protector| protections.contains(&protector.protection))
}

fn is_chosen(options: &UnlockOptions, number: usize) -> bool {
    options.keyslot.is_none_or(|chosen| chosen as usize == number)
}

/// No protector takes a passphrase or recovery password: which there are.
fn unusable(header: &Header) -> Error {
    let names: Vec<&str> =
        header.metadata.protectors.iter().map(|protector| protector.protection.name()).collect();
    match &names[..] {
        [] => Error::NoUsableKeyslot,
        names => Refusal::Unusable
            .because(format!("the volume has no passphrase; it is protected by: {}", names.join(", "))),
    }
}

/// A protector that a text may be for.
struct Attempt<'a> {
    number: usize,
    protector: &'a Protector,
    digest: Secret,
}

impl Attempt<'_> {
    fn run(&self, stop: &Stop) -> Result<Option<Secret>> {
        master_key(self.protector, &stretched(&self.digest, &self.protector.salt, stop)?)
    }
}

/// What opens a protector: the digest of its secret, stretched.
pub(super) fn stretched(digest: &Secret, salt: &[u8; 16], stop: &Stop) -> Result<Secret> {
    let mut key = Secret::zeroed(32);
    if let (Some(digest), Some(key)) = (digest.expose().first_chunk(), key.expose_mut().first_chunk_mut()) {
        stretch(Cpu::detect(), digest, salt, STRETCH_ROUNDS, key, stop)?;
    }
    Ok(key)
}

/// Runs the attempts on as many threads as `options` let it have; after one that succeeds none is begun.
fn side_by_side(attempts: &[Attempt<'_>], options: &UnlockOptions) -> Result<Option<(usize, Secret)>> {
    let (next, never) = (AtomicUsize::new(0), Stop::new());
    let stop = options.stop.as_deref().unwrap_or(&never);
    let outcome = Mutex::new(Ok(None));
    let work = || {
        while let Some(attempt) = attempts.get(next.fetch_add(1, Ordering::Relaxed)) {
            let found = attempt.run(stop).map(|key| key.map(|key| (attempt.number, key)));
            if !matches!(found, Ok(None)) {
                next.store(attempts.len(), Ordering::Relaxed);
                let mut outcome = outcome.lock().unwrap_or_else(PoisonError::into_inner);
                if !matches!(*outcome, Ok(Some(_))) {
                    *outcome = found;
                }
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..options.threads.min(attempts.len()) {
            // Where no thread can be started, this one does the work.
            let _ = std::thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
    outcome.into_inner().unwrap_or_else(PoisonError::into_inner)
}

fn protectors(header: &Header, protection: Protection) -> impl Iterator<Item = (usize, &Protector)> {
    let all = header.metadata.protectors.iter().enumerate();
    all.filter(move |(_, protector)| protector.protection == protection)
}

/// The volume master key, if `key` is what the protector wrapped it with.
fn master_key(protector: &Protector, key: &Secret) -> Result<Option<Secret>> {
    for wrapped in &protector.wrapped {
        if let Some(master_key) = wrapped.unwrap(key, Cpu::detect())? {
            return Ok(Some(master_key.bytes));
        }
    }
    Ok(None)
}

fn volume_key(header: &Header, number: usize, master_key: &Secret) -> Result<Unlocked> {
    let cpu = Cpu::detect();
    if header.needs_digest() && !header.metadata.is_vouched_for(master_key, cpu)? {
        return Err(Refusal::Forged.because(
            "somebody without the key has changed the BitLocker metadata: the volume master key does not \
             authenticate them",
        ));
    }
    let volume_key = header.metadata.unwrap_volume_key(master_key, cpu)?;
    let master_key = Secret::copy_from(master_key.expose());
    Ok(Unlocked { protector: Some(number), volume_key, master_key: Some(master_key) })
}
