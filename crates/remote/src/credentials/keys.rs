//! Keys for an S3 store, and where they come from: the address, the environment, a profile in the
//! files of Amazon's tools, or a service that issues temporary ones.

use super::access_key::Keys;
use super::aws::Profile;
use super::lent::{Lender, Lent};
use super::{Login, flag, read, set};
use crate::error::Cause;
use crate::transport::Transport;
use keyway_crypto::Secret;
use std::sync::Arc;
use std::time::Duration;

/// Where keys come from.
pub(crate) enum KeySource {
    /// There are no keys: the bucket is public.
    Nobody,
    /// The keys are known.
    Fixed(Arc<Keys>),
    /// A service issues temporary keys.
    Lent(Lender, Lent),
}

/// What the address, the environment and the files say about access to a store.
pub(crate) struct Access {
    pub(crate) keys: KeySource,
    pub(crate) region: Option<String>,
    pub(crate) endpoint: Option<String>,
}

impl KeySource {
    fn lent(lender: Lender) -> Self {
        Self::Lent(lender, Lent::new(RENEWED_BEFORE))
    }

    /// The current keys; `None` if requests are unsigned.
    pub(crate) async fn keys(&self, transport: &Transport) -> Result<Option<Arc<Keys>>, Cause> {
        match self {
            Self::Nobody => Ok(None),
            Self::Fixed(keys) => Ok(Some(Arc::clone(keys))),
            Self::Lent(lender, lent) => lent.get(lender.ask(transport)).await.map(Some),
        }
    }
}

impl Access {
    /// The address's `login` takes precedence over the environment, and the environment over the
    /// files.
    pub(crate) fn find(login: Option<Login>) -> Result<Self, Cause> {
        let named = first_of(&["AWS_PROFILE", "AWS_DEFAULT_PROFILE"]);
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
        let said = |key: &str| profile.get(key).map(str::to_owned);
        let region = first_of(&REGION).or_else(|| said("region"));
        let keys = match login {
            _ if flag("AWS_SKIP_SIGNATURE")? => KeySource::Nobody,
            Some(Login { user, password }) => fixed(&user, password, first_of(&TOKEN).as_deref()),
            None if has_keys => from_environment(region.as_deref())?,
            None => {
                let (id, secret) = profile.keys(name)?.ok_or(Cause::NoCredentials)?;
                fixed(id, Secret::copy_from(secret.as_bytes()), profile.get("aws_session_token"))
            }
        };
        Ok(Self { keys, region, endpoint: first_of(&ENDPOINT).or_else(|| said("endpoint_url")) })
    }
}

fn fixed(id: &str, secret: Secret, token: Option<&str>) -> KeySource {
    KeySource::Fixed(Arc::new(Keys::new(id, secret, token)))
}

/// Keys in the environment take precedence over services that issue them.
fn from_environment(region: Option<&str>) -> Result<KeySource, Cause> {
    match (set("AWS_ACCESS_KEY_ID"), set("AWS_SECRET_ACCESS_KEY")) {
        (Some(id), Some(secret)) => {
            return Ok(fixed(&id, Secret::copy_from(secret.as_bytes()), first_of(&TOKEN).as_deref()));
        }
        (None, None) => {}
        _ => {
            let half = "only one of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY is set";
            return Err(Cause::Credentials(half.into()));
        }
    }
    if let (Some(token_file), Some(role)) = (set("AWS_WEB_IDENTITY_TOKEN_FILE"), set("AWS_ROLE_ARN")) {
        let usual = || format!("https://sts.{}.amazonaws.com", region.unwrap_or("us-east-1"));
        let service = set("AWS_ENDPOINT_URL_STS").unwrap_or_else(usual);
        let session = set("AWS_ROLE_SESSION_NAME").unwrap_or_else(|| "WebIdentitySession".to_owned());
        return Ok(KeySource::lent(Lender::WebIdentity { service, token_file, role, session }));
    }
    if let Some(path) = set("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI") {
        let url = format!("http://169.254.170.2{path}");
        return Ok(KeySource::lent(Lender::Container { url, token_file: None }));
    }
    let pod = (set("AWS_CONTAINER_CREDENTIALS_FULL_URI"), set("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"));
    if let (Some(url), token_file @ Some(_)) = pod {
        return Ok(KeySource::lent(Lender::Container { url, token_file }));
    }
    let service = set("AWS_METADATA_ENDPOINT").unwrap_or_else(|| "http://169.254.169.254".to_owned());
    let without_token = flag("AWS_IMDSV1_FALLBACK")?;
    Ok(KeySource::lent(Lender::Instance { service, without_token }))
}

fn first_of(variables: &[&str]) -> Option<String> {
    variables.iter().find_map(|name| set(name))
}

/// Any of these says how requests are signed, or that they are not. If none is set, no service is
/// asked for keys: the metadata service exists on machines in Amazon's cloud, and elsewhere asking
/// it would mean waiting for a timeout. `AWS_METADATA_ENDPOINT` requests it explicitly.
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

const TOKEN: [&str; 2] = ["AWS_SESSION_TOKEN", "AWS_TOKEN"];

/// How long before they expire temporary keys are renewed.
const RENEWED_BEFORE: Duration = Duration::from_secs(300);
