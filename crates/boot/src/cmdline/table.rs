//! Every parameter of the kernel's command line that says something about encrypted volumes: whose it is, where that is
//! written, what it does here. The parser and the table in docs/BOOTING.md are made of it.

use super::reading::Reading;
#[cfg(test)]
use Family::{Alpine, Booster, Debian, Dracut, Encrypt, Gentoo, Kernel, Keyway, Systemd};

/// A parameter.
pub(crate) struct Parameter {
    /// Its name, without the =.
    pub name: &'static str,
    /// What follows the =; empty for a word that stands alone. For the documentation, as `of` is.
    #[cfg(test)]
    pub value: &'static str,
    /// Who else reads it; the first one has it in its documentation.
    #[cfg(test)]
    pub of: &'static [Family],
    /// What it does here.
    pub here: &'static str,
    /// How it is read; `None` if it is only known, and named on the console.
    pub(super) read: Option<Read>,
}

/// Reads the value.
pub(super) type Read = fn(&mut Reading, &str);

/// A program that reads the kernel's command line.
#[cfg(test)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Family {
    /// systemd-cryptsetup-generator; mkinitcpio's sd-encrypt.
    Systemd,
    /// dracut without systemd, and what it adds to systemd's.
    Dracut,
    /// mkinitcpio's hook encrypt.
    Encrypt,
    /// Debian's initramfs-tools with cryptsetup-initramfs.
    Debian,
    /// booster.
    Booster,
    /// Alpine's mkinitfs.
    Alpine,
    /// Gentoo's genkernel, and genkernel-next.
    Gentoo,
    /// The kernel itself.
    Kernel,
    /// Keyway.
    Keyway,
}

/// The parameter of that name. systemd's are also written without `rd.`.
pub(crate) fn find(name: &str) -> Option<&'static Parameter> {
    let is = |parameter: &&Parameter| {
        let bare = parameter
            .name
            .strip_prefix("rd.")
            .filter(|bare| bare.starts_with("luks") || bare.starts_with("vconsole"));
        name == parameter.name || Some(name) == bare
    };
    PARAMETERS.iter().find(is)
}

/// Whether a name that no parameter has begins as those of a known program do: mistyped, or newer than this table.
pub(crate) fn is_of_known_family(name: &str) -> bool {
    let starts = [
        "rd.luks",
        "luks.",
        "rdluks",
        "rd_LUKS",
        "rd.lvm",
        "rd_LVM",
        "rd.md",
        "rd_MD",
        "root_key",
        "root_trim",
        "swap_key",
        "root_header",
        "swap_header",
        "keyctl_key",
        "rd.vconsole",
        "vconsole.",
    ];
    // The kernel's own cryptomgr.notests has a point.
    let crypt = name.starts_with("crypt") && !name.contains('.');
    crypt || starts.iter().any(|start| name.starts_with(start))
}

macro_rules! parameters {
    ($($name:literal $value:literal [$($of:ident),+] $read:expr, $here:literal;)*) => {
        &[$(Parameter {
            name: $name,
            #[cfg(test)]
            value: $value,
            #[cfg(test)]
            of: &[$($of),+],
            here: $here,
            read: $read,
        }),*]
    };
}

/// All of them.
pub(crate) static PARAMETERS: &[Parameter] = parameters! {
    "rd.luks" "yes|no" [Systemd, Dracut] Some(Reading::luks), "no: opens nothing";
    "rd.luks.crypttab" "yes|no" [Systemd, Dracut] Some(Reading::crypttab),
        "no: /etc/crypttab names no volumes; its demands (x-keyway.require=) still hold";
    "rd.luks.uuid" "UUID" [Systemd, Dracut, Booster] Some(Reading::uuid),
        "opens that volume as luks-UUID, or by the name that crypttab gives it; the beginning of a UUID is enough, as for dracut";
    "rd.luks.name" "UUID=NAME" [Systemd, Booster] Some(Reading::name), "opens that volume as NAME";
    "rd.luks.data" "UUID=DEVICE" [Systemd] Some(Reading::data),
        "that volume's data is on DEVICE, its header is elsewhere (header= in its options)";
    "rd.luks.key" "[UUID=]PATH[:DEVICE]" [Systemd, Booster] Some(Reading::key),
        "its key file, in the image or on DEVICE; also dracut's PATH:DEVICE:VOLUME, with the beginnings of UUIDs";
    "rd.luks.options" "[UUID=]OPTION,…" [Systemd, Booster] Some(Reading::options),
        "crypttab's options; those for a UUID replace those for all";
    "rd.luks.allow-discards" "[UUID]" [Dracut] Some(Reading::discards), "the option discard, for that volume or for all";
    "rd.luks.partuuid" "UUID" [Dracut] Some(Reading::partuuid), "opens the volume on that partition";
    "rd.luks.serial" "SERIAL" [Dracut] None, "name the volume by rd.luks.uuid=";
    "rd.auto" "yes|no" [Dracut] Some(|_, _| ()), "nothing: name each volume to open";
    "rd.luks.timeout" "SECONDS" [Dracut] Some(Reading::timeout), "how long a passphrase prompt waits";
    "rd.luks.key.tout" "TRIES" [Dracut] Some(Reading::key_tries), "seconds to wait for the key's device, if more than 30";
    "rd.timeout" "SECONDS" [Dracut] Some(Reading::waits_or_forever), "how long to wait for devices, if longer than 30 s; 0: forever";
    "rd.retry" "SECONDS" [Dracut] Some(Reading::waits), "the same";
    "rd.lvm" "yes|no" [Dracut] Some(Reading::lvm), "no: activates no logical volume, not even for root=";
    "rd.lvm.lv" "GROUP/VOLUME" [Dracut] Some(Reading::lvm_volume),
        "activates that logical volume before the root is mounted; those that root=, resume= and volumes need are activated anyway";
    "rd.lvm.vg" "GROUP" [Dracut] Some(Reading::lvm_group), "the same for all volumes of that group";
    "rd.lvm.conf" "yes|no" [Dracut] Some(|_, _| ()), "nothing: Keyway reads no lvm.conf";
    "rd_LVM_LV" "GROUP/VOLUME" [Dracut] Some(Reading::lvm_volume), "the old name of rd.lvm.lv=";
    "rd_LVM_VG" "GROUP" [Dracut] Some(Reading::lvm_group), "the old name of rd.lvm.vg=";
    "rd_NO_LVM" "" [Dracut] Some(|reading, _| reading.lvm("no")), "the old name of rd.lvm=0";
    "rd.md" "yes|no" [Dracut] Some(Reading::md), "no: assembles no md RAID array";
    "rd.md.uuid" "UUID" [Dracut] Some(Reading::md_uuid),
        "only that array is assembled; may be repeated. Without it all are, while a needed device is missing";
    "rd.md.conf" "yes|no" [Dracut] Some(|_, _| ()), "nothing: no mdadm.conf is read";
    "rd.md.imsm" "yes|no" [Dracut] Some(|_, _| ()), "nothing: arrays of Intel's BIOS are never assembled, only reported";
    "rd.md.ddf" "yes|no" [Dracut] Some(|_, _| ()), "nothing: the same for DDF";
    "rd.md.waitclean" "yes|no" [Dracut] Some(|_, _| ()), "nothing: Keyway stops no array";
    "rd_MD_UUID" "UUID" [Dracut] Some(Reading::md_uuid), "the old name of rd.md.uuid=";
    "rd_NO_MD" "" [Dracut] Some(|reading, _| reading.md("no")), "the old name of rd.md=0";
    "rd_NO_MDADMCONF" "" [Dracut] Some(|_, _| ()), "the old name of rd.md.conf=0";
    "rd_NO_MDIMSM" "" [Dracut] Some(|_, _| ()), "the old name of rd.md.imsm=0";
    "rd_LUKS_UUID" "UUID" [Dracut] Some(Reading::uuid), "the old name of rd.luks.uuid=";
    "rd_NO_LUKS" "" [Dracut] Some(|reading, _| reading.luks("no")), "the old name of rd.luks=0";
    "rd.vconsole.keymap" "NAME" [Systemd, Dracut] Some(Reading::keymap),
        "the keymap, loaded before the first prompt if the image has it, or loadkeys and its text; else a line says so";
    "rd.vconsole.keymap_toggle" "NAME" [Systemd] None, "a second keymap to switch to; Keyway loads the first one";
    "rd.vconsole.font" "NAME" [Systemd, Dracut] Some(|_, _| ()), "nothing: the prompt is in the kernel's font";
    "rd.vconsole.font_map" "NAME" [Systemd] Some(|_, _| ()), "nothing: the prompt is in the kernel's font";
    "rd.vconsole.font_unimap" "NAME" [Systemd] Some(|_, _| ()), "nothing: the prompt is in the kernel's font";
    "rd.vconsole.keymap.toggle" "NAME" [Dracut] None, "a second keymap to switch to; Keyway loads the first one";
    "rd.vconsole.keymap.ext" "NAME,…" [Dracut] None, "more keymaps on top of the first; Keyway loads that one alone";
    "rd.vconsole.font.map" "NAME" [Dracut] Some(|_, _| ()), "nothing: the prompt is in the kernel's font";
    "rd.vconsole.font.unimap" "NAME" [Dracut] Some(|_, _| ()), "nothing: the prompt is in the kernel's font";
    "rd.vconsole.unicode" "yes|no" [Dracut] Some(|_, _| ()), "nothing: keys type UTF-8";
    "KEYTABLE" "NAME" [Dracut] Some(Reading::keymap), "the old name of rd.vconsole.keymap=";
    "SYSFONT" "NAME" [Dracut] Some(|_, _| ()), "the old name of rd.vconsole.font=";
    "rd_NO_CRYPTTAB" "" [Dracut] Some(|reading, _| reading.crypttab("no")), "the old name of rd.luks.crypttab=0";
    "cryptdevice" "DEVICE:NAME[:OPTION,…]" [Encrypt] Some(Reading::cryptdevice),
        "opens DEVICE as NAME; may be repeated. allow-discards is discard";
    "cryptkey" "DEVICE:FILE-SYSTEM:PATH | DEVICE:OFFSET:SIZE | rootfs:PATH" [Encrypt, Alpine] Some(Reading::cryptkey),
        "the key of the first cryptdevice=: a file on DEVICE, bytes of DEVICE, a file in the image. The default is \
         /crypto_keyfile.bin, if the image has it. With cryptroot=, in Alpine's form: FILE[:OFFSET:SIZE], or the word alone";
    "crypto" "HASH:CIPHER:SIZE:OFFSET:SKIP" [Encrypt] Some(Reading::crypto), "the first cryptdevice= is a plain volume with these parameters, unless it has a LUKS header";
    "cryptopts" "target=NAME,source=DEVICE,key=FILE,OPTION,…" [Debian] Some(Reading::cryptopts),
        "a line of crypttab, in place of crypttab; may be repeated. If it is empty, crypttab names nothing";
    "rd.luks.header" "UUID=PATH[:DEVICE]" [Booster] Some(Reading::header), "the option header= for that volume";
    "cryptroot" "DEVICE" [Alpine] Some(Reading::cryptroot), "opens DEVICE as cryptdm= says, else as root";
    "cryptdm" "NAME" [Alpine] Some(Reading::cryptdm), "the name of cryptroot=";
    "cryptheader" "DEVICE" [Alpine] Some(Reading::cryptheader), "its header: a device, or a file in the image";
    "cryptoffset" "SECTORS" [Alpine] Some(Reading::cryptoffset), "where its data begins, if the header is elsewhere";
    "cryptdiscards" "" [Alpine] Some(Reading::cryptdiscards), "the option discard";
    "crypt_root" "DEVICE" [Gentoo] Some(Reading::crypt_root), "opens DEVICE as root";
    "crypt_roots" "DEVICE" [Gentoo] Some(Reading::crypt_root), "the same, several times: root, root1 …";
    "root_key" "PATH" [Gentoo] Some(Reading::root_key), "its key file: on root_keydev=; without that, only in the image";
    "root_keydev" "DEVICE" [Gentoo] Some(Reading::root_keydev), "where root_key= is";
    "root_keydev_fstype" "TYPE" [Gentoo] Some(|_, _| ()), "nothing: the file system is recognised";
    "root_header" "PATH" [Gentoo] Some(Reading::root_header), "the header of crypt_root=: on root_headerdev=, else as root_key=";
    "root_headerdev" "DEVICE" [Gentoo] Some(Reading::root_headerdev), "where root_header= is";
    "root_headerdev_fstype" "TYPE" [Gentoo] Some(|_, _| ()), "nothing: the file system is recognised";
    "crypt_root_options" "OPTION,…" [Gentoo] Some(Reading::root_options),
        "cryptsetup's options for crypt_root= that crypttab(5) also has, except size; --allow-discards is discard";
    "real_root" "DEVICE" [Gentoo] Some(|_, _| ()), "the root, in place of root= (which may be /dev/ram0); likewise real_rootflags=, real_resume= and real_init=";
    "root_trim" "yes|no" [Gentoo] Some(Reading::root_trim), "yes: the option discard";
    "crypt_swap" "DEVICE" [Gentoo] Some(Reading::crypt_swap), "opens DEVICE as swap";
    "crypt_swaps" "DEVICE" [Gentoo] Some(Reading::crypt_swap), "the same, several times: swap, swap1 …";
    "swap_key" "PATH" [Gentoo] Some(Reading::swap_key), "the same for the swap";
    "swap_keydev" "DEVICE" [Gentoo] Some(Reading::swap_keydev), "where swap_key= is";
    "swap_keydev_fstype" "TYPE" [Gentoo] Some(|_, _| ()), "nothing: the file system is recognised";
    "swap_header" "PATH" [Gentoo] Some(Reading::swap_header), "the header of crypt_swap=";
    "swap_headerdev" "DEVICE" [Gentoo] Some(Reading::swap_headerdev), "where swap_header= is";
    "swap_headerdev_fstype" "TYPE" [Gentoo] Some(|_, _| ()), "nothing: the file system is recognised";
    "crypt_swap_options" "OPTION,…" [Gentoo] Some(Reading::swap_options), "as crypt_root_options=, for the swap";
    "keyctl_keydesc" "NAME" [Gentoo] None, "passphrases do not go into the kernel's keyring; one that opened a volume is tried on the others anyway";
    "keyctl_keytimeout" "SECONDS" [Gentoo] Some(|_, _| ()), "nothing: it is for keyctl_keydesc=";
    "keyctl_keykeep" "" [Gentoo] Some(|_, _| ()), "nothing: it is for keyctl_keydesc=";
    "keymap" "NAME" [Gentoo] Some(Reading::keymap), "as rd.vconsole.keymap=; also genkernel's own keymaps (lib/keymaps in the image)";
    "dokeymap" "" [Gentoo] Some(|_, _| ()), "nothing: there is no prompt for a keymap; keymap= names one";
    "crypt_silent" "" [Gentoo] Some(|_, _| ()), "nothing: Keyway prints only errors and warnings anyway";
    "domdadm" "" [Gentoo] Some(|_, _| ()), "nothing: Keyway assembles the md RAID arrays that it needs anyway";
    "md" "N,DEVICE,…" [Kernel] None, "the kernel assembles that array itself, if it has md built in; Keyway relies on superblocks";
    "raid" "noautodetect" [Kernel] Some(|_, _| ()),
        "nothing: it is for arrays of 0.90 on partitions of the type fd, which a kernel with md built in assembles itself";
    "keyway.device" "DEVICE" [Keyway] Some(Reading::own_device), "opens DEVICE as root";
    "keyway.name" "NAME" [Keyway] Some(Reading::own_name), "by this name";
    "keyway.key" "PATH[:DEVICE]" [Keyway] Some(Reading::own_key), "its key file, or a device that is the key";
    "keyway.header" "PATH[:DEVICE]" [Keyway] Some(Reading::own_header), "its header, a file or a device";
    "keyway.options" "OPTION,…" [Keyway] Some(Reading::own_options), "crypttab's options";
    "keyway.wait" "SECONDS" [Keyway] Some(Reading::own_wait), "seconds to wait for devices (30)";
    "keyway.shell" "" [Keyway] Some(Reading::own_shell), "a shell if a volume cannot be opened";
    "keyway.cache" "yes|no" [Keyway] Some(Reading::own_cache), "no: a passphrase that opened a volume is not tried on the others";
    "keyway.require" "POLICY" [Keyway] Some(Reading::own_require), "every volume must meet it: a file, or the word sealed";
    "keyway.rekey" "yes|before|after|no" [Keyway] Some(Reading::own_rekey), "when a clone gets a volume key of its own";
};
