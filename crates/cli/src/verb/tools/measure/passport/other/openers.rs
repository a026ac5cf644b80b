//! Which programs open a volume.

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
    /// Some of these volumes.
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

/// Those that its owner may think of.
pub(super) fn of(kind: &str, ciphers: &[String]) -> Vec<Opener> {
    let row = |name, opens, how: &str| Opener { name, opens, how: how.to_owned() };
    let mut all = vec![row("Keyway", Opens::Yes, "without root; by the kernel as root")];
    match kind {
        "tcrypt" => {
            let kernel = mapped(ciphers);
            let cryptsetup = "what the kernel maps; Argon2id from 2.8 on";
            let opens = if kernel.opens == Opens::No { Opens::No } else { Opens::Some };
            all.push(row("cryptsetup", opens, cryptsetup));
            all.push(kernel);
            let veracrypt = "VeraCrypt's volumes; TrueCrypt's until 1.25.9";
            all.push(row("VeraCrypt", Opens::Some, veracrypt));
        }
        "bitlk" => all.extend([
            row("cryptsetup", Opens::Yes, "from 2.3 on; not partly encrypted volumes"),
            row("Linux's dm-crypt", Opens::Yes, "Linux 5.6 and later"),
            row("Windows", Opens::Yes, "7 and later"),
        ]),
        "fvault2" => all.extend([
            row("cryptsetup", Opens::Yes, "from 2.6 on"),
            row("Linux's dm-crypt", Opens::Yes, "aes-xts-plain64"),
            row("macOS", Opens::Yes, "10.7 to 15"),
        ]),
        _ => all.extend([
            row("cryptsetup", Opens::Yes, "with the same options"),
            row("Linux's dm-crypt", Opens::Yes, "with the ciphers that the kernel has"),
        ]),
    }
    all.push(match kind {
        "plain" => row("GRUB", Opens::Some, "2.12 and later, by plainmount, which no grub.cfg has by itself"),
        _ => row("GRUB", Opens::No, "no release knows the format: it opens LUKS"),
    });
    all
}

/// What the kernel's dm-crypt maps, of these ciphers and chains of TrueCrypt's and VeraCrypt's.
fn mapped(ciphers: &[String]) -> Opener {
    let is_mapped = |cipher: &&String| {
        let in_cbc = cipher.ends_with("-cbci-tcrypt") || cipher.ends_with("-cbc-tcrypt");
        !in_cbc && !cipher.contains("kuznyechik")
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
    Opener { name: "Linux's dm-crypt", opens, how }
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
