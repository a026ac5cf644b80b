//! `passport`: shows each keyslot's cost on this machine, on the machine that boots it, and for an
//! attacker who searches for its passphrase; and what to change.
//!
//! `request` is the command, `question` its parameters, `target` knows the speed of other machines,
//! `other` has volumes without keyslots; of LUKS, `facts` gathers, `advised` says what to change, `sentences` has its words, `text`, `json` and `page` show, `apply` makes the change.

mod advised;
mod apply;
mod facts;
mod json;
mod options;
mod other;
mod page;
mod question;
mod request;
mod sentences;
mod target;
mod text;
mod words;

use crate::args::risk::{Effect, Proof, risk};
use crate::args::rule::Rule;
use crate::args::{self, Command, Example, Group, shared};
use request::Request;

/// `keyway passport`.
pub(crate) static COMMAND: Command = Command {
    name: "passport",
    aliases: &[],
    group: Group::First,
    operands: &[shared::operands::VOLUME],
    about: "Show what each keyslot costs you and an attacker.",
    man: "Shows for every keyslot: its key derivation, the seconds that it takes here (this machine's rate, \
          measured, times the cost; with --key-file also a real derivation), the seconds until it opens on \
          --target with everything that is tried before it, and what it costs to search for a passphrase of \
          --entropy bits on --hardware: guesses per second, and years and dollars until half of all \
          passphrases are tried. The weakest keyslot is named. docs/COST.md in the source derives every \
          figure and says what the models leave out.\n\nTargets: grub-2.06, grub-2.12 and grub-2.14 (GRUB in \
          firmware on a CPU like this one), grub-2.14-accel (the same in x86_64 EFI firmware, by cryptomount \
          -A, which is not in the grub.cfg that Debian generates), grub-debian-12, grub-debian-13, \
          grub-debian-14, grub-fedora (41 to 45), grub-rhel-10, grub-tumbleweed, grub-ubuntu-22.04, \
          grub-ubuntu-24.04 and grub-ubuntu-26.04 (the EFI images that these distributions sign, with what is \
          built into them, at the speed of the release that they are made of: Ubuntu's open LUKS1 alone), \
          linux (Keyway in an initramfs here, and beside it what cryptsetup takes, by a ratio measured on \
          another CPU), cryptsetup (the latter alone), pi4 (published figures), pi3 (estimated from those); \
          with --rate-file the target's CPU is the one where \"keyway bench kdf --json >FILE\" was run. A \
          time is followed by the range in which it is expected: measurements count the CPU's time, so other \
          programs do not disturb them much, and take 256 MiB of memory at most, or what --memory-budget \
          says. GRUB tries keyslots one after the other, and each wrong one costs its derivation and its \
          digest.\n\n--within limits the time that opening may take, and adds advice on what to change: the \
          keyslot, its new cost, the commands, and what the search costs before and after. Argon2 becomes \
          cheaper Argon2 before it becomes PBKDF2; a change that makes guessing cheap says so; for the target \
          linux the limit holds for cryptsetup too. --measured takes the time measured on the target, and \
          scales all its times by that. --apply makes the change, after a header backup \
          (--header-backup-file, by default VOLUME.header-backup in the current directory, or the next free \
          name) and a question; it needs the keyslot's passphrase. The keyslot keeps its number, and the \
          header is judged again afterwards.\n\n--type does the same for a volume that is not LUKS, as far as \
          this is known without its key: for BitLocker each protector, for FileVault each user, for TrueCrypt \
          and VeraCrypt every key derivation that may be its own, and how long all of them take (a wrong \
          passphrase); which programs open it, and its weaknesses. --hash, --cipher and --veracrypt-pim add \
          what you know of it. Their rates on the attacker's hardware are hashcat's published ones; where \
          none is published, no price is named.",
    options: &[options::ALL],
    rules: &[
        Rule::needs(&options::APPLY, &options::WITHIN)
            .saying("--apply makes the change that --within advises: give --within TIME too."),
        Rule::only_of(
            LUKS,
            options::OF_KEYSLOTS,
            "Options --within, --measured, --apply, --key-slot, --password-command and those of its key file \
             are for keyslots, which only LUKS volumes have.",
        ),
        Rule::only_of_named(
            &["tcrypt", "plain", "loopaes"],
            &[&options::HASH, &options::CIPHER, &options::KEY_SIZE],
            "Options --hash, --cipher and --key-size describe a volume of --type tcrypt, plain or loopaes.",
        ),
        Rule::only_of(
            &["luks", "luks1", "luks2", "tcrypt", "plain", "loopaes"],
            &[&shared::KEY_FILE],
            "No key is needed: passport reads none for such a volume.",
        ),
        Rule::excludes(&options::APPLY, &[&shared::JSON])
            .saying("--apply is interactive and cannot be combined with --json."),
    ],
    examples: &[
        Example { line: "keyway passport disk.luks", does: "What does each keyslot cost?" },
        Example {
            line: "keyway passport --target grub-2.12 --within 4s /dev/sda2",
            does: "Which keyslot to change, to what, for GRUB in four seconds?",
        },
        Example {
            line: "keyway passport --target grub-2.12 --measured 45s --within 4s /dev/sda2",
            does: "The same, if it took 45 seconds there.",
        },
        Example {
            line: "keyway passport --type tcrypt --hash sha512 disk.hc",
            does: "What a VeraCrypt volume costs you and an attacker.",
        },
    ],
    risks: &[risk(
        "--apply",
        Effect::Edits,
        Proof::Header,
        "passport --apply -q -d KEY --target grub-2.12 --within 4s TARGET",
    )],
    run: args::run::<Request>,
};

const LUKS: &[&str] = &["luks", "luks1", "luks2"];
