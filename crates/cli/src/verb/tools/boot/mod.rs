//! `boot`: makes the images that a machine boots from, and predicts what a boot loader will do with
//! a volume. One folder or file per verb, each with its options.

mod check;
mod files;
mod fit;
mod initramfs;
mod keymap;
mod options;
mod own_options;
mod script;
mod uki;

use crate::args::risk::{Effect, Proof, risk_of};
use crate::args::{self, Args, Command, Example, Group, Offers, Operand, Request, did_you_mean, quoted};
use crate::output::failure::{Exit, Failure, Result};
use own_options::VERBS;

/// `keyway boot`.
pub(crate) static COMMAND: Command = Command {
    name: "boot",
    aliases: &[],
    group: Group::First,
    operands: &[
        Operand {
            name: "VERB",
            required: true,
            help: "initramfs, fit, script, uki or check.",
            offers: Offers::Verbs(VERBS),
        },
        Operand { name: "FILE...", required: false, help: "What the verb works on.", offers: Offers::Files },
    ],
    about: "Make initramfs, FIT, boot.scr, UKI; check what a loader will do.",
    man: MAN,
    options: &[options::ALL, initramfs::OPTIONS, fit::OPTIONS, script::OPTIONS, uki::OPTIONS, check::OPTIONS],
    rules: &[],
    examples: EXAMPLES,
    risks: &[
        risk_of("initramfs", "--output FILE", Effect::Replaces, Proof::NewName, ""),
        risk_of("fit", "--output FILE", Effect::Replaces, Proof::NewName, ""),
        risk_of("script", "--output FILE", Effect::Replaces, Proof::NewName, "boot script RAW -o TARGET"),
        risk_of("uki", "--output FILE", Effect::Replaces, Proof::NewName, ""),
    ],
    run: args::run::<Boot>,
};

/// One of its verbs.
enum Boot {
    Initramfs(initramfs::Initramfs),
    Fit(fit::Fit),
    Script(script::Script),
    Uki(uki::Uki),
    Check(check::Check),
}

impl Request for Boot {
    fn from_args(args: &Args) -> Result<Self> {
        let verb = args.operand(0).map(|verb| verb.to_string_lossy().into_owned()).unwrap_or_default();
        own_options::check(args, &verb)?;
        match verb.as_str() {
            "initramfs" => Request::from_args(args).map(Self::Initramfs),
            "fit" => Request::from_args(args).map(Self::Fit),
            "script" => Request::from_args(args).map(Self::Script),
            "uki" => Request::from_args(args).map(Self::Uki),
            "check" => Request::from_args(args).map(Self::Check),
            _ => Err(unknown(&verb)),
        }
    }

    fn run(self) -> Result<()> {
        match self {
            Self::Initramfs(request) => request.run(),
            Self::Fit(request) => request.run(),
            Self::Script(request) => request.run(),
            Self::Uki(request) => request.run(),
            Self::Check(request) => request.run(),
        }
    }
}

fn unknown(verb: &str) -> Failure {
    let names = VERBS.iter().map(|verb| verb.name);
    let all = || format!("there are {}.", names.clone().collect::<Vec<_>>().join(", "));
    let hint = did_you_mean(verb, names.clone(), quoted).unwrap_or_else(all);
    Failure::new(Exit::Parameters, format!("boot: unknown verb \"{verb}\"; {hint}"))
}

const MAN: &str = "keyway boot initramfs [IMAGE] makes an initramfs that unlocks a volume with keyway and \
                   then goes on as IMAGE would: one of initramfs-tools, dracut, mkinitcpio, Buildroot, Yocto, \
                   or whatever else packs cpio archives with gzip, zstd, xz, lzma, lz4, bzip2 or without \
                   compression. IMAGE stays as it is, byte for byte; an archive after it holds the static \
                   program, /init as a link to it, the original /init (as /keyway/original-init), and what to \
                   unlock. It holds no secret, unless --embed-key-file adds one. Without IMAGE it makes a \
                   complete initramfs with modules from DIR. --header puts a detached header into the \
                   image.\n\nkeyway boot fit makes a FIT image for U-Boot: from --kernel, --ramdisk and \
                   --dtb, or from an image source (keyway boot fit image.its), whose files are looked for \
                   beside it. Hashes are computed as the source asks, or as --hash says.\n\nkeyway boot \
                   script FILE makes a script for U-Boot (boot.scr) from a text; keyway boot script --list \
                   IMAGE shows the text.\n\nkeyway boot uki makes a unified kernel image, which firmware \
                   starts directly: systemd's stub with --kernel, --ramdisk and --cmdline as its sections. \
                   The firmware then reads kernel and initramfs, and no boot loader has to open an encrypted \
                   /boot.\n\nThe same input gives the same bytes. Times in images are SOURCE_DATE_EPOCH's, or \
                   0. Images are not signed: mkimage -F -k signs FIT images, sbsign and ukify sign unified \
                   kernel images.\n\nkeyway boot check VOLUME predicts what GRUB will do with a volume at \
                   power-on: whether it finds it, and for each keyslot whether its passphrase opens it and in \
                   how many seconds, cannot open it, or is called invalid although it is right, each with the \
                   reason. The rules were read from GRUB's sources and are tested with GRUB's own \
                   grub-fstest; --json names them. The installed GRUB is found automatically: its version, \
                   the modules in its image and the cryptomount line of its configuration. Modules that must \
                   be embedded are named, with the command for it. With --key-file, that passphrase is \
                   judged: its keyslot, its length, and the letters that --keyboard moves. With --loader \
                   initramfs --image FILE it lists the modules and programs that the header needs and the \
                   image lacks; with --key-file also whether each letter of the passphrase can be typed with \
                   the image's keymap, or without one. The exit code is 0 if the volume (with --key-file: the \
                   passphrase) opens, else 1.";
const EXAMPLES: &[Example] = &[
    Example {
        line: "keyway boot initramfs initrd.img -o initrd.keyway --volume UUID=...",
        does: "Unlock in this initramfs before anything else.",
    },
    Example {
        line: "keyway boot initramfs -o initrd --modules / --volume /dev/sda2",
        does: "Make one from the modules of this system.",
    },
    Example { line: "keyway boot fit image.its -o image.ub", does: "What mkimage -f does." },
    Example {
        line: "keyway boot check --grub-version 2.12 /dev/sda2",
        does: "Which keyslots will GRUB open, and when?",
    },
    Example { line: "keyway boot script boot.scr.txt -o boot.scr", does: "What mkimage -T script does." },
];
