//! How the kernel's command line wants the root file system to be mounted (Linux,
//! Documentation/admin-guide/kernel-parameters.txt; kernel-command-line(7) of systemd; overlayroot of
//! Debian's cloud-initramfs-tools).
//!
//! ```text
//! root=DEVICE  rootfstype=TYPE,…  rootflags=OPTION,…  ro  rw  rootdelay=SECONDS  rootwait[=SECONDS]
//! resume=DEVICE  resume_offset=PAGES  noresume  systemd.volatile=overlay  overlayroot=tmpfs
//! real_root=  real_rootflags=  real_resume=   genkernel(8): these before the others
//! ```

mod options;

pub use options::{MountOptions, RDONLY};

use crate::cmdline::parameter;
use std::time::Duration;

/// What the command line says of the root.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Root {
    /// The device, in any spelling.
    pub device: Option<String>,
    /// File systems to try, in this order; if empty, what the device holds.
    pub kinds: Vec<String>,
    /// Flags and options: read-only, unless it says otherwise.
    pub options: MountOptions,
    /// Whether an overlay in memory takes all writes.
    pub overlay: bool,
    /// Parameters that are not obeyed: a sentence each.
    pub not_obeyed: Vec<String>,
    /// Where the system was suspended to.
    pub resume: Option<Resume>,
}

/// A device, or a file on it, that may hold a suspended system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resume {
    /// The device, in any spelling.
    pub device: String,
    /// Where a swap file begins, in pages.
    pub offset: Option<u64>,
}

impl Root {
    /// Parses the text of /proc/cmdline.
    pub fn parse(line: &str) -> Self {
        let said = |name: &str| parameter(line, name).filter(|value| !value.is_empty());
        let kinds = said("rootfstype").unwrap_or_default();
        let kinds = kinds.split(',').map(str::trim).filter(|kind| !kind.is_empty() && *kind != "auto");
        let gentoos = |name: &str| said(&format!("real_{name}")).or_else(|| said(name));
        let mut options = MountOptions::parse(&gentoos("rootflags").unwrap_or_default());
        match access(line) {
            Some(true) => options.flags |= RDONLY,
            Some(false) => options.flags &= !RDONLY,
            None if !options.says_access => options.flags |= RDONLY,
            None => {}
        }
        let (mut overlay, mut not_obeyed) = (false, Vec::new());
        for (name, obeyed) in [("systemd.volatile", "overlay"), ("overlayroot", "tmpfs")] {
            match said(name) {
                Some(value) if value.split(':').next() == Some(obeyed) => overlay = true,
                Some(value) if NONE.contains(&value.as_str()) => {}
                Some(value) => not_obeyed.push(format!(
                    "{name}={value} is ignored: Keyway supports only systemd.volatile=overlay and overlayroot=tmpfs"
                )),
                None => {}
            }
        }
        let resume = gentoos("resume").filter(|_| parameter(line, "noresume").is_none());
        let pages = said("resume_offset");
        let offset = pages.as_ref().and_then(|pages| pages.parse().ok());
        let resume = resume.filter(|_| pages.is_none() || offset.is_some());
        if let Some(pages) = pages.filter(|_| offset.is_none()) {
            not_obeyed
                .push(format!("resume_offset={pages} is not a number of pages: the system starts anew"));
        }
        Self {
            // What genkernel's guides once wrote names this very image.
            device: gentoos("root").filter(|device| device != "/dev/ram0").map(in_dev),
            kinds: kinds.map(str::to_owned).collect(),
            options,
            overlay,
            not_obeyed,
            resume: resume.map(|device| Resume { device: in_dev(device), offset }),
        }
    }
}

/// dracut's `block:DEVICE` is the device, and so are the kernel's numbers: `8:3`, and `803`, as lilo and old boards write it.
fn in_dev(device: String) -> String {
    let plain = device.strip_prefix("block:").unwrap_or(&device);
    match number(plain) {
        Some((major, minor)) => format!("/dev/block/{major}:{minor}"),
        None => plain.to_owned(),
    }
}

/// Major and minor in decimal, or both in one hexadecimal number (block/early-lookup.c, new_decode_dev).
fn number(device: &str) -> Option<(u32, u32)> {
    if let Some((major, minor)) = device.split_once(':') {
        let digits = |text: &str| text.parse().ok().filter(|_| text.bytes().all(|b| b.is_ascii_digit()));
        return digits(major).zip(digits(minor));
    }
    let is_hex = (3..=8).contains(&device.len()) && device.bytes().all(|b| b.is_ascii_hexdigit());
    let both = u32::from_str_radix(device, 16).ok().filter(|both| is_hex && both >> 8 != 0)?;
    Some(((both & 0xfff00) >> 8, (both & 0xff) | ((both >> 12) & 0xf_ff00)))
}

/// Whether it says ro or rw, whichever comes last: true for ro.
fn access(line: &str) -> Option<bool> {
    let words = options::split(line, |c| c.is_ascii_whitespace()).map(|word| word.trim_matches('"'));
    let word = words.filter(|word| matches!(*word, "ro" | "rw")).last();
    word.map(|word| word == "ro")
}

impl Root {
    /// Why the root cannot be mounted here, if root= names no device: none is waited for then.
    pub fn refusal(&self) -> Option<String> {
        let device = self.device.as_deref()?;
        let is = |name: &str| match name.ends_with([':', '=']) {
            true => device.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name)),
            false => device == name,
        };
        let (_, what) = NO_DEVICES.iter().find(|(names, _)| names.iter().any(|name| is(name)))?;
        Some(format!(
            "root={device} is {what}; an image of Keyway alone mounts only a device: name one with root=, or \
             wrap the distribution's own image"
        ))
    }
}

/// What root= can say that is no device: kernel-command-line(7) of systemd, dracut.cmdline(7), the kernel's nfsroot.
const NO_DEVICES: &[(&[&str], &str)] = &[
    (&["ZFS", "ZFS=", "zfs:"], "ZFS, whose pools its own tools import"),
    (
        &["/dev/nfs", "nfs:", "nfs4:", "cifs:", "iscsi:", "nbd:", "nvmf:", "fcoe:", "dhcp", "dhcp6"],
        "a root on the network",
    ),
    (&["ubi:", "ubi0:", "ubi0_0", "ubi1:", "mtd:"], "raw flash, not a block device"),
    (&["virtiofs:", "9p:"], "a directory of the host's"),
    (&["tmpfs"], "memory"),
    (&["/dev/root"], "the kernel's own name for its root"),
    (&["live:", "livenet:"], "the image of a live system"),
    (
        &["gpt-auto", "dissect", "gpt-auto-force", "dissect-force"],
        "the partition that systemd finds by its type",
    ),
    (&["fstab"], "the root of a table that systemd reads"),
];

/// How long devices are waited for at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waits {
    /// The root, and volumes without which the system does not start.
    pub needed: Duration,
    /// What a system starts without: volumes with nofail, and devices with keys and headers, in whose
    /// place somebody can be asked.
    pub optional: Duration,
}

impl Waits {
    /// `said` counts for all devices, and `line`, the text of /proc/cmdline, for the root where nothing was
    /// said. Only what is needed is waited for without end; the rest for `usual` at most.
    pub fn new(said: Option<Duration>, line: &str, usual: Duration) -> Self {
        let needed = said.unwrap_or_else(|| of_root(line, usual));
        let optional = said.filter(|time| *time != WITHOUT_END).unwrap_or(needed.min(usual));
        Self { needed, optional }
    }
}

/// Without end for rootwait, rootwait='s seconds, rootdelay='s where that is longer than `usual` (as
/// initramfs-tools reads it), else `usual`.
fn of_root(line: &str, usual: Duration) -> Duration {
    let seconds = |name: &str| parameter(line, name)?.parse().ok().map(Duration::from_secs);
    match parameter(line, "rootwait").as_deref() {
        Some("") => WITHOUT_END,
        Some(_) => seconds("rootwait").unwrap_or(usual),
        None => seconds("rootdelay").unwrap_or(usual).max(usual),
    }
}

/// What `rootwait` and `rd.timeout=0` mean.
pub const WITHOUT_END: Duration = Duration::MAX;
/// Values that ask for nothing.
const NONE: &[&str] = &["no", "0", "off", "false", "disabled"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_is_read_only_unless_something_says_otherwise() {
        for (line, flags, data) in [
            ("root=/dev/sda", RDONLY, ""),
            ("root=/dev/sda rw", 0, ""),
            ("rw ro", RDONLY, ""),
            ("ro rw", 0, ""),
            ("rootflags=rw", 0, ""),
            ("rootflags=rw ro", RDONLY, ""),
            ("rootflags=subvol=@,noatime rw", 1 << 10, "subvol=@"),
            ("rootflags=defaults,discard", RDONLY, "discard"),
            ("rootflags=subvol=a rootflags=subvol=b", RDONLY, "subvol=b"),
            ("rw.x=1 root=rw", RDONLY, ""),
            ("ro dyndbg=\"file a.c rw +p\" quiet", RDONLY, ""),
            ("ro \"rw\"", 0, ""),
        ] {
            let options = Root::parse(line).options;
            assert_eq!((options.flags, &options.data[..]), (flags, data), "{line}");
        }
    }

    #[test]
    fn what_is_no_device_is_said() {
        let refusal = |line| Root::parse(line).refusal();
        for (line, what) in [
            ("root=ZFS=rpool/ROOT/debian", "ZFS, whose pools its own tools import"),
            ("root=zfs:AUTO", "ZFS, whose pools its own tools import"),
            ("root=/dev/nfs nfsroot=10.0.0.1:/r", "a root on the network"),
            ("root=nbd:10.0.0.1:r", "a root on the network"),
            ("root=live:LABEL=Fedora", "the image of a live system"),
            ("root=gpt-auto", "the partition that systemd finds by its type"),
            ("root=fstab", "the root of a table that systemd reads"),
            ("root=dhcp", "a root on the network"),
            ("root=ubi0:rootfs rootfstype=ubifs", "raw flash, not a block device"),
            ("root=virtiofs:tag", "a directory of the host's"),
            ("root=tmpfs", "memory"),
            ("root=/dev/root", "the kernel's own name for its root"),
        ] {
            let said = refusal(line).unwrap();
            let word = line.split(' ').next().unwrap();
            assert!(said.starts_with(&format!("{word} is {what}; an image")), "{said}");
        }
        for line in ["root=/dev/sda2", "root=UUID=ab", "root=/dev/mapper/zfs", "root=LABEL=fstab", "quiet"] {
            assert_eq!(refusal(line), None, "{line}");
        }
        let device = |line| Root::parse(line).device;
        assert_eq!(device("root=block:/dev/mapper/root").as_deref(), Some("/dev/mapper/root"));
        assert_eq!(device("root=block:UUID=ab").as_deref(), Some("UUID=ab"));
    }

    /// By numbers, as the kernel reads them.
    #[test]
    fn numbers_are_devices() {
        for (root, device) in [
            ("179:2", "/dev/block/179:2"),
            ("b302", "/dev/block/179:2"),
            ("0803", "/dev/block/8:3"),
            ("803", "/dev/block/8:3"),
            ("110300", "/dev/block/259:256"),
            ("8:", "8:"),
            ("8:+3", "8:+3"),
            ("ab", "ab"),
            ("00ab", "00ab"),
            ("sda3", "sda3"),
            ("UUID=0803", "UUID=0803"),
        ] {
            assert_eq!(Root::parse(&format!("root={root}")).device.as_deref(), Some(device), "{root}");
        }
    }

    #[test]
    fn gentoos_words_go_before_the_kernels() {
        for (line, device) in [
            ("root=/dev/ram0 real_root=/dev/mapper/vg-root", Some("/dev/mapper/vg-root")),
            ("real_root=LABEL=a root=LABEL=b", Some("LABEL=a")),
            ("root=LABEL=b real_root=", Some("LABEL=b")),
            ("root=/dev/ram0", None),
            ("root=/dev/ram1", Some("/dev/ram1")),
        ] {
            assert_eq!(Root::parse(line).device.as_deref(), device, "{line}");
        }
        let root = Root::parse("rootflags=a real_rootflags=subvol=@ resume=/dev/a real_resume=/dev/b");
        assert_eq!(root.options.data, "subvol=@");
        assert_eq!(root.resume.unwrap().device, "/dev/b");
    }

    #[test]
    fn types_overlays_and_suspended_systems() {
        for (line, kinds, overlay, not_obeyed, resume) in [
            ("root=/dev/x", "", false, "", None),
            ("rootfstype=btrfs,ext4", "btrfs ext4", false, "", None),
            ("rootfstype=auto", "", false, "", None),
            ("systemd.volatile=overlay", "", true, "", None),
            ("overlayroot=tmpfs:swap=1,recurse=0", "", true, "", None),
            ("overlayroot=disabled systemd.volatile=no", "", false, "", None),
            ("systemd.volatile=state", "", false, "systemd.volatile=state is", None),
            ("overlayroot=device:dev=/dev/sdb1", "", false, "overlayroot=device:dev=/dev/sdb1 is", None),
            ("resume=/dev/sda2 resume_offset=0x10", "", false, "resume_offset=0x10 is", None),
            ("resume=8:2", "", false, "", Some(("/dev/block/8:2", None))),
            ("resume=UUID=ab", "", false, "", Some(("UUID=ab", None))),
            (
                "resume=/dev/mapper/swap resume_offset=34816",
                "",
                false,
                "",
                Some(("/dev/mapper/swap", Some(34816))),
            ),
            ("resume=/dev/sda2 noresume", "", false, "", None),
            ("resume=", "", false, "", None),
        ] {
            let root = Root::parse(line);
            assert_eq!((root.kinds.join(" "), root.overlay), (kinds.to_owned(), overlay), "{line}");
            let said: Vec<_> = root.not_obeyed.iter().map(|why| why.split(" is ").next().unwrap()).collect();
            assert_eq!(said.join(" "), not_obeyed.trim_end_matches(" is"), "{line}");
            let found = root.resume.as_ref().map(|resume| (&resume.device[..], resume.offset));
            assert_eq!(found, resume, "{line}");
        }
    }

    #[test]
    fn how_long_devices_are_waited_for() {
        for (line, seconds) in [
            ("quiet", 30),
            ("rootdelay=5", 30),
            ("rootdelay=50", 50),
            ("rootdelay=x", 30),
            ("rootwait=x", 30),
            ("rootwait=7 rootdelay=50", 7),
        ] {
            assert_eq!(of_root(line, Duration::from_secs(30)).as_secs(), seconds, "{line}");
        }
        assert_eq!(of_root("rootwait", Duration::ZERO), WITHOUT_END);
    }

    /// Every Raspberry Pi's command line says rootwait: a stick with a key that is not there must not
    /// keep it from asking.
    #[test]
    fn only_what_is_needed_is_waited_for_without_end() {
        let seconds = Duration::from_secs;
        for (said, line, needed, optional) in [
            (None, "quiet", seconds(30), seconds(30)),
            (None, "rootwait", WITHOUT_END, seconds(30)),
            (None, "rootwait=7", seconds(7), seconds(7)),
            (None, "rootdelay=50", seconds(50), seconds(30)),
            (Some(WITHOUT_END), "rd.timeout=0", WITHOUT_END, seconds(30)),
            (Some(seconds(90)), "rootwait", seconds(90), seconds(90)),
            (Some(seconds(1)), "rootwait", seconds(1), seconds(1)),
        ] {
            let expected = Waits { needed, optional };
            assert_eq!(Waits::new(said, line, seconds(30)), expected, "{said:?} {line}");
        }
    }
}
