//! The options of `boot initramfs`.

use crate::args::{Kind, Opt, shared};
use crate::verb::tools::boot::options::{file, text};

pub(super) static VOLUME: Opt = text(
    "volume",
    "DEVICE",
    "Volume to unlock, unless the machine names one.",
    "The device as the machine that boots names it: a path, UUID=..., LABEL=..., PARTUUID=... or PARTLABEL=.... \
     The kernel's command line (rd.luks.*, cryptdevice=, keyway.*) and the image's /etc/crypttab take precedence. If \
     it is also a volume on this machine, its header says which modules --modules adds.",
);
pub(super) static NAME: Opt = text("name", "NAME", "Name of its mapping (root).", "");
pub(super) static OPTIONS_OF_VOLUME: Opt = text(
    "options",
    "LIST",
    "Its options, as in crypttab: discard,tries=5.",
    "The files that x-keyway.require= and \
     x-keyway.seal-context-file= name are read here, and go into the image.",
);
pub(super) static EMBED_KEY_FILE: Opt = file(
    "embed-key-file",
    "FILE",
    "Put its key file into the image, unencrypted.",
    "Whoever can read the image can open the volume: only for images that are themselves on an encrypted disk.",
);
pub(super) static REQUIRE: Opt = file(
    "require",
    "FILE",
    "Policy that every volume there must meet.",
    "It goes into the image, and every volume that keyway opens at boot must meet it, whatever the kernel's \
     command line says; keyway-inspect(8) explains the demands. --require sealed demands a seal.",
);
pub(super) static PROGRAM: Opt = file(
    "program",
    "FILE",
    "The keyway program to embed.",
    "It must be static, and built for the image's architecture, which the programs and kernel modules of the \
     image and of --modules determine. The default is keyway-ramdisk beside this program, which is smaller, \
     else this program.",
);
pub(super) static KEYWAY: Opt = file("keyway", "FILE", "The same as --program.", "");
pub(super) static MODULES: Opt = file(
    "modules",
    "DIR",
    "Add kernel modules from this root file system.",
    "Adds what volumes need and drivers for common disks and keyboards, with their dependencies, \
     uncompressed, as /keyway/modules.d; nothing in the image is replaced. They are loaded in modprobe's \
     order, with what they ask for by name (modules.softdep). Firmware that they name is taken from DIR's \
     lib/firmware; missing firmware is reported. A new image also gets the root's file system: see \
     --rootfstype. Use none for kernels that have everything built in.",
);
pub(super) static ROOTFSTYPE: Opt = text(
    "rootfstype",
    "LIST",
    "File systems of the root, in a new image.",
    "Modules for these go into the image, and no others. Without it: the file system that is mounted on DIR, \
     or that DIR's etc/fstab says, beside ext4, xfs and btrfs. If the modules of one that was named or found \
     are not in DIR, no image is made. squashfs and erofs come with overlay, for systemd.volatile=overlay and \
     overlayroot=tmpfs on the kernel's command line; for others name it, too (ext4,overlay). An image that \
     already has an /init mounts its root itself, and is needed for roots on multipath, bcache, ZFS, arrays \
     of a controller's BIOS, or logical volumes of LVM that are not linear or striped (thin, RAID, cached, \
     snapshots), which are refused here.",
);
pub(super) static CIPHER: Opt = Opt {
    long: "cipher",
    short: Some('c'),
    value: "SPEC",
    kind: Kind::Words(shared::CIPHERS),
    help: "Add modules for this cipher (aes-xts-plain64).",
    man: "May be given several times.",
};
pub(super) static ALSO: Opt = text(
    "also",
    "LIST",
    "Add these modules too, separated by commas.",
    "Modules for the md RAID arrays below the volume or the root on this machine are added anyway. For \
     another machine name them here: raid1, raid10, raid456 (levels 4 to 6), raid0 or linear.",
);
pub(super) static KEYMAP: Opt = text(
    "keymap",
    "NAME",
    "Keymap: a name, a file, none (this machine's).",
    "A keymap of kbd (de-latin1), a layout of X (de), or a file: one that loadkeys(1) reads, or its --bkeymap \
     output, as in mkinitcpio's keymap.bin. The default is the keymap that etc/vconsole.conf or \
     etc/default/keyboard names, below DIR of --modules or else on this machine; failing that, the one that \
     IMAGE has for its own prompt (Debian's, dracut's, mkinitcpio's, booster's, Alpine's). us needs no \
     keymap, and overrides the image's. It is loaded before the first prompt, on the machine's own console: \
     on a serial line, the terminal at the other end has its own. Translating needs loadkeys, for layouts of \
     X also ckbcomp (console-setup).",
);
pub(super) static COMPRESS: Opt = Opt {
    long: "compress",
    short: None,
    value: "HOW",
    kind: Kind::Choice(&["none", "gzip"]),
    help: "Compression of the addition: none or gzip.",
    man: "The default is gzip if the image uses it already, because its kernel can then read it, and none \
        otherwise.",
};
pub(super) static DIFF: Opt = file(
    "diff",
    "ORIGINAL",
    "Show the differences from this image.",
    "+ marks new names, - missing ones, ~ changed ones.",
);

/// In the order of help.
pub(in crate::verb::tools::boot) static OPTIONS: &[&Opt] = &[
    &VOLUME,
    &NAME,
    &OPTIONS_OF_VOLUME,
    &shared::HEADER,
    &EMBED_KEY_FILE,
    &REQUIRE,
    &PROGRAM,
    &KEYWAY,
    &MODULES,
    &ROOTFSTYPE,
    &CIPHER,
    &ALSO,
    &KEYMAP,
    &COMPRESS,
    &DIFF,
];
