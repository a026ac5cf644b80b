//! The options for a server that encrypts its connections, with nbdkit's names.

use crate::args::{Args, Kind, Opt};
use crate::output::failure::{Exit, Failure, Result};
use crate::output::sentence;
use keyway_attach::nbd::server::Encryption;
use keyway_attach::tls::Server;
use std::path::PathBuf;
use std::sync::Arc;

/// What `--tls` and its companions ask for.
pub(crate) struct TlsOptions {
    /// `--tls-certificates`, if connections are encrypted at all.
    certificates: Option<PathBuf>,
    /// Clients may connect without encryption (`--tls on`).
    is_optional: bool,
    /// Clients have to show a certificate.
    verify: bool,
}

impl TlsOptions {
    /// Refuses options that contradict each other.
    pub(crate) fn from_args(args: &Args) -> Result<Self> {
        let refuse = |message: &str| Err(Failure::new(Exit::Parameters, message));
        if args.given(&TLS_PSK) {
            return refuse(
                "--tls-psk: this TLS library does not support pre-shared keys; use certificates \
             (--tls-certificates).",
            );
        }
        let (mode, verify) = (args.text(&TLS), args.given(&TLS_VERIFY_PEER));
        match (mode, args.given(&TLS_CERTIFICATES)) {
            (Some("off"), _) if verify => {
                return refuse(
                    "--tls off and --tls-verify-peer contradict each other: without TLS no client is verified.",
                );
            }
            (None, false) if verify => {
                return refuse("--tls-verify-peer needs --tls-certificates, the directory with ca-cert.pem.");
            }
            (Some("off"), _) | (None, false) => {
                return Ok(Self { certificates: None, is_optional: true, verify });
            }
            _ => {}
        }
        let Some(directory) = args.path(&TLS_CERTIFICATES) else {
            return refuse(
                "--tls needs --tls-certificates, the directory with server-cert.pem and server-key.pem.",
            );
        };
        Ok(Self { certificates: Some(directory.to_owned()), is_optional: mode == Some("on"), verify })
    }

    /// Reads the certificates.
    pub(crate) fn encryption(&self) -> Result<Encryption> {
        let Some(directory) = &self.certificates else { return Ok(Encryption::Off) };
        let server = Server::from_directory(directory, self.verify).map_err(|e| sentence::attaching(&e))?;
        let server = Arc::new(server);
        Ok(if self.is_optional { Encryption::Offered(server) } else { Encryption::Required(server) })
    }
}

/// `--tls`.
pub(crate) static TLS: Opt = Opt {
    long: "tls",
    short: None,
    value: "MODE",
    kind: Kind::Choice(&["off", "on", "require"]),
    help: "Encrypt connections: off, on or require.",
    man: "With \"on\", clients may connect without TLS, and an attacker between them and the server can force \
          them to. --tls-certificates alone means \"require\", and --tls-verify-peer turns \"on\" into \
          \"require\".",
};

/// `--tls-certificates`.
pub(crate) static TLS_CERTIFICATES: Opt = Opt {
    long: "tls-certificates",
    short: None,
    value: "DIR",
    kind: Kind::Path,
    help: "Certificates, laid out as for nbdkit and QEMU.",
    man: "server-cert.pem and server-key.pem are the server's own. With --tls-verify-peer, ca-cert.pem (and \
          ca-crl.pem, if present) says which clients are trusted. certtool(1) and openssl(1) make such files. \
          Clients check the server's name among the certificate's alternative names (dns_name and ip_address in \
          certtool's templates).",
};

/// `--tls-verify-peer`.
pub(crate) static TLS_VERIFY_PEER: Opt = Opt {
    long: "tls-verify-peer",
    short: None,
    value: "",
    kind: Kind::Flag,
    help: "Refuse clients without a certificate.",
    man: "Clients must present a certificate signed by ca-cert.pem; clients without TLS are refused too.",
};

/// `--tls-psk`.
pub(crate) static TLS_PSK: Opt = Opt {
    long: "tls-psk",
    short: None,
    value: "FILE",
    kind: Kind::Path,
    help: "Refused: use certificates.",
    man: "",
};
