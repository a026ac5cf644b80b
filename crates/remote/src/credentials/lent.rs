//! Temporary keys, issued by Amazon's services to its machines and containers, or in exchange for
//! another provider's token.
//!
//! - Instance metadata: Amazon EC2 User Guide, "Retrieve security credentials from instance
//!   metadata".
//! - Tasks: Amazon ECS Developer Guide, "Task IAM role".
//! - Pods: Amazon EKS User Guide, "Pod Identity".
//! - Web identity: AWS STS API Reference, "AssumeRoleWithWebIdentity".

use super::access_key::Keys;
use crate::date;
use crate::error::Cause;
use crate::transport::{Request, Transport, element};
use http::Method;
use http::header::{AUTHORIZATION, HeaderName};
use keyway_crypto::Secret;
use keyway_format::json;
use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};
use tokio::sync::Mutex;
use url::Url;

/// The service that issues keys.
#[derive(Debug)]
pub(crate) enum Lender {
    /// The security token service, in exchange for another provider's token.
    WebIdentity { service: String, token_file: String, role: String, session: String },
    /// A service on the container's host.
    Container { url: String, token_file: Option<String> },
    /// The metadata service of a machine in Amazon's cloud; `without_token` allows its older
    /// protocol.
    Instance { service: String, without_token: bool },
}

impl Lender {
    /// Fetches new keys; also returns how long they are valid.
    pub(crate) async fn ask(&self, transport: &Transport) -> Result<(Keys, Duration), Cause> {
        match self {
            Self::WebIdentity { service, token_file, role, session } => {
                let token = read(token_file)?;
                let query = [
                    ("Action", "AssumeRoleWithWebIdentity"),
                    ("DurationSeconds", "3600"),
                    ("RoleArn", role),
                    ("RoleSessionName", session),
                    ("Version", "2011-06-15"),
                    ("WebIdentityToken", &token),
                ];
                let mut url = url(service)?;
                url.query_pairs_mut().extend_pairs(query);
                Keys::from_xml(&transport.text(Request::new(Method::POST, url)).await?)
            }
            Self::Container { url: at, token_file } => {
                let mut request = Request::new(Method::GET, url(at)?);
                if let Some(file) = token_file {
                    request = request.with(AUTHORIZATION, read(file)?.trim_end());
                }
                Keys::from_json(&transport.text(request).await?)
            }
            Self::Instance { service, without_token } => {
                let token = metadata_token(transport, service, *without_token).await?;
                let get = async |path: &str| {
                    let request = Request::new(Method::GET, url(&format!("{service}/{ROLES}/{path}"))?);
                    let request = match &token {
                        Some(token) => request.with(METADATA_TOKEN, token),
                        None => request,
                    };
                    transport.text(request).await
                };
                let role = get("").await?;
                Keys::from_json(&get(role.trim()).await?)
            }
        }
    }
}

async fn metadata_token(
    transport: &Transport,
    service: &str,
    without_token: bool,
) -> Result<Option<String>, Cause> {
    let request = Request::new(Method::PUT, url(&format!("{service}/latest/api/token"))?);
    match transport.text(request.with(METADATA_TTL, "600")).await {
        Ok(token) => Ok(Some(token)),
        Err(Cause::Denied(403, _)) if without_token => Ok(None),
        Err(cause) => Err(cause),
    }
}

impl Keys {
    /// Keys and their remaining lifetime, from a response of STS or S3.
    pub(crate) fn from_xml(text: &str) -> Result<(Self, Duration), Cause> {
        Self::from_parts(|name| element(text, name), "SessionToken")
    }

    /// The same from a response of the other services.
    pub(crate) fn from_json(text: &str) -> Result<(Self, Duration), Cause> {
        let document = json::parse(text.as_bytes()).map_err(|_| no_keys())?;
        let object = document.as_object();
        Self::from_parts(|name| object?.get(name)?.as_str(), "Token")
    }

    fn from_parts<'a>(
        part: impl Fn(&str) -> Option<&'a str>,
        token: &str,
    ) -> Result<(Self, Duration), Cause> {
        let parts = || {
            let secret = Secret::copy_from(part("SecretAccessKey")?.as_bytes());
            let expires = date::from_rfc3339(part("Expiration")?)?;
            Some((Self::new(part("AccessKeyId")?, secret, Some(part(token)?)), expires))
        };
        let (keys, expires) = parts().ok_or_else(no_keys)?;
        let now = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
        Ok((keys, Duration::from_secs(expires).saturating_sub(now)))
    }
}

/// Keys that are renewed some time before they expire.
pub(crate) struct Lent {
    held: Mutex<Option<Held>>,
    margin: Duration,
}

struct Held {
    keys: Arc<Keys>,
    since: Instant,
    good_for: Duration,
}

impl Lent {
    pub(crate) fn new(margin: Duration) -> Self {
        Self { held: Mutex::new(None), margin }
    }

    /// Returns the current keys, or those returned by `fetch`, while all other callers wait.
    pub(crate) async fn get(
        &self,
        fetch: impl Future<Output = Result<(Keys, Duration), Cause>>,
    ) -> Result<Arc<Keys>, Cause> {
        let mut held = self.held.lock().await;
        if let Some(held) = held.as_ref().filter(|held| held.is_good(self.margin)) {
            return Ok(Arc::clone(&held.keys));
        }
        let (keys, good_for) = fetch.await?;
        let keys = Arc::new(keys);
        *held = Some(Held { keys: Arc::clone(&keys), since: Instant::now(), good_for });
        Ok(keys)
    }
}

impl Held {
    /// Keys issued for less than the margin are still good for those who waited for them.
    fn is_good(&self, margin: Duration) -> bool {
        let age = self.since.elapsed();
        age + margin < self.good_for || age < JUST_NOW
    }
}

fn read(file: &str) -> Result<String, Cause> {
    fs::read_to_string(file).map_err(|e| Cause::Credentials(format!("{file} cannot be read: {e}")))
}

fn url(text: &str) -> Result<Url, Cause> {
    Url::parse(text).map_err(|_| Cause::Address("the credentials service has no URL".into()))
}

fn no_keys() -> Cause {
    Cause::Credentials("the credentials service gave an unexpected answer".into())
}

const ROLES: &str = "latest/meta-data/iam/security-credentials";
const METADATA_TTL: HeaderName = HeaderName::from_static("x-aws-ec2-metadata-token-ttl-seconds");
const METADATA_TOKEN: HeaderName = HeaderName::from_static("x-aws-ec2-metadata-token");
const JUST_NOW: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::runtime::Builder;

    fn shown(answer: Result<(Keys, Duration), Cause>) -> String {
        let (keys, good_for) = answer.map_err(|cause| panic!("{cause}")).unwrap();
        assert!(good_for > Duration::from_secs(86_400 * 365 * 1000));
        let secret = String::from_utf8_lossy(keys.secret.expose()).into_owned();
        format!("{} {secret} {}", keys.id, keys.token().unwrap_or("-"))
    }

    #[test]
    fn answers_of_services() {
        let json = r#"{"Code": "Success", "AccessKeyId": "AKI", "SecretAccessKey": "s/e+c",
            "Token": "t", "Expiration": "9999-01-01T00:00:00Z"}"#;
        assert_eq!(shown(Keys::from_json(json)), "AKI s/e+c t");
        let xml = "<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials>
            <SessionToken>t</SessionToken><SecretAccessKey>s/e+c</SecretAccessKey>
            <Expiration>9999-01-01T00:00:00.000Z</Expiration><AccessKeyId>AKI</AccessKeyId>
            </Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>";
        assert_eq!(shown(Keys::from_xml(xml)), "AKI s/e+c t");
        for other in ["", "{}", "[]", "<html>", &json.replace("9999-01-01T", "")] {
            assert!(matches!(Keys::from_json(other), Err(Cause::Credentials(_))), "{other}");
            assert!(matches!(Keys::from_xml(other), Err(Cause::Credentials(_))), "{other}");
        }
        let (_, good_for) = Keys::from_json(&json.replace("9999", "2020")).map_err(|_| ()).unwrap();
        assert_eq!(good_for, Duration::ZERO);
    }

    #[test]
    fn keys_are_fetched_again_before_they_expire() {
        let runtime = Builder::new_current_thread().build().unwrap();
        let fetched = |good_for: u64, wait: Duration| {
            let (lent, mut fetches) = (Lent::new(Duration::from_secs(300)), 0);
            for _ in 0..2 {
                let fetch = async {
                    fetches += 1;
                    Ok((Keys::new("id", Secret::zeroed(1), None), Duration::from_secs(good_for)))
                };
                assert_eq!(runtime.block_on(lent.get(fetch)).map_err(|_| ()).unwrap().id, "id");
                std::thread::sleep(wait);
            }
            fetches
        };
        assert_eq!(fetched(3600, JUST_NOW * 2), 1);
        assert_eq!(fetched(200, JUST_NOW * 2), 2);
        assert_eq!(fetched(200, Duration::ZERO), 1);
    }
}
