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

use crate::args::risk::{Effect, Proof, risk, risk_of};
use crate::args::{self, Args, Command, Example, Group, Offers, Operand, Request, did_you_mean, quoted};
use crate::output::failure::{Exit, Failure, Result};
use std::ffi::OsStr;

/// `keyway bench`.
pub(crate) static COMMAND: Command = Command {
    name: "bench",
    aliases: &[],
    group: Group::First,
    operands: &[
        Operand {
            name: "VERB",
            required: false,
            help: "kdf, disk, diff or merge; nothing measures in memory.",
            offers: Offers::Verbs(options::VERBS),
        },
        Operand {
            name: "FILE...",
            required: false,
            help: "Results files, as --save writes them.",
            offers: Offers::Files,
        },
    ],
    about: "Measure ciphers, key derivation and disks; compare measurements.",
    man: "Measures in memory, in this process, on one core and on all. Around every sample the output is \
          compared with the portable code's: a wrong result gets no figure. Cases take turns, and each is measured \
          until the 95 % interval of its median lies within one percent, or its share of --time is used up. \
          Combinations that cannot exist are rows with the rule that forbids them. The default cipher \
          (aes-xts-plain64 with 512 bits) is among them, and marked. docs/METHOD.md in the source describes the \
          method.\n\nA terminal gets the answer: what to choose on this machine and why, and the lines \
          that say so; --all shows every row there too.\n\nSuites: quick (what people choose between), default (cryptsetup's list and more), article \
          (every combination of \"Cipher benchmark for dm-crypt / LUKS\"), veracrypt (its ciphers, chains of ciphers and key derivations), all (everything that dm-crypt names; \
          hours). Without --suite, --cipher, --key-size, --hash and --pbkdf choose from everything that exists; \
          without any of these it is the suite default.\n\nA message is the data of one call: a sector, or a run of \
          sectors of 64 KiB, as in large requests.\n\n--save keeps raw samples and everything about the machine in a \
          JSON file, which is a complete document after each row. --resume continues it, with the options that it \
          was begun with. Ctrl-C prints the results so far.\n\nkeyway bench kdf measures key derivation and no \
          cipher, all of it, in a minute or two, unless --pbkdf and --hash choose; with --json its output is \
          what \"keyway passport --rate-file\" takes on another machine.\n\nkeyway bench disk TARGET measures \
          storage: plain, through Keyway and, with root and dm-crypt, through the kernel, in turn on the same bytes. \
          TARGET is a directory (for an unnamed scratch file in it), or a file or block device, which is overwritten \
          after a question; without a terminal --batch-mode must confirm this. A target that is mounted, in use or \
          holds a known signature is refused. --cipher, --key-size and --sector-size choose one encryption, --time \
          (300) bounds the run. fio makes the requests to devices if it is installed and --time allows for its \
          starts. --save, --json, --json-lines, --csv, --markdown and --html report as they do for ciphers, with \
          latencies, processor time and what limits it. Nothing is left behind, however it ends. keyway bench disk \
          --resume FILE continues a run that was stopped or killed, on the same target.\n\nkeyway bench diff OLD NEW \
          says what changed beyond noise, and exits with 1 if anything became slower or wrong, or lost its figure; \
          with --json as typed rows. \
          keyway bench merge FILE... puts machines side by side; with --html it makes one page, with --json-lines or \
          --csv one table of all of them.\n\n--compare measures others in turn with Keyway: kernel (the driver that \
          dm-crypt gets, through AF_ALG, one sector per request, its output compared like Keyway's), openssl (its \
          program \"openssl speed\", whose output cannot be checked and which sets no IV), cryptsetup (PBKDF2 by \
          \"cryptsetup benchmark\").",
    options: &[options::ALL],
    rules: &[],
    examples: &[
        Example {
            line: "keyway bench --suite quick",
            does: "The ciphers that people choose between, in a minute or two.",
        },
        Example {
            line: "keyway bench disk --html page.html .",
            does: "What does encryption cost on this disk? Five minutes; --time chooses.",
        },
        Example {
            line: "keyway bench -c 'serpent-xts-plain*' --save s.json",
            does: "Serpent in XTS, half a minute; keep the samples.",
        },
        Example {
            line: "keyway bench -c aes-xts-plain64 -s 512 --compare kernel",
            does: "The kernel's own cipher beside Keyway's.",
        },
        Example { line: "keyway bench diff before.json after.json", does: "What changed beyond noise?" },
    ],
    risks: &[
        risk("--save FILE", Effect::Replaces, Proof::NewName, ""),
        risk_of("disk", "TARGET", Effect::Overwrites, Proof::Claim, "bench disk -q --time 1 TARGET"),
    ],
    run: args::run::<Bench>,
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
        args.check_verb(|_, _| "")?;
        match args.operand(0).map(|verb| verb.to_string_lossy().into_owned()).as_deref() {
            None | Some("kdf") => match args.operands().get(1) {
                Some(extra) => Err(one_too_many(extra)),
                None => Request::from_args(args).map(Self::Memory),
            },
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

fn one_too_many(extra: &OsStr) -> Failure {
    let extra = extra.to_string_lossy();
    let message = format!("bench kdf: unexpected operand \"{extra}\"; options choose what it measures.");
    Failure::new(Exit::Parameters, message)
}

fn unknown(verb: &str) -> Failure {
    let hint = did_you_mean(
        verb,
        options::VERBS.iter().map(|verb| verb.name).filter(|name| !name.is_empty()),
        quoted,
    );
    let all = || "There are kdf, disk, diff and merge; without one, bench measures in memory.".to_owned();
    let hint = hint.unwrap_or_else(all);
    Failure::new(Exit::Parameters, format!("bench: unknown verb \"{verb}\"; {hint}"))
}
