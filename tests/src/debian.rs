//! Initramfs images as the programs that Debian has for it create them: initramfs-tools' and dracut.

use crate::peers::peer;
use crate::scratch::Scratch;
use crate::timeouts;
use crate::vm::prepared;
use std::fs;
use std::path::{Path, PathBuf};

/// An image for Debian's kernel, with these modules in addition to its default ones. mkinitramfs
/// looks for the kernel in the usual system paths: it runs as root of a new namespace, where an
/// overlay puts the kernel there. `None` if namespaces are not permitted. Call `need!` for
/// mkinitramfs, unshare and zstd first.
pub fn initramfs(scratch: &Scratch, name: &str, modules: &str) -> Option<PathBuf> {
    initramfs_beside(scratch, name, modules, Path::new("/none"))
}

/// The same with packages that are not installed here: trees to be laid over /usr and /etc, in a folder.
pub fn initramfs_beside(scratch: &Scratch, name: &str, modules: &str, packages: &Path) -> Option<PathBuf> {
    let config = scratch.path(&format!("{name}.work")).join("config");
    for directory in ["conf.d", "hooks", "scripts"] {
        fs::create_dir_all(config.join(directory)).expect("a directory");
    }
    fs::write(config.join("modules"), modules).expect("a file");
    let make = "cp /etc/initramfs-tools/initramfs.conf $1/config/
        mkinitramfs -d $1/config -l 1 -o $3 $(ls $2/lib/modules)";
    made(scratch, name, packages, make)
}

/// An image of dracut's for Debian's kernel, of these modules of dracut's (not of this machine alone), with the drivers of
/// an encrypted root on ext4. dracut and what it packs are of these packages, as in [`initramfs_beside`]. Call `need!`
/// for unshare, bash and cpio first.
pub fn dracut(scratch: &Scratch, name: &str, modules: &str, packages: &Path) -> Option<PathBuf> {
    let config = scratch.path(&format!("{name}.work")).join("config");
    fs::create_dir_all(&config).expect("a directory");
    fs::write(config.join("none"), "").expect("a file");
    let make = format!(
        "dracut --force --quiet --conf $1/config/none --confdir $1/config --tmpdir $1 --no-hostonly \
            --no-hostonly-cmdline --no-early-microcode --gzip --modules '{modules}' \
            --drivers 'dm_mod dm_crypt virtio_blk virtio_pci ext4 xts aes_generic' --kver $(ls $2/lib/modules) $3"
    );
    made(scratch, name, packages, &make)
}

/// What lines of a shell make: in its arguments the folder to work in, the kernel, the image, the packages.
fn made(scratch: &Scratch, name: &str, packages: &Path, make: &str) -> Option<PathBuf> {
    let (image, work) = (scratch.path(name), scratch.path(&format!("{name}.work")));
    for directory in ["upper", "inner"] {
        fs::create_dir_all(work.join(directory)).expect("a directory");
    }
    let mount = "for place in usr etc; do
            [ ! -d $4/$place ] || mount -t overlay packages -o lowerdir=$4/$place:/$place /$place
        done
        lib=$(readlink -f /lib)
        mount -t overlay keyway -o lowerdir=$lib,upperdir=$1/upper,workdir=$1/inner $lib
        mkdir -p $lib/modules
        mount --bind $2/lib/modules $lib/modules
        mount --bind $2/boot /boot";
    let run = |script: &str| {
        let unshare = peer("unshare", "--map-root-user --mount sh -euc").arg(script).arg("sh");
        unshare.arg(&work).arg(prepared("kernel")).arg(&image).arg(packages)
    };
    if run(mount).outcome().code != Some(0) {
        return None;
    }
    // The overlay's files have another owner when it is mounted again.
    for directory in ["upper", "inner"] {
        peer("rm", "-rf").arg(work.join(directory)).ok();
        fs::create_dir(work.join(directory)).expect("a directory");
    }
    run(&format!("{mount}\n{make}")).limit(timeouts::MACHINE).ok();
    Some(image)
}
