//! Questions to which only the word YES is a yes.

use crate::output::failure::{Exit, Failure, Result};
use crate::output::manner::Manner;
use crate::output::stdio;
use rustix::io::Errno;

/// Asks for confirmation on a terminal. Without a terminal, or with `--batch-mode`, the answer is
/// yes, as in cryptsetup. If the user says no, fails with `refusal` and the exit code.
pub(crate) fn confirm(manner: Manner, warning: &str, refusal: &str, exit: Exit) -> Result<()> {
    if !asks(manner) {
        return Ok(());
    }
    stdio::print(&format!(
        "\nWARNING!\n========\n{warning}\n\nAre you sure? (Type 'yes' in capital letters): "
    ))?;
    match read_answer() {
        Some(answer) if answer == "YES" => Ok(()),
        Some(_) if refusal.is_empty() => Err(Failure::silent(exit)),
        Some(_) => Err(Failure::new(exit, refusal)),
        None => Err(Failure::new(exit, "Error reading response from terminal.")),
    }
}

/// Whether [`confirm`] asks anybody.
pub(crate) fn asks(manner: Manner) -> bool {
    !manner.batch_mode && rustix::termios::isatty(rustix::stdio::stdin())
}

/// Reads one line from standard input byte by byte, because the passphrase may follow.
fn read_answer() -> Option<String> {
    let mut line = Vec::new();
    let mut byte = [0];
    loop {
        match rustix::io::read(rustix::stdio::stdin(), &mut byte) {
            Ok(0) | Err(_) if line.is_empty() => return None,
            Ok(0) => break,
            Ok(_) if byte[0] == b'\n' => break,
            Ok(_) => line.push(byte[0]),
            Err(Errno::INTR) => continue,
            Err(_) => return None,
        }
    }
    String::from_utf8(line).ok()
}

/// The line where the question cannot be asked, and -q answers it.
pub(crate) fn unasked(warning: &str) -> String {
    format!("{warning} There is no terminal to confirm it; -q confirms it.")
}
