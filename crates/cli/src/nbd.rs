//! Devices that are exports of NBD servers: `nbd://`, `nbds://`, `nbd+unix://` and `nbds+unix://` operands.
//!
//! An export is connected to once in a process, whatever opens it: servers may take one client at a time only, and end
//! when it has gone (`qemu-nbd` does both).

use crate::failure::{Exit, Failure, Result};
use crate::session;
use keyway_attach::Error;
use keyway_attach::nbd::Uri;
use keyway_attach::nbd::client::{Client, Options};
use keyway_attach::nbd::uri::Address;
use keyway_volume::{Access, Storage};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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

/// Says goodbye to all servers.
pub(crate) fn disconnect() {
    connected().clear();
}

fn connect(url: &str) -> Result<Client> {
    let mut connected = connected();
    if let Some((_, client)) = connected.iter().find(|(known, _)| known == url) {
        return Ok(client.clone());
    }
    let uri = Uri::parse(url).map_err(|error| cannot_open(url, &error, Exit::Parameters))?;
    // A session's socket is a user's own: who else listened there would read and answer in its place.
    let own_user_only = matches!(&uri.address, Address::Unix(path) if session::is_inside(path));
    let options = Options { own_user_only, ..Options::default() };
    let client = Client::connect(&uri, options);
    let client = client.map_err(|error| cannot_open(url, &error, Exit::Device))?;
    connected.push((url.to_owned(), client.clone()));
    Ok(client)
}

fn cannot_open(url: &str, error: &Error, exit: Exit) -> Failure {
    let text = error.to_string();
    let text = text.strip_prefix(url).map_or(text.as_str(), |text| text.trim_start_matches(": "));
    Failure::new(exit, format!("Cannot open device {url}: {text}."))
}

fn connected() -> MutexGuard<'static, Vec<(String, Client)>> {
    static CONNECTED: Mutex<Vec<(String, Client)>> = Mutex::new(Vec::new());
    CONNECTED.lock().unwrap_or_else(PoisonError::into_inner)
}
