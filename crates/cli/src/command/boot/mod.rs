//! `boot`: the images that a machine boots from. One folder or file a verb, each with its options.

mod files;
mod fit;
mod initramfs;
mod options;
mod script;
mod uki;

use crate::args::{Args, Command, Example, Group, Operand, nearest};
use crate::failure::{Exit, Failure, Result};

/// `keyway boot`.
pub(crate) static COMMAND: Command = Command {
    name: "boot",
    aliases: &[],
    group: Group::Rootless,
    operands: &[
        Operand { name: "VERB", required: true, help: "initramfs, fit, script or uki." },
        Operand { name: "FILE...", required: false, help: "What the verb works on." },
    ],
    about: "Make what a machine boots from: initramfs, FIT, boot.scr, UKI.",
    man: MAN,
    options: &[options::ALL, initramfs::OPTIONS, fit::OPTIONS, script::OPTIONS, uki::OPTIONS],
    examples: EXAMPLES,
    run,
};

/// What a verb does.
type Run = fn(&Args) -> Result<()>;

static VERBS: &[(&str, Run)] =
    &[("initramfs", initramfs::run), ("fit", fit::run), ("script", script::run), ("uki", uki::run)];

fn run(args: &Args) -> Result<()> {
    let verb = args.operand(0).map(|verb| verb.to_string_lossy().into_owned()).unwrap_or_default();
    if let Some((_, run)) = VERBS.iter().find(|(name, _)| *name == verb) {
        return run(args);
    }
    let names = VERBS.iter().map(|(name, _)| *name);
    let hint = match nearest(&verb, names.clone()) {
        Some(near) => format!("did you mean \"{near}\"?"),
        None => format!("there are {}.", names.collect::<Vec<_>>().join(", ")),
    };
    Err(Failure::new(Exit::Parameters, format!("boot: unknown verb \"{verb}\"; {hint}")))
}

const MAN: &str = "keyway boot initramfs [IMAGE] makes an initramfs that unlocks a volume with keyway and then goes on as IMAGE would: of \
     initramfs-tools, dracut, mkinitcpio, Buildroot, Yocto, whatever packs cpio archives by gzip, zstd, xz, lzma, lz4, bzip2 or not \
     at all. IMAGE stays as it is, byte for byte; an archive behind it holds the static program, /init as a link to it, the \
     /init that was there (as /keyway/original-init), and what to unlock. It holds no secret, unless --embed-key-file puts one \
     in. Without IMAGE it makes a whole initramfs of modules from DIR. --header puts a detached header into the image.\n\n\
     keyway boot fit makes a FIT image for U-Boot: of --kernel, --ramdisk and --dtb, or of an image source (keyway boot fit \
     image.its), whose files are looked for beside it. Hashes are computed as the source asks, or by --hash.\n\n\
     keyway boot script FILE makes a script for U-Boot (boot.scr) of a text; keyway boot script --list IMAGE shows the text.\n\n\
     keyway boot uki makes a unified kernel image, which firmware starts by itself: systemd's stub with --kernel, --ramdisk and \
     --cmdline as its sections. With it the firmware reads kernel and initramfs, and no boot loader has to open an encrypted /boot.\n\n\
     The same input gives the same bytes. Times in images are SOURCE_DATE_EPOCH's, or 0. Images are not signed: mkimage -F -k signs FIT \
     images, sbsign and ukify sign unified kernel images.";
const EXAMPLES: &[Example] = &[
    Example {
        line: "keyway boot initramfs initrd.img -o initrd.keyway --volume UUID=...",
        does: "Unlock in this initramfs before all else.",
    },
    Example {
        line: "keyway boot initramfs -o initrd --modules / --volume /dev/sda2",
        does: "Make one from the modules of this system.",
    },
    Example { line: "keyway boot fit image.its -o image.ub", does: "What mkimage -f does." },
    Example { line: "keyway boot script boot.scr.txt -o boot.scr", does: "What mkimage -T script does." },
];
