//! `repair`: a damaged header, damaged keyslots, or a re-encryption that was cut off.

mod report;

use crate::args::risk::{Effect, Proof, risk};
use crate::args::{self, Args, Command, Example, Group, Kind, Opt, Request, Topic, groups, shared};
use crate::device::{Target, Versions};
use crate::output::failure::{Exit, Result};
use crate::output::paint::Paint;
use crate::output::{question, stdio};
use crate::unlock::KeyOptions;
use keyway::parts::UnderWay;
use keyway::{Access, Device, Key, Reencrypt, Repair, Unlock};
use std::sync::Arc;

/// `keyway repair`.
pub(crate) static COMMAND: Command = Command {
    name: "repair",
    aliases: &[],
    group: Group::Cryptsetup(Topic::Volumes),
    operands: &[shared::operands::DEVICE],
    about: "Repair a damaged header, as far as it can be proven.",
    man: "Before the word YES is asked for, the command shows the damage, the losses and what it will write. \
          Nothing is guessed.\n\nA LUKS2 header has two copies, each with a checksum. Copies are searched for \
          at the start and at all nine places of a second one. In a damaged copy, magic, version, size and \
          offset are put back, and everything else but salt and checksum is taken from the other copy, the \
          JSON area in pieces if need be; what its own checksum then confirms is what was there. Of the \
          confirmed copies the one with the highest sequence id counts, and one that nothing confirms is \
          rewritten from it. Where nothing is confirmed, nothing is written: luksHeaderRestore brings back a \
          backup.\n\nA LUKS1 header has no checksum. If its magic was overwritten, a passphrase that opens a \
          keyslot proves that the rest is right; keyslots that are not in use are repaired as in \
          cryptsetup.\n\nThe key material of keyslots in use is judged by sectors of 512 bytes: zeros, text \
          and most other data that is not random is found, and shown as a bar. One damaged sector is enough \
          to make a keyslot unusable; only a header backup brings it back. A sound area is suspected with a \
          probability below 1e-9. What looks random (other encrypted or compressed data) cannot be \
          found.\n\nIn the middle of a reencryption its metadata is verified with a passphrase, and a part \
          whose writing was interrupted is completed. One that was begun by a cryptsetup before 2.4.3, which did \
          not protect it from forgery, is protected from then on.\n\n--json prints an object: \"version\" \
          (1), \"found\", \"lost\", \"changes\", \"warnings\", \"needs_passphrase\" and \"keyslots\" (number, \
          offset, length, sector, bar, not_random and unreadable; all in bytes of the header's device).",
    options: &[
        &[&shared::TYPE, &shared::HEADER, &DRY_RUN, &shared::JSON],
        groups::KEY_INPUT,
        groups::LIMITS,
        &[&shared::TRIES, &shared::DISABLE_LOCKS],
    ],
    rules: &[],
    examples: &[
        Example { line: "keyway repair disk.img", does: "Says so if something is wrong, and asks." },
        Example { line: "keyway repair --dry-run disk.img", does: "Shows the damage; writes nothing." },
    ],
    risks: &[
        risk("DEVICE", Effect::Edits, Proof::Header, "repair -q TARGET"),
        risk("DEVICE, over a file system", Effect::Overwrites, Proof::Claim, ""),
    ],
    run: args::run::<RepairRequest>,
};

static DRY_RUN: Opt = Opt {
    long: "dry-run",
    short: None,
    value: "",
    kind: Kind::Flag,
    help: "Only show what was found and would be written.",
    man: "The device is opened for reading.",
};

struct RepairRequest {
    target: Target,
    key: KeyOptions,
    dry_run: bool,
    form: Form,
}

/// How it is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Text,
    Json,
    Cryptsetup,
}

impl Request for RepairRequest {
    fn from_args(args: &Args) -> Result<Self> {
        Versions::from_args(args)?;
        let form = match (args.given(&shared::JSON), args.is_cryptsetup()) {
            (true, _) => Form::Json,
            (false, true) => Form::Cryptsetup,
            (false, false) => Form::Text,
        };
        let (target, key) = (Target::from_args(args, 0)?, KeyOptions::from_args(args)?);
        Ok(Self { target, key, dry_run: args.given(&DRY_RUN), form })
    }

    fn run(self) -> Result<()> {
        let path = self.target.header_path();
        let access = if self.dry_run { Access::Read } else { Access::Write };
        let storage = self.target.storage(path, access)?;
        let device = self.target.header_device(storage, access);
        let repair = if self.dry_run { device.diagnose()? } else { device.repair()? };
        self.show(&repair)?;
        if self.dry_run {
            return Ok(());
        }
        if repair.changes().is_empty() {
            return self.of_sound(&device);
        }
        if repair.needs_passphrase() {
            let prompt = "Enter passphrase to confirm the LUKS1 header: ".to_owned();
            let source = self.key.passphrase.existing(prompt);
            self.key.ask(&source, &self.key.of_keyslot(), |passphrase| {
                repair.confirm(&Key::Passphrase(passphrase), &self.key.terms())
            })?;
        }
        self.confirm("Really try to repair LUKS device header?")?;
        Ok(repair.run()?)
    }
}

impl RepairRequest {
    fn show(&self, repair: &Repair) -> Result<()> {
        let is_sound = repair.changes().is_empty() && repair.keyslots().iter().all(|area| area.is_sound());
        match self.form {
            Form::Json => report::json(repair),
            Form::Cryptsetup => report::like_cryptsetup(repair, self.target.header_path()),
            Form::Text if is_sound && !self.dry_run => Ok(()),
            Form::Text => stdio::print(&report::text(repair, Paint::for_stdout())),
        }
    }

    /// Nothing of the header is to be written again.
    fn of_sound(&self, device: &Device) -> Result<()> {
        if let Ok(header) = device.header() {
            if let Some(under_way) = UnderWay::of(header.luks().header())? {
                return self.reencryption(&under_way);
            }
            header.check()?;
        }
        match self.form {
            Form::Json => Ok(()),
            _ => stdio::verbose(self.target.manner, "No known problems detected for LUKS header."),
        }
    }

    /// In the middle of a re-encryption.
    fn reencryption(&self, under_way: &UnderWay) -> Result<()> {
        let data = self.target.claimed(&self.target.device, Access::Write)?;
        let header = match &self.target.header {
            Some(path) => self.target.storage(path, Access::Write)?,
            None => Arc::clone(&data),
        };
        let device = self.target.over(Arc::clone(&data), header, true);
        if under_way.is_unprotected() {
            self.confirm(
                "Unprotected LUKS2 reencryption metadata detected. Please verify the reencryption operation is desirable \
                 (see luksDump output)\nand continue (upgrade metadata) only if you acknowledge the operation as genuine.",
            )?;
            let prompt = "Enter passphrase to protect and upgrade reencryption metadata: ";
            return self.with_passphrase(&device, prompt, |device, header, key| {
                device.protect_reencryption(header, key)
            });
        }
        let is_cut_off = under_way.hot_zone().is_some();
        if is_cut_off {
            self.confirm("Really proceed with LUKS2 reencryption recovery?")?;
        }
        let prompt = match is_cut_off {
            true => "Enter passphrase for reencryption recovery: ",
            false => "Enter passphrase to verify reencryption metadata digest: ",
        };
        // Nothing but what was cut off is written: not even noise over the old headers of a conversion.
        let how = Reencrypt::new().unlock(Unlock::new().unclaimed());
        self.with_passphrase(&device, prompt, |device, header, key| {
            device.recover_reencryption(header, &how, key)
        })
    }

    fn with_passphrase(
        &self,
        device: &Device,
        prompt: &str,
        work: impl Fn(&Device, keyway::Header, &Key) -> keyway::Result<()>,
    ) -> Result<()> {
        let source = self.key.passphrase.existing(prompt.to_owned());
        self.key.ask(&source, &self.key.of_keyslot(), |passphrase| {
            let header = device.header_with(&self.key.terms())?;
            work(device, header, &Key::Passphrase(passphrase))
        })
    }

    fn confirm(&self, warning: &str) -> Result<()> {
        question::confirm(self.target.manner, warning, "Operation aborted.", Exit::Parameters)
    }
}
