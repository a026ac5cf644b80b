//! TLS for connections that have agreed to go on encrypted (NBD's
//! STARTTLS), by rustls with ring's ciphers.
//!
//! Who is who is shown by X.509 certificates in a directory whose layout nbdkit, libnbd and
//! QEMU share ([`certificates`]). [`Server`] and [`Client`] hold what such a directory
//! says; each makes a [`Stream`] of a socket. Keys shared beforehand (PSK) are not there:
//! rustls has none but those of resumed sessions.

mod certificates;
mod client;
mod server;
mod stream;

pub use certificates::DIRECTORIES;
pub use client::Client;
pub use server::Server;
pub use stream::Stream;

pub use crate::socket::Socket;

use rustls::crypto::{CryptoProvider, ring};
use std::sync::Arc;

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

#[cfg(test)]
mod tests;
