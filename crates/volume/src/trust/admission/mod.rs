//! Admission: decides whether the volume that a header describes may be opened. It judges the same
//! copy of the header that is then used for everything.
//!
//! LUKS metadata is not authenticated: an attacker with write access to the storage can make it say
//! that the data is not encrypted at all (CVE-2025-59054, CVE-2025-58356). So a volume can only be
//! opened through this module, in two steps:
//!
//! ```text
//! Luks ──Admitted::judge──▶ Admitted ──Admitted::open──▶ Opened ──▶ Layout, volume key
//!        before anybody is asked        the key is there
//! ```
//!
//! In the middle of a re-encryption a volume has segments with two keys, with shifted IVs, or that are
//! not encrypted: that is judged by the state that the segments must show, and by the digest with which
//! the volume keys vouch for the re-encryption ([`crate::reencrypt`]).
//!
//! Only an [`Opened`] gives out the [`Layout`] of a header, and without a layout there is no
//! [`Volume`](crate::Volume), no kernel table and no front end.

mod audit;
mod demands;
mod rules;

pub use crate::error::{Exemption, Finding, Rule, Unmet};
pub use audit::Audit;
pub use demands::Required;

use crate::data::volume::Keys;
use crate::keyslot::area_cipher::Areas;
use crate::reencrypt::{self, Hold, Purpose, Ready, VolumeKeys};
use crate::trust::policy::Subject;
use crate::{DataDevice, Error, Header, Layout, Luks, Random, Result, Storage, UnderWay};
use keyway_crypto::{CipherSpec, Secret};
use keyway_format::luks2::{Keyslot, KeyslotKind};
use std::sync::Arc;

/// The risks that the user explicitly accepts, and additional demands on the volume.
#[derive(Debug, Clone, Default)]
pub struct Terms {
    /// Ciphers that hide little or nothing, and keys that can be guessed.
    pub weak_ciphers: bool,
    /// Segments that are not encrypted.
    pub linear_segments: bool,
    /// A seal that does not match.
    pub ignore_seal: bool,
    /// The context that the volume was sealed with: there must be a seal, and it must have this
    /// context.
    pub seal_context: Option<String>,
    /// The policies that the volume must meet.
    pub policies: Vec<Required>,
}

impl Terms {
    /// Whether a header with this finding may be opened.
    fn take(&self, finding: &Finding) -> bool {
        match finding.rule.exemption() {
            Some(Exemption::WeakCiphers) => self.weak_ciphers,
            Some(Exemption::LinearSegments) => self.linear_segments,
            Some(Exemption::Vista) | None => false,
        }
    }
}

/// A header that may be opened.
pub struct Admitted {
    luks: Luks,
    layout: Layout,
    data: Option<DataDevice>,
    terms: Terms,
    tolerated: Vec<Finding>,
    under_way: Option<UnderWay>,
}

impl Admitted {
    /// Judges the header, before any key is asked for. `data` is `None` where the data is not
    /// touched: when a passphrase is only tested, or the key of an existing mapping is restored.
    ///
    /// # Errors
    /// [`Error::NotAdmitted`] with the rule that it breaks, [`Error::Unmet`] with the seal or
    /// demand that it does not meet, or the reason why it cannot be opened at all.
    pub fn judge(luks: Luks, data: Option<DataDevice>, terms: &Terms) -> Result<Self> {
        let (tolerated, under_way) = check_as(&luks, data, terms)?;
        let layout = layout_of(&luks, under_way.as_ref())?;
        Ok(Self { layout, luks, data, terms: terms.clone(), tolerated, under_way })
    }

    /// The header.
    pub fn luks(&self) -> &Luks {
        &self.luks
    }

    /// The re-encryption that is under way.
    pub fn under_way(&self) -> Option<&UnderWay> {
        self.under_way.as_ref()
    }

    /// The findings that the user's terms permitted.
    pub fn tolerated(&self) -> &[Finding] {
        &self.tolerated
    }

    /// Continues with the volume key that `digest` has verified.
    ///
    /// # Errors
    /// [`Error::NotAdmitted`] for a key that can be guessed, or that is not the key of the
    /// segments; [`Error::Unmet`] for a key that the header was not sealed with; those of
    /// [`Admitted::open_with`].
    pub fn open(self, volume_key: Secret, digest: u32) -> Result<Opened> {
        self.open_with(volume_key, digest, None)
    }

    /// As [`Admitted::open`]; a volume whose key is being replaced by another has a second one.
    ///
    /// # Errors
    /// Those of [`Admitted::open`]; [`Error::WrongVolumeKey`] where a key is missing;
    /// [`Refusal::Forged`](crate::Refusal::Forged) for a re-encryption that the keys do not vouch for.
    pub fn open_with(self, volume_key: Secret, digest: u32, second: Option<SecondKey>) -> Result<Opened> {
        let Self { luks, layout, data, terms, under_way, .. } = self;
        let data_len = data.map(|data| data.len);
        let Some(under_way) = under_way else {
            check_to_open_as(&luks, &layout, data_len, &terms, &volume_key, digest)?;
            let (second, under_way, hold) = (None, None, None);
            return Ok(Opened { luks, layout, data, volume_key, digest, second, under_way, hold });
        };
        let digests = (under_way.first_digest(), under_way.second_digest());
        if digests != (Some(digest), second.as_ref().map(|second| second.digest)) {
            return Err(Error::WrongVolumeKey);
        }
        let opened = Opened {
            luks,
            layout,
            data,
            volume_key,
            digest,
            second,
            under_way: Some(under_way.clone()),
            hold: None,
        };
        opened.reencryption_keys(&under_way).verify(reencrypt::metadata(&opened.luks)?, under_way.what())?;
        for key in std::iter::once(&opened.volume_key).chain(opened.second_key()) {
            // The seal is of one key, and of a header without a re-encryption.
            terms.check_demands(Subject { header: opened.luks.header(), data_len, volume_key: Some(key) })?;
        }
        let found = rules::findings_of_keys(&opened.layout, &opened.keys());
        match found.into_iter().find(|finding| !terms.take(finding)) {
            Some(finding) => Err(Error::NotAdmitted(finding)),
            None => Ok(opened),
        }
    }
}

/// What [`Admitted::open`] checks, for a volume that is not opened: one that is to be sealed.
///
/// # Errors
/// As [`Admitted::open`].
pub fn check_to_open(luks: &Luks, data_len: u64, terms: &Terms, key: &Secret, digest: u32) -> Result<()> {
    check_to_open_as(luks, &luks.header().layout()?, Some(data_len), terms, key, digest)
}

fn check_to_open_as(
    luks: &Luks,
    layout: &Layout,
    data_len: Option<u64>,
    terms: &Terms,
    key: &Secret,
    digest: u32,
) -> Result<()> {
    terms.check_demands(Subject { header: luks.header(), data_len, volume_key: Some(key) })?;
    let found = rules::findings_of_key(luks.header(), layout, key, digest);
    match found.into_iter().find(|finding| !terms.take(finding)) {
        Some(finding) => Err(Error::NotAdmitted(finding)),
        None => Ok(()),
    }
}

/// A volume that may be used: its header was judged, and its key is known.
pub struct Opened {
    luks: Luks,
    layout: Layout,
    data: Option<DataDevice>,
    volume_key: Secret,
    digest: u32,
    second: Option<SecondKey>,
    under_way: Option<UnderWay>,
    hold: Option<Arc<Hold>>,
}

/// The key that replaces the volume key, while a re-encryption is under way.
pub struct SecondKey {
    /// The key.
    pub key: Secret,
    /// The digest that verified it.
    pub digest: u32,
}

impl Opened {
    /// The header.
    pub fn luks(&self) -> &Luks {
        &self.luks
    }

    /// Maps the plaintext to the data device.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The volume key.
    pub fn volume_key(&self) -> &Secret {
        &self.volume_key
    }

    /// The digest that verified the volume key (0 for LUKS1).
    pub fn digest(&self) -> u32 {
        self.digest
    }

    /// The key that replaces the volume key, while a re-encryption is under way.
    pub fn second_key(&self) -> Option<&Secret> {
        self.second.as_ref().map(|second| &second.key)
    }

    /// The keys of the segments.
    pub fn keys(&self) -> Keys<'_> {
        Keys::new(&self.volume_key, self.second_key())
    }

    /// The re-encryption that is under way.
    pub fn under_way(&self) -> Option<&UnderWay> {
        self.under_way.as_ref()
    }

    /// The volume on its data device, which is returned as it is to be used. In the middle of a
    /// re-encryption nobody goes on with it as long as that is held; and a part whose writing was cut
    /// off is completed where the volume is written to, and recovered in memory where it is read.
    ///
    /// # Errors
    /// [`Refusal::NotRecoverable`](crate::Refusal::NotRecoverable); the header has changed meanwhile,
    /// or somebody goes on with the re-encryption; the device fails.
    pub fn onto(
        mut self,
        data: Arc<dyn Storage>,
        purpose: Purpose,
        rng: &mut dyn Random,
    ) -> Result<(Self, Arc<dyn Storage>)> {
        let Some(under_way) = &self.under_way else { return Ok((self, data)) };
        let keys = self.reencryption_keys(under_way);
        let holds_header = self.holds_header();
        // The lock of an earlier call would keep this one out.
        self.hold = None;
        let Ready { luks, data, hold } =
            reencrypt::open(self.luks, data, under_way, &keys, holds_header, purpose, rng)?;
        let under_way = UnderWay::judge(luks.header(), self.data)?;
        let layout = layout_of(&luks, under_way.as_ref())?;
        Ok((Self { luks, layout, under_way, hold, ..self }, data))
    }

    fn reencryption_keys(&self, under_way: &UnderWay) -> VolumeKeys {
        let of = |digest: Option<u32>| {
            let second = self.second.as_ref().filter(|second| Some(second.digest) == digest);
            let key = second.map_or(&self.volume_key, |second| &second.key);
            digest.map(|_| Secret::copy_from(key.expose()))
        };
        let what = under_way.what();
        VolumeKeys::new(of(what.old.digest), of(what.new.digest))
    }

    /// Whether the header is on the data device.
    pub fn holds_header(&self) -> bool {
        self.data.is_some_and(|data| data.holds_header)
    }

    /// The lock that lets this process go on with the re-encryption that is under way, after
    /// [`Opened::onto`].
    pub fn hold(&self) -> Option<Arc<Hold>> {
        self.hold.clone()
    }

    /// Takes out the second key.
    pub fn take_second_key(&mut self) -> Option<SecondKey> {
        self.second.take()
    }

    /// Header, layout and volume key.
    pub fn into_parts(self) -> (Luks, Layout, Secret) {
        (self.luks, self.layout, self.volume_key)
    }
}

/// Judges the header for callers that only test its keys: the volume that it describes need not be
/// one that can be mapped. Returns the findings that the user's terms permitted.
///
/// # Errors
/// As [`Admitted::judge`].
pub fn check(luks: &Luks, data: Option<DataDevice>, terms: &Terms) -> Result<Vec<Finding>> {
    check_as(luks, data, terms).map(|(found, _)| found)
}

fn check_as(
    luks: &Luks,
    data: Option<DataDevice>,
    terms: &Terms,
) -> Result<(Vec<Finding>, Option<UnderWay>)> {
    // The seal first: it names a forged field, where the rules below only see that the value is
    // impossible.
    let data_len = data.map(|data| data.len);
    terms.check_demands(Subject { header: luks.header(), data_len, volume_key: None })?;
    luks.check_readable()?;
    let under_way = UnderWay::judge(luks.header(), data)?;
    let found = findings_of(luks, under_way.as_ref(), data);
    match found.iter().find(|finding| !terms.take(finding)) {
        Some(finding) => Err(Error::NotAdmitted(finding.clone())),
        None => Ok((found, under_way)),
    }
}

fn layout_of(luks: &Luks, under_way: Option<&UnderWay>) -> Result<Layout> {
    under_way.map_or_else(|| luks.header().layout(), UnderWay::layout)
}

/// Keyslots whose area could have been made without a passphrase, and why: they are not opened.
pub fn forged_keyslots(luks: &Luks) -> Vec<(u32, String)> {
    let Header::Luks2 { metadata, .. } = luks.header() else { return Vec::new() };
    let check = |(&number, slot): (&u32, &Keyslot)| match &slot.kind {
        KeyslotKind::Luks2 { area_cipher, area_key_size, .. } => {
            let spec = CipherSpec::parse(area_cipher).ok()?;
            Areas::Strong.check(&spec, *area_key_size as usize).err().map(|why| (number, why))
        }
        KeyslotKind::Other(_) => None,
    };
    metadata.keyslots.iter().filter_map(check).collect()
}

/// Judges a header that is not going to be opened, by its seal and the policies, before a key is
/// asked for.
///
/// # Errors
/// [`Error::Unmet`].
pub fn check_header(luks: &Luks, terms: &Terms) -> Result<()> {
    terms.check_demands(Subject { header: luks.header(), data_len: None, volume_key: None })
}

/// Judges the header with a key that is only tested or stored: a key of no segment opens nothing,
/// and says nothing about the header. `data_len` is the data device's length where it is known.
///
/// # Errors
/// [`Error::Unmet`].
pub fn check_key(luks: &Luks, data_len: Option<u64>, terms: &Terms, key: &Secret, digest: u32) -> Result<()> {
    let serves = match luks.header() {
        Header::Luks1(_) => true,
        Header::Luks2 { metadata, .. } => {
            metadata.segments.keys().any(|&segment| metadata.digest_of_segment(segment) == Some(digest))
        }
    };
    if !serves {
        return Ok(());
    }
    terms.check_demands(Subject { header: luks.header(), data_len, volume_key: Some(key) })
}

/// All objections to opening the header, for callers that only inspect it. A volume that cannot be
/// mapped at all is reported elsewhere.
pub fn findings(luks: &Luks, data: Option<DataDevice>) -> Vec<Finding> {
    let under_way = UnderWay::judge(luks.header(), data).unwrap_or_default();
    findings_of(luks, under_way.as_ref(), data)
}

fn findings_of(luks: &Luks, under_way: Option<&UnderWay>, data: Option<DataDevice>) -> Vec<Finding> {
    let Ok(layout) = layout_of(luks, under_way) else { return Vec::new() };
    match (under_way, luks.header()) {
        (Some(under_way), Header::Luks2 { metadata, .. }) => {
            rules::findings_under_way(luks.header(), metadata, under_way, &layout, data)
        }
        _ => rules::findings(luks.header(), &layout, data),
    }
}

#[cfg(test)]
mod tests;
