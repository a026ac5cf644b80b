//! Which volumes may be opened, judged by their headers before a key is asked for: rules that hold for all, policies that a
//! program demands, and seals. [`Device::admit`](crate::Device::admit) judges all of it; this is for programs that say what
//! was judged, and why (feature `parts`).
//!
//! ```
//! # use keyway::*;
//! use keyway::trust::{self, Verdict};
//! # let key = Key::passphrase("correct horse");
//! # let device = Create::luks2().kdf(NewKdf::pbkdf2(1000)).in_memory(1 << 20, &key)?;
//! let policy = trust::policy("fleet", b"formats = [\"luks2\"]\nsealed = true").unwrap();
//! assert_eq!(trust::policy("fleet", b"formats").unwrap_err().line, 1);
//! let terms = parts::Terms { policies: vec![policy], ..parts::Terms::default() };
//!
//! let header = device.header()?;
//! let audit = trust::audit(&terms, header.luks(), trust::DataDevice { len: device.len(), holds_header: true }, None);
//! assert_eq!(audit.unwrap().count(Verdict::Violated), 1);
//! assert!(trust::check_header(header.luks(), &terms).is_err());
//! assert!(matches!(trust::check_seal(header.luks(), None), Ok(())));
//! # Ok::<(), keyway::Error>(())
//! ```

use crate::Result;
use crate::facts::SealState;
use keyway_crypto::Secret;
use keyway_volume::header::seal::Seal;
use keyway_volume::trust::admission;
use keyway_volume::trust::policy::{self, Policy, Subject};
use keyway_volume::{Luks, Terms};

/// The length of the data device, and whether the header is on it: what a header is judged with.
pub use keyway_volume::DataDevice;
/// Why a seal does not hold: from [`check_seal`], and in [`Unmet`].
pub use keyway_volume::header::seal::Broken;
/// The result of each demand: from [`audit`].
pub use keyway_volume::trust::admission::Audit;
/// What lifts a rule: from [`Rule`].
pub use keyway_volume::trust::admission::Exemption;
/// What speaks against a volume: from [`check`], and in [`parts::Error::NotAdmitted`](crate::parts::Error::NotAdmitted).
pub use keyway_volume::trust::admission::Finding;
/// A policy that is demanded: from [`policy`](fn@policy), for [`Terms`].
pub use keyway_volume::trust::admission::Required;
/// The rule that a volume breaks: a field of [`Finding`].
pub use keyway_volume::trust::admission::Rule;
/// Which demand a volume does not meet: in [`parts::Error::Unmet`](crate::parts::Error::Unmet).
pub use keyway_volume::trust::admission::Unmet;
/// What a demand found: a row of an [`Audit`], and in [`Unmet`].
pub use keyway_volume::trust::policy::Judgement;
/// Why a text is no policy: from [`policy`](fn@policy).
pub use keyway_volume::trust::policy::Unreadable;
/// Whether a demand is met: a field of [`Judgement`].
pub use keyway_volume::trust::policy::Verdict;

/// The longest policy, in bytes.
pub const LONGEST_POLICY: usize = policy::MAX_LEN;

/// The policy in this text; `name` is for messages. See [`trust`](self) for an example.
///
/// # Errors
/// It is none.
pub fn policy(name: &str, text: &[u8]) -> Result<Required, Unreadable> {
    Ok(Required { name: name.to_owned(), policy: Policy::parse(text)? })
}

/// The policy that demands a seal, and no more. See [`trust`](self) for an example of one.
pub fn sealed_policy(name: &str) -> Required {
    Required { name: name.to_owned(), policy: Policy::sealed() }
}

/// What becomes of each demand on the volume with this header, by what is known of its key; `None` if the terms make no
/// demands. See [`trust`](self) for an example.
pub fn audit(terms: &Terms, luks: &Luks, data: DataDevice, key: Option<&Secret>) -> Option<Audit> {
    Audit::of(&terms.policies, luks, data, subject(luks, Some(data.len), key))
}

/// Judges a header whose keys are only tried, and returns what the terms tolerate in it. See [`trust`](self) for an
/// example.
///
/// # Errors
/// Those of [`Device::admit`](crate::Device::admit) about headers.
pub fn check(luks: &Luks, data: Option<DataDevice>, terms: &Terms) -> Result<Vec<Finding>> {
    Ok(admission::check(luks, data, terms)?)
}

/// Judges a header whose volume key is given out or gets another keyslot, before the key is asked for. See
/// [`trust`](self) for an example.
///
/// # Errors
/// A demand is not met.
pub fn check_header(luks: &Luks, terms: &Terms) -> Result<()> {
    Ok(admission::check_header(luks, terms)?)
}

/// Judges a header together with a volume key that this digest has verified. See [`trust`](self) for an example without.
///
/// # Errors
/// A demand is not met, or the header was not sealed with that key.
pub fn check_key(
    luks: &Luks,
    data: Option<DataDevice>,
    terms: &Terms,
    key: &Secret,
    digest: u32,
) -> Result<()> {
    Ok(admission::check_key(luks, data.map(|data| data.len), terms, key, digest)?)
}

/// Whether the header says what its seal vouches for, on a data device of this length if that is known. One that has no
/// seal does. See [`trust`](self) for an example.
///
/// # Errors
/// Why it does not.
pub fn check_seal(luks: &Luks, data_len: Option<u64>) -> Result<(), Broken> {
    Seal::check(luks.header(), data_len)
}

/// Whether it has a seal, be it one that cannot be read. See [`trust`](self) for an example.
pub fn is_sealed(luks: &Luks) -> bool {
    !matches!(Seal::of(luks.header()), Ok(None))
}

/// Whether its seal is bound to a context, which is not in the header. See [`trust`](self) for an example.
pub fn seal_has_context(luks: &Luks) -> bool {
    matches!(Seal::of(luks.header()), Ok(Some(seal)) if seal.has_context())
}

/// Whether its seal was made with this volume key, whatever the header says now; `None` if it has none that can be read.
/// See [`trust`](self) for an example.
pub fn is_sealed_with(luks: &Luks, key: &Secret) -> Option<bool> {
    Seal::of(luks.header()).ok().flatten().map(|seal| seal.is_made_with(key))
}

/// As [`Header::seal_state`](crate::Header::seal_state), of a header that the caller has opened. See there for an example.
pub fn seal_state(luks: &Luks, data_len: u64, key: Option<&Secret>, context: Option<&str>) -> SealState {
    SealState::of(subject(luks, Some(data_len), key), context)
}

fn subject<'a>(luks: &'a Luks, data_len: Option<u64>, volume_key: Option<&'a Secret>) -> Subject<'a> {
    Subject { header: luks.header(), data_len, volume_key }
}
