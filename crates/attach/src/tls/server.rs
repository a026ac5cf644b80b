//! The server's side: its certificate, and whether clients have to show theirs.

use super::certificates::{self, refused};
use super::provider;
use super::stream::Stream;
use crate::socket::Socket;
use crate::{Error, Result};
use rustls::server::WebPkiClientVerifier;
use rustls::{ServerConfig, ServerConnection};
use std::io;
use std::path::Path;
use std::sync::Arc;

/// What a server needs to encrypt its connections.
pub struct Server {
    config: Arc<ServerConfig>,
    verifies_clients: bool,
}

impl Server {
    /// Loads `server-cert.pem` and `server-key.pem` from `directory`. With `verify_peer` a client
    /// has to show a certificate that is signed by `ca-cert.pem` from the same directory (and not
    /// revoked by `ca-crl.pem`, if it exists).
    ///
    /// # Errors
    /// If a file is missing, cannot be read or does not match the others; the text names it.
    pub fn from_directory(directory: &Path, verify_peer: bool) -> Result<Self> {
        let builder = ServerConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .map_err(|why| refused(directory, &why))?;
        let builder = if verify_peer {
            let authority = certificates::authority(directory)?;
            let verifier = WebPkiClientVerifier::builder_with_provider(authority.roots, provider())
                .with_crls(authority.revoked)
                .allow_unknown_revocation_status()
                .build()
                .map_err(|why| refused(&directory.join("ca-cert.pem"), &why))?;
            builder.with_client_cert_verifier(verifier)
        } else {
            builder.with_no_client_auth()
        };
        let certificate = directory.join("server-cert.pem");
        let identity = certificates::identity(directory, "server")?
            .ok_or_else(|| Error::NotFound(format!("{} does not exist", certificate.display())))?;
        let config = builder
            .with_single_cert(identity.chain, identity.key)
            .map_err(|why| refused(&directory.join("server-key.pem"), &why))?;
        Ok(Self { config: Arc::new(config), verifies_clients: verify_peer })
    }

    /// Whether clients have to show a certificate.
    pub fn verifies_clients(&self) -> bool {
        self.verifies_clients
    }

    /// Performs the TLS handshake on `socket`, whose timeouts limit it.
    ///
    /// # Errors
    /// If the client hung up, does not speak TLS, or showed no trusted certificate.
    pub fn accept<S: Socket>(&self, socket: S) -> io::Result<Stream<S>> {
        let session = ServerConnection::new(Arc::clone(&self.config)).map_err(io::Error::other)?;
        Stream::start(socket, session.into())
    }
}
