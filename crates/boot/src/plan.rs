//! Which volumes a boot opens: those that the kernel's command line names, completed from the
//! tables; where it names none, those of the first table that is not empty.

use crate::cmdline::CommandLine;
use crate::crypttab::{Entry, REQUIRE};
use std::time::Duration;

/// The volumes to open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// A volume each, with all options that concern it.
    pub entries: Vec<Entry>,
    /// How long to wait for a device, if that was said.
    pub wait: Option<Duration>,
    /// Whether a shell is offered if no volume opens.
    pub shell: bool,
}

impl Plan {
    /// From the kernel's command line and the tables, in their order. Every volume must also meet
    /// `policy`.
    pub fn new(line: CommandLine, tables: Vec<Vec<Entry>>, policy: Option<&str>) -> Self {
        let CommandLine { mut entries, off, wait, shell, mut require } = line;
        for entry in &mut entries {
            complete(entry, tables.iter().flatten());
        }
        if entries.is_empty() {
            entries = tables.into_iter().find(|table| !table.is_empty()).unwrap_or_default();
            entries.retain(|entry| entry.option("noauto").is_none());
        }
        require.extend(policy.map(str::to_owned));
        for entry in &mut entries {
            entry.options.extend(require.iter().map(|file| (REQUIRE.to_owned(), file.clone())));
        }
        if off {
            entries.clear();
        }
        Self { entries, wait, shell }
    }
}

/// Adds to a volume named on the command line what is missing there, from the tables.
fn complete<'a>(entry: &mut Entry, mut known: impl Iterator<Item = &'a Entry>) {
    let device = entry.device.to_ascii_lowercase();
    let Some(same) =
        known.find(|other| other.device.to_ascii_lowercase() == device || other.name == entry.name)
    else {
        return;
    };
    entry.key_file = entry.key_file.take().or_else(|| same.key_file.clone());
    for (name, value) in &same.options {
        // Policies accumulate: a demand made in one place cannot be withdrawn in another.
        if name == REQUIRE || entry.option(name).is_none() {
            entry.options.push((name.clone(), value.clone()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crypttab;

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
    fn tables_say_what_the_command_line_does_not() {
        let table = crypttab::parse(b"root UUID=AB /k discard,tries=1\n");
        let mut entry = Entry {
            name: "luks-ab".into(),
            device: "UUID=ab".into(),
            options: vec![("tries".into(), "9".into())],
            ..Entry::default()
        };
        complete(&mut entry, table.iter());
        assert_eq!(entry.to_string(), "luks-ab UUID=ab /k tries=9,discard");
        // Policies accumulate: naming the volume elsewhere does not bypass the table's policy.
        let table = crypttab::parse(b"root UUID=AB none x-keyway.require=sealed\n");
        let options = vec![(REQUIRE.to_owned(), "/p".to_owned())];
        let mut entry =
            Entry { name: "luks-ab".into(), device: "UUID=ab".into(), options, ..Entry::default() };
        complete(&mut entry, table.iter());
        assert_eq!(entry.to_string(), "luks-ab UUID=ab none x-keyway.require=/p,x-keyway.require=sealed");
        let mut other = Entry { name: "x".into(), device: "UUID=cd".into(), ..Entry::default() };
        complete(&mut other, table.iter());
        assert_eq!(other.to_string(), "x UUID=cd none");
    }
}
