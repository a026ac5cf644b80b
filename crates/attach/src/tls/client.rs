//! The client's side: which servers it trusts, and the certificate that it shows on request.

use super::certificates::{self, refused};
use super::provider;
use super::stream::Stream;
use crate::socket::Socket;
use crate::{Refusal, Result};
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, ClientConnection, DigitallySignedStruct, SignatureScheme};
use std::io;
use std::path::Path;
use std::sync::Arc;

/// What a client needs to encrypt its connections.
pub struct Client {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

impl Client {
    /// Loads `ca-cert.pem` and, if they exist, `client-cert.pem` and `client-key.pem` from
    /// `directory`, or, if none is given, from the first of libnbd's
    /// [directories](super::DIRECTORIES) that exists. The server's certificate must contain `name`;
    /// without a name (on a Unix socket) any certificate signed by the authority is trusted.
    /// Without `verify_peer` every certificate is.
    ///
    /// # Errors
    /// If a file is missing, cannot be read or does not match the others; the text names it.
    pub fn from_directory(directory: Option<&Path>, name: Option<&str>, verify_peer: bool) -> Result<Self> {
        let directory = certificates::find(directory)?;
        let authority = certificates::authority(&directory)?;
        let chain = WebPkiServerVerifier::builder_with_provider(authority.roots, provider())
            .with_crls(authority.revoked)
            .allow_unknown_revocation_status()
            .build()
            .map_err(|why| refused(&directory.join("ca-cert.pem"), &why))?;
        let believes = match (verify_peer, name) {
            (false, _) => Believes::Everyone,
            (true, None) => Believes::Signed,
            (true, Some(_)) => Believes::Named,
        };
        let builder = ClientConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .map_err(|why| refused(&directory, &why))?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Verifier { chain, believes }));
        let mut config = match certificates::identity(&directory, "client")? {
            Some(identity) => builder
                .with_client_auth_cert(identity.chain, identity.key)
                .map_err(|why| refused(&directory.join("client-key.pem"), &why))?,
            None => builder.with_no_client_auth(),
        };
        config.enable_sni = name.is_some();
        let name = ServerName::try_from(name.unwrap_or("localhost").to_owned()).map_err(|_| {
            Refusal::Certificate
                .because(format!("{} is not a name that a certificate can hold", name.unwrap_or_default()))
        })?;
        Ok(Self { config: Arc::new(config), name })
    }

    /// Performs the TLS handshake on `socket`, whose timeouts limit it.
    ///
    /// # Errors
    /// If the server hung up, does not speak TLS, showed no trusted certificate, or requires a
    /// client certificate that is missing.
    pub fn connect<S: Socket>(&self, socket: S) -> io::Result<Stream<S>> {
        let session = ClientConnection::new(Arc::clone(&self.config), self.name.clone());
        Stream::start(socket, session.map_err(io::Error::other)?.into())
    }
}

/// Which certificates are trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Believes {
    /// Those signed by the authority for the server's name.
    Named,
    /// Those signed by the authority, for any name.
    Signed,
    /// All.
    Everyone,
}

#[derive(Debug)]
struct Verifier {
    chain: Arc<WebPkiServerVerifier>,
    believes: Believes,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> std::result::Result<ServerCertVerified, rustls::Error> {
        if self.believes == Believes::Everyone {
            return Ok(ServerCertVerified::assertion());
        }
        match self.chain.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now) {
            // The name is checked last: everything else was valid.
            Err(rustls::Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if self.believes == Believes::Signed => Ok(ServerCertVerified::assertion()),
            verdict => verdict,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        self.chain.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        self.chain.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.chain.supported_verify_schemes()
    }
}
