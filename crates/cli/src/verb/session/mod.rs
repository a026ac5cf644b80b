//! Open volumes: kernel mappings, and sessions of the user.

pub(crate) mod close;
pub(crate) mod list;
pub(crate) mod mount;
pub(crate) mod open;
pub(crate) mod resize;
pub(crate) mod resume;
pub(crate) mod serve;
pub(crate) mod status;
pub(crate) mod suspend;
pub(crate) mod umount;

use crate::output::failure::{Exit, Failure, Result};
use crate::session::{self, BackgroundRequest};
use mount::MountVolume;
use open::OwnFrontEnd;

/// Carries out a request that another process of this program handed over.
pub(crate) fn run_request(bytes: &[u8]) -> Result<()> {
    match bytes.split_first() {
        Some((&OwnFrontEnd::KIND, request)) => live::<OwnFrontEnd>(request),
        Some((&MountVolume::KIND, request)) => live::<MountVolume>(request),
        _ => Err(not_told()),
    }
}

fn live<E: BackgroundRequest>(mut bytes: &[u8]) -> Result<()> {
    session::live(&E::take(&mut bytes).ok_or_else(not_told)?)
}

fn not_told() -> Failure {
    Failure::new(Exit::Parameters, "The process that started this one did not say what is to be opened.")
}
