//! `compare`: whether a volume holds what an image holds.

use crate::args::rule::Rule;
use crate::args::{self, Args, Command, Example, Group, Kind, Offers, Operand, Opt, Request, groups, shared};
use crate::device::input::Input;
use crate::make::comparison;
use crate::make::new_volume;
use crate::output::failure::Result;
use crate::output::progress::Progress;
use crate::volume::{Data, Opening};
use keyway::stream::ImageHoles;

/// `keyway compare`.
pub(crate) static COMMAND: Command = Command {
    name: "compare",
    aliases: &[],
    group: Group::Rootless,
    operands: &[
        Operand {
            name: "SOURCE",
            required: true,
            help: "The plaintext: a file, a device, - for standard input.",
            offers: Offers::Volumes,
        },
        shared::operands::VOLUME,
    ],
    about: "Check that a volume holds what an image holds.",
    man: "Compares every byte of the source with the volume's plaintext at the same place, and says how much \
          was compared. The first difference is reported, and the exit code is 1.\n\nWhat \"keyway build\" \
          leaves unwritten reads as noise and is left out: the space that ext2, ext3 and ext4 file systems in \
          the source, bare or in partitions, mark as free. --fill compares that too, for a volume that was \
          built with --fill; --keep-holes leaves out all holes of the source. The volume may be longer than \
          the source.\n\nThe volume is read through the page cache; --direct-io reads what the device itself \
          holds.",
    options: &[
        &[&FILL, &KEEP_HOLES, &shared::DIRECT_IO],
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
    rules: &[Rule::excludes(&FILL, &[&KEEP_HOLES])],
    examples: &[Example {
        line: "keyway compare rootfs.ext4 rootfs.luks",
        does: "check a volume that was built from an image",
    }],
    risks: &[],
    run: args::run::<Compare>,
};

static FILL: Opt = Opt {
    long: new_volume::FILL.long,
    short: None,
    value: "",
    kind: Kind::Flag,
    help: "Compare free space and holes too.",
    man: "",
};

static KEEP_HOLES: Opt = Opt {
    long: new_volume::KEEP_HOLES.long,
    short: None,
    value: "",
    kind: Kind::Flag,
    help: "Leave out all holes of the source.",
    man: "",
};

struct Compare {
    opening: Opening,
    image: Input,
    holes: ImageHoles,
    progress: Progress,
}

impl Request for Compare {
    fn from_args(args: &Args) -> Result<Self> {
        let image = Input::open(args.operand(0))?;
        let opening = Opening { stdin_holds_data: image.is_stdin(), ..Opening::from_args(args, 1)? };
        Ok(Self { opening, image, holes: new_volume::holes_from_args(args), progress: args.progress() })
    }

    fn run(mut self) -> Result<()> {
        let plain = self.opening.open(Data::Read)?;
        comparison::compare(&mut self.image, self.holes, &*plain.volume, &plain.device, self.progress)
    }
}
