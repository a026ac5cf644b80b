//! `write`: copies plaintext from a file or standard input into a volume, at any offset.

use crate::args::risk::{Effect, Proof, risk};
use crate::args::{self, Args, Command, Example, Group, Offers, Operand, Request, groups, shared};
use crate::device::input::Input;
use crate::output::failure::Result;
use crate::output::progress::{self, Progress};
use crate::output::transfer::{self, cannot_write};
use crate::verb::volume::read::OFFSET;
use crate::volume::{self, Data, Opening};
use keyway::parts::CopyOptions as Options;
use keyway::stream::{self, Sink};

/// `keyway write`.
pub(crate) static COMMAND: Command = Command {
    name: "write",
    aliases: &[],
    group: Group::Rootless,
    operands: &[
        shared::operands::VOLUME,
        Operand {
            name: "FILE",
            required: false,
            help: "The plaintext; standard input by default.",
            offers: Offers::Files,
        },
    ],
    about: "Write a file or standard input into a volume.",
    man: "The content of the file replaces that of the volume from --offset on; everything else stays. Offset \
          and length need not be whole sectors. When the command returns, the data is on stable storage.\n\nA file \
          that does not fit is refused before anything is written. A pipe's length is known only at its end: what \
          fits has then been written, and the rest is an error.\n\nDo not write to a volume that is mapped or \
          mounted: the kernel's cache would not know of it.",
    options: &[
        &[&OFFSET, &shared::SHARED, &shared::DIRECT_IO],
        groups::KEY_INPUT,
        groups::UNLOCKING,
        groups::PROMPT,
        groups::LIMITS,
        groups::ADMISSION,
        groups::PLAIN_DATA,
        groups::TCRYPT,
        groups::PROTECTION,
        &[&shared::DEVICE_OFFSET],
        groups::PROGRESS,
    ],
    rules: &[],
    examples: &[
        Example { line: "keyway write disk.luks rootfs.ext4", does: "put a file system into a volume" },
        Example {
            line: "echo hello | keyway write disk.luks --offset 1M -d key",
            does: "change a few bytes in the middle",
        },
    ],
    risks: &[risk(
        "VOLUME",
        Effect::Overwrites,
        Proof::Claim,
        "write --type plain -c aes-xts-plain64 -s 512 -d KEY TARGET RAW",
    )],
    run: args::run::<Write>,
};

struct Write {
    opening: Opening,
    input: Input,
    offset: u64,
    progress: Progress,
}

impl Request for Write {
    fn from_args(args: &Args) -> Result<Self> {
        let input = Input::open(args.operand(1))?;
        let opening =
            Opening { stdin_holds_data: input.is_stdin(), edits: true, ..Opening::from_args(args, 0)? };
        Ok(Self { opening, input, offset: args.number(&OFFSET).unwrap_or(0), progress: args.progress() })
    }

    fn run(self) -> Result<()> {
        let Self { mut input, offset, .. } = self;
        let plain = self.opening.open(Data::Write)?;
        let len = input.len();
        volume::check_range(&plain.device, &*plain.volume, offset, len.unwrap_or(0))?;
        let (from, to) = (input.to_string(), plain.device.display());
        let options = Options { limit: Some(plain.volume.len() - offset), ..Options::default() };
        progress::watch(self.progress, &plain.device, len, |meter| {
            stream::copy(input.source(), Sink::Storage(&*plain.volume, offset), &options, meter)
        })
        .map_err(|e| transfer::failed(e, &from, &to))?;
        plain.volume.flush().map_err(|e| cannot_write(&to, None, &e))
    }
}
