//! `tcryptDump`: shows the header of a TrueCrypt or VeraCrypt volume, line for line as cryptsetup prints it, or with
//! the key.

use super::{KEY_IS_SHOWN, print_secret};
use crate::args::{self, Args, Command, Example, Group, Request, Topic, groups, shared};
use crate::device::Target;
use crate::output::failure::{Exit, Result};
use crate::output::{question, stdio};
use crate::unlock::KeyOptions;
use crate::volume::kinds::Asked;
use crate::volume::kinds::tcrypt::TcryptOptions;
use crate::volume::kinds::tcrypt::given::GivenTcrypt;

/// `keyway tcryptDump`.
pub(crate) static COMMAND: Command = Command {
    name: "tcryptDump",
    aliases: &[],
    group: Group::Cryptsetup(Topic::Questions),
    operands: &[shared::operands::DEVICE],
    about: "Show the header of a TrueCrypt or VeraCrypt volume.",
    man: "Its passphrase is asked for: without it, nothing tells such a header from noise. All hashes and ciphers that the \
          programs ever had are tried, unless --hash and --cipher narrow them.\n\nWith --dump-volume-key the volume key \
          is shown, too. Whoever has it can read the data, whichever passphrases are changed later.",
    options: &[
        &[&shared::DUMP_VOLUME_KEY, &shared::CIPHER, &shared::HASH, &shared::HEADER],
        groups::TCRYPT,
        groups::KEY_INPUT,
        groups::PROMPT,
        groups::LIMITS,
    ],
    rules: &[],
    examples: &[Example { line: "keyway tcryptDump disk.hc", does: "Program, hash and ciphers." }],
    risks: &[],
    run: args::run::<Dump>,
};

struct Dump {
    target: Target,
    tcrypt: TcryptOptions,
    key: KeyOptions,
    shows_key: bool,
}

impl Request for Dump {
    fn from_args(args: &Args) -> Result<Self> {
        Ok(Self {
            target: Target::from_args(args, 0)?,
            tcrypt: TcryptOptions::of(GivenTcrypt::from_args(args)),
            key: KeyOptions::from_args(args)?,
            shows_key: args.given(&shared::DUMP_VOLUME_KEY) || args.given(&shared::DUMP_MASTER_KEY),
        })
    }

    fn run(self) -> Result<()> {
        let Target { device, header, .. } = &self.target;
        if self.shows_key {
            question::confirm(self.target.manner, KEY_IS_SHOWN, "", Exit::Permission)?;
        }
        let asked = Asked { key: &self.key, device, header: header.as_deref(), stdin_holds_data: false };
        let unlocked = self.tcrypt.open_header(&asked)?;
        let shown = self.target.header_path().display().to_string();
        match self.shows_key {
            true => print_secret(&unlocked.dump_volume_key(&shown)?),
            false => stdio::print(&unlocked.dump(&shown)),
        }
    }
}
