//! `seal`: a LUKS2 header is signed with the volume key, so that a forged one is noticed.

use crate::device::Versions;
use crate::door::{Args, Command, Example, Group, Kind, Operand, Opt, groups, shared};
use crate::say::failure::{Exit, Failure, Result};
use crate::say::{explain, output};
use crate::unlock::admission;
use crate::{device, unlock};
use keyway_crypto::Secret;
use keyway_volume::admission::Terms;
use keyway_volume::seal::{self, Broken, Seal};
use keyway_volume::{Access, Admitted, Luks, OsRandom, Random};
use std::path::Path;

/// `keyway seal`.
pub(crate) static COMMAND: Command = Command {
    name: "seal",
    aliases: &[],
    group: Group::Rootless,
    operands: &[Operand { name: "DEVICE", required: true, help: "The volume." }],
    about: "Sign a volume's header, so that a forged one is refused.",
    man: "A LUKS2 header has a checksum, but nothing that proves who wrote it: whoever can write the disk can turn encryption \
          off in it, move the data or allow what was not allowed. A seal is a token in the header with a MAC, made with a key \
          that is derived from the volume key, over the segments, the volume key's digest (salt, iterations, hash), flags and \
          requirements, all sizes and offsets, UUID, label and subsystem, and the length of the data's device. From then on every \
          command that opens the volume compares the header with its seal before it asks for a passphrase, verifies the seal with \
          the volume key, and refuses with the name of the field that differs and exit code 6.\n\n\
          Keyslots may be added, changed and removed, by cryptsetup too, and tokens as well: they are not sealed. After any other \
          change (label, UUID, flags, the device's length) the volume is sealed anew by running this again; what differs from the \
          old seal is said.\n\n\
          A header without a seal is opened as ever, unless --require sealed or a policy demands one: whoever forges a header can \
          take the seal out, but cannot make one. A seal does not stop whoever puts back an older header that was sealed with the same \
          key, or another whole volume with a key of its own: against the first, seal with another --seal-context each time and \
          demand it; against the second, demand the UUID by a policy. Nor does it say anything of the data itself: that is what \
          authenticated encryption is for, which LUKS2 has with dm-integrity only.\n\n\
          The string of --seal-context is not in the header: it has to be given here again each time, and wherever it is \
          demanded. LUKS1 has no room for a seal.",
    options: &[&[&REMOVE], groups::UNLOCKING, groups::ADMISSION],
    examples: &[
        Example { line: "keyway seal disk.luks", does: "From now on a changed header is refused." },
        Example {
            line: "keyway open --require sealed disk.luks disk",
            does: "Refused without a seal of this volume's key.",
        },
        Example { line: "keyway seal --remove disk.luks", does: "As it was before." },
    ],
    run,
};

/// `--seal` of the commands that make volumes.
pub(crate) static SEAL: Opt = Opt {
    long: "seal",
    short: None,
    value: "",
    kind: Kind::Flag,
    help: "Seal the header (LUKS2).",
    man: "What keyway seal does to a volume that is there; with the string of --seal-context, where that is given.",
};

static REMOVE: Opt = Opt {
    long: "remove",
    short: None,
    value: "",
    kind: Kind::Flag,
    help: "Take the seal out. Needs no passphrase.",
    man: "",
};

fn run(args: &Args) -> Result<()> {
    let path = device::header_path(args, 0)?;
    let luks = device::load(args, 0, Access::Write, Versions::from_args(args)?)?;
    if args.given(&REMOVE) { remove(args, luks, &path) } else { seal(args, luks, &path) }
}

fn seal(args: &Args, luks: Luks, path: &Path) -> Result<()> {
    seal::check_sealable(&luks).map_err(|e| explain::on_device(path, &e))?;
    let device = args.operand(0).map(device::resolve).unwrap_or_default();
    let storage = device::storage(&device, Access::Probe)?;
    let data = admission::data_device(args, &device, &*storage);
    let context = args.text(&shared::SEAL_CONTEXT);
    // What an old seal says, and with which context, is no reason to refuse a new one.
    let terms = Terms { ignore_seal: true, ..admission::terms(args)? };
    let old = compared(&luks, data.len);
    let had_context = Seal::of(luks.header()).is_ok_and(|seal| seal.is_some_and(|seal| seal.has_context()));
    let admitted = Admitted::judge(luks, Some(data), &terms).map_err(|e| explain::on_volume(path, &e))?;
    if let Err(broken) = old {
        say!("WARNING: Device {}: {broken}. It is sealed as it is now.", path.display());
    }
    if had_context && context.is_none() {
        let device = path.display();
        say!("WARNING: Device {device}: the old seal had a --seal-context, and the new one has none.");
    }
    let (key, digest) = unlock::volume_key(args, admitted.luks(), path)?;
    let (mut luks, _, key) = admission::open(admitted, path, key, digest)?.into_parts();
    seal::seal(&mut luks, &key, data.len, context, &mut OsRandom)
        .map_err(|e| explain::on_device(path, &e))?;
    output::verbose(args.manner(), &format!("{} is sealed.", path.display()))
}

/// Refuses `--seal` where there will be no room for one, and a context without it.
pub(crate) fn check_new(args: &Args, version: u8) -> Result<()> {
    let refuse = |why: &str| Err(Failure::new(Exit::Parameters, why));
    match args.given(&SEAL) {
        true if version == 1 => refuse("--seal: a LUKS1 header has no room for a seal; nothing was written."),
        false if args.given(&shared::SEAL_CONTEXT) => refuse("--seal-context is of no use without --seal."),
        _ => Ok(()),
    }
}

/// Seals a volume that was just made, where that was asked for.
pub(crate) fn seal_new(
    args: &Args,
    luks: &mut Luks,
    volume_key: &Secret,
    data_len: u64,
    rng: &mut dyn Random,
) -> keyway_volume::Result<()> {
    match args.given(&SEAL) {
        true => seal::seal(luks, volume_key, data_len, args.text(&shared::SEAL_CONTEXT), rng),
        false => Ok(()),
    }
}

/// Whether the old seal, if there is one, says what the header says.
fn compared(luks: &Luks, data_len: u64) -> std::result::Result<(), Broken> {
    Seal::of(luks.header())?.map_or(Ok(()), |seal| seal.compare(luks.header(), Some(data_len)))
}

fn remove(args: &Args, mut luks: Luks, path: &Path) -> Result<()> {
    let removed = seal::remove(&mut luks, &mut OsRandom).map_err(|e| explain::on_device(path, &e))?;
    match removed {
        true => output::verbose(args.manner(), &format!("{} is sealed no more.", path.display())),
        false => Err(Failure::new(Exit::Parameters, format!("Device {} is not sealed.", path.display()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::door::typed;

    #[test]
    fn a04_what_cannot_be_sealed_is_refused_before_it_is_made() {
        for (options, version, why) in [
            ("--seal", 1, Some("--seal: a LUKS1 header has no room for a seal; nothing was written.")),
            ("--seal", 2, None),
            ("--seal --seal-context x", 2, None),
            ("--seal-context x", 2, Some("--seal-context is of no use without --seal.")),
            ("-q", 1, None),
            ("-q", 2, None),
        ] {
            let args = typed(&format!("keyway luksFormat {options} volume"));
            let refused = check_new(&args, version).err();
            assert_eq!(refused.as_ref().map(Failure::message), why, "{options} {version}");
        }
    }
}
