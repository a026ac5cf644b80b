//! A part of the plaintext that is never written: another volume is hidden there.
//!
//! As in VeraCrypt, the first write that would reach it ends all writing. Where it came from, more
//! follow, and half of what a file system wants to write harms it more than nothing of it.
//! ("VeraCrypt User's Guide", Protection of Hidden Volumes Against Damage.)

use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

/// The part, and whether a write to it was tried.
pub(super) struct Protection {
    range: Range<u64>,
    tried: AtomicBool,
}

impl Protection {
    pub(super) fn of(range: Range<u64>) -> Self {
        Self { range, tried: AtomicBool::new(false) }
    }

    /// Whether nothing is written any more.
    pub(super) fn has_ended_writing(&self) -> bool {
        self.tried.load(Ordering::Acquire)
    }

    /// Lets a write of `range` pass.
    ///
    /// # Errors
    /// [`io::ErrorKind::PermissionDenied`]: it would change the part;
    /// [`io::ErrorKind::ReadOnlyFilesystem`]: an earlier one would have.
    pub(super) fn admit(&self, range: &Range<u64>) -> io::Result<()> {
        let Range { start, end } = self.range;
        if range.start < end && range.end > start && !range.is_empty() {
            self.tried.store(true, Ordering::Release);
            let why = format!(
                "a hidden volume is at bytes {start} to {}: the write was refused, and so is every other \
                 until this volume is opened again",
                end - 1
            );
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
        }
        if self.has_ended_writing() {
            let why = "the volume is read-only, since a write to its hidden volume was refused";
            return Err(io::Error::new(io::ErrorKind::ReadOnlyFilesystem, why));
        }
        Ok(())
    }
}
