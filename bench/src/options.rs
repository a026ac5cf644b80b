//! The command line, after the table's name.

/// What to measure and where to write it.
#[derive(Debug)]
pub(crate) struct Options {
    /// Only cases whose title contains this.
    only: Option<String>,
    /// Where every single sample goes.
    pub(crate) csv: Option<String>,
    /// How often each contestant of the engine's table has its turn.
    pub(crate) rounds: usize,
    /// Size of the volumes that are read and written from end to end, in MiB.
    pub(crate) mib: u64,
    /// Another keyway, an older one: `doors` measures both.
    pub(crate) beside: Option<String>,
}

impl Options {
    pub(crate) fn parse(mut args: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options = Self { only: None, csv: None, rounds: 21, mib: 2048, beside: None };
        while let Some(arg) = args.next() {
            let mut value = || args.next().ok_or(format!("{arg} needs a value"));
            match arg.as_str() {
                "--only" => options.only = Some(value()?),
                "--csv" => options.csv = Some(value()?),
                "--rounds" => options.rounds = value()?.parse().map_err(|e| format!("--rounds: {e}"))?,
                "--mib" => options.mib = value()?.parse().map_err(|e| format!("--mib: {e}"))?,
                "--beside" => options.beside = Some(value()?),
                other => return Err(format!("unknown option {other}")),
            }
        }
        Ok(options)
    }

    /// Whether a case of this title will run: asked before anything is built for it.
    pub(crate) fn wants(&self, title: &str) -> bool {
        self.only.as_ref().is_none_or(|only| title.to_lowercase().contains(&only.to_lowercase()))
    }
}
