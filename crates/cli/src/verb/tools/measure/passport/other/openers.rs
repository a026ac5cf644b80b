//! Which programs open a volume: by its state, by what opens it, and by its ciphers.

use super::verdict::Verdict;
use keyway::parts::Takes;

/// A program, and whether it opens the volume.
pub(super) struct Opener {
    pub(super) name: &'static str,
    pub(super) opens: Opens,
    pub(super) how: String,
}

/// Whether it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Opens {
    Yes,
    /// Some of these volumes, or some of this one's uses.
    Some,
    No,
}

impl Opens {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::Some => "some",
            Self::No => "no",
        }
    }
}

/// The volume that they are to open.
pub(super) struct Subject<'a> {
    pub(super) kind: &'static str,
    pub(super) ciphers: &'a [String],
    /// What its users give.
    pub(super) takes: &'a [Takes],
    pub(super) verdict: &'a Verdict,
}

/// Those that its owner may think of.
pub(super) fn openers(subject: &Subject<'_>) -> Vec<Opener> {
    let kernel = kernel(subject);
    let mut all = vec![keyway(subject.verdict, kernel.opens)];
    match subject.kind {
        "tcrypt" => {
            let opens = if kernel.opens == Opens::No { Opens::No } else { Opens::Some };
            all.extend([row("cryptsetup", opens, "what the kernel maps; Argon2id from 2.8 on"), kernel]);
            all.push(row("VeraCrypt", Opens::Some, "VeraCrypt's volumes; TrueCrypt's until 1.25.9"));
        }
        "bitlk" => all.extend([cryptsetup_of_bitlocker(subject), kernel, windows(subject)]),
        "fvault2" => {
            let opens = if let Verdict::Refuses(_) = subject.verdict { Opens::Some } else { Opens::Yes };
            let cryptsetup = row("cryptsetup", opens, "from 2.6 on");
            all.extend([cryptsetup, kernel, row("macOS", Opens::Yes, "10.7 to 15")]);
        }
        _ => all.extend([row("cryptsetup", kernel.opens, "with the same options"), kernel]),
    }
    all.push(match subject.kind {
        "plain" => row("GRUB", Opens::Some, "2.12 and later, by plainmount, which no grub.cfg has by itself"),
        _ => row("GRUB", Opens::No, "no release knows the format: it opens LUKS"),
    });
    all
}

fn row(name: &'static str, opens: Opens, how: impl Into<String>) -> Opener {
    Opener { name, opens, how: how.into() }
}

/// What `open` says.
fn keyway(verdict: &Verdict, by_kernel: Opens) -> Opener {
    let (opens, how) = match verdict {
        Verdict::Refuses(why) | Verdict::Locked(why) => (Opens::No, &**why),
        Verdict::Reads(why) => (Opens::Some, &**why),
        Verdict::Vista { locked: Some(why) } => (Opens::No, &**why),
        Verdict::Vista { locked: None } => {
            (Opens::Some, "for reading, with --allow-vista: nothing authenticates its metadata")
        }
        Verdict::Opens => (
            Opens::Yes,
            match by_kernel {
                Opens::Yes => "without root; by the kernel as root",
                Opens::Some => "without root; what the kernel maps, by the kernel as root",
                Opens::No => "without root",
            },
        ),
    };
    row("Keyway", opens, how)
}

/// What can be mapped.
fn kernel(subject: &Subject<'_>) -> Opener {
    let name = "Linux's dm-crypt";
    match (subject.kind, subject.verdict) {
        ("tcrypt", _) => mapped(subject.ciphers),
        ("fvault2", Verdict::Refuses(_)) => {
            row(name, Opens::Some, "aes-xts-plain64, if it is all in one place")
        }
        ("fvault2", _) => row(name, Opens::Yes, "aes-xts-plain64"),
        (_, Verdict::Refuses(_) | Verdict::Vista { .. }) => row(name, Opens::No, "there is no table for it"),
        ("bitlk", _) if in_xts(subject) => row(name, Opens::Yes, "aes-xts-plain64"),
        ("bitlk", _) => row(name, Opens::Yes, "Linux 5.6 and later"),
        _ => match subject.ciphers.iter().any(|cipher| is_in_kernel(cipher)) {
            true => row(name, Opens::Yes, "with the ciphers that the kernel has"),
            false => row(name, Opens::No, "the kernel has no such cipher"),
        },
    }
}

/// It maps what is wholly encrypted, and asks for what is typed or in a file.
fn cryptsetup_of_bitlocker(subject: &Subject<'_>) -> Opener {
    let is_asked_for =
        |takes: &Takes| matches!(takes, Takes::Passphrase | Takes::RecoveryPassword | Takes::KeyFile);
    let (opens, how) = match subject.verdict {
        Verdict::Refuses(_) => (Opens::No, "not if encrypted on write or in part"),
        Verdict::Vista { .. } => (Opens::No, "it maps no volumes of Windows Vista"),
        Verdict::Reads(_) => (Opens::No, "it maps no partly encrypted volumes"),
        Verdict::Locked(_) => {
            (Opens::No, "it asks for passphrases, recovery passwords and start-up keys alone")
        }
        Verdict::Opens if !subject.takes.iter().any(is_asked_for) => {
            (Opens::Some, "with the volume key (a key in the clear it may not look for)")
        }
        Verdict::Opens => (Opens::Yes, "from 2.3 on"),
    };
    row("cryptsetup", opens, how)
}

fn windows(subject: &Subject<'_>) -> Opener {
    let since = if in_xts(subject) { "10 (1511) and later" } else { "7 and later" };
    let (opens, how) = match subject.verdict {
        // Whether it made that, nothing tells.
        Verdict::Refuses(_) => (Opens::Some, "what it made itself".to_owned()),
        Verdict::Locked(_) => (Opens::Some, format!("{since}, with its TPM or smart card")),
        Verdict::Vista { locked: Some(_) } => {
            (Opens::Some, "Vista and later, with its TPM or smart card".to_owned())
        }
        Verdict::Vista { locked: None } => (Opens::Yes, "Vista and later".to_owned()),
        Verdict::Opens | Verdict::Reads(_) => (Opens::Yes, since.to_owned()),
    };
    row("Windows", opens, how)
}

/// Whether it is in XTS, which Windows has had since version 1511 of Windows 10.
fn in_xts(subject: &Subject<'_>) -> bool {
    subject.ciphers.iter().all(|cipher| cipher.contains("-xts-"))
}

fn is_in_kernel(cipher: &str) -> bool {
    !cipher.contains("kuznyechik")
}

/// What the kernel's dm-crypt maps, of these ciphers and chains of TrueCrypt's and VeraCrypt's.
fn mapped(ciphers: &[String]) -> Opener {
    let is_mapped = |cipher: &&String| {
        let in_cbc = cipher.ends_with("-cbci-tcrypt") || cipher.ends_with("-cbc-tcrypt");
        !in_cbc && is_in_kernel(cipher)
    };
    let count = ciphers.iter().filter(is_mapped).count();
    let opens = match count {
        0 => Opens::No,
        _ if count == ciphers.len() => Opens::Yes,
        _ => Opens::Some,
    };
    let how = match opens {
        Opens::Yes => "a mapping for each cipher of a chain".to_owned(),
        Opens::Some => format!("{count} of the {}: not Kuznyechik, no chains in CBC", ciphers.len()),
        Opens::No => "it has no Kuznyechik, and no chains in CBC".to_owned(),
    };
    row("Linux's dm-crypt", opens, how)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_lacks_kuznyechik_and_chains_in_cbc() {
        let opens = |ciphers: &[&str]| {
            let ciphers: Vec<String> = ciphers.iter().map(ToString::to_string).collect();
            mapped(&ciphers).opens
        };
        assert_eq!(opens(&["aes-xts-plain64", "serpent-twofish-aes-xts-plain64"]), Opens::Yes);
        assert_eq!(opens(&["aes-xts-plain64", "twofish-aes-cbci-tcrypt"]), Opens::Some);
        assert_eq!(opens(&["kuznyechik-camellia-xts-plain64", "blowfish_le-cbc-tcrypt"]), Opens::No);
    }
}
