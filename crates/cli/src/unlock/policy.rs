//! `--require`: the policies that a volume must meet. They are read once, before anything is asked
//! for.

use crate::args::{Args, shared};
use crate::output::failure::{Exit, Failure, Result};
use crate::process::encoding::encoded;
use keyway::trust::{self, LONGEST_POLICY, Required};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};

/// The text of a policy, kept because a pipe can be read only once.
#[derive(Debug, Clone)]
pub(crate) struct PolicyText {
    name: String,
    /// `None`: the only demand is that the volume is sealed.
    text: Option<Vec<u8>>,
}

encoded!(PolicyText { name, text });

impl PolicyText {
    /// Every policy that the command line names; the volume must meet all of them.
    pub(crate) fn from_args(args: &Args) -> Result<Vec<Self>> {
        let who = format!("--{} ", shared::REQUIRE.long);
        args.all(&shared::REQUIRE).into_iter().map(|file| Self::read(file, &who)).collect()
    }

    /// Reads a policy file that the command line, crypttab or the kernel's command line names: `who`,
    /// "--require ".
    pub(crate) fn read(file: &OsStr, who: &str) -> Result<Self> {
        if file == SEALED {
            return Ok(Self { name: format!("{who}{SEALED}"), text: None });
        }
        let name = file.to_string_lossy().into_owned();
        let text = bytes(file).map_err(|e| {
            let exit = Exit::of_file(&e, Exit::Device);
            Failure::new(exit, format!("The policy {name} cannot be read: {e}; nothing is opened."))
        })?;
        Ok(Self { name, text: Some(text) })
    }

    /// The demands it makes.
    pub(crate) fn required(&self) -> Result<Required> {
        let name = &self.name;
        let Some(text) = &self.text else { return Ok(trust::sealed_policy(name)) };
        let refused =
            |why| Failure::new(Exit::Parameters, format!("Policy {name}:{why}; nothing is opened."));
        trust::policy(name, text).map_err(refused)
    }
}

/// Reads one byte more than a policy may have: enough to refuse a longer one.
fn bytes(file: &OsStr) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    File::open(file)?.take(LONGEST_POLICY as u64 + 1).read_to_end(&mut text)?;
    Ok(text)
}

/// The policy that needs no file.
const SEALED: &str = "sealed";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::typed;
    use std::fs;

    #[test]
    fn all_policies_are_demanded() {
        let file = std::env::temp_dir().join(format!("keyway-policy-{}", std::process::id()));
        let name = file.display().to_string();
        let required = |line: &str| {
            PolicyText::from_args(&typed(line))?.iter().map(PolicyText::required).collect::<Result<Vec<_>>>()
        };
        let demanded = |line: &str| required(line).map_err(|why| (why.exit(), why.message().to_owned()));
        assert!(demanded("keyway read volume").unwrap().is_empty());
        let both = format!("keyway read --require sealed --require {name} volume");
        let (exit, why) = demanded(&both).unwrap_err();
        assert!(
            exit == Exit::Device && why.starts_with(&format!("The policy {name} cannot be read: ")),
            "{why}"
        );

        // The longest policy, whose last letter counts, and one that is longer.
        let comment = |length: usize| format!("#{}\n", "x".repeat(length - 2));
        let demand = "label = \"root\"";
        fs::write(&file, comment(LONGEST_POLICY - demand.len()) + demand).unwrap();
        let demands = demanded(&both).unwrap();
        let names: Vec<_> = demands.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["--require sealed", &name]);
        assert!(format!("{:?}", demands[1].policy).contains("root"));
        fs::write(&file, format!("{demand}\n{}", comment(LONGEST_POLICY - demand.len()))).unwrap();
        let (exit, why) = demanded(&both).unwrap_err();
        assert!(exit == Exit::Parameters && why.ends_with("; nothing is opened."), "{why}");
        fs::remove_file(&file).unwrap();
    }
}
