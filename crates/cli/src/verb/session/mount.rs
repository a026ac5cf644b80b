//! `mount`: shows a volume as a file in a directory, through FUSE.

use crate::args::risk::{Effect, Proof, risk};
use crate::args::rule::Rule;
use crate::args::{self, Args, Command, Example, Group, Kind, Offers, Operand, Opt, Request, groups, shared};
use crate::device::{self, Target};
use crate::output::failure::Result;
use crate::output::{sentence, stdio};
use crate::process::encoding::encoded;
use crate::session::{self, BackgroundRequest, Shown};
use crate::volume::{Data, Opening};
use keyway::storage::Storage;
use keyway_attach::fuse::{self, Mount};
use keyway_attach::local::Directory;
use keyway_attach::session::{Facts, Name, Opened};
use keyway_attach::{Export, FrontEnd};
use keyway_volume::Rights;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// `keyway mount`.
pub(crate) static COMMAND: Command = Command {
    name: "mount",
    aliases: &[],
    group: Group::First,
    operands: &[
        shared::operands::VOLUME,
        Operand {
            name: "DIR",
            required: true,
            help: "An empty directory that you own.",
            offers: Offers::Directories,
        },
    ],
    about: "Show a volume as a file in a directory (FUSE).",
    man: "DIR then holds one file, plain: the volume's plaintext, of the right size, for loop mounts, fuse2fs, \
          QEMU and backup tools. It cannot grow or shrink; programs that would truncate it first (cp, a shell's >) \
          are refused: write into it with dd conv=notrunc.\n\nThe command returns when DIR is mounted; a background \
          process serves it. \"keyway umount DIR\" waits until nothing uses the file any longer, and ends it: what \
          was written reaches the device, and the key is wiped. \"keyway close\", \"fusermount3 -u DIR\" and (as \
          root) \"umount DIR\" do the same, but are refused while a program such as fuse2fs is still writing. \
          \"keyway list\" shows it.\n\nHoles: a hole in a file reads as zeros, but a discarded part of an encrypted \
          volume does not. Punching holes is therefore refused or, with --allow-discards, done by writing zeros, \
          which take room; an fstrim through a loop device then fills the image. To free space, use a backend that \
          tells a discard from zeros: \"keyway serve\", or \"keyway open\" with --backend nbd, ublk or kernel. See \
          also --discard-holes.\n\nA killed process leaves a directory that says \"Transport endpoint is not \
          connected\": fusermount3 -u DIR clears it.",
    options: &[
        &[
            &shared::READONLY,
            &FOREGROUND,
            &ALLOW_OTHER,
            &ALLOW_DISCARDS,
            &DISCARD_HOLES,
            &WRITEBACK,
            &DIRECT,
            &shared::SHARED,
            &shared::DIRECT_IO,
        ],
        groups::KEY_INPUT,
        groups::UNLOCKING,
        groups::PROMPT,
        groups::LIMITS,
        groups::ADMISSION,
        groups::PLAIN_DATA,
        groups::TCRYPT,
        groups::BITLK,
        groups::PROTECTION,
        &[&shared::DEVICE_OFFSET],
    ],
    rules: &[Rule::needs(&DISCARD_HOLES, &ALLOW_DISCARDS).saying(
        "Option --discard-holes needs --allow-discards: the device then shows which parts are unused.",
    )],
    examples: &[
        Example { line: "keyway mount disk.luks ~/disk", does: "the plaintext is ~/disk/plain" },
        Example {
            line: "fuse2fs -o fakeroot ~/disk/plain ~/files",
            does: "then the files in it, without root",
        },
        Example { line: "keyway umount ~/files ~/disk", does: "unmount both" },
    ],
    risks: &[
        risk(
            "VOLUME",
            Effect::Mounts,
            Proof::Claim,
            "mount --type plain -c aes-xts-plain64 -s 512 -d KEY TARGET EMPTY",
        ),
        risk("DIR", Effect::Mounts, Proof::EmptyDirectory, "mount -d KEY VOLUME TARGET"),
    ],
    run: args::run::<MountVolume>,
};

static FOREGROUND: Opt =
    flag("foreground", "Stay in the foreground.", "SIGINT and SIGTERM unmount, as umount does.");

static ALLOW_OTHER: Opt = flag(
    "allow-other",
    "Allow other users, and root.",
    "Everyone who can reach DIR can then read and write the file. Without this option only the user who mounts \
     it can: for an ordinary user, not even root. An ordinary user may give it only if /etc/fuse.conf has a line \
     \"user_allow_other\".",
);

static ALLOW_DISCARDS: Opt = flag("allow-discards", "Punch holes by writing zeros.", "");

static DISCARD_HOLES: Opt = flag(
    "discard-holes",
    "Punched holes free space and read as noise.",
    "Needs --allow-discards. Only for users of the file that punch holes where they will not read again: QEMU \
     with discard=unmap and a virtio-blk device that has write-zeroes=off, or fstrim on a file system that was made \
     elsewhere and writes its zeros itself. Never make a file system in such a file, and never mount ext4 without \
     noinit_itable: a loop device, mke2fs and fuse2fs punch holes where they want zeros, and get noise.",
);

static WRITEBACK: Opt = flag(
    "writeback",
    "Let the kernel cache writes.",
    "Many small writes get faster. The kernel then accepts writes beyond the end, and reports the error when \
     the file is closed: dd from /dev/zero would never end.",
);

static DIRECT: Opt =
    flag("direct", "Keep the plaintext out of the kernel's cache.", "Loop mounts get slower.");

const fn flag(long: &'static str, help: &'static str, man: &'static str) -> Opt {
    Opt { long, short: None, value: "", kind: Kind::Flag, help, man }
}

#[derive(Debug)]
pub(super) struct MountVolume {
    opening: Opening,
    directory: PathBuf,
    foreground: bool,
    read_only: bool,
    allow_other: bool,
    discards: bool,
    discard_holes: bool,
    writeback: bool,
    direct: bool,
}

encoded!(MountVolume {
    opening,
    directory,
    foreground,
    read_only,
    allow_other,
    discards,
    discard_holes,
    writeback,
    direct,
});

impl Request for MountVolume {
    fn from_args(args: &Args) -> Result<Self> {
        let opening = Opening::from_args(args, 0)?;
        Ok(Self {
            read_only: args.given(&shared::READONLY) || device::is_read_only(&opening.target.device),
            opening,
            directory: args.operand(1).unwrap_or(Path::new(".")).to_owned(),
            foreground: args.given(&FOREGROUND),
            allow_other: args.given(&ALLOW_OTHER),
            discards: args.given(&ALLOW_DISCARDS),
            discard_holes: args.given(&DISCARD_HOLES),
            writeback: args.given(&WRITEBACK),
            direct: args.given(&DIRECT),
        })
    }

    fn run(self) -> Result<()> {
        if !self.foreground {
            return session::start(&self);
        }
        let Shown { opened, message } = self.show()?;
        let volumes: [Arc<dyn Storage>; 1] = [opened.device];
        session::serve_until_stopped(&opened.front_end, &volumes, || stdio::print(&message))
    }
}

impl BackgroundRequest for MountVolume {
    const KIND: u8 = b'm';

    /// The session's name, which is the name of the volume's file.
    fn name(&self) -> Name {
        let device = &self.opening.target.device;
        Name::Like(device.file_stem().unwrap_or(device.as_os_str()).to_string_lossy().into_owned())
    }

    fn target(&self) -> &Target {
        &self.opening.target
    }

    fn open(&self, _: &Directory) -> Result<Shown> {
        self.show()
    }
}

impl MountVolume {
    fn show(&self) -> Result<Shown> {
        let dir = &*self.directory;
        // Before asking for a passphrase.
        let failed = if fuse::is_available() { sentence::attaching } else { sentence::fuse };
        fuse::check(dir).map_err(|e| failed(&e))?;
        let data = if self.read_only { Data::Show } else { Data::Write };
        if self.discards && !self.read_only {
            self.opening.warn_of_discards();
        }
        let unlocked = self.opening.unlock(data)?;
        let rights = Rights { read_only: self.read_only, discards: self.discards };
        let (device, mut facts) = session::suspendable(unlocked, rights)?;
        let device = Arc::new(device);
        facts.backend = "fuse".to_owned();
        let export = Export {
            name: String::new(),
            description: facts.device.clone(),
            storage: Arc::clone(&device) as _,
            rights: device.rights(),
        };
        // That others may use a mount is what /etc/fuse.conf decides; NBD's socket is for this user alone.
        let failed = if self.allow_other { sentence::attaching } else { sentence::fuse };
        let front_end: Arc<dyn FrontEnd> =
            Arc::new(Mount::new(export, dir, self.options(&facts)).map_err(|e| failed(&e))?);
        let message = usage(&front_end.place(), dir, &facts);
        Ok(Shown { opened: Opened { front_end, device, facts }, message })
    }

    fn options(&self, facts: &Facts) -> fuse::Options {
        let mut options = fuse::Options::default();
        options.source = facts.device.clone();
        options.allow_other = self.allow_other;
        options.writeback = self.writeback;
        options.direct = self.direct;
        if self.discard_holes {
            options.holes = fuse::Holes::Discarded;
        }
        options
    }
}

/// The text that says where the plaintext is, with command lines that use it.
fn usage(place: &str, dir: &Path, facts: &Facts) -> String {
    let (mode, qemu) = if facts.read_only { ("read-only", ",readonly=on") } else { ("read/write", "") };
    let (device, size, dir) = (&facts.device, facts.size, dir.display());
    // FUSE shows the mounts of a user to that user alone, not even to root.
    let as_root = match rustix::process::geteuid().is_root() {
        true => format!("mount -o loop '{place}' DIR    (as root)\n  "),
        false => String::new(),
    };
    format!(
        "{device} is mounted ({mode}, {size} bytes): {place}\n  \
         fuse2fs -o fakeroot '{place}' DIR    (an ext file system, without root)\n  \
         {as_root}\
         qemu-system-x86_64 -drive 'file={place},format=raw,if=virtio{qemu}'\n  \
         keyway umount '{dir}'    (waits for its users, flushes, and wipes the key)\n"
    )
}
