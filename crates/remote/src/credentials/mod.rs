//! What opens a store: from the address, the environment, or the
//! files where the store's users keep it.
//!
//! | store      | in this order                                                                                     |
//! |------------|---------------------------------------------------------------------------------------------------|
//! | web server | `user:password@` in the URL; `$NETRC`, or `~/.netrc`                                              |
//! | S3         | `key:secret@` in the URL; `AWS_…` in the environment; `AWS_PROFILE` in `~/.aws/credentials` and `~/.aws/config` |

mod aws;
mod netrc;

use crate::error::Cause;
use aws::Profile;
use keyway_crypto::Secret;
use object_store::aws::AmazonS3Builder;
use std::path::PathBuf;
use std::{env, fs, io};
use url::Url;

/// A name and a password.
pub(crate) struct Login {
    pub(crate) user: String,
    pub(crate) password: Secret,
}

impl Login {
    /// Takes the login out of `url`, which is left without it.
    pub(crate) fn take_from(url: &mut Url) -> Option<Self> {
        let user = decoded(url.username());
        let password = url.password().map(decoded);
        // Only URLs without a host refuse, and they have no user either.
        let _ = url.set_username("").and_then(|()| url.set_password(None));
        match (user, password) {
            (user, None) if user.expose().is_empty() => None,
            (user, password) => {
                let user = String::from_utf8_lossy(user.expose()).into_owned();
                Some(Self { user, password: password.unwrap_or_else(|| Secret::zeroed(0)) })
            }
        }
    }

    /// What a web server is told of who asks: what the URL says, completed by netrc.
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
}

fn from_netrc(host: &str, user: Option<&str>) -> Result<Option<Login>, Cause> {
    let text = read("NETRC", ".netrc")?;
    Ok(netrc::find(&text, host, user))
}

/// Completes `builder`, which knows the environment, with what the URL and Amazon's files say.
pub(crate) fn for_s3(builder: AmazonS3Builder, login: Option<Login>) -> Result<AmazonS3Builder, Cause> {
    let named = ["AWS_PROFILE", "AWS_DEFAULT_PROFILE"].iter().find_map(|name| set(name));
    let name = named.as_deref().unwrap_or("default");
    let credentials = read("AWS_SHARED_CREDENTIALS_FILE", ".aws/credentials")?;
    let config = read("AWS_CONFIG_FILE", ".aws/config")?;
    let profile = Profile::find(name, &credentials, &config);
    let has_keys = login.is_some() || SIGNS.iter().any(|name| set(name).is_some());
    let profile = match (profile, &named) {
        (None, Some(_)) if !has_keys => {
            return Err(Cause::Credentials(format!("there is no profile {name:?} in ~/.aws")));
        }
        (profile, _) => profile.unwrap_or_default(),
    };
    let builder = settings(builder, &profile);
    match login {
        Some(login) => {
            let secret = String::from_utf8_lossy(login.password.expose()).into_owned();
            Ok(builder.with_access_key_id(login.user).with_secret_access_key(secret))
        }
        None if has_keys => Ok(builder),
        None => {
            let (id, secret) = profile.keys(name)?.ok_or(Cause::NoCredentials)?;
            let builder = builder.with_access_key_id(id).with_secret_access_key(secret);
            Ok(match profile.get("aws_session_token") {
                Some(token) => builder.with_token(token),
                None => builder,
            })
        }
    }
}

/// Where the environment says nothing.
fn settings(mut builder: AmazonS3Builder, profile: &Profile) -> AmazonS3Builder {
    if let (Some(region), false) = (profile.get("region"), REGION.iter().any(|name| set(name).is_some())) {
        builder = builder.with_region(region);
    }
    if let (Some(endpoint), false) =
        (profile.get("endpoint_url"), ENDPOINT.iter().any(|name| set(name).is_some()))
    {
        builder = builder.with_endpoint(endpoint);
    }
    builder
}

/// Whether the store is one without TLS, in a laboratory.
pub(crate) fn endpoint_is_plain() -> bool {
    ENDPOINT.iter().find_map(|name| set(name)).is_some_and(|url| url.starts_with("http://"))
}

/// The text of the file that `variable` names, or else of `usual` in
/// the user's home, which need not exist.
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

fn set(variable: &str) -> Option<String> {
    env::var(variable).ok().filter(|value| !value.is_empty())
}

/// Undoes percent-encoding (RFC 3986, 2.1); what is none stays.
fn decoded(text: &str) -> Secret {
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

/// Any of them says how requests are signed, or that they are not. Without, the library
/// would ask the metadata service of a machine in Amazon's cloud, and wait for it
/// everywhere else: there `AWS_METADATA_ENDPOINT` asks for that.
const SIGNS: [&str; 7] = [
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_METADATA_ENDPOINT",
    "AWS_SKIP_SIGNATURE",
];

const REGION: [&str; 2] = ["AWS_REGION", "AWS_DEFAULT_REGION"];

const ENDPOINT: [&str; 3] = ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"];

#[cfg(test)]
mod tests;
