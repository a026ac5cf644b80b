//! Key material: locked in memory, kept out of core dumps, wiped on
//! drop, compared in constant time.
//!
//! Every secret has its own memory pages, so locking, wiping and unlocking one never affects
//! another. Without the feature `alloc` it is stored in the value itself, and at most 512 bytes
//! long.

use crate::sys::Pages;
pub(crate) use crate::sys::Plain;
#[cfg(not(feature = "alloc"))]
pub(crate) use crate::sys::SecretBox;
#[cfg(feature = "alloc")]
pub(crate) use boxed::SecretBox;
use subtle::ConstantTimeEq;
use zeroize::Zeroize;

/// Bytes that must not leak: no `Clone`, no `Debug`, no growth (growth would leave copies behind).
pub struct Secret {
    pages: Pages,
    len: usize,
}

impl Secret {
    /// `len` zero bytes, to fill through [`Secret::expose_mut`].
    ///
    /// # Panics
    /// If there is no memory; without the feature `alloc`, if `len` is more than 512.
    pub fn zeroed(len: usize) -> Self {
        Self { pages: Pages::locked(len), len }
    }

    /// Takes a copy of `bytes`; the caller must wipe the original.
    pub fn copy_from(bytes: &[u8]) -> Self {
        let mut secret = Self::zeroed(bytes.len());
        secret.expose_mut().copy_from_slice(bytes);
        secret
    }

    /// Length in bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no bytes at all (an empty passphrase).
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The bytes. The name makes every use easy to find in review.
    pub fn expose(&self) -> &[u8] {
        &self.pages.as_slice()[..self.len]
    }

    /// The bytes, for writing.
    pub fn expose_mut(&mut self) -> &mut [u8] {
        &mut self.pages.as_mut_slice()[..self.len]
    }

    /// Whether the system keeps the bytes out of swap. The system may refuse (RLIMIT_MEMLOCK); the
    /// secret works anyway.
    pub fn is_locked(&self) -> bool {
        self.pages.is_locked()
    }

    /// Equality in time that depends on the lengths only.
    pub fn ct_eq(&self, other: &[u8]) -> bool {
        self.len == other.len() && self.expose().ct_eq(other).into()
    }
}

impl Drop for Secret {
    fn drop(&mut self) {
        self.pages.as_mut_slice().zeroize();
    }
}

/// Overwrites every [`Secret`] and every expanded key of the process, as the process's last act. A
/// signal handler may call it.
///
/// Other threads that encrypt or decrypt from now on stop there for ever, so no output computed
/// with wiped keys leaves the process.
#[cfg(feature = "std")]
pub fn wipe_all() {
    crate::sys::wipe::wipe_all();
}

/// Overwrites what the caller's earlier calls left on the stack below it. Vector code spills round
/// keys there.
#[inline(never)]
pub fn wipe_stack() {
    core::hint::black_box(&mut [0_u64; CIPHER_DEPTH / size_of::<u64>()]);
}

/// The stack depth of a cipher's calls, in bytes; masks and tweaks are most of it.
const CIPHER_DEPTH: usize = 8 << 10;
/// The stack depth of a key derivation.
const KDF_DEPTH: usize = 32 << 10;

/// Runs `work`, then overwrites what it left on the stack: threads pass their stacks on to later
/// ones, which live longer than a derivation.
pub(crate) fn on_clean_stack<T>(work: impl FnOnce() -> T) -> T {
    let result = in_own_frame(work);
    wipe_kdf_stack();
    result
}

/// Not inlined: the frames of `work` lie where [`wipe_kdf_stack`]'s will.
#[inline(never)]
fn in_own_frame<T>(work: impl FnOnce() -> T) -> T {
    work()
}

#[inline(never)]
fn wipe_kdf_stack() {
    core::hint::black_box(&mut [0_u64; KDF_DEPTH / size_of::<u64>()]);
}

/// Called after every run of a cipher; does not return after [`wipe_all`].
#[inline]
pub(crate) fn stop_if_wiped() {
    #[cfg(feature = "std")]
    crate::sys::wipe::stop_if_wiped();
}

#[cfg(feature = "alloc")]
mod boxed {
    use super::{Pages, Plain};
    use core::mem::{align_of, size_of};
    use core::ops::Deref;
    use core::ptr::NonNull;
    use zeroize::Zeroize;

    /// A value (a key schedule) stored in pages like a [`super::Secret`].
    pub(crate) struct SecretBox<T> {
        pages: Pages,
        value: NonNull<T>,
    }

    impl<T: Plain> SecretBox<T> {
        /// An empty value, filled in place by `fill` so that no copy stays behind on the stack.
        pub(crate) fn new_with(fill: impl FnOnce(&mut T)) -> Self {
            let mut secret = Self::new(T::EMPTY);
            // SAFETY: `value` points to a value of `T` that the box alone owns.
            fill(unsafe { secret.value.as_mut() });
            secret
        }
    }

    impl<T> SecretBox<T> {
        /// Takes a value; the caller must wipe the memory it was created in.
        pub(crate) fn new(made: T) -> Self {
            const { assert!(align_of::<T>() <= 4096) };
            let mut pages = Pages::locked(size_of::<T>());
            let value = NonNull::from(pages.as_mut_slice()).cast::<T>();
            // SAFETY: the pages are at least `size_of::<T>()` long,
            // page-aligned and owned by the box alone.
            unsafe { value.write(made) };
            Self { pages, value }
        }
    }

    impl<T> Deref for SecretBox<T> {
        type Target = T;

        fn deref(&self) -> &T {
            // SAFETY: `value` points into `self.pages`, which lives as long as `self` and is not
            // written again.
            unsafe { self.value.as_ref() }
        }
    }

    impl<T> Drop for SecretBox<T> {
        fn drop(&mut self) {
            // SAFETY: `value` points to a value of `T`, which is not used again.
            unsafe { self.value.drop_in_place() };
            self.pages.as_mut_slice().zeroize();
        }
    }

    // SAFETY: the box owns its value alone, like a `Box<T>`.
    unsafe impl<T: Send> Send for SecretBox<T> {}
    // SAFETY: shared references to the box give shared references to the value, nothing else.
    unsafe impl<T: Sync> Sync for SecretBox<T> {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_bytes_and_compares_them() {
        let secret = Secret::copy_from(b"correct horse");
        assert_eq!(secret.expose(), b"correct horse");
        assert!(secret.ct_eq(b"correct horse"));
        assert!(!secret.ct_eq(b"correct horsf"));
        assert!(!secret.ct_eq(b"correct hors"));
        assert!(!secret.is_empty() && secret.len() == 13);
    }

    #[test]
    fn an_empty_secret_is_a_secret() {
        let secret = Secret::zeroed(0);
        assert!(secret.is_empty());
        assert!(secret.ct_eq(b""));
    }

    #[test]
    #[cfg(all(feature = "std", feature = "alloc"))]
    fn what_is_dropped_is_wiped_first() {
        use crate::sys::pages::given_back::left;
        drop(Pages::locked(1));
        let mut pages = Pages::locked(100);
        pages.as_mut_slice()[7] = 1;
        drop(pages);
        assert_eq!(left(), 1, "pages alone wipe nothing");
        drop(Secret::copy_from(&[7; 5000]));
        assert_eq!(left(), 0);
        let mut schedule = SecretBox::new([7_u8; 240]);
        assert_eq!(schedule[239], 7);
        schedule = SecretBox::new_with(|schedule: &mut [u8; 240]| schedule[0] = 9);
        assert_eq!((left(), schedule[0], schedule[239]), (0, 9, 0));
        drop(schedule);
        assert_eq!(left(), 0);
    }

    /// Runs in a separate process: the other tests need their secrets.
    #[test]
    #[cfg(all(feature = "std", feature = "alloc", target_os = "linux"))]
    fn everything_is_wiped_at_once() {
        const NAME: &str = "secret::tests::everything_is_wiped_at_once";
        if std::env::var_os("KEYWAY_WIPES").is_some() {
            let (secret, schedule) = (Secret::copy_from(&[7; 5000]), SecretBox::new([7_u8; 240]));
            stop_if_wiped();
            wipe_all();
            assert!(secret.expose() == [0; 5000] && *schedule == [0; 240]);
            std::thread::spawn(|| {
                stop_if_wiped();
                std::process::exit(3);
            });
            std::thread::sleep(std::time::Duration::from_millis(200));
            std::process::exit(0);
        }
        if emulated(NAME, "the emulator starts no second program") {
            return;
        }
        let mut again = std::process::Command::new(std::env::current_exe().unwrap());
        let status = again.args(["--exact", NAME]).env("KEYWAY_WIPES", "1").status().unwrap();
        assert_eq!(status.code(), Some(0));
    }

    /// Read through a file: the language does not define memory below the end of the stack.
    #[test]
    #[cfg(all(feature = "std", target_os = "linux"))]
    fn what_a_call_left_on_the_stack_is_wiped() {
        use std::os::unix::fs::FileExt;
        const MARK: u64 = 0x5a17_c0de_5a17_c0de;
        #[inline(never)]
        fn leave() -> u64 {
            let marks = core::hint::black_box([MARK; 512]);
            core::ptr::from_ref(core::hint::black_box(&marks)) as u64
        }
        let memory = std::fs::File::open("/proc/self/mem").unwrap();
        let marks = |wipe: fn()| {
            let mut found = std::vec![0; 4096];
            let at = leave();
            wipe();
            memory.read_exact_at(&mut found, at).unwrap();
            found.chunks_exact(8).filter(|word| **word == MARK.to_ne_bytes()).count()
        };
        assert!(marks(|| ()) > 256, "what is not wiped is there");
        // The call's own frame overwrites a word or two.
        assert!(marks(wipe_stack) < 8);
        assert!(marks(wipe_kdf_stack) < 8);
    }

    #[test]
    #[cfg(all(feature = "std", target_os = "linux"))]
    fn secrets_stay_out_of_core_dumps() {
        if emulated("secret::tests::secrets_stay_out_of_core_dumps", "the emulator keeps no such flag") {
            return;
        }
        let secret = Secret::copy_from(&[7; 5000]);
        let address = secret.expose().as_ptr() as usize;
        assert_eq!(address % 4096, 0);
        let smaps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        // Adjacent secrets of other tests have the same flags and share its mapping.
        let mut lines = smaps.lines().skip_while(|line| !holds(line, address));
        let flags = lines.find_map(|line| line.strip_prefix("VmFlags: ")).expect("a mapping with its flags");
        assert!(flags.split(' ').any(|flag| flag == "dd"), "no dontdump in {flags}");
        assert_eq!(flags.split(' ').any(|flag| flag == "lo"), secret.is_locked());
    }

    /// Whether a line of smaps begins the mapping that holds `address`.
    #[cfg(all(feature = "std", target_os = "linux"))]
    fn holds(line: &str, address: usize) -> bool {
        let range = line.split_once(' ').and_then(|(range, _)| range.split_once('-'));
        let number = |text| usize::from_str_radix(text, 16).ok();
        let range = range.and_then(|(start, end)| Some(number(start)?..number(end)?));
        range.is_some_and(|range| range.contains(&address))
    }

    /// Whether `./dev test aarch64` runs this in an emulator; the test is then listed as skipped.
    #[cfg(all(feature = "std", target_os = "linux"))]
    fn emulated(test: &str, reason: &str) -> bool {
        let Some(core) = std::env::var_os("KEYWAY_EMULATED") else { return false };
        if let Some(list) = std::env::var_os("KEYWAY_SKIPS") {
            let line = format!("{test} on {}: {reason}\n", core.display());
            let file = std::fs::OpenOptions::new().create(true).append(true).open(list);
            file.and_then(|mut file| std::io::Write::write_all(&mut file, line.as_bytes())).unwrap();
        }
        true
    }
}
