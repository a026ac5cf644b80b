//! Directories with certificates, in the layout shared by nbdkit-tls(1), libnbd
//! (nbd_set_tls_certificates) and QEMU (tls-creds-x509):
//!
//! ```text
//! ca-cert.pem                       whose signature makes the other side believed
//! ca-crl.pem                        certificates that are believed no longer (optional)
//! server-cert.pem  server-key.pem   a server's own
//! client-cert.pem  client-key.pem   a client's own (needed where servers verify their clients)
//! ```

use crate::{Error, Refusal, Result};
use rustls::RootCertStore;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer, PrivateSec1KeyDer};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where libnbd's programs look when no directory is named; a leading `~` is the user's home.
pub const DIRECTORIES: [&str; 3] = ["~/.pki/libnbd", "~/.config/pki/libnbd", "/etc/pki/libnbd"];

/// The trusted authority.
pub(super) struct Authority {
    pub(super) roots: Arc<RootCertStore>,
    pub(super) revoked: Vec<CertificateRevocationListDer<'static>>,
}

/// One side's certificate and key.
pub(super) struct Identity {
    pub(super) chain: Vec<CertificateDer<'static>>,
    pub(super) key: PrivateKeyDer<'static>,
}

/// `ca-cert.pem` and `ca-crl.pem`.
pub(super) fn authority(directory: &Path) -> Result<Authority> {
    let path = directory.join("ca-cert.pem");
    let mut roots = RootCertStore::empty();
    for certificate in all(&path)? {
        roots.add(certificate).map_err(|why| refused(&path, &why))?;
    }
    let revoked = directory.join("ca-crl.pem");
    let revoked = if revoked.exists() { all(&revoked)? } else { Vec::new() };
    Ok(Authority { roots: Arc::new(roots), revoked })
}

/// `WHO-cert.pem` and `WHO-key.pem`; `None` when there is neither.
pub(super) fn identity(directory: &Path, who: &str) -> Result<Option<Identity>> {
    let (chain, key) = (directory.join(format!("{who}-cert.pem")), directory.join(format!("{who}-key.pem")));
    if !chain.exists() && !key.exists() {
        return Ok(None);
    }
    let chain = all(&chain)?;
    let key = PrivateKeyDer::from_pem_file(&key).map_err(|why| cannot_read(&key, why))?;
    Ok(Some(Identity { chain, key: repaired(key) }))
}

/// `directory`, or the first of [`DIRECTORIES`] that exists.
pub(super) fn find(directory: Option<&Path>) -> Result<PathBuf> {
    if let Some(directory) = directory {
        return Ok(directory.to_owned());
    }
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let place = |name: &str| match (name.strip_prefix("~/"), &home) {
        (Some(rest), Some(home)) => Some(home.join(rest)),
        (Some(_), None) => None,
        (None, _) => Some(PathBuf::from(name)),
    };
    let mut places = DIRECTORIES.iter().filter_map(|name| place(name));
    places.find(|place| place.join("ca-cert.pem").exists()).ok_or_else(|| {
        let places = DIRECTORIES.join(", ");
        Error::NotFound(format!(
            "certificates for TLS: none in {places}; name their directory with ?tls-certificates=DIR"
        ))
    })
}

/// For an elliptic-curve key whose first bit is set, certtool (GnuTLS 3.7) prepends a zero, as for
/// an integer; RFC 5915, section 3, and ring require exactly as many bytes as the curve has.
pub(super) fn repaired(key: PrivateKeyDer<'static>) -> PrivateKeyDer<'static> {
    let PrivateKeyDer::Sec1(sec1) = &key else { return key };
    let (front, rest) = match sec1.secret_sec1_der() {
        // P-256: a sequence with version 1, an octet string, and more.
        [0x30, len, 2, 1, 1, 4, 33, 0, rest @ ..] => (vec![0x30, len.wrapping_sub(1), 2, 1, 1, 4, 32], rest),
        // P-384, whose sequence has a two-byte length.
        [0x30, 0x81, len, 2, 1, 1, 4, 49, 0, rest @ ..] => {
            (vec![0x30, 0x81, len.wrapping_sub(1), 2, 1, 1, 4, 48], rest)
        }
        _ => return key,
    };
    PrivateKeyDer::Sec1(PrivateSec1KeyDer::from([front.as_slice(), rest].concat()))
}

/// An error of rustls about a file.
pub(super) fn refused(path: &Path, why: &dyn std::fmt::Display) -> Error {
    Refusal::Certificate.because(format!("{}: {why}", path.display()))
}

/// All items of this kind in a file; at least one.
pub(super) fn all<T: PemObject>(path: &Path) -> Result<Vec<T>> {
    let items: std::result::Result<Vec<T>, _> =
        T::pem_file_iter(path).map_err(|why| cannot_read(path, why))?.collect();
    match items {
        Ok(items) if items.is_empty() => Err(cannot_read(path, pem::Error::NoItemsFound)),
        Ok(items) => Ok(items),
        Err(why) => Err(cannot_read(path, why)),
    }
}

fn cannot_read(path: &Path, why: pem::Error) -> Error {
    match why {
        pem::Error::Io(error) if error.kind() == ErrorKind::NotFound => {
            Error::NotFound(format!("{} does not exist", path.display()))
        }
        pem::Error::Io(source) => Error::Io { what: format!("reading {}", path.display()), source },
        pem::Error::NoItemsFound => refused(path, &"it contains no PEM block of the expected kind"),
        why => refused(path, &why),
    }
}
