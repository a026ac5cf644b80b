//! What dm-crypt requests from the crypto API for a given specification (drivers/md/dm-crypt.c,
//! `crypt_ctr_cipher_old` and `_new`).
//!
//! ```text
//! aes-xts-plain64                  xts(aes)
//! aes-cbc-essiv:sha256             essiv(cbc(aes),sha256)
//! xchacha12,aes-adiantum-plain64   adiantum(xchacha12,aes)
//! aes:64-cbc-lmk                   cbc(aes), and md5 for the IV
//! capi:xts-aes-aesni-plain64       xts-aes-aesni: a driver's name
//! ```

use keyway_crypto::CipherSpec;

/// An algorithm's parsed name: "xts(aes)".
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Algorithm {
    /// "xts", or "xts-aes-aesni".
    pub name: String,
    /// The parameters of a template; empty for a cipher or a driver.
    pub of: Vec<Algorithm>,
}

impl Algorithm {
    /// The sector cipher of the specification.
    pub fn of_spec(spec: &CipherSpec) -> Self {
        let text = spec.to_string();
        let (name, iv) = match text.strip_prefix("capi:") {
            Some(capi) => {
                let (rest, hash) = capi.rsplit_once(':').map_or((capi, None), |(a, b)| (a, Some(b)));
                let (name, iv) = rest.rsplit_once('-').unwrap_or((rest, ""));
                (name.to_owned(), hash.map_or(iv.to_owned(), |hash| format!("{iv}:{hash}")))
            }
            None => {
                let cipher = spec.cipher_name();
                let cipher = cipher.split(':').next().unwrap_or_default();
                let mode = spec.mode_name();
                let (mode, iv) = mode.split_once('-').unwrap_or((&mode, ""));
                (format!("{mode}({cipher})"), iv.to_owned())
            }
        };
        match iv.strip_prefix("essiv:") {
            Some(hash) => Self::parse(&format!("essiv({name},{hash})")),
            None => Self::parse(&name),
        }
    }

    /// What the IV requires besides the sector cipher: names of hashes and ciphers.
    pub fn for_the_iv(spec: &CipherSpec) -> Vec<Self> {
        let text = spec.to_string();
        let names: &[&str] = match text.rsplit('-').next() {
            Some("lmk") => &["md5"],
            Some("tcw") => &["crc32"],
            Some("elephant") => &["ecb(aes)"],
            _ => &[],
        };
        names.iter().map(|name| Self::parse(name)).collect()
    }

    /// Parses a name. An invalid name is kept as it is: the kernel will not find it either.
    pub fn parse(name: &str) -> Self {
        Self::parse_to(name, DEEPEST)
    }

    fn parse_to(name: &str, depth: usize) -> Self {
        let inside =
            name.split_once('(').and_then(|(template, rest)| Some((template, rest.strip_suffix(')')?)));
        match inside {
            Some((template, inside)) if depth > 0 => Self {
                name: template.to_owned(),
                of: parameters(inside).into_iter().map(|name| Self::parse_to(name, depth - 1)).collect(),
            },
            _ => Self { name: name.to_owned(), of: Vec::new() },
        }
    }

    /// All names in the algorithm, the outermost first, without duplicates.
    pub fn names(&self) -> Vec<&str> {
        let mut names = vec![&self.name[..]];
        for part in self.of.iter().flat_map(Self::names) {
            if !names.contains(&part) {
                names.push(part);
            }
        }
        names
    }
}

impl std::fmt::Display for Algorithm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name)?;
        if self.of.is_empty() {
            return Ok(());
        }
        let of: Vec<String> = self.of.iter().map(ToString::to_string).collect();
        write!(f, "({})", of.join(","))
    }
}

/// Splits at commas that are not within parentheses.
fn parameters(text: &str) -> Vec<&str> {
    let (mut found, mut start, mut depth) = (Vec::new(), 0, 0_usize);
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                found.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    found.push(&text[start..]);
    found
}

/// Deeper than any meaningful name of 127 characters.
const DEEPEST: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    fn named(spec: &str) -> String {
        Algorithm::of_spec(&CipherSpec::parse(spec).unwrap()).to_string()
    }

    #[test]
    fn specifications_by_the_kernels_names() {
        for (spec, name) in [
            ("aes-xts-plain64", "xts(aes)"),
            ("aes", "cbc(aes)"),
            ("aes-ecb", "ecb(aes)"),
            ("aes-cbc-essiv:sha256", "essiv(cbc(aes),sha256)"),
            ("serpent-xts-essiv:sha3-256", "essiv(xts(serpent),sha3-256)"),
            ("xchacha12,aes-adiantum-plain64", "adiantum(xchacha12,aes)"),
            ("xchacha12,aes-adiantum-essiv:sha256", "essiv(adiantum(xchacha12,aes),sha256)"),
            ("aes:64-cbc-lmk", "cbc(aes)"),
            ("capi:xts(aes)-plain64", "xts(aes)"),
            ("capi:cbc(aes)-essiv:sha256", "essiv(cbc(aes),sha256)"),
            ("capi:essiv(cbc(aes),sha256)-plain64", "essiv(cbc(aes),sha256)"),
            ("capi:xts-aes-aesni-plain64", "xts-aes-aesni"),
        ] {
            if let Ok(parsed) = CipherSpec::parse(spec) {
                assert_eq!(Algorithm::of_spec(&parsed).to_string(), name, "{spec}");
            }
        }
        assert_eq!(named("aes-xts-plain64"), "xts(aes)");
    }

    #[test]
    fn ivs_need_their_own() {
        let of = |spec: &str| {
            let needs = Algorithm::for_the_iv(&CipherSpec::parse(spec).unwrap());
            needs.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(of("aes:64-cbc-lmk"), "md5");
        assert_eq!(of("aes-cbc-tcw"), "crc32");
        assert_eq!(of("aes-cbc-elephant"), "ecb(aes)");
        assert_eq!(of("aes-xts-plain64"), "");
    }

    #[test]
    fn names_come_apart_and_together() {
        let essiv = Algorithm::parse("essiv(cbc(aes),sha256)");
        assert_eq!(essiv.names(), ["essiv", "cbc", "aes", "sha256"]);
        for odd in ["", "(", ")", "a(b", "a(b))", "a()", "((((((((((((((", "a(,)", "a(b)c"] {
            let _ = Algorithm::parse(odd).names();
        }
        let deep = format!("{}x{}", "a(".repeat(500), ")".repeat(500));
        assert_eq!(Algorithm::parse(&deep).to_string(), deep);
    }
}
