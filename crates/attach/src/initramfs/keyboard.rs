//! The keyboard of the console: what its keys type, and whether Caps Lock is on.

use super::{Initramfs, failed, sys};
use crate::Result;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;

/// The keyboard of the machine's own console, not of a serial line.
#[derive(Debug)]
pub struct Keyboard(OwnedFd);

impl Keyboard {
    /// `None` where the kernel has no console of its own (boards with a serial line).
    pub fn of_console(_proof: &Initramfs) -> Option<Self> {
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        open("/dev/tty0", flags, Mode::empty()).ok().map(Self)
    }

    /// Has the keys type these values (modifiers, key, value), and UTF-8. A value that this kernel does not
    /// know is passed over.
    ///
    /// # Errors
    /// The kernel takes no map.
    pub fn load(&self, values: impl Iterator<Item = (u8, u8, u16)>) -> Result<()> {
        let console = self.0.as_fd();
        let taken = sys::type_unicode(console).and_then(|()| {
            values.into_iter().try_for_each(|(table, key, value)| {
                match sys::set_key(console, table, key, value) {
                    Err(Errno::INVAL) => Ok(()),
                    other => other,
                }
            })
        });
        taken.map_err(|why| failed("loading the keyboard's map", why))
    }

    /// Whether Caps Lock is on.
    pub fn has_caps_lock(&self) -> bool {
        sys::locks(self.0.as_fd()).is_ok_and(|locks| locks & CAPS_LOCK != 0)
    }
}

/// `K_CAPSLOCK` (include/uapi/linux/kd.h).
const CAPS_LOCK: u8 = 0x04;
