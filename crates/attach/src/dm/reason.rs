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
        let with = |text: String| format!("{text}: {reasons}");
        match error {
            Error::Io { what, source } => Error::Io { what: with(what), source },
            // The kernel reports an unknown target as an invalid table.
            Error::Refused(text) if reasons.contains(UNKNOWN_TARGET) => Error::Unavailable(with(text)),
            Error::Refused(text) => Error::Refused(with(text)),
            Error::Unavailable(text) => Error::Unavailable(with(text)),
            Error::Busy(text) => Error::Busy(with(text)),
            Error::NotFound(text) => Error::NotFound(with(text)),
            Error::Permission(text) => Error::Permission(with(text)),
        }
    }

    fn reasons(self) -> String {
        let Some(mut file) = self.0 else { return String::new() };
        let mut record = [0; RECORD];
        let mut reasons: Vec<String> = Vec::new();
        while let Ok(len) = file.read(&mut record) {
            let Some(reason) = reason(&String::from_utf8_lossy(&record[..len])) else { continue };
            if !reasons.contains(&reason) {
                reasons.push(reason);
            }
        }
        reasons.join("; ")
    }
}

/// What one record says about a table: `crypt: Error allocating crypto tfm (-ENOENT)`.
fn reason(record: &str) -> Option<String> {
    let (_, text) = record.lines().next()?.split_once(';')?;
    let text = text.strip_prefix("device-mapper: ")?;
    let text = text.strip_prefix("table: ").or_else(|| text.starts_with("crypt: ").then_some(text))?;
    // The mapping's device number, which means nothing to people.
    let digits = |part: &str| part.split(':').all(|half| half.parse::<u32>().is_ok());
    let without = text.split_once(": ").filter(|(number, _)| number.contains(':') && digits(number));
    Some(without.map_or(text, |(_, rest)| rest).to_owned())
}

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
            ("device-mapper: ioctl: error adding target to table", None),
            ("EXT4-fs (dm-0): mounted", None),
        ] {
            assert_eq!(reason(&format!("4,123,456,-;{text}\n SUBSYSTEM=x\n")).as_deref(), expected);
        }
        assert_eq!(reason(""), None);
    }
}
