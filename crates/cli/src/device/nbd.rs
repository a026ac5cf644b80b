//! Devices that are exports of NBD servers: `nbd://`, `nbds://`, `nbd+unix://` and `nbds+unix://`
//! operands.
//!
//! A process connects to an export only once, however often it is opened: some servers accept only
//! one client at a time, and end when it disconnects (`qemu-nbd` does both).

use crate::device::remote;
use crate::output::failure::{Exit, Failure, Result};
use crate::output::sentence;
use keyway::Access;
use keyway::storage::Storage;
use keyway_attach::Error;
use keyway_attach::nbd::Uri;
use keyway_attach::nbd::client::{Client, Options};
use keyway_attach::nbd::uri::Address;
use keyway_attach::session;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Whether an operand names an export.
pub(crate) fn is_url(spec: &str) -> bool {
    Uri::recognises(spec)
}

/// Opens the export at `url`.
pub(crate) fn storage(url: &str, access: Access) -> Result<Arc<dyn Storage>> {
    let client = connect(url)?;
    match access {
        Access::Write if client.is_read_only() => {
            let message = format!("Cannot write to device {url}: its server exports it read-only.");
            Err(Failure::new(Exit::Parameters, message))
        }
        Access::Write | Access::Read => Ok(Arc::new(client)),
        Access::Probe => Ok(Arc::new(client.read_only())),
    }
}

/// Disconnects from all servers.
pub(crate) fn disconnect() {
    connected().clear();
}

fn connect(url: &str) -> Result<Client> {
    let mut connected = connected();
    if let Some((_, client)) = connected.iter().find(|(known, _)| known == url) {
        return Ok(client.clone());
    }
    let uri = Uri::parse(url).map_err(|error| cannot_open(url, &error, Exit::Parameters))?;
    // A session's socket belongs to the user: a process of another user listening there would read
    // and answer in its place.
    let own_user_only = matches!(&uri.address, Address::Unix(path) if session::is_inside(path));
    let options = Options { own_user_only, tell, ..time_limits() };
    let client = Client::connect(&uri, options);
    let client = client.map_err(|error| cannot_open(url, &error, Exit::Device))?;
    connected.push((url.to_owned(), client.clone()));
    Ok(client)
}

/// With `--timeout`, each step takes at most that long; operations that change a volume may still
/// take longer.
fn time_limits() -> Options {
    let unsaid = Options::default();
    let Some(timeout) = remote::wanted_timeout() else { return unsaid };
    Options { handshake: timeout, timeout, reconnect: unsaid.reconnect.min(timeout), ..unsaid }
}

/// Prints a line for the waiting user. If standard error cannot be written, work goes on.
fn tell(place: &str, waited: Duration, limit: Duration) {
    let line = sentence::waiting(place, waited, limit);
    let _ = writeln!(io::stderr(), "{line}");
}

fn cannot_open(url: &str, error: &Error, exit: Exit) -> Failure {
    Failure::new(exit, format!("Cannot open device {url}: {error}."))
}

fn connected() -> MutexGuard<'static, Vec<(String, Client)>> {
    static CONNECTED: Mutex<Vec<(String, Client)>> = Mutex::new(Vec::new());
    CONNECTED.lock().unwrap_or_else(PoisonError::into_inner)
}
