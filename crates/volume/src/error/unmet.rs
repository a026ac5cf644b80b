//! What a volume does not meet: a policy's demand, or its owner's seal.

use super::Error;
use keyway_format::text::Shown;
use std::fmt;

/// The requirement that a volume does not meet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unmet {
    /// A policy demands something else.
    Policy {
        /// The policy's name.
        policy: String,
        /// The demand, and what was found.
        finding: Judgement,
    },
    /// The header does not match its seal.
    Seal(Broken),
    /// The header is to be edited, and does not match its seal.
    SealBeforeEdit(Broken),
}

/// Why a seal does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Broken {
    /// The header has no seal.
    Missing,
    /// It cannot be read, for this reason.
    Unreadable(String),
    /// The header differs from the seal: every field that differs.
    Differs(Vec<Difference>),
    /// Its MAC was not made with this volume key: the seal was made or changed without it.
    Forged,
    /// It was made with another context, or without one.
    Context,
}

/// A field that differs from its sealed value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Its path: "segments.0.encryption".
    pub field: String,
    /// The value in the seal, if there is one.
    pub sealed: Option<String>,
    /// The value in the header, if there is one.
    pub now: Option<String>,
}

/// The result of one demand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    /// The demand's name ("min-key-bits").
    pub rule: &'static str,
    /// Its line in the policy, counted from 1; 0 in a policy without a file.
    pub line: usize,
    /// What it demands.
    pub wanted: String,
    /// What the volume has.
    pub found: String,
    /// Whether that is sufficient.
    pub verdict: Verdict,
    /// Why the seal does not hold, if it is one that is demanded.
    pub broken: Option<Box<Broken>>,
}

/// Whether a demand is met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The demand is met.
    Met,
    /// The demand is not met.
    Violated,
    /// Only the volume key can decide.
    NeedsKey,
}

impl Judgement {
    /// Whether this finding forbids opening: `NeedsKey` does so once the key is known.
    pub fn forbids(&self, key_is_known: bool) -> bool {
        match self.verdict {
            Verdict::Met => false,
            Verdict::Violated => true,
            Verdict::NeedsKey => key_is_known,
        }
    }
}

impl From<Broken> for Error {
    fn from(broken: Broken) -> Self {
        Self::Unmet(Unmet::Seal(broken).into())
    }
}

impl fmt::Display for Unmet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // A policy without a file has no lines, and its name says what it demands.
            Self::Policy { policy, finding: Judgement { line: 0, found, .. } } => {
                write!(f, "{policy}: {}", Shown(found))
            }
            Self::Policy { policy, finding: Judgement { rule, line, wanted, found, .. } } => {
                write!(f, "{policy}:{line} demands {rule} = {wanted}: {}", Shown(found))
            }
            Self::Seal(broken) | Self::SealBeforeEdit(broken) => broken.fmt(f),
        }
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("it is not sealed"),
            Self::Unreadable(why) => write!(f, "its seal cannot be read: {}", Shown(why)),
            Self::Differs(differences) => {
                let lines: Vec<String> = differences.iter().map(ToString::to_string).collect();
                write!(f, "it does not match its seal: {}", lines.join("; "))
            }
            Self::Forged => f.write_str("its seal was not made with its volume key, or was changed"),
            Self::Context => f.write_str("its seal has another context (seal-context)"),
        }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let field = Shown(&self.field);
        match (&self.sealed, &self.now) {
            (Some(sealed), Some(now)) => write!(f, "{field} is {}, sealed as {}", Shown(now), Shown(sealed)),
            (Some(sealed), None) => write!(f, "{field} is missing, sealed as {}", Shown(sealed)),
            (None, Some(now)) => write!(f, "{field} is {}, sealed as absent", Shown(now)),
            (None, None) => field.fmt(f),
        }
    }
}
