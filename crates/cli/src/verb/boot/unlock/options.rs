//! The options of `unlock` that no other command has.

use crate::args::{Kind, Opt};

pub(super) static CMDLINE: Opt = Opt {
    long: "cmdline",
    short: None,
    value: "TEXT",
    kind: Kind::Text,
    help: "Use this, not the kernel's command line.",
    man: "",
};
pub(super) static WAIT: Opt = Opt {
    long: "wait",
    short: None,
    value: "SECONDS",
    kind: Kind::Number(86_400),
    help: "How long to wait for a device (30).",
    man: "Disks behind USB or a network appear late. keyway.wait= on the kernel's command line says the same; \
          without it, rootwait waits without end, rootwait=SECONDS and a longer rootdelay= that long: for the \
          root and for volumes without nofail. Volumes with nofail and devices with keys or headers are \
          waited for 30 seconds then, or as their own options say.",
};
pub(super) static DRY_RUN: Opt = Opt {
    long: "dry-run",
    short: None,
    value: "",
    kind: Kind::Flag,
    help: "Only print what would be opened, and how.",
    man: "One line per volume, in the format of crypttab(5); with --init also, after #, what else would be \
          done. Nothing is mounted, loaded or changed.",
};
pub(super) static INIT: Opt = Opt {
    long: "init",
    short: None,
    value: "",
    kind: Kind::Flag,
    help: "Run as the first process of an initramfs.",
    man: "Mounts /proc, /sys, /dev and /run if they are missing, loads the modules that /keyway/modules lists \
          and the keymap in /keyway/keymap (or the one that rd.vconsole.keymap= or keymap= on the kernel's \
          command line names, if the image has that), opens the volumes, unmounts what it mounted and hands \
          over to the image's own /init. If there is none, it mounts the root file system that root= names \
          (else the first volume), starts its init, and removes the image from memory. It is mounted \
          read-only, unless rw or rootflags= says otherwise; rootflags= is read as mount(8) reads options, \
          and of the types of rootfstype= the first that works is taken. With systemd.volatile=overlay or \
          overlayroot=tmpfs all writes go to memory. With resume=, that volume is opened first, and a system \
          that was suspended there is resumed (resume_offset= for a file; noresume). As process 1, and under \
          a name that ends in \"init\", the program does this without the option.\n\nIt refuses, with nothing \
          changed, unless it is process 1, / is ramfs or tmpfs and no chroot, and /init exists; and nothing \
          of / is removed unless another file system is mounted on /sysroot and the kernel unpacked the image \
          itself or runs this program as its /init.\n\nIf nothing can be started, it stays, says why and \
          lists the block devices: Enter tries again, r reboots, o powers off. With panic=N on the kernel's \
          command line it reboots after N seconds.",
};
