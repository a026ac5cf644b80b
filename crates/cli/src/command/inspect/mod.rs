//! `inspect`: what a volume is, at a glance: `facts` gathers, `text` and `json` show.

mod facts;
mod json;
mod text;
mod warnings;

use crate::admission;
use crate::args::{Alias, Args, Command, Example, Group, Operand, shared};
use crate::device::{self, Versions};
use crate::failure::Result;
use crate::output;
use crate::paint::Paint;
use facts::Facts;
use keyway_volume::Access;

/// `keyway inspect`.
pub(crate) static COMMAND: Command = Command {
    name: "inspect",
    aliases: &[Alias { name: "status-of", device_type: None }],
    group: Group::Rootless,
    operands: &[Operand { name: "VOLUME", required: true, help: "The file or device with the volume." }],
    about: "Show what a volume is, at a glance.",
    man: "Format, cipher, place and size of the data, whether both header copies are sound, and every keyslot with its \
          key derivation, its cost and the time that unlocking takes on this machine: a short sample of each kind of \
          key derivation is measured and multiplied by the cost. What deserves attention is listed at the end.\n\n\
          Nothing is written, no lock is taken and no passphrase is needed. Colours are used on a terminal, unless \
          NO_COLOR is set.",
    options: &[&[&shared::JSON, &shared::HEADER, &shared::TYPE, &shared::TIMEOUT]],
    examples: &[
        Example { line: "keyway inspect disk.luks", does: "see what it is" },
        Example { line: "keyway inspect --json disk.luks | jq .keyslots", does: "the same for a script" },
    ],
    run,
};

fn run(args: &Args) -> Result<()> {
    let luks = device::load(args, 0, Access::Probe, Versions::from_args(args)?)?;
    let device = args.operand(0).map(device::resolve).unwrap_or_default();
    let data = device::storage(&device, Access::Probe)?;
    let facts = Facts::gather(&device, &luks, &*data, admission::data_device(args, &device, &*data))?;
    if args.given(&shared::JSON) {
        return output::print(&format!("{}\n", json::show(&facts)));
    }
    output::print(&text::show(&facts, Paint::for_stdout()))
}
