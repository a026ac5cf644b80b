//! Credentials for a store: from the address, the environment, or the files in which the store's
//! users keep them.
//!
//! | store      | in this order                                                                                     |
//! |------------|---------------------------------------------------------------------------------------------------|
//! | web server | `user:password@` in the URL; `$NETRC`, or `~/.netrc`                                              |
//! | S3         | `key:secret@` in the URL; `AWS_…` in the environment; `AWS_PROFILE` in `~/.aws/credentials` and `~/.aws/config` |

mod access_key;
mod aws;
mod keys;
mod lent;
mod netrc;

use crate::error::Cause;
pub(crate) use access_key::Keys;
pub(crate) use keys::{Access, KeySource};
use keyway_crypto::Secret;
use keyway_format::base64;
#[cfg(test)]
pub(crate) use lent::Lender;
pub(crate) use lent::Lent;
use std::path::PathBuf;
use std::{env, fs, io};
use url::Url;

/// A user name and a password.
pub(crate) struct Login {
    pub(crate) user: String,
    pub(crate) password: Secret,
}

impl Login {
    /// Removes the login from `url` and returns it.
    pub(crate) fn take_from(url: &mut Url) -> Option<Self> {
        let user = decoded(url.username());
        let password = url.password().map(decoded);
        // This fails only for URLs without a host, which have no user either.
        let _ = url.set_username("").and_then(|()| url.set_password(None));
        match (user, password) {
            (user, None) if user.expose().is_empty() => None,
            (user, password) => {
                let user = String::from_utf8_lossy(user.expose()).into_owned();
                Some(Self { user, password: password.unwrap_or_else(|| Secret::zeroed(0)) })
            }
        }
    }

    /// The login for a web server: from the URL, completed by netrc.
    pub(crate) fn for_web(url: &mut Url) -> Result<Option<Self>, Cause> {
        let host = url.host_str().unwrap_or_default().to_owned();
        match Self::take_from(url) {
            Some(login) if login.password.is_empty() => {
                let completed = from_netrc(&host, Some(&login.user))?;
                Ok(Some(completed.unwrap_or(login)))
            }
            None => from_netrc(&host, None),
            login => Ok(login),
        }
    }

    /// As the value of a header field (RFC 7617).
    pub(crate) fn basic(&self) -> String {
        let mut pair = Secret::zeroed(self.user.len() + 1 + self.password.len());
        let (user, password) = pair.expose_mut().split_at_mut(self.user.len());
        user.copy_from_slice(self.user.as_bytes());
        password[0] = b':';
        password[1..].copy_from_slice(self.password.expose());
        format!("Basic {}", base64::encode(pair.expose()))
    }
}

fn from_netrc(host: &str, user: Option<&str>) -> Result<Option<Login>, Cause> {
    let text = read("NETRC", ".netrc")?;
    Ok(netrc::find(&text, host, user))
}

/// The content of the file named by `variable`, or otherwise of the file `usual` in the user's home
/// directory, which need not exist.
fn read(variable: &str, usual: &str) -> Result<String, Cause> {
    let named = env::var_os(variable).filter(|name| !name.is_empty()).map(PathBuf::from);
    let home = || env::var_os("HOME").map(|home| PathBuf::from(home).join(usual));
    let is_named = named.is_some();
    let Some(path) = named.or_else(home) else { return Ok(String::new()) };
    match fs::read(&path) {
        Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        Err(error) if error.kind() == io::ErrorKind::NotFound && !is_named => Ok(String::new()),
        Err(error) => Err(Cause::Credentials(format!("{} cannot be read: {error}", path.display()))),
    }
}

/// The value of an environment variable.
pub(crate) fn set(variable: &str) -> Option<String> {
    env::var(variable).ok().filter(|value| !value.is_empty())
}

/// The value of a boolean environment variable; false if it is not set.
pub(crate) fn flag(variable: &str) -> Result<bool, Cause> {
    let Some(value) = set(variable) else { return Ok(false) };
    match value.to_ascii_lowercase().as_str() {
        "1" | "true" | "on" | "yes" | "y" => Ok(true),
        "0" | "false" | "off" | "no" | "n" => Ok(false),
        _ => Err(Cause::Address(format!("{variable} is neither true nor false"))),
    }
}

/// Decodes percent-encoding (RFC 3986, 2.1); anything else is kept as it is.
pub(crate) fn decoded(text: &str) -> Secret {
    let mut bytes = Secret::copy_from(text.as_bytes());
    let mut len = 0;
    let mut rest = text.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        let digits = behind.get(..2).filter(|two| two.iter().all(u8::is_ascii_hexdigit));
        let digits = digits.and_then(|two| u8::from_str_radix(std::str::from_utf8(two).ok()?, 16).ok());
        let (byte, behind) = match digits {
            Some(byte) if *first == b'%' => (byte, &behind[2..]),
            _ => (*first, behind),
        };
        bytes.expose_mut()[len] = byte;
        len += 1;
        rest = behind;
    }
    Secret::copy_from(&bytes.expose()[..len])
}

#[cfg(test)]
mod tests;
