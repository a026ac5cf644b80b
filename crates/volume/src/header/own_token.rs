//! The tokens that Keyway itself puts into headers: objects with a version and with members that are all known.

use keyway_format::json::{self, Object, Value};

/// Parses one. What else it may hold, nothing would vouch for or act upon.
pub(crate) fn parse(token: &str, version: &str, members: &[&str]) -> Result<Object, String> {
    let token = match json::parse(token.as_bytes()) {
        Ok(Value::Object(token)) => token,
        Ok(other) => return Err(format!("it is of type {}, not an object", other.type_name())),
        Err(error) => return Err(error.to_string()),
    };
    match token.get("version") {
        Some(Value::Number(found)) if found == version => {}
        Some(found) => return Err(format!("its version is {}, not {version}", found.to_compact())),
        None => return Err("it has no version".into()),
    }
    if let Some((unknown, _)) = token.iter().find(|(name, _)| !members.contains(name)) {
        return Err(format!("its member \"{unknown}\" is unknown"));
    }
    Ok(token)
}
