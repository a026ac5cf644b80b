//! A cipher specification as GRUB interprets it: modes and IVs by their prefixes
//! (disk/cryptodisk.c, grub_cryptodisk_setcipher), keys (grub_cryptodisk_setkey) and sectors
//! (grub_cryptodisk_endecrypt).

use super::{Loader, names};

/// How GRUB handles a specification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Reading {
    /// In the same way as dm-crypt.
    Right,
    /// GRUB mistakes it for another specification, and decrypts to noise; why.
    Wrong(String),
    /// GRUB reports an error; why.
    Refused(String),
    /// The cipher refuses the key: also an error, but only when the key is set.
    Key(String),
}

/// How GRUB handles `spec` with a key of `key_len` bytes and sectors of `sector` bytes.
pub(super) fn reading(spec: &str, key_len: usize, sector: u32, loader: &Loader) -> Reading {
    let (name, rest) = spec.split_once('-').unwrap_or((spec, ""));
    if rest.is_empty() {
        return Reading::Refused(format!("it finds no mode in \"{spec}\""));
    }
    let Some(cipher) = names::cipher(name, loader) else {
        return Reading::Refused(names::no_cipher(name, loader));
    };
    let (mode, iv) = match rest {
        "ecb" => ("ecb", None),
        "plain" => ("cbc", None),
        _ => match ["cbc", "pcbc", "xts", "lrw"].into_iter().find(|m| rest.starts_with(&format!("{m}-"))) {
            Some(mode) => (mode, Some(&rest[mode.len() + 1..])),
            None => {
                return Reading::Refused(format!(
                    "it has no mode \"{rest}\": it has ecb, plain, cbc, pcbc, xts and lrw"
                ));
            }
        },
    };
    if matches!(mode, "xts" | "lrw") && cipher.block != 16 {
        return Reading::Refused(format!("{mode} takes ciphers with blocks of 16 bytes"));
    }
    if let Some(why) = iv.and_then(|iv| iv_refused(iv, loader)) {
        return Reading::Refused(why);
    }
    if let Some(why) = key_refused(&cipher, name, mode, iv, key_len, loader) {
        return Reading::Key(why);
    }
    match iv.and_then(|iv| iv_misread(iv, sector)) {
        Some(why) => Reading::Wrong(why),
        None if mode == "lrw" && sector != 512 => Reading::Wrong(format!(
            "its lrw counts blocks in 8 bits, which sectors of {sector} bytes overflow"
        )),
        None => Reading::Right,
    }
}

/// The modules that provide the cipher and the IV's hash.
pub(super) fn modules(spec: &str, loader: &Loader) -> Vec<&'static str> {
    let cipher =
        spec.split('-').next().and_then(|name| names::cipher(name, loader)).map(|cipher| cipher.module);
    let hash = spec.split_once("essiv:").and_then(|(_, hash)| names::md(hash, loader)).map(|md| md.module);
    cipher.into_iter().chain(hash).collect()
}

fn iv_refused(iv: &str, loader: &Loader) -> Option<String> {
    if let Some(hash) = iv.strip_prefix("essiv:") {
        return names::md(hash, loader)
            .is_none()
            .then(|| format!("{} for the IV", names::no_md(hash, loader)));
    }
    let known = ["plain", "benbi", "null"].into_iter().any(|known| iv.starts_with(known));
    (!known).then(|| format!("it has no IV \"{iv}\": it has plain, plain64, benbi, null and essiv"))
}

fn key_refused(
    cipher: &names::Cipher,
    name: &str,
    mode: &str,
    iv: Option<&str>,
    key_len: usize,
    loader: &Loader,
) -> Option<String> {
    let len = match mode {
        "xts" => key_len / 2,
        "lrw" => key_len.saturating_sub(cipher.block),
        _ => key_len,
    };
    if !cipher.keys.contains(&len) {
        return Some(format!("its {name} takes no key of {} bits", len * 8));
    }
    let hash = iv?.strip_prefix("essiv:")?;
    let len = names::md(hash, loader)?.len;
    (!cipher.keys.contains(&len))
        .then(|| format!("its {name} takes no key of {} bits, which essiv:{hash} needs", len * 8))
}

/// An IV whose prefix is known but whose meaning differs, or that is counted in other units.
fn iv_misread(iv: &str, sector: u32) -> Option<String> {
    let exact = ["plain", "plain64", "benbi", "null"].contains(&iv) || iv.starts_with("essiv:");
    if !exact {
        let taken = ["plain64", "plain", "benbi", "null"].into_iter().find(|known| iv.starts_with(known))?;
        return Some(format!("it takes the IV \"{iv}\" for \"{taken}\""));
    }
    let counted = iv.starts_with("essiv:") || iv == "benbi";
    (counted && sector != 512).then(|| {
        let iv = iv.split(':').next().unwrap_or(iv);
        format!(
            "it numbers sectors of {sector} bytes one by one for the IV {iv}, where dm-crypt counts 512 bytes"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::super::Version;
    use super::*;

    #[test]
    fn specifications() {
        let loader = Loader::new(Version::V2_12);
        let read = |spec: &str, key, sector| reading(spec, key, sector, &loader);
        assert_eq!(read("aes-xts-plain64", 64, 4096), Reading::Right);
        assert_eq!(read("aes-ecb", 32, 512), Reading::Right);
        assert_eq!(read("aes-cbc-essiv:sha256", 32, 512), Reading::Right);
        for (spec, key, sector) in [
            ("aes-cbc-plain64be", 32, 512),
            ("aes-cbc-essiv:sha256", 32, 4096),
            ("aes-lrw-plain64", 48, 4096),
        ] {
            assert!(matches!(read(spec, key, sector), Reading::Wrong(_)), "{spec}");
        }
        for spec in [
            "xchacha12,aes-adiantum-plain64",
            "camellia-xts-plain64",
            "aes-ctr-plain64",
            "aes-cbc-lmk",
            "aes",
        ] {
            assert!(matches!(read(spec, 32, 512), Reading::Refused(_)), "{spec}");
        }
        assert!(matches!(read("twofish-xts-plain64", 48, 512), Reading::Key(_)));
        assert!(matches!(read("aes-cbc-essiv:sha512", 32, 512), Reading::Key(_)));
    }
}
