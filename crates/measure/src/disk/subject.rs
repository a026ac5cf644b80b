//! What is measured, and with what.

use super::fio::Fio;
use super::path::Path;
use super::scratch::Scratch;
use crate::Clock;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// What is measured, and with what.
pub struct Turns<'a> {
    /// The paths to the storage.
    pub paths: &'a [Path],
    /// The storage itself, whose caches are dropped.
    pub scratch: &'a Scratch,
    /// The number of bytes used, from the start: all of them were written.
    pub region: u64,
    /// Why no more bytes are used.
    pub region_because: String,
    /// Whether written data can be read back. null_blk discards it; then nothing can be checked.
    pub keeps_data: bool,
    /// How fast filling was, in bytes per second.
    pub fill_speed: f64,
    /// fio, for the paths that use it.
    pub fio: Option<&'a Fio>,
    /// The seconds that fio takes to start and exit.
    pub fio_start: f64,
    /// CPUs that this process may use.
    pub cpus: u32,
    /// The clock.
    pub clock: &'a dyn Clock,
    /// When the whole run began, by that clock.
    pub began: Duration,
    /// When the run must be over.
    pub deadline: Duration,
    /// Ends a sample that is being taken.
    pub stop: &'a AtomicBool,
}
