//! How connections are made, repeatedly: to which address, with which encryption and time limits.

use super::Options;
use super::connection::{Connection, Limits};
use super::handshake;
use super::timeouts::{Sign, Timeouts};
use super::transport::Socket;
use crate::nbd::Uri;
use crate::nbd::uri::Address;
use crate::tls;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use std::time::Duration;

/// Makes connections to one export.
pub(super) struct Dialer {
    uri: Uri,
    tls: Option<tls::Client>,
    options: Options,
    sign: Arc<Sign>,
}

impl Dialer {
    pub(super) fn new(uri: &Uri, tls: Option<tls::Client>, options: Options) -> io::Result<Self> {
        let sign = Sign::new(uri.to_string(), options.tell);
        Ok(Self { uri: anchored(uri)?, tls, options, sign })
    }

    /// Resolves the host name, connects and performs the handshake; `limit` applies to all of this
    /// together.
    pub(super) fn dial(&self, limit: Duration) -> io::Result<Connection> {
        let timeouts = Timeouts::new(Arc::clone(&self.sign));
        timeouts.begin(HANDSHAKE, 0, limit);
        let socket = Socket::connect(&self.uri.address, Arc::clone(&timeouts))?;
        if self.options.own_user_only {
            socket.check_peer()?;
        }
        let (transport, agreed) = handshake::shake_hands(socket, &self.uri.export, self.tls.as_ref())?;
        timeouts.end(HANDSHAKE);
        let limits = Limits { asked: self.options.timeout, changed: self.options.changes };
        Ok(Connection::new(transport, agreed, limits))
    }
}

/// Makes a socket's path absolute: the process may change its directory, and has to be able to
/// reconnect.
fn anchored(uri: &Uri) -> io::Result<Uri> {
    let mut uri = uri.clone();
    if let Address::Unix(path) = &mut uri.address
        && !path.as_os_str().as_bytes().starts_with(b"\0")
    {
        *path = std::path::absolute(&*path)?;
    }
    Ok(uri)
}

/// A cookie that no request has.
const HANDSHAKE: u64 = 0;
