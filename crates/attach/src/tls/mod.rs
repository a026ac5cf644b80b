//! TLS for connections that have negotiated encryption (NBD's STARTTLS), implemented by rustls with
//! ring's ciphers.
//!
//! Both sides authenticate with X.509 certificates from a directory whose layout nbdkit, libnbd and
//! QEMU share ([`certificates`]). [`Server`] and [`Client`] hold the content of such a directory;
//! each turns a socket into a [`Stream`]. Pre-shared keys (PSK) are not supported: rustls has only
//! those of resumed sessions.

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
