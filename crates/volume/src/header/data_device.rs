//! What judging a header needs to know of the device that has the data.

/// The data device, as far as judging the header needs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DataDevice {
    /// Its length in bytes.
    pub len: u64,
    /// Whether the header is on it too.
    pub holds_header: bool,
}
