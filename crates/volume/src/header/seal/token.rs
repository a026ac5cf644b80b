//! The seal as a token's JSON.

use super::{MAC_LEN, SALT_LEN, Seal};
use crate::header::own_token;
use keyway_format::base64;
use keyway_format::json::{Object, Value};

impl Seal {
    /// Parses a token of this type. Only the exact output of [`Seal::to_json`] is accepted: no MAC
    /// covers other content of a token.
    pub fn parse(token: &str) -> Result<Self, String> {
        let token = own_token::parse(token, VERSION, &MEMBERS)?;
        if token.get("type").and_then(Value::as_str) != Some(Self::TYPE) {
            return Err(format!("it is not of type {}", Self::TYPE));
        }
        let sealed = token.get("sealed").and_then(Value::as_object).cloned();
        Ok(Self {
            salt: bytes::<SALT_LEN>(&token, "salt")?,
            mac: bytes::<MAC_LEN>(&token, "mac")?,
            context: token.get("context").map(|_| bytes::<MAC_LEN>(&token, "context")).transpose()?,
            sealed: sealed.ok_or("it has no list of what is sealed")?,
        })
    }

    /// The token, bound to no keyslot.
    pub fn to_json(&self) -> String {
        let mut token = Object::new()
            .with("type", Self::TYPE)
            .with("keyslots", Vec::new())
            .with("version", Value::Number(VERSION.into()))
            .with("salt", base64::encode(&self.salt));
        if let Some(context) = &self.context {
            token.set("context", base64::encode(context));
        }
        let token = token.with("sealed", self.sealed.clone()).with("mac", base64::encode(&self.mac));
        Value::from(token).to_compact()
    }
}

fn bytes<const N: usize>(token: &Object, name: &str) -> Result<[u8; N], String> {
    let text = token.get(name).and_then(Value::as_str);
    let bytes = text.and_then(base64::decode).and_then(|bytes| bytes.try_into().ok());
    bytes.ok_or_else(|| format!("its {name} is not {N} bytes in base64"))
}

const VERSION: &str = "1";
const MEMBERS: [&str; 7] = ["type", "keyslots", "version", "salt", "context", "sealed", "mac"];
