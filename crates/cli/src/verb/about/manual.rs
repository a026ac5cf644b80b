//! `man`: shows a page of the manual, or writes all of them for a package.

use crate::args::risk::{Effect, Proof, risk};
use crate::args::{self, Args, Command, Example, Group, Kind, Offers, Operand, Opt, Request, man};
use crate::device::Inputs;
use crate::make::output_file;
use crate::output::failure::{Exit, Failure, Result};
use crate::output::stdio;
use crate::verb::COMMANDS;
use std::io::{self, IsTerminal, Write, stdout};
use std::path::{Path, PathBuf};
use std::process::{self, Stdio};

/// `keyway man`.
pub(crate) static COMMAND: Command = Command {
    name: "man",
    aliases: &[],
    group: Group::Itself,
    operands: &[Operand {
        name: "COMMAND",
        required: false,
        help: "The command; without it, the page of keyway.",
        offers: Offers::Commands,
    }],
    about: "Show the manual.",
    man: "On a terminal, man shows the page; without man, $PAGER, less or more shows it as text. Elsewhere \
          the text is printed. The pages are in the program: nothing has to be installed.",
    options: &[&[&OUTPUT]],
    rules: &[],
    examples: &[
        Example { line: "keyway man luksFormat", does: "The page of luksFormat." },
        Example { line: "keyway man --output man8", does: "All pages as files, for a package." },
    ],
    risks: &[risk(
        "--output DIR, pages of its own names",
        Effect::Replaces,
        Proof::NewName,
        "man --output TARGET",
    )],
    run: args::run::<Manual>,
};

static OUTPUT: Opt = Opt {
    long: "output",
    short: Some('o'),
    value: "DIR",
    kind: Kind::Path,
    help: "Write all pages into this directory.",
    man: "It is created if it does not exist. Pages of the same name are replaced.",
};

enum Manual {
    Show(String),
    WriteAll(PathBuf),
}

impl Request for Manual {
    fn from_args(args: &Args) -> Result<Self> {
        let name = args.operand(0).map(|name| name.to_string_lossy().into_owned());
        match (name, args.path(&OUTPUT)) {
            (Some(_), Some(_)) => Err(Failure::new(
                Exit::Parameters,
                "man --output DIR writes all pages: it takes no COMMAND.".to_owned(),
            )),
            (None, Some(directory)) => Ok(Self::WriteAll(directory.to_owned())),
            (Some(name), None) if name.contains('/') => Err(Failure::new(
                Exit::Parameters,
                format!("man: {name} is no command; --output {name} writes all pages there."),
            )),
            (name, None) => Ok(Self::Show(man::find(&COMMANDS, name.as_deref().unwrap_or("keyway"))?)),
        }
    }

    fn run(self) -> Result<()> {
        match self {
            Self::Show(page) => show(&page),
            Self::WriteAll(directory) => write_all(&directory),
        }
    }
}

fn show(page: &str) -> Result<()> {
    if !stdout().is_terminal() {
        return stdio::print(&man::plain::text(page, WIDTH));
    }
    if piped("man -l -", page) {
        return Ok(());
    }
    let width = rustix::termios::tcgetwinsize(stdout()).map_or(WIDTH, |size| usize::from(size.ws_col));
    let text = man::plain::text(page, width.clamp(WIDTH / 2, WIDEST));
    let own = std::env::var("PAGER").ok().filter(|pager| !pager.trim().is_empty());
    let pagers = own.as_deref().into_iter().chain(["less", "more"]);
    if pagers.into_iter().any(|pager| piped(pager, &text)) { Ok(()) } else { stdio::print(&text) }
}

/// Whether a program has shown the text. One that is not there, or that knows no such option, ends
/// with an error before it shows anything.
fn piped(line: &str, text: &str) -> bool {
    let mut command = process::Command::new("/bin/sh");
    command.args(["-c", line]).stdin(Stdio::piped()).stderr(Stdio::null());
    let Ok(mut child) = command.spawn() else { return false };
    if let Some(mut input) = child.stdin.take() {
        // A reader that has seen enough goes away: no failure.
        let _ = input.write_all(text.as_bytes());
    }
    child.wait().is_ok_and(|status| status.success())
}

fn write_all(directory: &Path) -> Result<()> {
    std::fs::create_dir_all(directory).map_err(|e| cannot_write(directory, &e))?;
    for (name, text) in man::pages(&COMMANDS) {
        let path = directory.join(name);
        let failed = |e: io::Error| cannot_write(&path, &e);
        let mut file = output_file::text_file(&path, (true, 0o666), &Inputs::default(), failed)?;
        file.write_all(text.as_bytes()).map_err(failed)?;
    }
    Ok(())
}

fn cannot_write(path: &Path, why: &io::Error) -> Failure {
    Failure::new(Exit::Device, format!("Cannot write {}: {why}.", path.display()))
}

/// Columns of what is no terminal.
const WIDTH: usize = 80;
/// Longer lines are hard to read.
const WIDEST: usize = 100;
