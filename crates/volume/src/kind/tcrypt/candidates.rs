//! What a header may be encrypted with, as far as the user narrows it.

use super::{Programs, Tcrypt};
use crate::{Refusal, Result};
use keyway_format::tcrypt::{CIPHERS, Cipher, KDFS, Kdf, Position, Program, Stretch};

/// KDFs in the order in which they are tried, and ciphers.
pub(super) struct Candidates {
    kdfs: Vec<(&'static Kdf, Stretch)>,
    ciphers: Vec<&'static Cipher>,
}

impl Candidates {
    /// Those that the user leaves.
    ///
    /// # Errors
    /// None are left.
    pub(super) fn new(of: &Tcrypt) -> Result<Self> {
        if of.pim.is_some() && of.programs == Programs::TrueCrypt {
            return refuse("a PIM is for VeraCrypt, but only TrueCrypt's headers are tried");
        }
        let contains =
            |name: &str, wanted: &Option<String>| wanted.as_ref().is_none_or(|w| name.contains(&**w));
        let kdfs: Vec<_> = KDFS
            .iter()
            .filter(|kdf| of.programs.include(kdf.program) && contains(kdf.name, &of.hash))
            .filter(|kdf| of.is_system() || !kdf.boot)
            .filter_map(|kdf| Some((kdf, kdf.stretch(of.pim)?)))
            .collect();
        let is_tried = |cipher: &&Cipher| kdfs.iter().any(|(kdf, _)| cipher.is_of(kdf.program));
        let ciphers: Vec<_> =
            CIPHERS.iter().filter(|cipher| contains(cipher.chain, &of.cipher)).filter(is_tried).collect();
        if kdfs.is_empty() {
            let known =
                listed(KDFS.iter().filter(|kdf| of.programs.include(kdf.program)).map(|kdf| kdf.name));
            return refuse(format!(
                "no such header uses the KDF \"{}\": they use {known}",
                of.hash.as_deref().unwrap_or("")
            ));
        }
        if ciphers.is_empty() {
            let known = listed(CIPHERS.iter().map(|cipher| cipher.chain));
            let wanted = of.cipher.as_deref().unwrap_or("");
            return refuse(format!("no such header uses the cipher \"{wanted}\": they use {known}"));
        }
        Ok(Self { kdfs, ciphers })
    }

    /// The KDFs that a header there may have used, with a password of this length.
    pub(super) fn kdfs(
        &self,
        position: Position,
        len: usize,
    ) -> impl Iterator<Item = (&'static Kdf, Stretch)> {
        // VeraCrypt never had a hidden volume's header where TrueCrypt 5 had it.
        let truecrypt_alone = position == Position::OldHidden;
        self.kdfs.iter().copied().filter(move |(kdf, _)| match kdf.program {
            Program::TrueCrypt => len <= Program::TrueCrypt.longest(),
            Program::VeraCrypt => !truecrypt_alone,
        })
    }

    /// The ciphers of that program.
    pub(super) fn ciphers(&self, program: Program) -> impl Iterator<Item = &'static Cipher> {
        self.ciphers.iter().copied().filter(move |cipher| cipher.is_of(program))
    }

    /// All of them that a KDF is left for.
    pub(super) fn all_ciphers(&self) -> &[&'static Cipher] {
        &self.ciphers
    }

    /// The program that takes the longest passphrases.
    pub(super) fn latest(&self) -> Program {
        let any = self.kdfs.iter().any(|(kdf, _)| kdf.program == Program::VeraCrypt);
        if any { Program::VeraCrypt } else { Program::TrueCrypt }
    }
}

impl Programs {
    fn include(self, program: Program) -> bool {
        match self {
            Self::Both => true,
            Self::TrueCrypt => program == Program::TrueCrypt,
            Self::VeraCrypt => program == Program::VeraCrypt,
        }
    }
}

/// Names without repetition, separated by commas.
fn listed(names: impl Iterator<Item = &'static str>) -> String {
    let mut known: Vec<&str> = Vec::new();
    for name in names {
        if !known.contains(&name) {
            known.push(name);
        }
    }
    known.join(", ")
}

fn refuse<T>(why: impl Into<String>) -> Result<T> {
    Err(Refusal::Unusable.because(why))
}
