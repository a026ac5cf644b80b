//! The options of `boot initramfs`.

use crate::door::{Kind, Opt, shared};
use crate::verb::desk::boot::options::{file, text};

pub(super) static VOLUME: Opt = text(
    "volume",
    "DEVICE",
    "What to unlock, unless the machine says.",
    "A device as it is called there: a path, UUID=..., LABEL=..., PARTUUID=... or PARTLABEL=.... The kernel's command line \
     (rd.luks.*, cryptdevice=, keyway.*) and the image's /etc/crypttab go before it. Where it is a volume here too, its header says which \
     modules --modules takes.",
);
pub(super) static NAME: Opt = text("name", "NAME", "What its mapping is called (root).", "");
pub(super) static OPTIONS_OF_VOLUME: Opt =
    text("options", "LIST", "Its options, as in crypttab: discard,tries=5.", "");
pub(super) static EMBED_KEY_FILE: Opt = file(
    "embed-key-file",
    "FILE",
    "Put its key file into the image, in plain.",
    "Whoever reads the image opens the volume: for images that are themselves on an encrypted disk.",
);
pub(super) static REQUIRE: Opt = file(
    "require",
    "FILE",
    "A policy for all that is unlocked there.",
    "It goes into the image, and every volume that keyway opens at boot must meet it, whatever the kernel's command line says; \
     keyway-inspect(8) says what it can demand. --require sealed demands a seal.",
);
pub(super) static PROGRAM: Opt = file(
    "program",
    "FILE",
    "The keyway to put into the image.",
    "Static, and for the machine that the image is for: the image's own programs and kernel modules and those of --modules say which \
     that is, and another is refused. When not said it is keyway-ramdisk beside this program, which is smaller, \
     else this program.",
);
pub(super) static KEYWAY: Opt = file("keyway", "FILE", "The same as --program.", "");
pub(super) static MODULES: Opt = file(
    "modules",
    "DIR",
    "Add kernel modules from this root file system.",
    "What volumes need and the drivers of common disks and keyboards, with all that they depend on, unpacked, as \
     /keyway/modules.d; nothing of the image is replaced. An image that is made anew also gets common file systems. none is for \
     kernels that have all built in.",
);
pub(super) static CIPHER: Opt = Opt {
    long: "cipher",
    short: Some('c'),
    value: "SPEC",
    kind: Kind::Text,
    help: "Add modules for this cipher (aes-xts-plain64).",
    man: "May be given several times.",
};
pub(super) static ALSO: Opt = text("also", "LIST", "Add these modules too, parted by commas.", "");
pub(super) static COMPRESS: Opt = Opt {
    long: "compress",
    short: None,
    value: "HOW",
    kind: Kind::Choice(&["none", "gzip"]),
    help: "How the addition is packed: none or gzip.",
    man: "Without it gzip, where the image has it already, since then its kernel reads it; otherwise none.",
};
pub(super) static DIFF: Opt = file(
    "diff",
    "ORIGINAL",
    "Show what an image has beside this one.",
    "Names with + are new, - gone, ~ changed.",
);

/// In the order of help.
pub(in crate::verb::desk::boot) static OPTIONS: &[&Opt] = &[
    &VOLUME,
    &NAME,
    &OPTIONS_OF_VOLUME,
    &shared::HEADER,
    &EMBED_KEY_FILE,
    &REQUIRE,
    &PROGRAM,
    &KEYWAY,
    &MODULES,
    &CIPHER,
    &ALSO,
    &COMPRESS,
    &DIFF,
];
