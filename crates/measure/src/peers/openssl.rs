//! `openssl speed -elapsed -seconds 1 -bytes N -evp NAME -mr [-decrypt] [-multi N]`
//! (openssl-speed(1)): successive EVP updates of N bytes over the same buffer, wall time. It sets
//! no IV per message, which dm-crypt must do: the comparison favours OpenSSL.

use super::Printed;
use crate::results::{CipherCase, Direction, Outcome, Unit};
use crate::rounds::Subject;

pub(crate) fn prepare(case: &CipherCase) -> Result<Subject, Outcome> {
    let name = name(&case.spec, case.key_bits).ok_or_else(|| {
        Outcome::not_measured(format!("openssl speed has no {} with {} bits", case.spec, case.key_bits))
    })?;
    let mut arguments: Vec<String> =
        ["speed", "-elapsed", "-mr", "-seconds", "1", "-bytes"].map(str::to_owned).into();
    arguments.extend([case.message.to_string(), "-evp".into(), name]);
    if case.direction == Direction::Decrypt {
        arguments.push("-decrypt".into());
    }
    if case.threads > 1 {
        arguments.extend(["-multi".into(), case.threads.to_string()]);
    }
    let notes = match case.message == case.sector_size {
        true => vec!["no IV is set for a message".into()],
        false => vec!["one message, while Keyway has sectors with an IV each".into()],
    };
    let checked = "not checked: openssl speed discards its output";
    Ok(Printed { program: "openssl", arguments, read }.subject(Unit::BytesPerSecond, checked, notes))
}

/// EVP's name for a cipher and mode; it does not depend on the IV.
fn name(spec: &str, key_bits: u32) -> Option<String> {
    let mut parts = spec.split('-');
    let (cipher, mode) = (parts.next()?, parts.next().unwrap_or("cbc"));
    let bits = if mode == "xts" { key_bits / 2 } else { key_bits };
    match (cipher, mode, bits) {
        ("aes", "xts", 128 | 256)
        | ("aes" | "camellia" | "aria", "cbc" | "ctr" | "ecb" | "cfb" | "ofb", 128 | 192 | 256) => {
            Some(format!("{cipher}-{bits}-{mode}"))
        }
        ("sm4", "cbc" | "ctr" | "ecb" | "cfb" | "ofb", 128) => Some(format!("sm4-{mode}")),
        _ => None,
    }
}

/// The last of the lines "+F:25:AES-256-XTS:3377496064.00" is the sum of all processes.
fn read(text: &str) -> Option<f64> {
    let line = text.lines().rfind(|line| line.starts_with("+F:"))?;
    line.rsplit(':').next()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_figures() {
        assert_eq!(name("aes-xts-plain64", 512), Some("aes-256-xts".into()));
        assert_eq!(name("aes-xts-plain64", 384), None);
        assert_eq!(name("camellia-cbc-essiv:sha256", 192), Some("camellia-192-cbc".into()));
        assert_eq!(name("xchacha12,aes-adiantum-plain64", 256), None);
        let one = "+DT:AES-256-XTS:1:4096\n+R:824584:AES-256-XTS:1.000000\n+H:4096\n+F:25:AES-256-XTS:3377496064.00\n";
        assert_eq!(read(one), Some(3_377_496_064.0));
        let two = "Got: +F:25:AES-128-CBC:1594327552.00 from 1\n+F:25:AES-128-CBC:3001564621.31\n";
        assert_eq!(read(two), Some(3_001_564_621.31));
        assert_eq!(read("speed: unknown cipher"), None);
    }
}
