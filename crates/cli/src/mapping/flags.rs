//! How dm-crypt treats requests: flags from the command line, kept in a LUKS2
//! header, written into a table, shown by `status`.

use crate::door::shared::{
    ALLOW_DISCARDS, PERF_HIGH_PRIORITY, PERF_NO_READ, PERF_NO_WRITE, PERF_SAME_CPU, PERF_SUBMIT,
};
use crate::door::{Args, Opt};
use crate::process::handed::Handed;
use keyway_attach::dm::crypt::{Features, Options};
use keyway_crypto::Secret;
use keyway_volume::seal::Renewal;
use keyway_volume::{Header, Luks, OsRandom};

/// One flag by its names: its option; in the header (LUKS2 on-disk format,
/// section 3.5, "config"); in `status`, with the space that cryptsetup writes
/// behind it. Then its place, and which dm-crypt knows it.
struct Flag {
    option: &'static Opt,
    kept: &'static str,
    shown: &'static str,
    of: fn(&mut Options) -> &mut bool,
    is_known: fn(&Features) -> bool,
}

const fn flag(
    option: &'static Opt,
    kept: &'static str,
    shown: &'static str,
    of: fn(&mut Options) -> &mut bool,
    is_known: fn(&Features) -> bool,
) -> Flag {
    Flag { option, kept, shown, of, is_known }
}

/// In the order in which cryptsetup shows and keeps them.
#[rustfmt::skip]
static FLAGS: [Flag; 6] = [
    flag(&ALLOW_DISCARDS, "allow-discards", "discards ", |o| &mut o.allow_discards, |f| f.discards),
    flag(&PERF_SAME_CPU, "same-cpu-crypt", "same_cpu_crypt ", |o| &mut o.same_cpu_crypt, |f| f.cpu_options),
    flag(&PERF_SUBMIT, "submit-from-crypt-cpus", "submit_from_crypt_cpus ", |o| &mut o.submit_from_crypt_cpus, |f| f.cpu_options),
    flag(&PERF_NO_READ, "no-read-workqueue", "no_read_workqueue ", |o| &mut o.no_read_workqueue, |f| f.no_workqueue),
    flag(&PERF_NO_WRITE, "no-write-workqueue", "no_write_workqueue", |o| &mut o.no_write_workqueue, |f| f.no_workqueue),
    flag(&PERF_HIGH_PRIORITY, "high_priority", "high_priority", |o| &mut o.high_priority, |f| f.high_priority),
];

/// The flags that somebody gives: the command line, or a line of crypttab.
#[derive(Debug, Clone, Default)]
pub(crate) struct GivenFlags(Options);

impl GivenFlags {
    pub(crate) fn from_args(args: &Args) -> Self {
        let mut this = Self::default();
        FLAGS.iter().map(|flag| flag.option).filter(|option| args.given(option)).for_each(|it| this.give(it));
        this
    }

    /// The flag of this option too.
    pub(crate) fn give(&mut self, option: &Opt) {
        for flag in FLAGS.iter().filter(|flag| std::ptr::eq(flag.option, option)) {
            *(flag.of)(&mut self.0) = true;
        }
    }

    fn flags(&self) -> impl Iterator<Item = &'static Flag> {
        let mut options = self.0.clone();
        FLAGS.iter().filter(move |flag| *(flag.of)(&mut options))
    }

    /// Sets them.
    pub(crate) fn apply(&self, options: &mut Options) {
        self.flags().for_each(|flag| *(flag.of)(options) = true);
    }

    /// Keeps them in the header (`--persistent`), and no others. The volume key, where it is at hand,
    /// renews a seal.
    pub(crate) fn keep(&self, luks: &mut Luks, volume_key: Option<&Secret>) -> keyway_volume::Result<()> {
        let names: Vec<_> = self.flags().map(|flag| flag.kept).collect();
        let renewal = volume_key.map(|volume_key| Renewal { volume_key });
        keyway_volume::edit::set_persistent_flags(luks, &names, renewal, &mut OsRandom)
    }
}

impl Handed for GivenFlags {
    fn put(&self, to: &mut Vec<u8>) {
        self.flags().map(|flag| flag.kept.to_owned()).collect::<Vec<_>>().put(to);
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        let (names, mut this) = (Vec::<String>::take(from)?, Self::default());
        let given = FLAGS.iter().filter(|flag| names.iter().any(|name| name == flag.kept));
        given.for_each(|flag| this.give(flag.option));
        Some(this)
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
