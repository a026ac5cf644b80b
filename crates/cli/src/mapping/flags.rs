//! How dm-crypt treats requests: flags from the command line, stored in a LUKS2 header, written
//! into a table, shown by `status`.

use crate::args::shared::{
    ALLOW_DISCARDS, PERF_HIGH_PRIORITY, PERF_NO_READ, PERF_NO_WRITE, PERF_SAME_CPU, PERF_SUBMIT,
};
use crate::args::{Args, Opt};
use crate::process::encoding::Encoded;
use keyway::parts::{Luks, set_mapping_flags};
use keyway::{MapOptions, MappingFlag as Flag};
use keyway_crypto::Secret;

/// A dm-crypt flag and its names: its option; its name in `status`, with the space that cryptsetup
/// writes after it.
struct Named {
    flag: Flag,
    option: &'static Opt,
    shown: &'static str,
}

const fn named(flag: Flag, option: &'static Opt, shown: &'static str) -> Named {
    Named { flag, option, shown }
}

/// In the order in which cryptsetup shows and stores them.
#[rustfmt::skip]
static FLAGS: [Named; 6] = [
    named(Flag::AllowDiscards, &ALLOW_DISCARDS, "discards "),
    named(Flag::SameCpuCrypt, &PERF_SAME_CPU, "same_cpu_crypt "),
    named(Flag::SubmitFromCryptCpus, &PERF_SUBMIT, "submit_from_crypt_cpus "),
    named(Flag::NoReadWorkqueue, &PERF_NO_READ, "no_read_workqueue "),
    named(Flag::NoWriteWorkqueue, &PERF_NO_WRITE, "no_write_workqueue"),
    named(Flag::HighPriority, &PERF_HIGH_PRIORITY, "high_priority"),
];

/// The flags that are given on the command line or in a crypttab line.
#[derive(Debug, Clone, Default)]
pub(crate) struct GivenFlags(Vec<Flag>);

impl GivenFlags {
    pub(crate) fn from_args(args: &Args) -> Self {
        let mut this = Self::default();
        FLAGS.iter().map(|flag| flag.option).filter(|option| args.given(option)).for_each(|it| this.give(it));
        this
    }

    /// Adds the flag of this option.
    pub(crate) fn give(&mut self, option: &Opt) {
        let given = FLAGS.iter().filter(|named| std::ptr::eq(named.option, option));
        self.0.extend(given.map(|named| named.flag));
    }

    /// Whether discards are passed on, by these flags or those of the header.
    pub(crate) fn pass_discards(&self, header: Option<&Luks>) -> bool {
        self.passes_discards()
            || header.is_some_and(|luks| Flag::stored_in(luks).contains(&Flag::AllowDiscards))
    }

    /// Whether discards are passed on.
    pub(crate) fn passes_discards(&self) -> bool {
        self.0.contains(&Flag::AllowDiscards)
    }

    /// A mapping with these flags.
    pub(crate) fn onto(&self, how: MapOptions) -> MapOptions {
        set_in(&self.0).fold(how, |how, named| how.flag(named.flag))
    }

    /// Stores these flags in the header (`--persistent`), and no others. The volume key, if
    /// available, renews a seal.
    pub(crate) fn keep(&self, luks: &mut Luks, volume_key: Option<&Secret>) -> keyway::Result<()> {
        let flags: Vec<_> = set_in(&self.0).map(|named| named.flag).collect();
        set_mapping_flags(luks, &flags, volume_key)
    }
}

impl Encoded for GivenFlags {
    fn put(&self, to: &mut Vec<u8>) {
        set_in(&self.0).map(|named| named.flag.kept_name().to_owned()).collect::<Vec<_>>().put(to);
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        let (names, mut this) = (Vec::<String>::take(from)?, Self::default());
        let given = FLAGS.iter().filter(|flag| names.iter().any(|name| name == flag.flag.kept_name()));
        given.for_each(|flag| this.give(flag.option));
        Some(this)
    }
}

/// The flags that are set, with their names.
fn set_in(flags: &[Flag]) -> impl Iterator<Item = &'static Named> {
    FLAGS.iter().filter(|named| flags.contains(&named.flag))
}

/// The option that sets the flag.
pub(crate) fn option_of(flag: Flag) -> &'static str {
    FLAGS.iter().find(|named| named.flag == flag).map_or("", |named| named.option.long)
}

/// The flags as `status` shows them; empty when none is set.
pub(crate) fn shown(flags: &[Flag]) -> String {
    set_in(flags).map(|named| named.shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use keyway_format::luks2::PERSISTENT_FLAGS;

    #[test]
    fn flags_are_shown_with_cryptsetups_spaces() {
        assert_eq!(shown(&[]), "");
        assert_eq!(shown(&[Flag::AllowDiscards]), "discards ");
        let flags = [Flag::NoWriteWorkqueue, Flag::NoReadWorkqueue, Flag::AllowDiscards];
        assert_eq!(shown(&flags), "discards no_read_workqueue no_write_workqueue");
    }

    #[test]
    fn the_header_knows_every_flag() {
        assert!(FLAGS.iter().all(|flag| PERSISTENT_FLAGS.contains(&flag.flag.kept_name())));
    }
}
