//! Which volumes a boot opens: those that the kernel's command line names, completed from the
//! tables; where it names none, those of the first table that is not empty.
//!
//! Values are those of the first place that has them, except that what the command line says of all volumes comes behind
//! what a table says of one. Demands (x-keyway.require) accumulate: those of
//! every entry of every table that means the volume hold, by whatever name it is opened. keyway.rekey=
//! on the command line holds for all of them, in place of what a table says. What is
//! written alike is known here; which devices are one, only whoever can look at them.

use crate::cmdline::{CommandLine, Lvm, Md};
use crate::crypttab::{Entry, REKEY, REQUIRE, is_demand};
use crate::device_spec::is_one;
use std::time::Duration;

/// The volumes to open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// A volume each, with all options that concern it.
    pub entries: Vec<Entry>,
    /// All entries that make demands, for volumes that turn out to be the same.
    pub demanding: Vec<Entry>,
    /// How long to wait for a device, if that was said.
    pub wait: Option<Duration>,
    /// Whether a shell is offered if no volume opens.
    pub shell: bool,
    /// Whether a passphrase that opened a volume is not tried on the others.
    pub forgets: bool,
    /// Which logical volumes are activated, whether something names them or not.
    pub lvm: Lvm,
    /// Which arrays of md RAID are assembled.
    pub md: Md,
    /// What the command line says and is not done: a line each.
    pub undone: Vec<String>,
    /// Words of ours on the command line that do not exist.
    pub unknown: Vec<String>,
}

impl Plan {
    /// From the kernel's command line and the tables, in their order; the last one is the image's own, the
    /// others are crypttabs. Every volume must also meet `policy`.
    pub fn new(mut line: CommandLine, tables: Vec<Vec<Entry>>, policy: Option<&str>) -> Self {
        let mut entries = std::mem::take(&mut line.entries);
        let known = tables.iter().flatten().chain(&entries).chain(&line.demanding);
        let demanding: Vec<Entry> = known.filter(|entry| entry.demands().next().is_some()).cloned().collect();
        let left_out = if line.without_crypttab { tables.len().saturating_sub(1) } else { 0 };
        let mut tables: Vec<_> = tables.into_iter().skip(left_out).collect();
        tables.iter_mut().flatten().for_each(|entry| line.complete(entry));
        let crypttabs = tables.len().saturating_sub(1);
        for (place, entry) in entries.iter_mut().enumerate() {
            let is_in_crypttab =
                tables[..crypttabs].iter().flatten().any(|other| is_written_alike(entry, other));
            complete(entry, tables.iter().flatten());
            line.give_all(place, entry, is_in_crypttab);
        }
        if entries.is_empty() {
            entries = tables.into_iter().find(|table| !table.is_empty()).unwrap_or_default();
            entries.retain(|entry| entry.option("noauto").is_none());
        }
        if !line.off {
            line.undone.extend(line.for_nobody());
        }
        let CommandLine { off, wait, shell, forgets, mut demands, rekey, lvm, md, undone, unknown, .. } =
            line;
        demands.extend(policy.map(|file| (REQUIRE.to_owned(), file.to_owned())));
        for entry in &mut entries {
            for other in &demanding {
                if is_written_alike(entry, other) {
                    entry.demand_as(other);
                }
            }
            entry.options.extend(demands.iter().cloned());
            if let Some(when) = &rekey {
                entry.options.retain(|(name, _)| name != REKEY);
                entry.options.push((REKEY.to_owned(), when.clone()));
            }
        }
        if off {
            entries.clear();
        }
        Self { entries, demanding, wait, shell, forgets, lvm, md, undone, unknown }
    }
}

/// Adds to a volume named on the command line what is missing there, from the tables.
fn complete<'a>(entry: &mut Entry, mut known: impl Iterator<Item = &'a Entry>) {
    let Some(same) = known.find(|other| is_written_alike(entry, other)) else { return };
    // Where only a UUID was given, the name is the table's.
    if entry
        .name
        .to_string_lossy()
        .strip_prefix("luks-")
        .is_some_and(|uuid| is_one(&entry.device, format!("UUID={uuid}").as_ref()))
    {
        entry.name = same.name.clone();
    }
    entry.key_file = entry.key_file.take().or_else(|| same.key_file.clone());
    for (name, value) in &same.options {
        if !is_demand(name) && entry.option(name).is_none() {
            entry.options.push((name.clone(), value.clone()));
        }
    }
}

/// Whether two entries give one device, or one name.
fn is_written_alike(one: &Entry, other: &Entry) -> bool {
    is_one(&one.device, &other.device) || one.name == other.name
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crypttab::{self, Rekey};

    #[test]
    fn the_command_line_goes_before_the_tables() {
        let tables =
            || [&b"a /dev/a\nb /dev/b none noauto\n"[..], b"c /dev/c\n"].map(crypttab::parse).to_vec();
        let planned = |text: &str, policy| {
            let plan = Plan::new(CommandLine::parse(text), tables(), policy);
            plan.entries.iter().map(Entry::to_string).collect::<Vec<_>>()
        };
        assert_eq!(planned("quiet", None), ["a /dev/a none"]);
        assert_eq!(planned("keyway.device=/dev/C keyway.name=r", None), ["r /dev/C none"]);
        assert_eq!(
            planned("keyway.require=sealed", Some("/p")),
            ["a /dev/a none x-keyway.require=sealed,x-keyway.require=/p"]
        );
        assert!(planned("rd.luks=0 keyway.device=/dev/c", None).is_empty());
    }

    #[test]
    fn the_command_line_says_when_volumes_get_another_key() {
        let planned = |text: &str, table: &[u8]| {
            let plan = Plan::new(CommandLine::parse(text), vec![crypttab::parse(table)], None);
            let when = plan.entries.iter().map(|entry| entry.rekey().map_err(str::to_owned));
            when.collect::<Vec<_>>()
        };
        let table = b"a /dev/a none x-keyway.rekey=after\nb /dev/b none x-keyway.rekey\nc /dev/c\n";
        assert_eq!(planned("quiet", table), [Ok(Rekey::After), Ok(Rekey::Before), Ok(Rekey::Before)]);
        assert_eq!(planned("keyway.rekey=no", table), [Ok(Rekey::No), Ok(Rekey::No), Ok(Rekey::No)]);
        assert_eq!(planned("keyway.device=/dev/a", table), [Ok(Rekey::After)]);
        assert_eq!(planned("keyway.device=/dev/a keyway.rekey=yes", table), [Ok(Rekey::Before)]);
        assert_eq!(planned("keyway.device=/dev/a keyway.rekey=later", table), [Err("later".to_owned())]);
    }

    #[test]
    fn tables_say_what_the_command_line_does_not() {
        let table = crypttab::parse(b"root UUID=AB /k discard,tries=1\n");
        let mut entry = Entry {
            name: "luks-ab".into(),
            device: "UUID=ab".into(),
            options: vec![("tries".into(), "9".into())],
            ..Entry::default()
        };
        complete(&mut entry, table.iter());
        // The name, too: the command line gave none.
        assert_eq!(entry.to_string(), "root UUID=ab /k tries=9,discard");
        let mut other = Entry { name: "x".into(), device: "UUID=cd".into(), ..Entry::default() };
        complete(&mut other, table.iter());
        assert_eq!(other.to_string(), "x UUID=cd none");
    }

    /// Naming the volume elsewhere, or in another table, withdraws no demand.
    #[test]
    fn demands_of_all_tables_accumulate() {
        let tables = [
            &b"root UUID=AB none x-keyway.require=sealed,tries=1\nother /dev/x\n"[..],
            b"second uuid=ab none x-keyway.require=/p\nroot /dev/y none x-keyway.seal-context=c,tries=2\n",
            b"root UUID=AB none x-keyway.require=sealed\n",
        ];
        let planned = |text: &str| {
            let tables = tables.map(crypttab::parse).to_vec();
            let plan = Plan::new(CommandLine::parse(text), tables, Some("/q"));
            assert_eq!(plan.demanding.len(), 4 + usize::from(text.contains("require=/own")));
            plan.entries.iter().map(Entry::to_string).collect::<Vec<_>>()
        };
        let demands = "x-keyway.require=sealed,x-keyway.require=/p,x-keyway.seal-context=c";
        let of = |first: &str| format!("{first},{demands},x-keyway.require=/q");
        let at_home = |name: &str| {
            let demands = "x-keyway.require=sealed,x-keyway.require=/p";
            format!("{name} UUID=ab none tries=1,{demands},x-keyway.require=/q")
        };
        assert_eq!(planned("quiet")[1], "other /dev/x none x-keyway.require=/q");
        assert_eq!(
            planned("quiet")[0],
            "root UUID=AB none x-keyway.require=sealed,tries=1,x-keyway.require=/p,x-keyway.seal-context=c,\
             x-keyway.require=/q"
        );
        assert_eq!(planned("keyway.device=UUID=ab keyway.name=another"), [at_home("another")]);
        assert_eq!(planned("keyway.device=UUID=ab keyway.name=root"), [of("root UUID=ab none tries=1")]);
        assert_eq!(
            planned("keyway.device=/dev/z keyway.name=root keyway.options=x-keyway.require=/own,tries=3"),
            [of("root /dev/z none x-keyway.require=/own,tries=3").replace(",x-keyway.require=/p", "")]
        );
        assert_eq!(planned("keyway.device=/dev/z keyway.name=z"), ["z /dev/z none x-keyway.require=/q"]);
    }
}
