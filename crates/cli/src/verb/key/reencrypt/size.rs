//! `--device-size` where something begins: what is behind it is given up, which nobody does unasked; and what is open
//! keeps the size that it has.

use super::{Asked, What};
use crate::output::failure::{Exit, Failure, Result};
use crate::output::shell;

impl Asked {
    /// Asks before the rest of a volume of `whole` bytes is given up. Called as cryptsetup, nobody is asked.
    pub(super) fn confirm_size(&self, whole: u64) -> Result<()> {
        match self.part_of(whole) {
            Some(part) if !self.is_cryptsetup => self.confirm(&self.warning_of_size(part)),
            _ => Ok(()),
        }
    }

    /// The question before a size gives up what is behind it.
    pub(super) fn warning_of_size(&self, part: u64) -> String {
        format!(
            "This gives up all data behind byte {part} of the volume on {}: it stays there unchanged, but the \
             volume can no longer read it.",
            self.target.device.display()
        )
    }

    /// `--device-size`, where that is less than all.
    pub(super) fn part_of(&self, whole: u64) -> Option<u64> {
        self.data_len.filter(|part| *part < whole)
    }

    /// What an encryption or a decryption is about, for its question.
    pub(super) fn extent_of(&self, whole: u64) -> String {
        let device = self.target.device.display();
        match self.part_of(whole) {
            Some(part) => format!("the first {part} bytes of the data on {device}"),
            None => format!("all data on {device}"),
        }
    }

    /// What becomes of the rest, as a sentence that follows.
    pub(super) fn fate_of_rest(&self, whole: u64) -> &'static str {
        match (self.part_of(whole), self.what) {
            (None, _) => "",
            (Some(_), What::Encrypt) => {
                " The data behind them is not encrypted, and the volume cannot read it."
            }
            (Some(_), _) => " The data behind them stays encrypted, and nothing can read it any more.",
        }
    }

    /// Before something begins with what is open with `open` of its `whole` bytes: the size of that is the one it
    /// keeps. Called as cryptsetup, it is the one that is meant, too.
    pub(super) fn keep_size_of(&mut self, name: &str, open: u64, whole: u64) -> Result<()> {
        match self.data_len {
            Some(wanted) if wanted != open => {
                let message = format!(
                    "{name} is open with {open} bytes, and keeps them: --device-size {wanted} is another size. Nothing was \
                     changed."
                );
                let failure = Failure::new(Exit::Parameters, message);
                let name = shell::word(name);
                Err(match wanted <= whole {
                    true => failure.hinting(format!(
                        "\"keyway resize --device-size {wanted} {name}\" gives it that size first."
                    )),
                    false => failure,
                })
            }
            // A decryption asks anyway.
            Some(_) if self.what == What::Decrypt => Ok(()),
            Some(_) => self.confirm_size(whole),
            None if open == whole => Ok(()),
            None if self.is_cryptsetup => {
                self.data_len = Some(open);
                self.how = self.how.clone().data_len(open);
                Ok(())
            }
            None => Err(resized(name, open, whole, true)),
        }
    }

    /// The same before something goes on that is under way.
    pub(super) fn check_size_of(name: &str, open: u64, whole: u64) -> Result<()> {
        if open == whole { Ok(()) } else { Err(resized(name, open, whole, false)) }
    }
}

/// The refusal of what is open with another size than its header has.
fn resized(name: &str, open: u64, whole: u64, begins: bool) -> Failure {
    let message =
        format!("{name} was resized: it is open with {open} bytes, and has {whole}. Nothing was changed.");
    let or = if begins { format!("; --device-size {open} gives up the rest") } else { String::new() };
    let name = shell::word(name);
    Failure::new(Exit::Parameters, message)
        .hinting(format!("\"keyway resize {name}\" gives it all of them{or}."))
}
