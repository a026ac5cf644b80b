//! `cryptsetup benchmark` (cryptsetup-benchmark(8)): PBKDF2 from the library it was built with
//! (OpenSSL, libgcrypt …). Its ciphers are the kernel's, which `--compare kernel` measures with the
//! same messages; its Argon2 prints costs, not rates.

use super::Printed;
use crate::results::{KdfCase, Outcome, Unit};
use crate::rounds::Subject;

pub(crate) fn prepare(case: &KdfCase) -> Result<Subject, Outcome> {
    let (Some(hash), 1, None) = (&case.hash, case.lanes, case.iter_time_ms) else {
        return Err(Outcome::not_measured(
            "cryptsetup benchmark prints rates of PBKDF2 only, one password at a time",
        ));
    };
    let arguments = ["benchmark", "--hash", hash, "--key-size", &case.key_bits.to_string()];
    let arguments = arguments.map(str::to_owned).into();
    let checked = "not checked: cryptsetup benchmark discards its output";
    let printed = Printed { program: "cryptsetup", arguments, read };
    Ok(printed.subject(Unit::IterationsPerSecond, checked, Vec::new()))
}

/// "PBKDF2-sha256    2857155 iterations per second for 256-bit key".
fn read(text: &str) -> Option<f64> {
    let line = text.lines().find(|line| line.starts_with("PBKDF2-"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures() {
        let text = "# Tests are approximate using memory only (no storage IO).\n\
                    PBKDF2-sha256    2857155 iterations per second for 256-bit key\n";
        assert_eq!(read(text), Some(2_857_155.0));
        assert_eq!(read("PBKDF2-tiger     N/A\n"), None);
    }
}
