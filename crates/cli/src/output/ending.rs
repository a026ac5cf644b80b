//! How a command ends.

use crate::output::failure::Result;
use crate::output::manner::Manner;
use crate::output::stdio;
use std::process::ExitCode;

/// Ends a command: prints its error line on failure and, with `-v`, cryptsetup's closing line on
/// standard output.
pub(crate) fn conclude(manner: Manner, result: Result<()>) -> ExitCode {
    let (code, closing) = match &result {
        Ok(()) => (ExitCode::SUCCESS, "Command successful.".to_owned()),
        Err(failure) => {
            let exit = failure.exit();
            let closing = format!("Command failed with code -{} ({}).", exit as u8, exit.meaning());
            (failure.report(), closing)
        }
    };
    if manner.verbose {
        let _ = stdio::print(&format!("{closing}\n"));
    }
    code
}
