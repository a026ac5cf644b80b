//! `bench`: measures ciphers and key derivation in memory, and storage plain and encrypted;
//! compares results.
//!
//! `options` defines the options, `asked` turns them into a list of cases, `kept` holds the options
//! of every run, `run` measures while `live` watches, `disk` measures storage, `outputs` writes
//! reports, `files` reads results and compares them.

mod asked;
mod disk;
mod files;
mod kept;
mod live;
mod options;
mod outputs;
mod run;

use crate::door::{self, Args, Command, Example, Group, Operand, Request, nearest};
use crate::say::failure::{Exit, Failure, Result};

/// `keyway bench`.
pub(crate) static COMMAND: Command = Command {
    name: "bench",
    aliases: &[],
    group: Group::Rootless,
    operands: &[
        Operand {
            name: "VERB",
            required: false,
            help: "kdf, disk, diff or merge; nothing measures in memory.",
        },
        Operand { name: "FILE...", required: false, help: "Results files, as --save writes them." },
    ],
    about: "Measure ciphers, key derivation and disks; compare measurements.",
    man: "Measures in memory, in this process, on one core and on all. Around every sample the output is compared with the portable \
          code's: wrong work has no figure. Cases take turns, and each is measured until the 95 % interval of its median lies \
          within one percent, or its share of --time is used up. Combinations that cannot exist are rows with the rule that forbids \
          them. What is used when nothing is chosen (aes-xts-plain64 with 512 bits) is always there, and marked. docs/METHOD.md in \
          the source says how all of this is done, and why.\n\n\
          Suites: quick (what people choose between), default (cryptsetup's list and more), article (every combination of \"Cipher \
          benchmark for dm-crypt / LUKS\"), all (everything that dm-crypt names; hours). Without one, --cipher, --key-size, --hash \
          and --pbkdf choose from everything that exists; alone it is the suite default.\n\n\
          A message is what one call is given: a sector, or a run of sectors of 64 KiB, as large requests are.\n\n\
          --save keeps raw samples and everything about the machine in a JSON file, which is a whole document after each row. --resume \
          goes on with it, with the options that it was begun with. Ctrl-C prints what there is.\n\n\
          keyway bench kdf measures key derivation (and the one cipher that is always there), all of it when --pbkdf and --hash do not choose; \
          with --json its output is what \"keyway passport --rate-file\" takes on another machine.\n\n\
          keyway bench disk TARGET measures storage: plain, through Keyway and, with root and dm-crypt, through the kernel, in turn on the \
          same bytes. TARGET is a directory (a scratch file without a name is made in it), or a file or block device, which is written \
          over after a question; without a terminal --batch-mode must say so. What is mounted, in use or holds a known signature is \
          refused. --cipher, --key-size and --sector-size choose one encryption, --time (300) bounds the run. fio makes the \
          requests to devices where it is installed and --time leaves room for its starts. --save, --json, --json-lines, --csv, \
          --markdown and --html report as they do of ciphers, with latencies, processor time and what limits it. Nothing is left, \
          however it ends. keyway bench disk --resume FILE goes on with a run that was stopped or killed, on the same target.\n\n\
          keyway bench diff OLD NEW says what changed beyond noise, and exits with 1 when something became slower or wrong, or lost \
          its figure. keyway bench merge FILE... puts machines side by side; with --html it makes one page, with --json-lines or \
          --csv one table of all of them.\n\n\
          --compare measures others in turn with Keyway: kernel (the driver that dm-crypt gets, through AF_ALG, a sector a request, its output \
          compared like Keyway's), openssl (its program \"openssl speed\", whose output nobody can check and which \
          sets no IV), cryptsetup (PBKDF2 by \"cryptsetup benchmark\").",
    options: &[options::ALL],
    examples: &[
        Example { line: "keyway bench --suite quick", does: "The ciphers that people choose between." },
        Example {
            line: "keyway bench disk --html page.html .",
            does: "What does encryption cost on this disk?",
        },
        Example {
            line: "keyway bench -c 'serpent*' --save s.json",
            does: "All of Serpent; keep the samples.",
        },
        Example {
            line: "keyway bench -c aes-xts-plain64 --compare kernel",
            does: "The kernel's own cipher beside Keyway's.",
        },
        Example { line: "keyway bench diff before.json after.json", does: "What changed beyond noise?" },
    ],
    run: door::run::<Bench>,
};

/// One of its verbs.
enum Bench {
    /// No verb, or `kdf`.
    Memory(run::Memory),
    Disk(disk::Disk),
    Diff(files::Diff),
    Merge(files::Merge),
}

impl Request for Bench {
    fn from_args(args: &Args) -> Result<Self> {
        match args.operand(0).map(|verb| verb.to_string_lossy().into_owned()).as_deref() {
            None | Some("kdf") => Request::from_args(args).map(Self::Memory),
            Some("disk") => Request::from_args(args).map(Self::Disk),
            Some("diff") => Request::from_args(args).map(Self::Diff),
            Some("merge") => Request::from_args(args).map(Self::Merge),
            Some(other) => Err(unknown(other)),
        }
    }

    fn run(self) -> Result<()> {
        match self {
            Self::Memory(request) => request.run(),
            Self::Disk(request) => request.run(),
            Self::Diff(request) => request.run(),
            Self::Merge(request) => request.run(),
        }
    }
}

fn unknown(verb: &str) -> Failure {
    let hint = match nearest(verb, ["kdf", "disk", "diff", "merge"].into_iter()) {
        Some(near) => format!("did you mean \"{near}\"?"),
        None => "There are kdf, disk, diff and merge; without one, bench measures in memory.".to_owned(),
    };
    Failure::new(Exit::Parameters, format!("bench: unknown verb \"{verb}\"; {hint}"))
}
