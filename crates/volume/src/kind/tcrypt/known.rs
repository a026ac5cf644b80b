//! What is known of a volume before its passphrase is: nothing but what its header may be encrypted with.

use super::candidates::Candidates;
use super::{Locked, Place, layout, search};
use crate::Result;
use crate::kind::{Convertible, Known, Takes, Way, WayCost};
use keyway_crypto::{Cascade, CascadeMode};
use keyway_format::Bytes;
use keyway_format::tcrypt::{
    Argon2, Cipher, DERIVED_LEN, DataArea, Kdf, Program, SECTOR, Stretch, data_of_new,
};

impl Locked {
    /// What is tried, in order.
    pub(super) fn known(&self) -> Known {
        let mut ways: Vec<Way> = Vec::new();
        for header in &self.headers {
            // Passphrases that are too long for TrueCrypt are not tried by its KDFs: the rule is for a short one.
            for (kdf, stretch) in self.candidates.kdfs(header.position, 0) {
                let way = way(kdf, stretch, self.candidates.ciphers(kdf.program).next());
                match ways.iter_mut().find(|known| known.name == way.name) {
                    Some(known) => known.headers += 1,
                    None => ways.push(way),
                }
            }
        }
        let name = |cipher: &&Cipher| format!("{}-{}", cipher.chain, cipher.mode_name());
        Known { ways, ciphers: self.candidates.all_ciphers().iter().map(name).collect() }
    }
}

/// Of an outer volume as TrueCrypt 6 and later and VeraCrypt make it: XTS, between headers at both ends.
pub(super) fn convertible(candidates: &Candidates, device_len: u64) -> Result<Convertible> {
    let data = data_of_new(device_len, SECTOR as u32)?;
    let area = DataArea {
        offset: Bytes(data.start),
        len: Some(Bytes(data.end - data.start)),
        first: data.start / SECTOR,
    };
    let in_xts = candidates.all_ciphers().iter().filter(|cipher| cipher.mode == CascadeMode::Xts);
    let layouts = in_xts.map(|cipher| layout::layout(area, cipher, Place::default(), device_len));
    Ok(Convertible { layouts: layouts.collect::<Result<_>>()?, key_len: KEY_LEN })
}

/// Two keys of 256 bits, as all ciphers of theirs have in XTS.
const KEY_LEN: usize = 64;

/// A KDF. The likeliest cipher's keys tell whether a guess is right.
fn way(kdf: &Kdf, stretch: Stretch, cipher: Option<&Cipher>) -> Way {
    let cost = match stretch {
        Stretch::Pbkdf2 { hash, iterations } => {
            let telling = cipher.and_then(|it| Cascade::key_len(it.chain, it.mode).ok());
            WayCost::Pbkdf2 {
                hash,
                iterations,
                derived: DERIVED_LEN,
                telling: telling.unwrap_or(DERIVED_LEN),
            }
        }
        Stretch::Argon2id(Argon2 { passes, memory_kib }) => WayCost::Argon2id { passes, memory_kib },
    };
    let program = match kdf.program {
        Program::TrueCrypt => "TrueCrypt",
        Program::VeraCrypt => "VeraCrypt",
    };
    let boot = if kdf.boot { " (boot)" } else { "" };
    let name = format!("{program} {}{boot}", kdf.name);
    Way { parts: search::parts(stretch), ..Way::new(name, Takes::Passphrase, cost) }
}
