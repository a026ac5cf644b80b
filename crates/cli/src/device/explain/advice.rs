//! What to do about an error, where more than one thing helps.

use crate::args::shared;
use keyway::trust::{Broken, Exemption, Finding, Unmet};
use keyway_crypto::CipherSpec;

/// The specifications that a short name stands for: a header needs one of them whole.
pub(super) fn in_full(name: &str) -> String {
    let specs = CipherSpec::named(name).unwrap_or_default();
    match specs.iter().map(ToString::to_string).reduce(|all, spec| format!("{all} or {spec}")) {
        Some(specs) => format!("write it in full: {specs}"),
        None => "\"keyway ciphers\" lists what is available".to_owned(),
    }
}

/// Why the volume is not opened, and the option that opens it nevertheless.
pub(super) fn not_admitted(finding: &Finding) -> String {
    match finding.rule.exemption() {
        Some(Exemption::WeakCiphers) => {
            format!("{finding}; --{} opens it anyway", shared::WEAK_CIPHER.long)
        }
        Some(Exemption::LinearSegments) => format!(
            "{finding}: its header may be forged; \"keyway read --{}\" reads it anyway",
            shared::LINEAR_SEGMENTS.long
        ),
        Some(Exemption::Vista) => {
            format!(
                "{finding}; if you know that it is one, --{} opens it for reading",
                shared::ALLOW_VISTA.long
            )
        }
        None => finding.to_string(),
    }
}

/// Which demand the volume does not meet, and what to do if that is acceptable.
pub(super) fn unmet(unmet: &Unmet) -> String {
    match unmet {
        Unmet::Policy { finding, .. } if finding.line > 0 => format!("policy {unmet}"),
        Unmet::Policy { finding, .. } => match finding.broken.as_deref() {
            Some(Broken::Missing) => {
                format!("{unmet}; if it is the volume that you mean, \"keyway seal\" seals it")
            }
            // Sealed again without the string it would have none.
            Some(Broken::Context) => format!(
                "{unmet}; if it is the volume that you mean, \"keyway seal --seal-context STRING\" binds it to another"
            ),
            // An option that ignores the seal does not meet it.
            _ => format!(
                "{unmet}; its header may be forged. If you changed it yourself, \"keyway seal\" seals it again"
            ),
        },
        Unmet::Seal(Broken::Missing | Broken::Context) => unmet.to_string(),
        Unmet::SealBeforeEdit(_) => format!(
            "{unmet}; nothing was changed, because its header may be forged. If every difference is yours, \"keyway \
             seal\" seals it again; if not, luksHeaderRestore brings back a header from a backup"
        ),
        Unmet::Seal(_) => format!(
            "{unmet}; its header may be forged. If you changed it yourself, \"keyway seal\" seals it again; \
             --{} opens it anyway",
            shared::IGNORE_SEAL.long
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The advice is chosen by why the seal does not hold, whatever the words for it are.
    #[test]
    fn the_advice_for_a_demanded_seal_is_that_of_its_fault() {
        use keyway::trust::{Judgement, Verdict};
        let said = |broken: Broken, found: &str| {
            let (rule, wanted, found, broken) =
                ("sealed", "true".into(), found.into(), Some(Box::new(broken)));
            let finding = Judgement { rule, line: 0, wanted, found, verdict: Verdict::Violated, broken };
            unmet(&Unmet::Policy { policy: "x".into(), finding })
        };
        let seals = "x: not; if it is the volume that you mean, \"keyway seal\" seals it";
        assert_eq!(said(Broken::Missing, "not"), seals);
        assert_eq!(
            said(Broken::Context, "not"),
            "x: not; if it is the volume that you mean, \"keyway seal --seal-context STRING\" binds it to another"
        );
        for broken in [Broken::Forged, Broken::Differs(Vec::new()), Broken::Unreadable(String::new())] {
            assert_eq!(
                said(broken, &Broken::Missing.to_string()),
                "x: it is not sealed; its header may be forged. If you changed it yourself, \"keyway seal\" seals it again"
            );
        }
    }
}
