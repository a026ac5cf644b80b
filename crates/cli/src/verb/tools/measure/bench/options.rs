//! The options of `bench`.

use crate::args::{Kind, Opt, Verb, shared};

const fn text(long: &'static str, value: &'static str, help: &'static str, man: &'static str) -> Opt {
    Opt { long, short: None, value, kind: Kind::Text, help, man }
}

const fn words(
    long: &'static str,
    value: &'static str,
    words: &'static [&'static str],
    help: &'static str,
    man: &'static str,
) -> Opt {
    Opt { long, short: None, value, kind: Kind::Words(words), help, man }
}

const fn file(long: &'static str, help: &'static str, man: &'static str) -> Opt {
    Opt { long, short: None, value: "FILE", kind: Kind::Path, help, man }
}

pub(super) static SUITE: Opt = words(
    "suite",
    "NAME",
    &["quick", "default", "article", "veracrypt", "all"],
    "quick, default, article, veracrypt or all.",
    "",
);
pub(super) static CIPHER: Opt = Opt {
    long: "cipher",
    short: Some('c'),
    value: "SPEC",
    kind: Kind::Words(shared::CIPHERS),
    help: "Only these specs, names or patterns (*, ?).",
    man: "May be given several times. With --suite it chooses from the suite, otherwise from everything there is. A name such as adiantum means that cipher's usual spec, serpent-twofish-aes that chain of ciphers in XTS. A pattern takes essiv \
          with sha256 for all hashes, unless it says \"essiv:\".",
};
pub(super) static KEY_SIZE: Opt = Opt {
    long: "key-size",
    short: Some('s'),
    value: "BITS",
    kind: Kind::Number(u32::MAX as u64),
    help: "Only these sizes of the volume key.",
    man: "May be given several times. A size that a cipher does not take is a row with the reason.",
};
pub(super) static SECTOR_SIZE: Opt = Opt {
    long: "sector-size",
    short: None,
    value: "BYTES",
    kind: Kind::Number(4096),
    help: "Only these sectors (512 and 4096).",
    man: "May be given several times.",
};
pub(super) static MESSAGE: Opt = Opt {
    long: "message",
    short: None,
    value: "SIZE",
    kind: Kind::Size,
    help: "Bytes per call (a sector).",
    man: "A whole number of sectors, at most 16 MiB. May be given several times.",
};
pub(super) static DIRECTION: Opt = Opt {
    long: "direction",
    short: None,
    value: "WAY",
    kind: Kind::Choice(&["encrypt", "decrypt"]),
    help: "Only one direction: encrypt or decrypt.",
    man: "",
};
pub(super) static THREADS: Opt =
    text("threads", "N", "Threads at once: numbers, or all (1,all).", "Separated by commas.");
pub(super) static HASH: Opt = Opt {
    long: "hash",
    short: Some('h'),
    value: "NAME",
    kind: Kind::Words(shared::HASHES),
    help: "PBKDF2 with this hash only.",
    man: "May be given several times.",
};
pub(super) static PBKDF: Opt = words(
    "pbkdf",
    "NAME",
    &["argon2id", "argon2i", "pbkdf2", "bitlocker"],
    "Only argon2id, argon2i, pbkdf2 or bitlocker.",
    "May be given several times.",
);
pub(super) static ITER_TIME: Opt = Opt {
    long: "iter-time",
    short: Some('i'),
    value: "MS",
    kind: Kind::Number(3_600_000),
    help: "Also find the costs that take this long.",
    man: "Iterations of PBKDF2 or passes of Argon2 that take this many milliseconds here, as luksFormat --iter-time-for keyway would choose them.",
};
pub(super) static COMPARE: Opt = words(
    "compare",
    "WHO",
    &["kernel", "openssl", "cryptsetup"],
    "Also measure kernel, openssl, cryptsetup.",
    "Separated by commas. One that is not available has rows that say what is missing.",
);
pub(super) static TIME: Opt = Opt {
    long: "time",
    short: None,
    value: "SECONDS",
    kind: Kind::Number(10_000_000),
    help: "How long the run may take at most.",
    man: "Shared among the cases; short times mean short samples and wide intervals. Cases that do not fit, \
          such as three derivations of Argon2 over 1 GiB, are left out, and their rows say so. Without it a \
          case takes half a second, one of another program or a slow derivation some seconds; a run that \
          takes long says so beforehand.",
};
pub(super) static SAVE: Opt =
    file("save", "Save the results: raw samples as JSON.", "The file grows row by row.");
pub(super) static RESUME: Opt =
    file("resume", "Resume a run that was stopped.", "Cases that have their rows are not repeated.");
pub(super) static CSV: Opt = file("csv", "Write one row per line; - is standard output.", "");
pub(super) static MARKDOWN: Opt = file("markdown", "Write tables for a README; - likewise.", "");
pub(super) static HTML: Opt =
    file("html", "Write one page with charts; - likewise.", "It is self-contained and loads nothing.");
pub(super) static JSON_LINES: Opt = file(
    "json-lines",
    "Write one object per line; - likewise.",
    "One schema for many machines: docs/METHOD.md.",
);
/// What a run writes.
pub(super) static OUTPUTS: &[&Opt] = &[&SAVE, &RESUME, &CSV, &MARKDOWN, &HTML, &JSON_LINES];
pub(super) static NAME: Opt = text("name", "NAME", "Name of the machine (its hostname).", "");
pub(super) static WHOLE: Opt = Opt {
    long: "all",
    short: None,
    value: "",
    kind: Kind::Flag,
    help: "Show all rows on a terminal too.",
    man: "Without it a terminal gets the answer: what to choose on this machine, why, and the lines that say \
          so. Elsewhere all rows are printed.",
};
pub(super) static THRESHOLD: Opt = Opt {
    long: "threshold",
    short: None,
    value: "PERCENT",
    kind: Kind::Number(100),
    help: "diff: ignore smaller changes (2).",
    man: "Two runs of one program differ by about that much. 0 takes every change that the intervals show.",
};

/// How the run goes, and where its results go.
static RUN: &[&Opt] =
    &[&TIME, &SAVE, &RESUME, &shared::JSON, &JSON_LINES, &CSV, &MARKDOWN, &HTML, &shared::FORCE, &NAME];

/// Which key derivations.
static KDFS: &[&Opt] =
    &[&HASH, &PBKDF, &shared::PBKDF_MEMORY, &shared::PBKDF_PARALLEL, &ITER_TIME, &THREADS, &COMPARE, &WHOLE];

/// Which ciphers.
static CIPHERS: &[&Opt] = &[&SUITE, &CIPHER, &KEY_SIZE, &SECTOR_SIZE, &MESSAGE, &DIRECTION];

pub(super) static VERBS: &[Verb] = &[
    Verb {
        name: "",
        operands: "",
        about: "Measure ciphers and key derivation in memory.",
        options: &[CIPHERS, KDFS, RUN],
    },
    Verb { name: "kdf", operands: "", about: "Measure key derivation alone.", options: &[KDFS, RUN] },
    Verb {
        name: "disk",
        operands: "TARGET",
        about: "Measure storage, plain and encrypted.",
        options: &[&[&CIPHER, &KEY_SIZE, &SECTOR_SIZE], RUN],
    },
    Verb {
        name: "diff",
        operands: "OLD NEW",
        about: "Say what changed beyond noise.",
        options: &[&[&THRESHOLD, &shared::JSON]],
    },
    Verb {
        name: "merge",
        operands: "FILE...",
        about: "Put machines side by side.",
        options: &[&[&shared::JSON, &JSON_LINES, &CSV, &MARKDOWN, &HTML, &shared::FORCE]],
    },
];

/// In the order of help.
pub(super) static ALL: &[&Opt] = &[
    &SUITE,
    &CIPHER,
    &KEY_SIZE,
    &SECTOR_SIZE,
    &MESSAGE,
    &DIRECTION,
    &THREADS,
    &HASH,
    &PBKDF,
    &shared::PBKDF_MEMORY,
    &shared::PBKDF_PARALLEL,
    &ITER_TIME,
    &COMPARE,
    &TIME,
    &WHOLE,
    &SAVE,
    &RESUME,
    &shared::JSON,
    &JSON_LINES,
    &CSV,
    &MARKDOWN,
    &HTML,
    &shared::FORCE,
    &NAME,
    &THRESHOLD,
];
