//! The machine that unlocks, how fast it derives keys, and how much memory it has.

use super::options::{TARGET, TARGET_MEMORY, TARGETS, wrong};
use crate::args::Args;
use crate::output::failure::Result;
use crate::verb::tools::cpu::{Cpu, RATE_FILE};
use keyway::{Device, Machine, Prediction};
use keyway_boot::loader::grub::Version;
use keyway_boot::unlock_time::{Board, Rates, Work};

/// The machine that unlocks.
pub(super) struct Target {
    /// A description.
    pub(super) title: String,
    /// The CPU, and where its rates come from.
    pub(super) rates: String,
    /// Its memory in KiB, if that is known.
    pub(super) memory_kib: Option<u64>,
    name: String,
    machine: Machine,
    cpu: Cpu,
}

impl Target {
    /// `--target`; its CPU is that of the rate file, if there is one.
    pub(super) fn from_args(args: &Args) -> Result<Self> {
        let (name, file) = (args.text(&TARGET).unwrap_or("linux"), args.path(&RATE_FILE));
        let cpu = Cpu::from_args(args)?;
        let machine = find(name)?;
        let board = Board::find(name).filter(|_| file.is_none());
        let title = machine.to_string();
        let title = match file {
            Some(_) => {
                title.replace("a CPU like this one", "that CPU").replace("this machine", "that machine")
            }
            None => title,
        };
        let rates = match board {
            Some(_) => "published figures (docs/COST.md)".to_owned(),
            None => format!("{}, {}", cpu.name, cpu.source),
        };
        let known = match board {
            Some(board) => board.memory_kib,
            None => cpu.memory_kib,
        };
        let memory_kib = args.number(&TARGET_MEMORY).map(|bytes| bytes >> 10).or(known);
        Ok(Self { title, rates, memory_kib, name: name.to_owned(), machine, cpu })
    }

    /// What happens when the volume on `device` is opened there.
    pub(super) fn predict(&self, device: &Device) -> keyway::Result<Prediction> {
        self.cpu.predict(&self.machine, device)
    }

    /// How fast it computes these, and how many seconds passed for each that was computed while this machine was
    /// measured; `None` for GRUB, which opens LUKS volumes alone.
    pub(super) fn rates_of(&self, works: &[Work]) -> Option<(Rates, f64)> {
        (!self.is_grub()).then(|| self.cpu.rates(&self.machine, works))
    }

    /// Whether it is GRUB.
    pub(super) fn is_grub(&self) -> bool {
        self.machine.is_grub()
    }

    /// How many key derivations it runs at once.
    pub(super) fn threads(&self) -> usize {
        match Board::find(self.name.as_str()) {
            Some(_) if self.cpu.is_here() => BOARDS_CORES,
            _ if self.machine == Machine::cryptsetup() => 1,
            _ => self.cpu.threads,
        }
    }

    /// Whether it is this program on this machine.
    pub(super) fn is_here(&self) -> bool {
        self.is_linux() && self.cpu.is_here()
    }

    /// Whether it is Linux on a machine whose rates were measured, where cryptsetup may open the
    /// volume as well.
    pub(super) fn is_linux(&self) -> bool {
        self.machine == Machine::here()
    }

    /// The most memory that Argon2 can have there: the system, its firmware and the initramfs need
    /// the rest.
    pub(super) fn most_kib(&self) -> Option<u64> {
        self.memory_kib.map(|kib| kib / 4 * 3)
    }
}

/// Of a Raspberry Pi 3 and 4.
const BOARDS_CORES: usize = 4;

fn find(name: &str) -> Result<Machine> {
    if let Some(machine) = Machine::find(name) {
        return Ok(machine);
    }
    // A release between those that are known.
    if let Some(version) = name.strip_prefix("grub-") {
        // "2.12" at its start: a distribution's name has its own version.
        let version = version.starts_with("2.").then(|| Version::parse(version)).flatten();
        let version = version.ok_or_else(|| {
            wrong(&TARGET, name, &format!("there are {}", known(&|name| name.starts_with("grub-"))))
        })?;
        return Ok(Machine::grub(version.into()));
    }
    let others = format!(
        "there are {}; for another machine run \"keyway bench kdf --json >rates.json\" there and give --rate-file rates.json",
        known(&|_| true)
    );
    Err(wrong(&TARGET, name, &others))
}

/// "grub-2.06, linux and pi4", in the order in which they are offered.
fn known(which: &dyn Fn(&str) -> bool) -> String {
    let names: Vec<&str> = TARGETS.iter().copied().filter(|name| which(name)).collect();
    let (last, others) = names.split_last().expect("some are known");
    format!("{} and {last}", others.join(", "))
}
