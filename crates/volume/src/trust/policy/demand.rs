//! The demands that a policy can make: their names in the file, and their meaning.

/// A demand and its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Demand {
    Formats(Vec<String>),
    Ciphers(Vec<String>),
    Modes(Vec<String>),
    MinKeyBits(u64),
    SectorSizes(Vec<u64>),
    /// `linear-segments = false`.
    NoLinearSegments,
    AllowedFlags(Vec<String>),
    AllowedTokens(Vec<String>),
    Uuid(String),
    Label(String),
    Subsystem(String),
    Size(u64),
    MinSize(u64),
    MaxSize(u64),
    MaxKeyslots(u64),
    Kdfs(Vec<String>),
    MinPbkdf2Iterations(u64),
    MinArgon2Memory(u64),
    MinArgon2Passes(u64),
    /// `sealed = true`.
    Sealed,
    SealContext(String),
}

/// Every demand's name and one line on its value, for help and the man page.
pub const DEMANDS: &[(&str, &str)] = &[
    ("formats", "list of \"luks1\", \"luks2\""),
    ("ciphers", "list of ciphers (\"aes\") or whole specifications (\"aes-xts-plain64\")"),
    ("modes", "list of modes, with IV (\"xts-plain64\") or any IV (\"xts\")"),
    ("min-key-bits", "minimum bits of the volume key; XTS has two keys, and both count"),
    ("sector-sizes", "list of encryption sector sizes in bytes"),
    ("linear-segments", "false: every segment is encrypted"),
    ("allowed-flags", "list of the activation flags that the header may set; [] for none"),
    ("allowed-tokens", "list of the types that the header's tokens may have; [] for none"),
    ("uuid", "the volume's UUID"),
    ("label", "its label"),
    ("subsystem", "its subsystem label"),
    ("size", "bytes of plaintext, as a number or as \"10GiB\""),
    ("min-size", "minimum bytes"),
    ("max-size", "maximum bytes"),
    ("max-keyslots", "maximum keyslots in use"),
    ("kdfs", "list of \"argon2id\", \"argon2i\", \"pbkdf2\": what each keyslot may use"),
    ("min-pbkdf2-iterations", "minimum iterations of each keyslot with PBKDF2"),
    ("min-argon2-memory", "minimum memory (\"1GiB\") of each keyslot with Argon2"),
    ("min-argon2-passes", "minimum passes of each keyslot with Argon2"),
    ("sealed", "true: the header has a seal made with this volume's key, and matches it"),
    ("seal-context", "the string that it was sealed with; implies sealed = true"),
];

impl Demand {
    /// Its name in the file.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Formats(_) => "formats",
            Self::Ciphers(_) => "ciphers",
            Self::Modes(_) => "modes",
            Self::MinKeyBits(_) => "min-key-bits",
            Self::SectorSizes(_) => "sector-sizes",
            Self::NoLinearSegments => "linear-segments",
            Self::AllowedFlags(_) => "allowed-flags",
            Self::AllowedTokens(_) => "allowed-tokens",
            Self::Uuid(_) => "uuid",
            Self::Label(_) => "label",
            Self::Subsystem(_) => "subsystem",
            Self::Size(_) => "size",
            Self::MinSize(_) => "min-size",
            Self::MaxSize(_) => "max-size",
            Self::MaxKeyslots(_) => "max-keyslots",
            Self::Kdfs(_) => "kdfs",
            Self::MinPbkdf2Iterations(_) => "min-pbkdf2-iterations",
            Self::MinArgon2Memory(_) => "min-argon2-memory",
            Self::MinArgon2Passes(_) => "min-argon2-passes",
            Self::Sealed => "sealed",
            Self::SealContext(_) => "seal-context",
        }
    }

    /// Its value, for people. The context of a seal is the caller's secret, and is not shown.
    pub(super) fn wanted(&self) -> String {
        match self {
            Self::Formats(list)
            | Self::Ciphers(list)
            | Self::Modes(list)
            | Self::AllowedFlags(list)
            | Self::AllowedTokens(list)
            | Self::Kdfs(list) => format!("[{}]", list.join(", ")),
            Self::SectorSizes(list) => {
                let list: Vec<String> = list.iter().map(u64::to_string).collect();
                format!("[{}]", list.join(", "))
            }
            Self::MinKeyBits(n)
            | Self::Size(n)
            | Self::MinSize(n)
            | Self::MaxSize(n)
            | Self::MaxKeyslots(n)
            | Self::MinPbkdf2Iterations(n)
            | Self::MinArgon2Memory(n)
            | Self::MinArgon2Passes(n) => n.to_string(),
            Self::Uuid(text) | Self::Label(text) | Self::Subsystem(text) => text.clone(),
            Self::NoLinearSegments => "false".into(),
            Self::Sealed => "true".into(),
            Self::SealContext(_) => "(not shown)".into(),
        }
    }
}
