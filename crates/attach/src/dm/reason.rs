//! Why the kernel rejected a table, which it reports in its log only.
//!
//! `/dev/kmsg` returns one record per read: `PRIORITY,SEQUENCE,MICROSECONDS,FLAGS;TEXT`. Source:
//! Documentation/ABI/testing/dev-kmsg.

use crate::Error;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;

/// The kernel's log from some moment on; empty where the log cannot be read.
pub(super) struct Log(Option<File>);

impl Log {
    pub(super) fn now() -> Self {
        let nonblocking = rustix::fs::OFlags::NONBLOCK.bits() as i32;
        let file = File::options().read(true).custom_flags(nonblocking).open("/dev/kmsg");
        Self(file.ok().and_then(|mut file| file.seek(SeekFrom::End(0)).ok().map(|_| file)))
    }

    /// Adds to the error what device-mapper has logged since.
    pub(super) fn explain(self, error: Error) -> Error {
        let reasons = self.reasons();
        if reasons.is_empty() {
            return error;
        }
        let texts: Vec<&str> = reasons.iter().map(|reason| &*reason.text).collect();
        let with = |text: String| format!("{text}: {}", texts.join("; "));
        match error {
            Error::Io { what, source } => Error::Io { what: with(what), source },
            Error::Connect(source) => Error::Connect(source),
            // The kernel reports an unknown target as an invalid table.
            Error::Refused { why, .. } if reasons.iter().any(|reason| reason.is_of_unknown_target) => {
                Error::Unavailable(with(why))
            }
            Error::Refused { kind, why } => Error::Refused { kind, why: with(why) },
            Error::Unavailable(text) => Error::Unavailable(with(text)),
            Error::Busy(text) => Error::Busy(with(text)),
            Error::NotFound(text) => Error::NotFound(with(text)),
            Error::Permission(text) => Error::Permission(with(text)),
        }
    }

    fn reasons(self) -> Vec<Reason> {
        let mut reasons: Vec<Reason> = Vec::new();
        let Some(mut file) = self.0 else { return reasons };
        let mut record = [0; RECORD];
        while let Ok(len) = file.read(&mut record) {
            let Some(reason) = Reason::parse(&String::from_utf8_lossy(&record[..len])) else { continue };
            if !reasons.contains(&reason) {
                reasons.push(reason);
            }
        }
        reasons
    }
}

/// What one record says about a table: `crypt: Error allocating crypto tfm (-ENOENT)`.
#[derive(Debug, PartialEq, Eq)]
struct Reason {
    text: String,
    /// The kernel has no target of that type.
    is_of_unknown_target: bool,
}

impl Reason {
    fn parse(record: &str) -> Option<Self> {
        let (_, text) = record.lines().next()?.split_once(';')?;
        let text = text.strip_prefix("device-mapper: ")?;
        let text = text.strip_prefix("table: ").or_else(|| text.starts_with("crypt: ").then_some(text))?;
        // The mapping's device number, which means nothing to people.
        let digits = |part: &str| part.split(':').all(|half| half.parse::<u32>().is_ok());
        let without = text.split_once(": ").filter(|(number, _)| number.contains(':') && digits(number));
        let text = without.map_or(text, |(_, rest)| rest);
        Some(Self { text: text.to_owned(), is_of_unknown_target: text.contains(UNKNOWN_TARGET) })
    }
}

/// drivers/md/dm-table.c, dm_table_add_target.
const UNKNOWN_TARGET: &str = "unknown target type";

/// The maximum length of a record (kernel/printk/printk.c, CONSOLE_EXT_LOG_MAX /
/// PRINTK_MESSAGE_MAX).
const RECORD: usize = 8192;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_about_tables_are_reasons() {
        for (text, expected) in [
            (
                "device-mapper: table: 254:0: crypt: Error allocating crypto tfm (-ENOENT)",
                Some("crypt: Error allocating crypto tfm (-ENOENT)"),
            ),
            (
                "device-mapper: table: device 7:0 too small for target: start=0, len=9, dev_size=8",
                Some("device 7:0 too small for target: start=0, len=9, dev_size=8"),
            ),
            (
                "device-mapper: crypt: xts(aes) using implementation",
                Some("crypt: xts(aes) using implementation"),
            ),
            ("device-mapper: table: 254:0: crypt: unknown target type", Some("crypt: unknown target type")),
            ("device-mapper: ioctl: error adding target to table", None),
            ("EXT4-fs (dm-0): mounted", None),
        ] {
            let found = Reason::parse(&format!("4,123,456,-;{text}\n SUBSYSTEM=x\n"));
            assert_eq!(found.as_ref().map(|reason| &*reason.text), expected);
            let is_of_unknown_target = found.is_some_and(|reason| reason.is_of_unknown_target);
            assert_eq!(is_of_unknown_target, text.ends_with("unknown target type"));
        }
        assert_eq!(Reason::parse(""), None);
    }
}
