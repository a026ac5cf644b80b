//! Results as JSON text, one row per line, and back.

use super::{Outcome, Results, SCHEMA, VERSION};
use std::fmt;

/// A text that is not a valid results document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Corrupt {
    /// The line of the error, counted from 1.
    pub line: usize,
    /// What is wrong there.
    pub reason: String,
}

impl fmt::Display for Corrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.reason)
    }
}

impl std::error::Error for Corrupt {}

impl Results {
    /// Reads a document. Refuses other schemas, unknown members, misnamed or duplicate rows, and
    /// figures that are not numbers.
    pub fn parse(text: &str) -> Result<Self, Corrupt> {
        let results: Self = serde_json::from_str(text).map_err(|error| {
            let reason = error.to_string();
            let place = format!(" at line {} column {}", error.line(), error.column());
            Corrupt { line: error.line(), reason: reason.strip_suffix(&place).unwrap_or(&reason).to_owned() }
        })?;
        let at = |needle: &str, reason: String| {
            let line = text.lines().position(|line| line.contains(needle)).map_or(1, |line| line + 1);
            Err(Corrupt { line, reason })
        };
        let schema = &results.schema;
        if schema != SCHEMA {
            return at("\"schema\"", format!("the schema is {schema:?}, this version reads {SCHEMA:?}"));
        }
        let version = results.version;
        if version != VERSION {
            return at("\"version\"", format!("the version is {version}, this program reads {VERSION}"));
        }
        if results.rows.len() > MOST_ROWS {
            return at("\"rows\"", format!("it has more than {MOST_ROWS} rows"));
        }
        let mut seen = std::collections::HashSet::new();
        for row in &results.rows {
            let quoted = format!("\"id\":{}", serde_json::Value::from(row.id.as_str()));
            let id = row.case.id();
            if row.id != id {
                return at(&quoted, format!("the row {:?} holds the case {id:?}", row.id));
            }
            if let Outcome::Measured(measured) = &row.outcome
                && (measured.samples.is_empty() || measured.samples.iter().any(|sample| *sample <= 0.0))
            {
                return at(&quoted, format!("the row {id:?} has samples without a measurement"));
            }
            if !seen.insert(id.clone()) {
                return at(&quoted, format!("the row {id:?} is a duplicate"));
            }
        }
        Ok(results)
    }

    /// The document as JSON, one row per line.
    pub fn to_json(&self) -> String {
        let row = |row| format!("\n{}", serde_json::to_string(row).unwrap_or_default());
        let rows: Vec<String> = self.rows.iter().map(row).collect();
        let (before, after) = super::file::ends(self);
        format!("{before}{}{after}", rows.join(","))
    }
}

/// Suites have a few thousand rows; reports compare rows with each other.
const MOST_ROWS: usize = 1 << 16;

#[cfg(test)]
pub(super) mod tests {
    use super::super::*;

    pub(in super::super) fn results() -> Results {
        let case = CipherCase {
            by: By::Kernel(Some("xts-aes-aesni".into())),
            ..CipherCase::new("aes-xts-plain64", 512, 512)
        };
        let case = Case::Cipher(case);
        let measured = Measured {
            samples: vec![1.0e9, 1.1e9 + 0.1],
            sample_seconds: 0.01,
            checked: "portable code".into(),
            latency: Some(vec![Latency { percent: 99.9, microseconds: 17.5 }]),
            notes: vec!["says \"rows\":[] itself".into()],
            ..Measured::default()
        };
        let kdf = Case::Kdf(KdfCase { hash: Some("sha256".into()), ..KdfCase::new("pbkdf2", 1) });
        let disk = Case::Disk(DiskCase {
            by: By::DmCrypt,
            medium: "brd".into(),
            spec: Some("aes-xts-plain64".into()),
            key_bits: Some(512),
            sector_size: Some(4096),
            pattern: Pattern::RandomMixed,
            block: 4096,
            depth: 32,
            total: None,
            flags: vec!["no_read_workqueue".into()],
            engine: "fio".into(),
        });
        Results {
            version: VERSION,
            schema: SCHEMA.into(),
            started: "2026-11-22T02:49:15Z".into(),
            versions: [("keyway".to_owned(), "0.1.0".to_owned())].into(),
            machine: Machine { name: "says \"rows\":[]".into(), ..Machine::default() },
            settings: Settings { suite: "quick".into(), ..Settings::default() },
            rows: vec![
                Row::new(case, Outcome::Measured(measured)),
                Row::new(kdf, Outcome::impossible("no such hash")),
                Row::new(
                    disk,
                    Outcome::NotMeasured {
                        reason: "no brd".into(),
                        missing_right: Some("CAP_SYS_ADMIN".into()),
                        no_time: None,
                    },
                ),
            ],
            warnings: Vec::new(),
            complete: true,
        }
    }

    #[test]
    fn a_document_is_read_as_it_was_written_and_has_a_row_a_line() {
        let text = results().to_json();
        assert_eq!(Results::parse(&text).unwrap(), results());
        assert_eq!(text.lines().filter(|line| line.starts_with("{\"id\":")).count(), 3, "{text}");
        let none = Results { rows: Vec::new(), ..results() };
        assert_eq!(Results::parse(&none.to_json()).unwrap(), none);
    }

    #[test]
    fn results_without_a_version_are_the_first_and_others_are_refused() {
        let text = results().to_json();
        assert!(text.starts_with("{\"version\":1,"), "{text}");
        assert_eq!(Results::parse(&text.replacen("\"version\":1,", "", 1)).unwrap(), results());
        let refused = Results::parse(&text.replacen("\"version\":1,", "\"version\":2,", 1)).unwrap_err();
        assert_eq!(refused.reason, "the version is 2, this program reads 1");
    }

    #[test]
    fn names_of_cases_stay_as_they_are() {
        let ids: Vec<String> = results().rows.into_iter().map(|row| row.id).collect();
        assert_eq!(
            ids,
            [
                "cipher/kernel:xts-aes-aesni/aes-xts-plain64/key512/sector512/message512/encrypt/threads1",
                "kdf/keyway/pbkdf2-sha256/lanes1/key512",
                "disk/dm-crypt/brd/aes-xts-plain64/key512/sector4096/random-mixed/block4096/depth32/no_read_workqueue/fio",
            ]
        );
    }

    #[test]
    fn a_corrupt_document_is_refused_with_its_line() {
        let good = results().to_json();
        let row = good.lines().position(|line| line.starts_with("{\"id\":\"kdf")).unwrap() + 1;
        let refused = |from: &str, to: &str| {
            assert!(good.contains(from), "{from} is not in\n{good}");
            Results::parse(&good.replacen(from, to, 1)).unwrap_err()
        };
        let wrong = refused("\"lanes\":1", "\"lanes\":1,\"cores\":2");
        assert_eq!(wrong.line, row);
        assert!(wrong.reason.contains("unknown field `cores`"), "{wrong}");
        assert_eq!(refused("\"kdf\":\"pbkdf2\"", "\"kdf\":2").line, row);
        assert!(refused("keyway-bench/1", "keyway-bench/2").reason.contains("this version reads"));
        assert!(refused("\"lanes\":1", "\"lanes\":2").reason.contains("holds the case"));
        assert!(refused("1000000000.0", "0.0").reason.contains("without a measurement"));
        let cut = Results::parse(&good[..good.len() / 2]).unwrap_err();
        assert_eq!(cut.line, good[..good.len() / 2].lines().count());
    }
}
