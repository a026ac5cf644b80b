//! dm-crypt's flags, which affect how it processes requests but not what it decrypts.

use super::crypt::{Features, Line, Options};
use keyway_volume::{Header, Luks};

/// A dm-crypt flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flag {
    /// Discards are passed on.
    AllowDiscards,
    /// Each request is processed on the CPU that issued it.
    SameCpuCrypt,
    /// Writes are submitted by the thread that encrypted them, without being sorted first.
    SubmitFromCryptCpus,
    /// Reads are decrypted in the context in which they complete.
    NoReadWorkqueue,
    /// Writes are encrypted in the context in which they are issued.
    NoWriteWorkqueue,
    /// dm-crypt's threads run at high priority.
    HighPriority,
}

impl Flag {
    /// All flags, in cryptsetup's order.
    pub const ALL: [Self; 6] = [
        Self::AllowDiscards,
        Self::SameCpuCrypt,
        Self::SubmitFromCryptCpus,
        Self::NoReadWorkqueue,
        Self::NoWriteWorkqueue,
        Self::HighPriority,
    ];

    /// Whether the flag is set.
    pub fn is_in(self, options: &Options) -> bool {
        // Works on a copy, so that the mapping from flags to fields is written only once.
        *self.place(&mut options.clone())
    }

    /// Sets the flag.
    pub fn set(self, options: &mut Options) {
        *self.place(options) = true;
    }

    /// Those that the header stores (LUKS2 on-disk format, section 3.5, "config").
    pub fn stored_in(header: &Luks) -> Vec<Self> {
        let Header::Luks2 { metadata, .. } = header.header() else { return Vec::new() };
        let names = &metadata.config.flags;
        Self::ALL.into_iter().filter(|flag| names.iter().any(|name| name == flag.kept_name())).collect()
    }

    /// Its name in a LUKS2 header (LUKS2 on-disk format, section 3.5, "config").
    pub fn kept_name(self) -> &'static str {
        match self {
            Self::AllowDiscards => "allow-discards",
            Self::SameCpuCrypt => "same-cpu-crypt",
            Self::SubmitFromCryptCpus => "submit-from-crypt-cpus",
            Self::NoReadWorkqueue => "no-read-workqueue",
            Self::NoWriteWorkqueue => "no-write-workqueue",
            Self::HighPriority => "high_priority",
        }
    }

    fn place(self, options: &mut Options) -> &mut bool {
        match self {
            Self::AllowDiscards => &mut options.allow_discards,
            Self::SameCpuCrypt => &mut options.same_cpu_crypt,
            Self::SubmitFromCryptCpus => &mut options.submit_from_crypt_cpus,
            Self::NoReadWorkqueue => &mut options.no_read_workqueue,
            Self::NoWriteWorkqueue => &mut options.no_write_workqueue,
            Self::HighPriority => &mut options.high_priority,
        }
    }

    fn is_known(self, features: &Features) -> bool {
        match self {
            Self::AllowDiscards => features.discards,
            Self::SameCpuCrypt | Self::SubmitFromCryptCpus => features.cpu_options,
            Self::NoReadWorkqueue | Self::NoWriteWorkqueue => features.no_workqueue,
            Self::HighPriority => features.high_priority,
        }
    }
}

impl Options {
    /// Sets the flags that the header stores.
    pub fn set_stored(&mut self, header: &Luks) {
        Flag::stored_in(header).into_iter().for_each(|flag| flag.set(self));
    }

    /// Clears the flags that this dm-crypt does not support, as cryptsetup does, and returns them.
    pub fn drop_unknown(&mut self, features: &Features) -> Vec<Flag> {
        let unknown = Flag::ALL.into_iter().filter(|flag| !flag.is_known(features));
        unknown.filter(|flag| std::mem::take(flag.place(self))).collect()
    }
}

impl Line {
    /// The same mapping with exactly the flags set in `flags`.
    #[must_use]
    pub fn with_flags(mut self, flags: &Options) -> Self {
        for flag in Flag::ALL {
            *flag.place(&mut self.options) = flag.is_in(flags);
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_kernel_is_not_asked_for_what_it_lacks() {
        let mut options = Options { allow_discards: true, high_priority: true, ..Options::default() };
        let dropped = options.drop_unknown(&Features::of(Some((1, 24, 0))));
        assert_eq!(dropped, [Flag::HighPriority]);
        assert!(options.allow_discards && !options.high_priority);
    }

    #[test]
    fn other_flags_leave_what_is_mapped() {
        let text = b"aes-xts-plain64 00ff 7 8:1 4096 4 allow_discards high_priority sector_size:4096 from_the_future";
        let flags = Options { same_cpu_crypt: true, high_priority: true, ..Options::default() };
        let line = Line::parse(text).unwrap().with_flags(&flags);
        let expected = b"aes-xts-plain64 00ff 7 8:1 4096 4 same_cpu_crypt high_priority sector_size:4096 from_the_future";
        assert_eq!(line.format().expose(), expected);
    }
}
