//! The mark of a volume that is to get a volume key of its own at its first boot: an image is built
//! once and written to many machines, whose volumes all have the image's key until then.
//!
//! ```text
//! {"type":"keyway-rekey","keyslots":[],"version":1,"digest_salt":BASE64}
//! digest_salt = the salt of the digest that verifies the key to be replaced
//! ```
//!
//! A token that is bound to no keyslot: cryptsetup keeps it as it is, and lists its type. The salt is
//! 32 random bytes of every new digest, so that a mark names one volume key and no other. Once that key
//! is gone, whoever replaced it, the mark is stale and asks for nothing. [`reencrypt`](crate::reencrypt)
//! removes it in the write of the header that ends a re-encryption.
//!
//! Nothing authenticates a mark. Whoever can write to the storage can add one, which costs a
//! re-encryption's time once, or remove it, and the volume keeps the key of the image.

use crate::change::edit::edit_luks2;
use crate::header::own_token;
use crate::{Header, Luks, Random, Refusal, Result};
use keyway_format::json::{Object, Value};
use keyway_format::luks2::{DigestKind, Metadata};
use keyway_format::{Error, base64};

/// The type of the token.
pub const TYPE: &str = "keyway-rekey";

/// A mark: for the volume key whose digest has this salt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    digest_salt: Vec<u8>,
}

impl Mark {
    /// Parses a token of this type. Only what [`Mark::to_json`] writes is a mark.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(token: &str) -> Result<Self, String> {
        let token = own_token::parse(token, VERSION, &MEMBERS)?;
        let salt = token.get(SALT).and_then(Value::as_str).and_then(base64::decode);
        salt.map(|digest_salt| Self { digest_salt }).ok_or_else(|| format!("it has no {SALT} in base64"))
    }

    /// The token, bound to no keyslot.
    pub fn to_json(&self) -> String {
        let token = Object::new()
            .with("type", TYPE)
            .with("keyslots", Vec::new())
            .with("version", Value::Number(VERSION.into()))
            .with(SALT, base64::encode(&self.digest_salt));
        Value::from(token).to_compact()
    }

    /// The mark for the volume key as it is; while a re-encryption is under way, for the old one.
    fn of_key_to_go(metadata: &Metadata) -> Option<Self> {
        let number = match metadata.reencryption() {
            Ok(Some(under_way)) => under_way.old.digest,
            Ok(None) => metadata.digest_of_segment(0),
            Err(_) => None,
        };
        match &metadata.digests.get(&number?)?.kind {
            DigestKind::Pbkdf2 { salt, .. } => Some(Self { digest_salt: salt.clone() }),
            DigestKind::Other(_) => None,
        }
    }
}

/// What a header says of a first boot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FirstBoot {
    /// It has no mark.
    Unmarked,
    /// The volume waits for another volume key, or is getting it.
    Due,
    /// The mark is for a volume key that was replaced already.
    Stale,
    /// The mark cannot be read, for this reason; a later version may have made it.
    Unreadable(String),
}

impl FirstBoot {
    /// Of this header.
    pub fn of(header: &Header) -> Self {
        let Header::Luks2 { metadata, .. } = header else { return Self::Unmarked };
        let current = Mark::of_key_to_go(metadata);
        let states = marks(metadata).map(|(_, mark)| match mark {
            Ok(mark) if Some(&mark) == current.as_ref() => Self::Due,
            Ok(_) => Self::Stale,
            Err(why) => Self::Unreadable(why),
        });
        // A mark that is due counts beside others.
        states.reduce(|one, other| if one == Self::Due { one } else { other }).unwrap_or(Self::Unmarked)
    }
}

/// Marks a volume: its key is to be replaced at its first boot.
///
/// # Errors
/// [`Refusal::OnlyLuks2`]; no token is free; a digest of a type that this build does not know.
pub fn mark(luks: &mut Luks, rng: &mut dyn Random) -> Result<()> {
    edit_luks2(luks, rng, |_, metadata| {
        let unknown = || Refusal::Unusable.because("no digest of a known type verifies the volume key");
        let mark = Mark::of_key_to_go(metadata).ok_or_else(unknown)?;
        let number = metadata.free_token();
        let number =
            number.ok_or_else(|| Refusal::NoFreeToken.because("No free token slot for the mark."))?;
        Ok(metadata.add_token(number, mark.to_json().as_bytes())?)
    })
}

/// Removes a mark whose volume key was replaced by a program that does not know marks; whether there
/// was one.
///
/// # Errors
/// Those of an edit.
pub fn remove_stale(luks: &mut Luks, rng: &mut dyn Random) -> Result<bool> {
    if FirstBoot::of(luks.header()) != FirstBoot::Stale {
        return Ok(false);
    }
    edit_luks2(luks, rng, |_, metadata| Ok(forget_stale(metadata)?)).map(|()| true)
}

/// Removes every mark whose volume key is not the volume's any more.
pub(crate) fn forget_stale(metadata: &mut Metadata) -> Result<(), Error> {
    let current = Mark::of_key_to_go(metadata);
    let is_stale =
        |mark: &Result<Mark, String>| mark.as_ref().is_ok_and(|mark| Some(mark) != current.as_ref());
    let stale: Vec<u32> =
        marks(metadata).filter(|(_, mark)| is_stale(mark)).map(|(number, _)| number).collect();
    stale.into_iter().try_for_each(|number| metadata.remove_token(number))
}

/// All marks with the numbers of their tokens.
fn marks(metadata: &Metadata) -> impl Iterator<Item = (u32, Result<Mark, String>)> {
    let tokens = metadata.tokens.iter().filter(|(_, token)| token.kind == TYPE);
    tokens.map(|(&number, _)| (number, Mark::parse(&metadata.token_json(number).unwrap_or_default())))
}

const VERSION: &str = "1";
const SALT: &str = "digest_salt";
const MEMBERS: [&str; 4] = ["type", "keyslots", "version", SALT];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::create::{Luks2Params, create_luks2};
    use crate::change::edit::token_import;
    use crate::device::storage::Memory;
    use crate::{Cost, KdfChoice, OsRandom};
    use keyway_crypto::Secret;
    use std::sync::Arc;

    fn volume() -> Luks {
        let kdf = KdfChoice::Pbkdf2 { hash: "sha256".into(), cost: Cost::Forced(1000) };
        let params = Luks2Params { kdf, ..Luks2Params::default() };
        let (storage, key) = (Arc::new(Memory::zeroed(20 << 20)), Secret::copy_from(&[7; 64]));
        create_luks2(storage, &params, &key, &Secret::copy_from(b"pass"), &mut OsRandom).unwrap()
    }

    fn import(luks: &mut Luks, json: &str) {
        token_import(luks, None, json.as_bytes(), &[], false, &mut OsRandom).unwrap();
    }

    fn tokens(luks: &Luks) -> usize {
        let Header::Luks2 { metadata, .. } = luks.header() else { panic!() };
        metadata.tokens.len()
    }

    #[test]
    fn a_mark_reads_as_it_is_written() {
        let mark = Mark { digest_salt: vec![0, 1, 2] };
        let json = r#"{"type":"keyway-rekey","keyslots":[],"version":1,"digest_salt":"AAEC"}"#;
        assert_eq!((mark.to_json(), Mark::parse(json)), (json.to_owned(), Ok(mark)));
    }

    #[test]
    fn a_mark_is_for_one_volume_key() {
        let (mut luks, mut other) = (volume(), volume());
        assert_eq!(FirstBoot::of(luks.header()), FirstBoot::Unmarked);
        mark(&mut luks, &mut OsRandom).unwrap();
        assert_eq!(FirstBoot::of(luks.header()), FirstBoot::Due);
        assert!(!remove_stale(&mut luks, &mut OsRandom).unwrap());

        // The same token in another volume's header is stale, and removed alone.
        let Header::Luks2 { metadata, .. } = luks.header() else { panic!() };
        import(&mut other, &metadata.token_json(0).unwrap());
        import(&mut other, r#"{"type":"a","keyslots":["0"]}"#);
        assert_eq!(FirstBoot::of(other.header()), FirstBoot::Stale);
        assert!(remove_stale(&mut other, &mut OsRandom).unwrap());
        assert_eq!((FirstBoot::of(other.header()), tokens(&other)), (FirstBoot::Unmarked, 1));
    }

    #[test]
    fn a_mark_that_is_due_counts_beside_others() {
        let mut luks = volume();
        import(&mut luks, r#"{"type":"keyway-rekey","keyslots":[],"version":1,"digest_salt":"AAAA"}"#);
        mark(&mut luks, &mut OsRandom).unwrap();
        import(&mut luks, r#"{"type":"keyway-rekey","keyslots":[],"version":2}"#);
        assert_eq!(FirstBoot::of(luks.header()), FirstBoot::Due);
    }

    #[test]
    fn what_cannot_be_read_is_neither_obeyed_nor_removed() {
        for (json, why) in [
            (r#""version":2,"digest_salt":"AAAA""#, "its version is 2, not 1"),
            (r#""digest_salt":"AAAA""#, "it has no version"),
            (r#""version":1"#, "it has no digest_salt in base64"),
            (r#""version":1,"digest_salt":"%""#, "it has no digest_salt in base64"),
            (r#""version":1,"digest_salt":"AAAA","x":0"#, "its member \"x\" is unknown"),
        ] {
            let mut luks = volume();
            import(&mut luks, &format!(r#"{{"type":"keyway-rekey","keyslots":[],{json}}}"#));
            assert_eq!(FirstBoot::of(luks.header()), FirstBoot::Unreadable(why.into()), "{json}");
            assert!(!remove_stale(&mut luks, &mut OsRandom).unwrap());
            assert_eq!(tokens(&luks), 1);
        }
    }
}
