//! `xray`: shows which code the kernel will run for a volume, how fast it is, and whether its
//! results are right.
//!
//! `subject` determines what to examine, `kernel` examines the running kernel, `place` a directory
//! or an image; `text` and `json` show.

mod json;
mod kernel;
mod place;
mod subject;
mod text;

use crate::args::{self, Args, Command, Example, Group, Kind, Offers, Operand, Opt, Request, shared};
use crate::device::{Target, Versions};
use crate::output::failure::{Exit, Failure, Result};
use crate::output::paint::Paint;
use crate::output::stdio;
use kernel::{Findings, Look, Sent};
use keyway_kernel::Version;
use std::path::{Path, PathBuf};
use subject::{Asked, Subject};

/// `keyway xray`.
pub(crate) static COMMAND: Command = Command {
    name: "xray",
    aliases: &[],
    group: Group::Rootless,
    operands: &[Operand {
        name: "SPEC|VOLUME",
        required: false,
        help: "A cipher (aes-xts-plain64), or a volume.",
        offers: Offers::Files,
    }],
    about: "Show which code the kernel runs for a cipher, and check it.",
    man: "Lists the kernel's drivers for a cipher by priority, the one that dm-crypt and fscrypt get (they \
          refuse some, depending on the kernel's version), and which of them are engines off the CPU: those \
          are usually slower for disk encryption, and some have encrypted wrongly. Each driver is run by name \
          through AF_ALG: its output is compared with Keyway's on random data, in pieces of odd sizes and \
          with continued IVs, and its speed is measured with one request of 512 or 4096 bytes at a time \
          (system calls included). This makes the kernel load the modules it needs. No rights are needed; \
          where something cannot be seen or measured, the missing module or right is named. Kernels from 7.3 \
          on, and some distributions' before, keep AF_ALG from everybody; the choice is shown anyway, and \
          bench disk on /dev/ram0 measures and checks the driver that dm-crypt takes, as root. Drivers called \
          *-lib are the kernel's own library, which takes what the CPU has.\n\nWith a volume (for a file \
          named like a cipher, write ./NAME), its header says which cipher; no passphrase is needed, and what \
          the kernel lacks for it is listed. --root and --initramfs look for that in a directory or in an \
          initramfs image (cpio, also compressed with gzip, zstd, xz, lzma, lz4 or bzip2) and measure \
          nothing.\n\nThe exit code is 1 if a driver's output is wrong or something that is needed is \
          missing.\n\nJSON is one object: \"kernel\" (\"release\", \"version\", \"flags\": kernel or table, \
          \"self_tests\"), \"cpu\", \"ciphers\" (each with \"spec\", \"algorithm\", \"dm_crypt\", \
          \"fscrypt\", \"drivers\", \"keyway\", \"verdict\") and \"places\" (each with \"place\", \"release\" \
          and \"needs\"); speeds are bytes per second, unknown values are null.",
    options: &[&[
        &CIPHER,
        &ALL,
        &ROOT,
        &INITRAMFS,
        &PROC_CRYPTO,
        &KERNEL_VERSION,
        &NO_MEASURE,
        &shared::JSON,
        &shared::HEADER,
        &shared::TYPE,
        &shared::TIMEOUT,
    ]],
    rules: &[],
    examples: &[
        Example { line: "keyway xray", does: "What aes-xts-plain64 runs on here." },
        Example {
            line: "keyway xray /dev/sda2",
            does: "What the volume's cipher runs on, and what is missing for it.",
        },
        Example {
            line: "keyway xray disk.luks --initramfs /boot/initrd.img",
            does: "Does the image hold all modules that the volume needs?",
        },
        Example {
            line: "keyway xray --proc-crypto board.txt",
            does: "What another machine's kernel would run, and whether Adiantum suits it better.",
        },
        Example { line: "keyway xray --all", does: "Check the output of every driver that this kernel has." },
    ],
    risks: &[],
    run: args::run::<Xray>,
};

static CIPHER: Opt = Opt {
    long: "cipher",
    short: Some('c'),
    value: "SPEC",
    kind: Kind::Words(shared::CIPHERS),
    help: "This cipher: a spec, or a name (adiantum).",
    man: "The same as the operand, also where a file has this name.",
};
static ALL: Opt = Opt {
    long: "all",
    short: None,
    value: "",
    kind: Kind::Flag,
    help: "Check every sector cipher that is in use.",
    man: "Loads no modules and measures no speeds.",
};
static ROOT: Opt = Opt {
    long: "root",
    short: None,
    value: "DIR",
    kind: Kind::Path,
    help: "Look for the modules in this root file system.",
    man: "Checks every kernel in its lib/modules.",
};
static INITRAMFS: Opt = Opt {
    long: "initramfs",
    short: None,
    value: "FILE",
    kind: Kind::Path,
    help: "Look for the modules in this initramfs image.",
    man: "Built-in modules are taken from the image's lists or, for the same release, from /lib/modules here \
          or below --root.",
};
static PROC_CRYPTO: Opt = Opt {
    long: "proc-crypto",
    short: None,
    value: "FILE",
    kind: Kind::Path,
    help: "Read another machine's /proc/crypto.",
    man: "Nothing is measured then; --kernel-version says which kernel's rules apply.",
};
static KERNEL_VERSION: Opt = Opt {
    long: "kernel-version",
    short: None,
    value: "VERSION",
    kind: Kind::Text,
    help: "With --proc-crypto: its version of Linux.",
    man: "",
};
static NO_MEASURE: Opt = Opt {
    long: "no-measure",
    short: None,
    value: "",
    kind: Kind::Flag,
    help: "Only look: run no driver, load nothing.",
    man: "",
};

struct Xray {
    asked: Asked,
    place: Where,
    json: bool,
}

/// Where to look for the code.
enum Where {
    /// In a running kernel.
    Kernel(Look),
    /// In modules, of a root file system or of an image.
    Modules { root: Option<PathBuf>, image: Option<PathBuf> },
}

impl Request for Xray {
    fn from_args(args: &Args) -> Result<Self> {
        let wrong = |what: &str| Err(Failure::new(Exit::Parameters, what));
        let [all, no_measure, sent] = [&ALL, &NO_MEASURE, &PROC_CRYPTO].map(|option| args.given(option));
        let elsewhere = args.given(&ROOT) || args.given(&INITRAMFS);
        if elsewhere && (sent || all || no_measure) {
            return wrong(
                "--root and --initramfs look for modules and measure nothing: --proc-crypto, --all and --no-measure are for the running kernel.",
            );
        }
        if args.given(&KERNEL_VERSION) && !sent {
            return wrong(
                "--kernel-version is for --proc-crypto: the running kernel reports its own version.",
            );
        }
        if all && (sent || args.operand(0).is_some()) {
            return wrong(
                "--all checks every driver of the running kernel: it takes no cipher, no volume and no --proc-crypto.",
            );
        }
        if args.given(&CIPHER) && (all || args.operand(0).is_some() || args.given(&shared::HEADER)) {
            return wrong(
                "--cipher names what to examine: it takes no SPEC, no VOLUME, no --header and no --all.",
            );
        }
        let path = |option: &Opt| args.path(option).map(Path::to_owned);
        let asked = match (args.operand(0), args.given(&shared::HEADER)) {
            (None, false) if args.given(&CIPHER) => Asked::cipher(args.text(&CIPHER).unwrap_or_default())?,
            (None, false) => Asked::default_cipher()?,
            (Some(name), false) if !subject::is_file(name) => Asked::cipher(&name.to_string_lossy())?,
            _ => Asked::Volume(Target::from_args(args, 0)?, Versions::from_args(args)?),
        };
        let place = match elsewhere {
            true => Where::Modules { root: path(&ROOT), image: path(&INITRAMFS) },
            false => {
                let version = args.text(&KERNEL_VERSION).map(version).transpose()?;
                let sent = path(&PROC_CRYPTO).map(|file| Sent { file, version });
                Where::Kernel(Look { measures: sent.is_none() && !no_measure, sent, all })
            }
        };
        Ok(Self { asked, place, json: args.given(&shared::JSON) })
    }

    fn run(self) -> Result<()> {
        let subject = Subject::find(self.asked)?;
        let findings = match self.place {
            Where::Kernel(look) => Findings::of_kernel(&look, &subject)?,
            Where::Modules { root, image } => {
                let places = place::look(root.as_deref(), image.as_deref(), &subject)?;
                Findings { places, ..Findings::default() }
            }
        };
        let text = match self.json {
            true => format!("{}\n", json::show(&subject, &findings)),
            false => text::show(&subject, &findings, Paint::for_stdout()),
        };
        stdio::print(&text)?;
        // Everything has been printed already.
        if findings.is_bad() { Err(Failure::silent(Exit::Parameters)) } else { Ok(()) }
    }
}

fn version(text: &str) -> Result<Version> {
    Version::parse(text).ok_or_else(|| {
        let needed = "a version is needed, such as 6.1.174";
        Failure::new(Exit::Parameters, format!("--kernel-version {text}: {needed}."))
    })
}
