//! `repair`: a damaged header, or a re-encryption that was cut off.

use crate::device::{Target, Versions};
use crate::door::{self, Args, Command, Example, Group, Offers, Operand, Request, Topic, groups, shared};
use crate::say::failure::{Exit, Result};
use crate::say::{output, question};
use crate::unlock::KeyOptions;
use keyway::{Device, Key, Reencrypt, Unlock};
use keyway_volume::Access;
use keyway_volume::reencrypt::UnderWay;
use std::sync::Arc;

/// `keyway repair`.
pub(crate) static COMMAND: Command = Command {
    name: "repair",
    aliases: &[],
    group: Group::Cryptsetup(Topic::Headers),
    operands: &[Operand { name: "DEVICE", required: true, help: "The volume.", offers: Offers::Volumes }],
    about: "Repair a damaged header.",
    man: "LUKS2 has two header copies: a damaged one is rewritten from the good one. For LUKS1, only damage \
          with one right answer is repaired. The changes are shown before the word YES is asked for.\n\n\
          In the middle of a reencryption its metadata is verified with a passphrase, and a part whose writing was cut \
          off is completed. One that was begun by a cryptsetup before 2.4.3, which did not protect it from forgery, is \
          protected from then on.",
    options: &[
        &[&shared::TYPE, &shared::HEADER],
        groups::KEY_INPUT,
        groups::LIMITS,
        &[&shared::TRIES, &shared::DISABLE_LOCKS],
    ],
    examples: &[Example { line: "keyway repair disk.img", does: "Says so if nothing is wrong." }],
    run: door::run::<RepairRequest>,
};

struct RepairRequest {
    target: Target,
    key: KeyOptions,
}

impl Request for RepairRequest {
    fn from_args(args: &Args) -> Result<Self> {
        Versions::from_args(args)?;
        Ok(Self { target: Target::from_args(args, 0)?, key: KeyOptions::from_args(args)? })
    }

    fn run(self) -> Result<()> {
        let (path, manner) = (self.target.header_path(), self.target.manner);
        let storage = self.target.storage(path, Access::Write)?;
        let device = self.target.header_device(storage, Access::Write);
        let repair = device.repair()?;
        if repair.changes().is_empty() {
            if let Ok(header) = device.header() {
                if let Some(under_way) = UnderWay::of(header.luks().header())? {
                    return self.reencryption(&under_way);
                }
                header.check()?;
            }
            return output::verbose(manner, "No known problems detected for LUKS header.");
        }
        for change in repair.changes() {
            say!("{change}");
        }
        self.confirm("Really try to repair LUKS device header?")?;
        Ok(repair.run()?)
    }
}

impl RepairRequest {
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
        // Going on begins with what was cut off, and is left at that.
        let how = Reencrypt::new().unlock(Unlock::new().unclaimed());
        self.with_passphrase(&device, prompt, |device, header, key| {
            device.resume_reencryption(header, &how, key).map(drop)
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
