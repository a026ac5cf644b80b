//! The files in which Amazon's tools keep keys and settings: `~/.aws/credentials` and
//! `~/.aws/config`.
//!
//! The AWS SDKs and Tools Reference Guide, "Shared config and credentials files": sections `[NAME]`
//! in the first and `[profile NAME]` (but `[default]`) in the second, lines `key = value`, comments
//! starting with `#` and `;`, and lines starting with a blank, which belong to the line above. Keys
//! in the first file take precedence over those in the second.

use crate::error::Cause;
use std::collections::BTreeMap;

/// A profile's lines.
#[derive(Default)]
pub(super) struct Profile {
    values: BTreeMap<String, String>,
}

impl Profile {
    /// Finds the profile `name` in both files; `None` if neither has it.
    pub(super) fn find(name: &str, credentials: &str, config: &str) -> Option<Self> {
        let in_config = if name == "default" { name.to_owned() } else { format!("profile {name}") };
        let sections = [section(config, &in_config), section(credentials, name)];
        let found = sections.iter().any(Option::is_some);
        // Later values override earlier ones.
        let values = sections.into_iter().flatten().flatten().collect();
        found.then_some(Self { values })
    }

    pub(super) fn get(&self, key: &str) -> Option<&str> {
        self.values.get(key).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// The access key and the secret key.
    ///
    /// # Errors
    /// [`Cause::Credentials`] if the profile gets its keys in a way that is not supported here, or
    /// has only one of the two.
    pub(super) fn keys(&self, name: &str) -> Result<Option<(&str, &str)>, Cause> {
        match (self.get("aws_access_key_id"), self.get("aws_secret_access_key")) {
            (Some(id), Some(secret)) => return Ok(Some((id, secret))),
            (None, None) => {}
            _ => {
                return Err(Cause::Credentials(format!("the profile {name:?} has only one of the two keys")));
            }
        }
        match ELSEWHERE.iter().find(|key| self.get(key).is_some()) {
            Some(key) => Err(Cause::Credentials(format!(
                "the profile {name:?} gets its keys by {key}, which is not supported"
            ))),
            None => Ok(None),
        }
    }
}

/// The lines of a section, with keys in lower case; `None` if there is no such section.
fn section(text: &str, wanted: &str) -> Option<Vec<(String, String)>> {
    let mut found = None;
    let mut inside = false;
    for line in text.lines() {
        if let Some(name) = line.trim().strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            let name: Vec<&str> = name.0.split_whitespace().collect();
            inside = name.join(" ") == wanted;
            if inside {
                found.get_or_insert_with(Vec::new);
            }
        } else if let (true, Some((key, value))) = (inside, line.split_once('='))
            && !line.starts_with([' ', '\t', '#', ';'])
        {
            let value = value.split_once(" #").map_or(value, |(value, _)| value);
            found
                .get_or_insert_with(Vec::new)
                .push((key.trim().to_ascii_lowercase(), value.trim().to_owned()));
        }
    }
    found
}

/// Sources of keys that other tools support.
const ELSEWHERE: [&str; 7] = [
    "role_arn",
    "credential_process",
    "credential_source",
    "sso_session",
    "sso_start_url",
    "web_identity_token_file",
    "login_session",
];

#[cfg(test)]
mod tests {
    use super::*;

    const CREDENTIALS: &str = "[default]
aws_access_key_id = AKIDEFAULT
aws_secret_access_key = de/fault= # comment
[lab]
aws_access_key_id=AKILAB
aws_secret_access_key=lab+secret
AWS_SESSION_TOKEN = token
[half]
aws_access_key_id = AKIHALF
";
    const CONFIG: &str = "[default]
region = eu-west-1
# aws_access_key_id = commented
[profile  lab]
region = eu-central-1
aws_access_key_id = not-this-one
s3 =
  endpoint_url = http://nested
[lab]
region = wrong
[profile role]
role_arn = arn:aws:iam::1:role/x
[profile nothing]
";

    fn profile(name: &str) -> Profile {
        Profile::find(name, CREDENTIALS, CONFIG).unwrap()
    }

    #[test]
    fn profiles_are_read_as_amazons_tools_read_them() {
        assert_eq!(profile("default").keys("default").unwrap(), Some(("AKIDEFAULT", "de/fault=")));
        assert_eq!(profile("default").get("region"), Some("eu-west-1"));
        assert_eq!(profile("default").get("aws_session_token"), None);
        assert_eq!(profile("lab").keys("lab").unwrap(), Some(("AKILAB", "lab+secret")));
        assert_eq!(profile("lab").get("region"), Some("eu-central-1"));
        assert_eq!(profile("lab").get("aws_session_token"), Some("token"));
        assert_eq!(profile("lab").get("endpoint_url"), None);
        assert_eq!(profile("lab").get("s3"), None);
        assert_eq!(profile("nothing").keys("nothing").unwrap(), None);
        assert!(Profile::find("other", CREDENTIALS, CONFIG).is_none());
    }

    #[test]
    fn a_profile_without_keys_says_why() {
        let why = |name: &str| profile(name).keys(name).unwrap_err().to_string();
        assert!(why("half").contains("only one of the two"), "{}", why("half"));
        assert!(why("role").contains("gets its keys by role_arn"), "{}", why("role"));
        assert!(!why("half").contains("AKIHALF"));
    }
}
