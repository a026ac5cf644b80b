//! Which clients have to start TLS before they learn or receive anything, and whether an
//! unencrypted server would be exposed.

use super::Socket;
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::sync::Arc;

/// Whether connections are encrypted.
#[derive(Clone, Default)]
pub enum Encryption {
    /// They are not encrypted.
    #[default]
    Off,
    /// Clients may start TLS; if they have to show a certificate, they must.
    Offered(Arc<dyn StartTls>),
    /// Clients must start TLS.
    Required(Arc<dyn StartTls>),
}

/// The two directions of an encrypted connection, for two threads.
pub type Halves = (Box<dyn Read + Send>, Box<dyn Write + Send>);

/// The server's side of TLS.
pub trait StartTls: Send + Sync {
    /// Whether clients have to show a trusted certificate.
    fn verifies_clients(&self) -> bool;

    /// Performs the handshake over `socket`, which fails when the handshake's time is up.
    ///
    /// # Errors
    /// If the client cannot be authenticated, or does not answer. Its connection ends.
    fn accept(&self, socket: Socket) -> io::Result<Halves>;
}

impl Encryption {
    /// Whether a client without TLS gets nothing. This includes servers that verify clients: a
    /// client that could skip TLS would skip the verification.
    pub(crate) fn is_required(&self) -> bool {
        match self {
            Self::Off => false,
            Self::Offered(tls) => tls.verifies_clients(),
            Self::Required(_) => true,
        }
    }

    pub(super) fn tls(&self) -> Option<&Arc<dyn StartTls>> {
        match self {
            Self::Off => None,
            Self::Offered(tls) | Self::Required(tls) => Some(tls),
        }
    }
}

/// The first of `addresses` on which users of other machines could connect without TLS.
pub fn exposed(addresses: &[SocketAddr], encryption: &Encryption) -> Option<SocketAddr> {
    let open = addresses.iter().find(|address| !address.ip().to_canonical().is_loopback());
    open.filter(|_| !encryption.is_required()).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Tls {
        verifies: bool,
    }

    impl StartTls for Tls {
        fn verifies_clients(&self) -> bool {
            self.verifies
        }

        fn accept(&self, _: Socket) -> io::Result<Halves> {
            Err(io::ErrorKind::Unsupported.into())
        }
    }

    fn tls(verifies: bool) -> Arc<dyn StartTls> {
        Arc::new(Tls { verifies })
    }

    #[test]
    fn whoever_verifies_clients_requires_tls() {
        assert!(!Encryption::Off.is_required());
        assert!(!Encryption::Offered(tls(false)).is_required());
        assert!(Encryption::Offered(tls(true)).is_required());
        assert!(Encryption::Required(tls(false)).is_required());
        assert!(Encryption::Off.tls().is_none());
        assert!(
            [Encryption::Offered(tls(false)), Encryption::Required(tls(true))]
                .iter()
                .all(|it| it.tls().is_some())
        );
    }

    #[test]
    fn only_this_machine_is_served_in_the_clear() {
        let at = |text: &str| [format!("{text}:1").parse::<SocketAddr>().unwrap()];
        for open in ["0.0.0.0", "[::]", "10.0.0.1", "[fe80::1]", "[::ffff:10.0.0.1]"] {
            for in_the_clear in [Encryption::Off, Encryption::Offered(tls(false))] {
                assert_eq!(exposed(&at(open), &in_the_clear), Some(at(open)[0]), "{open}");
            }
            for encrypted in [Encryption::Required(tls(false)), Encryption::Offered(tls(true))] {
                assert_eq!(exposed(&at(open), &encrypted), None, "{open}");
            }
        }
        for own in ["127.0.0.1", "127.9.9.9", "[::1]", "[::ffff:127.0.0.1]"] {
            assert_eq!(exposed(&at(own), &Encryption::Off), None, "{own}");
        }
        let both = [at("127.0.0.1")[0], at("10.0.0.1")[0]];
        assert_eq!(exposed(&both, &Encryption::Off), Some(both[1]));
    }
}
