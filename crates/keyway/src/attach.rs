//! The front ends: the ways in which other programs use an unlocked volume.

use crate::error::At;
use crate::{Result, Volume};
use keyway_attach::{Export, FrontEnd};
use std::fmt;
#[cfg(any(feature = "nbd", feature = "fuse"))]
use std::path::Path;

/// An open front end: other programs use the volume through it until it is [stopped](Attached::stop) or
/// dropped.
///
/// The key is in the memory of the process that holds this value; if that process is killed, the
/// volume is no longer available. See [`Volume::serve_nbd`] for an example.
pub struct Attached {
    front_end: Box<dyn FrontEnd>,
    place: String,
}

impl Attached {
    fn new(front_end: impl FrontEnd + 'static) -> Self {
        let place = front_end.place();
        Self { front_end: Box::new(front_end), place }
    }

    /// Where other programs find it: an NBD URI, a file or a device node. See [`Volume::serve_nbd`]
    /// for an example.
    pub fn place(&self) -> &str {
        &self.place
    }

    /// The number of current users: connections or open files; zero where the number cannot be
    /// determined. See [`Volume::serve_nbd`] for an example.
    pub fn clients(&self) -> usize {
        self.front_end.clients()
    }

    /// Waits until the front end is closed: from outside (`umount`), or by another thread's
    /// [`Attached::stop`]. See [`Volume::serve_nbd`] for an example.
    ///
    /// # Errors
    /// The front end can no longer be served.
    pub fn wait(&self) -> Result<()> {
        self.front_end.wait().at(&self.place)
    }

    /// Closes the front end: pending requests are answered, and acknowledged writes are flushed. The
    /// volume stays claimed until this value is dropped, too. See [`Volume::serve_nbd`] for an
    /// example.
    ///
    /// # Errors
    /// [`ErrorKind::InUse`](crate::ErrorKind::InUse) where it is in use in a way that cannot be
    /// ended; the front end then stays open.
    pub fn stop(&self) -> Result<()> {
        self.front_end.stop().at(&self.place)
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        let _ = self.front_end.stop();
    }
}

impl fmt::Debug for Attached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Attached").field("place", &self.place).finish_non_exhaustive()
    }
}

impl Volume {
    /// Serves the plaintext over NBD on a Unix socket that only this user and root can connect to.
    ///
    /// ```
    /// # use keyway::*;
    /// # let directory = std::env::temp_dir().join(format!("keyway-nbd-{}", std::process::id()));
    /// # std::fs::create_dir_all(&directory)?;
    /// # let socket = directory.join("nbd");
    /// # let key = Key::passphrase("correct horse");
    /// # let device = Create::luks2().kdf(NewKdf::pbkdf2(1000)).in_memory(1 << 20, &key)?;
    /// let volume = device.unlock(&key)?;
    /// let front_end = volume.serve_nbd(&socket)?;
    ///
    /// // Any NBD client, in any process; here this library's own.
    /// let client = Device::open_rw(front_end.place())?;
    /// assert_eq!((client.len(), front_end.clients()), (1 << 20, 1));
    /// drop(client);
    /// front_end.stop()?;
    /// front_end.wait()?;
    /// # std::fs::remove_dir_all(&directory)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::InUse`](crate::ErrorKind::InUse): another process listens on the socket, or the
    /// path is taken by something else.
    #[cfg(feature = "nbd")]
    pub fn serve_nbd(&self, socket: impl AsRef<Path>) -> Result<Attached> {
        use keyway_attach::nbd::server::{Options, Server};
        let socket = socket.as_ref();
        let options = Options { own_user_only: true, ..Options::default() };
        let listening = Server::new(vec![self.export()], options).unix(socket).at(&socket.display())?;
        Ok(Attached::new(listening))
    }

    /// Mounts the plaintext as a file named `plain` in an empty directory. An ordinary user can do
    /// this, through `fusermount3`.
    ///
    /// ```no_run
    /// # use keyway::*;
    /// let volume = Device::open_rw("disk.luks")?.unlock(&Key::passphrase("correct horse"))?;
    /// let front_end = volume.mount("mnt")?;
    /// assert!(front_end.place().ends_with("mnt/plain"));
    /// front_end.wait()?;
    /// # Ok::<(), keyway::Error>(())
    /// ```
    ///
    /// # Errors
    /// The directory is missing, not empty or owned by another user; this machine has no FUSE.
    #[cfg(feature = "fuse")]
    pub fn mount(&self, directory: impl AsRef<Path>) -> Result<Attached> {
        use keyway_attach::fuse::{Mount, Options};
        let mut options = Options::default();
        options.source = self.place().to_string();
        let directory = directory.as_ref();
        Ok(Attached::new(Mount::new(self.export(), directory, options).at(&directory.display())?))
    }

    /// Adds a block device, /dev/ublkbN, that holds the plaintext. The kernel must be 6.4 or later
    /// and have the module `ublk_drv`.
    ///
    /// ```no_run
    /// # use keyway::*;
    /// let volume = Device::open_rw("disk.luks")?.unlock(&Key::passphrase("correct horse"))?;
    /// let front_end = volume.add_ublk()?;
    /// println!("{}", front_end.place());
    /// front_end.wait()?;
    /// # Ok::<(), keyway::Error>(())
    /// ```
    ///
    /// # Errors
    /// The kernel lacks a feature or the user lacks a permission; the error names it.
    #[cfg(feature = "ublk")]
    pub fn add_ublk(&self) -> Result<Attached> {
        use keyway_attach::ublk::{Device, Options};
        Ok(Attached::new(Device::add(self.export(), Options::default()).at(self.place())?))
    }

    fn export(&self) -> Export {
        Export {
            name: String::new(),
            description: self.place().to_string(),
            storage: self.storage(),
            rights: self.rights(),
        }
    }
}
