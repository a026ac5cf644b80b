//! `read`: copies any range of a volume's plaintext to a file or standard output.

use crate::args::risk::{Effect, Proof, risk};
use crate::args::{self, Args, Command, Example, Group, Kind, Opt, Request, groups, shared};
use crate::device::{self, place};
use crate::make::output_file::{self, Creation};
use crate::make::replacing::Replacing;
use crate::output::failure::{Exit, Failure, Result};
use crate::output::progress::{self, Progress};
use crate::output::transfer::{self, cannot_write};
use crate::volume::{self, Data, Opening, Plaintext};
use keyway::parts::{CopyOptions as Options, Source};
use keyway::storage::{Exclusive, Readers};
use keyway::stream::{self, Sink};
use std::fs;
use std::io::{self, IsTerminal};
use std::os::fd::AsFd;
use std::path::Path;
use std::path::PathBuf;

/// `keyway read`.
pub(crate) static COMMAND: Command = Command {
    name: "read",
    aliases: &[],
    group: Group::Rootless,
    operands: &[shared::operands::VOLUME],
    about: "Write a volume's plaintext to a file or standard output.",
    man: "The bytes are those that a mapping of the volume would show, from the first sector to the last: a \
          file system, a partition table, or anything else. Offset and length need not be whole sectors.\n\nA \
          file that --output names appears when it is complete, readable by its owner only. An existing one \
          is replaced only with --force. A symbolic link in a directory that others can write to is not \
          followed. A block device must not be in use; the plaintext overwrites its content, so the word YES \
          is asked for.\n\nVOLUME may be a URL. https:// and http:// are web servers that serve ranges; user \
          and password come from ~/.netrc, or the file that NETRC names. s3://BUCKET/KEY is an object in S3 \
          or a store like it; its keys come from AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and \
          AWS_SESSION_TOKEN, or from the profile AWS_PROFILE in ~/.aws/credentials and ~/.aws/config \
          (AWS_SHARED_CREDENTIALS_FILE and AWS_CONFIG_FILE name others), its place from AWS_REGION and \
          AWS_ENDPOINT_URL. A password or signature in the URL works too, and is removed before the URL is \
          shown; but other users may see it in a list of processes for a moment, and the shell's history \
          keeps it.\n\nParts of the volume that were never written (holes of its file) read as noise here as \
          through the kernel; \"copy --to raw\" leaves them out.",
    options: &[
        &[&OFFSET, &LENGTH, &OUTPUT, &shared::FORCE, &shared::DIRECT_IO],
        groups::KEY_INPUT,
        groups::UNLOCKING,
        groups::PROMPT,
        groups::LIMITS,
        groups::ADMISSION_TO_READ,
        groups::PLAIN_DATA,
        groups::TCRYPT,
        groups::BITLK,
        &[&shared::DEVICE_OFFSET],
        groups::PROGRESS,
    ],
    rules: &[],
    examples: &[
        Example { line: "keyway read disk.luks -o disk.img", does: "decrypt a whole volume" },
        Example {
            line: "keyway read disk.luks --length 1M | file -",
            does: "see what kind of file system is inside",
        },
    ],
    risks: &[
        risk("--output DEVICE", Effect::Overwrites, Proof::Claim, "read VOLUME -d KEY -o TARGET"),
        risk("--output FILE", Effect::Replaces, Proof::NewName, "read VOLUME -d KEY --force -o TARGET"),
    ],
    run: args::run::<Read>,
};

/// Where reading or writing begins.
pub(super) static OFFSET: Opt = Opt {
    long: "offset",
    short: None,
    value: "SIZE",
    kind: Kind::Size,
    help: "Start at this byte of the plaintext.",
    man: "",
};

static LENGTH: Opt = Opt {
    long: "length",
    short: None,
    value: "SIZE",
    kind: Kind::Size,
    help: "Read this many bytes (to the end).",
    man: "",
};

static OUTPUT: Opt = Opt {
    long: "output",
    short: Some('o'),
    value: "FILE",
    kind: Kind::Path,
    help: "Write to this file, not to standard output.",
    man: "",
};

struct Read {
    opening: Opening,
    offset: u64,
    len: Option<u64>,
    output: Option<PathBuf>,
    replacing: Replacing,
    progress: Progress,
}

impl Request for Read {
    fn from_args(args: &Args) -> Result<Self> {
        Ok(Self {
            opening: Opening::from_args(args, 0)?,
            offset: args.number(&OFFSET).unwrap_or(0),
            len: args.number(&LENGTH),
            output: args.path(&OUTPUT).map(Path::to_owned),
            replacing: Replacing::from_args(args, &[], &[&OUTPUT]),
            progress: args.progress(),
        })
    }

    fn run(self) -> Result<()> {
        let output = Output::open(&self)?;
        let plain = self.opening.open(Data::Read)?;
        let offset = self.offset;
        let len = self.len.unwrap_or(plain.volume.len().saturating_sub(offset));
        volume::check_range(&plain.device, &*plain.volume, offset, len)?;
        output.receive(&self, &plain, len)
    }
}

/// Where the plaintext goes.
enum Output {
    /// Standard output, a device, a pipe: written in order.
    Pipe(fs::File),
    /// A block device or an export, written from its start.
    Device(Exclusive),
    /// A regular file, which appears only when complete.
    New(Creation),
}

impl Output {
    fn open(read: &Read) -> Result<Self> {
        let Some(path) = read.output.as_deref().filter(|p| *p != Path::new("-")) else {
            return Self::stdout();
        };
        let replacing = &read.replacing;
        if device::is_given(path) {
            let device = output_file::overwrite(replacing, path)?;
            let manner = read.opening.target.manner;
            output_file::confirm(manner, replacing, &device, path, ", with plaintext")?;
            return Ok(Self::Device(device));
        }
        let place = place::existing(path)?;
        match fs::metadata(path) {
            Ok(found) if !found.is_file() || place.is_descriptor() => {
                place.open().map(Self::Pipe).map_err(|e| cannot_write(&path.display(), None, &e))
            }
            _ => Creation::start(replacing, path).map(Self::New),
        }
    }

    fn stdout() -> Result<Self> {
        if io::stdout().is_terminal() {
            let message = "Standard output is a terminal: name a file with -o, or redirect it.";
            return Err(Failure::new(Exit::Parameters, message));
        }
        let fd = io::stdout().as_fd().try_clone_to_owned();
        let fd = fd.map_err(|e| cannot_write(&"standard output", None, &e))?;
        Ok(Self::Pipe(fs::File::from(fd)))
    }

    fn receive(self, read: &Read, plain: &Plaintext, len: u64) -> Result<()> {
        let source = Source::Storage(&*plain.volume, read.offset..read.offset + len);
        let name = match &read.output {
            Some(path) => path.display().to_string(),
            None => "standard output".to_owned(),
        };
        let moved = progress::watch(read.progress, &plain.device, Some(len), |meter| {
            let mut pipe;
            let sink = match &self {
                Self::Pipe(file) => {
                    pipe = file;
                    Sink::Pipe(&mut pipe)
                }
                Self::Device(device) => Sink::Storage(&***device, 0),
                Self::New(file) => Sink::Storage(&**file.file(), 0),
            };
            stream::copy(source, sink, &Options::default(), meter)
        });
        moved.map_err(|e| transfer::failed(e, &plain.device.display(), &name))?;
        match self {
            Self::Pipe(_) => Ok(()),
            Self::Device(device) => device.flush().map_err(|e| cannot_write(&name, None, &e)),
            // Only the owner may read the plaintext of an encrypted volume.
            Self::New(file) => file.complete(Readers::Owner),
        }
    }
}
