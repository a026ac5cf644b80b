//! Operands that more than one command takes, defined once.

use crate::args::table::{Offers, Operand};

/// The volume of a command with cryptsetup's operands.
pub(crate) const DEVICE: Operand =
    Operand { name: "DEVICE", required: true, help: "The volume.", offers: Offers::Volumes };
/// The volume of a command of Keyway's own.
pub(crate) const VOLUME: Operand = Operand {
    name: "VOLUME",
    required: true,
    help: "The file or device with the volume.",
    offers: Offers::Volumes,
};
/// What becomes a volume of another program's format.
pub(crate) const NEW_VOLUME: Operand = Operand {
    name: "DEVICE",
    required: true,
    help: "The file or device that becomes the volume; with --size, a new file.",
    offers: Offers::Volumes,
};
/// What is open.
pub(crate) const OPEN_VOLUME: Operand =
    Operand { name: "NAME", required: true, help: "Name of the open volume.", offers: Offers::OpenVolumes };
/// The new passphrase, as an operand.
pub(crate) const NEW_KEY_FILE: Operand = Operand {
    name: "NEW-KEY-FILE",
    required: false,
    help: "The new passphrase, in a file.",
    offers: Offers::Files,
};
