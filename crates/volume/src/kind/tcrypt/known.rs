//! What is known of a volume before its passphrase is: nothing but what its header may be encrypted with.

use super::{Locked, search};
use crate::kind::{Known, Takes, Way, WayCost};
use keyway_crypto::Cascade;
use keyway_format::tcrypt::{Argon2, Cipher, DERIVED_LEN, Kdf, Program, Stretch};

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
