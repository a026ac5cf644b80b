//! What the users of a volume may do with it.

/// What the users of a volume may do with it; by default write to it, without discards.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Rights {
    /// Whether writes are refused.
    pub read_only: bool,
    /// Whether discards reach the device; otherwise they are accepted and ignored, as in dm-crypt.
    pub discards: bool,
}
