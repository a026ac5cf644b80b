//! How dm-crypt treats requests: flags from the command line, kept in a LUKS2 header, written into a table, shown by
//! `status`.

use crate::args::{Args, Opt};
use crate::command::open::options::{
    ALLOW_DISCARDS, PERF_HIGH_PRIORITY, PERF_NO_READ, PERF_NO_WRITE, PERF_SAME_CPU, PERF_SUBMIT,
};
use keyway_attach::dm::crypt::{Features, Options};
use keyway_volume::{Header, Luks, OsRandom};

/// One flag by its names.
struct Flag {
    option: &'static Opt,
    /// In the header (LUKS2 on-disk format, section 3.5, "config").
    kept: &'static str,
    /// In `status`, with the space that cryptsetup writes behind it.
    shown: &'static str,
    of: fn(&mut Options) -> &mut bool,
    is_known: fn(&Features) -> bool,
}

/// In the order in which cryptsetup shows and keeps them.
static FLAGS: [Flag; 6] = [
    Flag {
        option: &ALLOW_DISCARDS,
        kept: "allow-discards",
        shown: "discards ",
        of: |o| &mut o.allow_discards,
        is_known: |f| f.discards,
    },
    Flag {
        option: &PERF_SAME_CPU,
        kept: "same-cpu-crypt",
        shown: "same_cpu_crypt ",
        of: |o| &mut o.same_cpu_crypt,
        is_known: |f| f.cpu_options,
    },
    Flag {
        option: &PERF_SUBMIT,
        kept: "submit-from-crypt-cpus",
        shown: "submit_from_crypt_cpus ",
        of: |o| &mut o.submit_from_crypt_cpus,
        is_known: |f| f.cpu_options,
    },
    Flag {
        option: &PERF_NO_READ,
        kept: "no-read-workqueue",
        shown: "no_read_workqueue ",
        of: |o| &mut o.no_read_workqueue,
        is_known: |f| f.no_workqueue,
    },
    Flag {
        option: &PERF_NO_WRITE,
        kept: "no-write-workqueue",
        shown: "no_write_workqueue",
        of: |o| &mut o.no_write_workqueue,
        is_known: |f| f.no_workqueue,
    },
    Flag {
        option: &PERF_HIGH_PRIORITY,
        kept: "high_priority",
        shown: "high_priority",
        of: |o| &mut o.high_priority,
        is_known: |f| f.high_priority,
    },
];

/// Sets the flags that the command line gives.
pub(crate) fn apply_given(args: &Args, options: &mut Options) {
    for flag in FLAGS.iter().filter(|flag| args.given(flag.option)) {
        *(flag.of)(options) = true;
    }
}

/// Sets the flags that the header keeps.
pub(crate) fn apply_kept(luks: &Luks, options: &mut Options) {
    let Header::Luks2 { metadata, .. } = luks.header() else { return };
    let is_kept = |flag: &&Flag| metadata.config.flags.iter().any(|kept| kept == flag.kept);
    for flag in FLAGS.iter().filter(is_kept) {
        *(flag.of)(options) = true;
    }
}

/// Takes back what this kernel's dm-crypt does not know, as cryptsetup does, and names it.
pub(crate) fn drop_unknown(options: &mut Options, features: &Features) -> Vec<&'static str> {
    let mut dropped = Vec::new();
    for flag in FLAGS.iter().filter(|flag| !(flag.is_known)(features)) {
        if std::mem::take((flag.of)(options)) {
            dropped.push(flag.option.long);
        }
    }
    dropped
}

/// `--persistent`: keeps the flags of the command line in the header, and no others.
pub(crate) fn keep(args: &Args, luks: &mut Luks) -> keyway_volume::Result<()> {
    let given = FLAGS.iter().filter(|flag| args.given(flag.option)).map(|flag| flag.kept);
    keyway_volume::edit::set_persistent_flags(luks, &given.collect::<Vec<_>>(), &mut OsRandom)
}

/// The flags as `status` shows them; empty when none is set.
pub(crate) fn shown(options: &Options) -> String {
    let mut options = options.clone();
    let set = FLAGS.iter().filter(|flag| *(flag.of)(&mut options));
    set.map(|flag| flag.shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use keyway_format::luks2::PERSISTENT_FLAGS;

    #[test]
    fn flags_are_shown_with_cryptsetups_spaces() {
        let mut options = Options::default();
        assert_eq!(shown(&options), "");
        options.allow_discards = true;
        assert_eq!(shown(&options), "discards ");
        options.no_read_workqueue = true;
        options.no_write_workqueue = true;
        assert_eq!(shown(&options), "discards no_read_workqueue no_write_workqueue");
    }

    #[test]
    fn the_header_knows_every_flag() {
        assert!(FLAGS.iter().all(|flag| PERSISTENT_FLAGS.contains(&flag.kept)));
    }

    #[test]
    fn an_old_kernel_is_not_asked_for_what_it_lacks() {
        let mut options = Options { allow_discards: true, high_priority: true, ..Options::default() };
        let dropped = drop_unknown(&mut options, &Features::of(Some((1, 24, 0))));
        assert_eq!(dropped, ["perf-high_priority"]);
        assert!(options.allow_discards && !options.high_priority);
    }
}
