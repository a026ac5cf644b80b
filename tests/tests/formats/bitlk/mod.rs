//! BitLocker volumes that are made from the specification: dislocker, libbde and cryptsetup read the same in them.

mod failing;
mod forged;
mod known;
mod made;
mod partly;
mod peers;
mod program;
mod to_luks;
mod unvouched;
mod vista;

use keyway_crypto::{Cpu, Secret};
use keyway_tests::bitlk::{Bitlk, LEN};
use keyway_tests::random;
use keyway_volume::device::storage::Memory;
use keyway_volume::kind::bitlk::{self, Header, JudgedBitlk};
use keyway_volume::kind::{Found, Judged, Key, Subject};
use keyway_volume::{Result, Storage, UnlockOptions, Volume};
use std::sync::Arc;

/// A volume's plaintext, the same each time: it begins as NTFS does, of which libbde wants to know the size.
fn plaintext() -> Vec<u8> {
    let mut plain = random(7, LEN);
    plain[..13].copy_from_slice(b"\xeb\x52\x90NTFS    \0\x02");
    // All sectors but the last one, which has the first one again.
    plain[40..48].copy_from_slice(&(LEN as u64 / 512 - 1).to_le_bytes());
    plain
}

fn storage(volume: &[u8]) -> Arc<dyn Storage> {
    Arc::new(Memory::from(volume.to_vec()))
}

fn judge(data: &Arc<dyn Storage>) -> Result<JudgedBitlk> {
    judge_for(data, false)
}

fn judge_for(data: &Arc<dyn Storage>, writes: bool) -> Result<JudgedBitlk> {
    judge_as(&bitlk::Bitlk::default(), data, writes)
}

fn judge_as(kind: &bitlk::Bitlk, data: &Arc<dyn Storage>, writes: bool) -> Result<JudgedBitlk> {
    let on = Subject { data, device: "volume", writes, weak_ciphers: false };
    kind.judge_header(Header::read(&**data)?, &on)
}

fn open(data: &Arc<dyn Storage>, key: Key<'_>) -> Result<Found> {
    judge(data)?.open(key, &UnlockOptions::default())
}

fn by_text(data: &Arc<dyn Storage>, text: &str) -> Result<Found> {
    open(data, Key::Passphrase(&secret(text)))
}

fn secret(bytes: impl AsRef<[u8]>) -> Secret {
    Secret::copy_from(bytes.as_ref())
}

/// Whether exactly what the specification makes visible is read.
#[track_caller]
fn assert_shows(data: &Arc<dyn Storage>, found: &Found, plain: &[u8]) {
    let volume = Volume::new(data.clone(), &found.layout, &found.volume_key, Cpu::detect()).unwrap();
    let mut read = vec![0; volume.len() as usize];
    volume.read_at(&mut read, 0).unwrap();
    let visible = Bitlk::visible(plain);
    let differs = read.iter().zip(&visible).position(|(read, visible)| read != visible);
    assert_eq!((read.len(), differs), (visible.len(), None), "lengths, and where they differ");
}

/// What opening it is refused with.
fn refusal(data: &Arc<dyn Storage>, text: &str) -> String {
    by_text(data, text).map_or_else(|error| error.to_string(), |_| "opened".into())
}
