//! Where the figures come from.

use super::super::{distinct, versions};
use super::figure::Table;
use super::run::Run;
use super::words;
use crate::results::Machine;
use maud::{Markup, html};

/// A machine's facts.
pub(super) fn facts(run: &Run<'_>) -> Markup {
    html! {
        h2 { "The machine" }
        dl.facts { @for (name, value) in list(run) { div { dt { (name) } dd { (value) } } } }
    }
}

/// All machines, side by side.
pub(super) fn fleet(runs: &[Run<'_>]) -> Markup {
    let mut table = Table::new("");
    let lists: Vec<Vec<(&str, String)>> = runs.iter().map(list).collect();
    table.head.extend(runs.iter().map(|run| run.name.clone()));
    for name in distinct(lists.iter().flatten().map(|(name, _)| *name)) {
        let value = |list: &Vec<(&str, String)>| {
            list.iter().find(|(known, _)| *known == name).map_or_else(String::new, |(_, value)| value.clone())
        };
        table.rows.push(std::iter::once(name.to_owned()).chain(lists.iter().map(value)).collect());
    }
    html! {
        h2 { "The machines" }
        (table.markup("Facts of the machines"))
    }
}

fn list(run: &Run<'_>) -> Vec<(&'static str, String)> {
    let machine = &run.results.machine;
    let known = |fact: &Option<String>| fact.clone().unwrap_or_default();
    let mut list = vec![
        ("CPU", machine.cpu.clone()),
        ("CPUs used", format!("{} ({})", machine.cpus, machine.architecture)),
        ("Code for AES", machine.aes_code.clone()),
        ("Instructions", machine.features.join(" ")),
        ("Load before", machine.load.map(|load| format!("{load:.2}")).join(", ")),
        ("Memory", memory(machine.memory_mib)),
        ("Kernel", machine.kernel.clone()),
        ("Governor", known(&machine.governor)),
        ("Clock", known(&frequency(machine))),
        ("Runs in", known(&machine.virtualisation)),
        ("System", known(&machine.system)),
        ("Versions", versions(run.results)),
        ("Begun", run.results.started.replace('T', " ").replace('Z', " UTC")),
    ];
    list.retain(|(_, value)| !value.is_empty());
    list
}

fn memory(mib: u64) -> String {
    match mib {
        0 => String::new(),
        mib if mib < 2048 => format!("{mib} MiB"),
        mib => format!("{} GiB", words::digits(mib as f64 / 1024.0)),
    }
}

fn frequency(machine: &Machine) -> Option<String> {
    let seen = machine.frequency?;
    Some(match (seen.lowest_mhz.round(), seen.highest_mhz.round()) {
        (low, high) if low == high => format!("{low:.0} MHz"),
        (low, high) => format!("{low:.0} to {high:.0} MHz"),
    })
}
