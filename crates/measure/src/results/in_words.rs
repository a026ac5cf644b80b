//! A case in a few words, for a line that shows what is being measured, and for tables.

use super::{By, Case, CipherCase, Direction, DriverCase, KdfCase};

impl Case {
    /// What is measured: "encrypting by aes-xts-plain64, 512-bit key".
    pub fn in_words(&self) -> String {
        match self {
            Self::Cipher(CipherCase { by, spec, key_bits, direction, .. }) => {
                format!("{} by {spec}, {key_bits}-bit key{}", doing(*direction), another(by))
            }
            Self::Kdf(case) => format!("{}{}", case.label(), another(&case.by)),
            Self::Driver(DriverCase { driver, direction, .. }) => {
                format!("{} by {driver}", doing(*direction))
            }
            Self::Disk(case) => case.pattern.to_string().replace('-', " "),
        }
    }
}

impl KdfCase {
    /// Its name in a table: "argon2id 1024 MiB, 4 lanes".
    pub(crate) fn label(&self) -> String {
        let hash = self.hash.as_ref().map_or_else(String::new, |hash| format!("-{hash}"));
        let memory = self.memory_kib.map_or_else(String::new, |kib| format!(" {} MiB", kib / 1024));
        let what = match (self.counts_iterations(), self.lanes) {
            (true, _) => "at once",
            (false, 1) => "lane",
            (false, _) => "lanes",
        };
        let time = self.iter_time_ms.map_or_else(String::new, |ms| format!(" for {ms} ms"));
        format!("{}{hash}{memory}, {} {what}{time}", self.kdf, self.lanes)
    }
}

fn doing(direction: Direction) -> &'static str {
    match direction {
        Direction::Encrypt => "encrypting",
        Direction::Decrypt => "decrypting",
    }
}

/// Whose code it is, unless it is Keyway's own.
fn another(by: &By) -> String {
    match by {
        By::Keyway => String::new(),
        By::Kernel(_) => " (kernel)".to_owned(),
        other => format!(" ({other})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_in_words() {
        let default = CipherCase::new("aes-xts-plain64", 512, 4096);
        let words = |by| Case::Cipher(CipherCase { by, ..default.clone() }).in_words();
        assert_eq!(words(By::Keyway), "encrypting by aes-xts-plain64, 512-bit key");
        assert_eq!(words(By::Kernel(None)), "encrypting by aes-xts-plain64, 512-bit key (kernel)");
        let kdf = KdfCase { memory_kib: Some(1 << 20), ..KdfCase::new("argon2id", 4) };
        let by = By::Peer("cryptsetup".into());
        assert_eq!(Case::Kdf(KdfCase { by, ..kdf }).in_words(), "argon2id 1024 MiB, 4 lanes (cryptsetup)");
    }
}
