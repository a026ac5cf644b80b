//! Unified kernel images (UAPI, "Unified Kernel Image"; systemd-stub(7)): a stub with the kernel,
//! the initramfs and the command line as sections.

use super::{Error, Image, NewSection, append};
use crate::architecture::Architecture;
use crate::initramfs::Contained;

/// The parts of an image.
#[derive(Debug, Clone, Default)]
pub struct Unified {
    /// The kernel, which is itself an EFI program.
    pub linux: Vec<u8>,
    /// The initramfs; several are concatenated.
    pub initrd: Option<Vec<u8>>,
    /// The kernel's command line.
    pub cmdline: Option<String>,
    /// The content of /etc/os-release, whose names boot managers show.
    pub os_release: Option<Vec<u8>>,
    /// The kernel's release.
    pub uname: Option<String>,
    /// A device tree.
    pub dtb: Option<Vec<u8>>,
}

impl Unified {
    /// Adds everything to the stub. The kernel comes last, so that there is room after it for
    /// unpacking itself.
    pub fn image(&self, stub: &[u8]) -> Result<Vec<u8>, Error> {
        let machine = Image::parse(stub)?.machine;
        let part = |section, why: &str| Error::Part { section, why: why.to_owned() };
        let kernel = Image::parse(&self.linux).map_err(|why| Error::Part {
            section: ".linux",
            why: format!("not a kernel with an EFI stub: {why}"),
        })?;
        if kernel.machine != machine {
            return Err(part(".linux", "kernel and stub are for different architectures"));
        }
        let machine = Architecture::of_kernel(&self.linux);
        let contained = self.initrd.as_deref().and_then(|initrd| Contained::of(initrd).ok());
        if let (Some(machine), Some(contained)) = (machine, contained)
            && let Some(found) = contained.architecture().filter(|_| !contained.runs_on(machine))
        {
            return Err(part(".initrd", &format!("it is for {found}, but the kernel is for {machine}")));
        }
        if self.cmdline.as_ref().is_some_and(|line| line.contains('\0')) {
            return Err(part(".cmdline", "it contains a NUL byte"));
        }
        if self.dtb.as_ref().is_some_and(|dtb| crate::fdt::Tree::parse(dtb).is_err()) {
            return Err(part(".dtb", "it is not a device tree"));
        }
        let sections = [
            (".osrel", self.os_release.as_deref()),
            (".cmdline", self.cmdline.as_deref().map(str::as_bytes)),
            (".dtb", self.dtb.as_deref()),
            (".uname", self.uname.as_deref().map(str::as_bytes)),
            (".initrd", self.initrd.as_deref()),
            (".linux", Some(&self.linux[..])),
        ];
        let there =
            sections.into_iter().filter_map(|(name, content)| Some(NewSection { name, content: content? }));
        append(stub, &there.collect::<Vec<_>>())
    }
}

/// The release of an x86 kernel, located through its boot header (Linux,
/// Documentation/arch/x86/boot.rst).
pub fn uname(kernel: &[u8]) -> Option<String> {
    if kernel.get(0x202..)?.first_chunk::<4>()? != b"HdrS" {
        return None;
    }
    let offset = super::short(kernel, 0x20e)?;
    let text = kernel.get(usize::from(offset) + 0x200..)?;
    let text = text.split(|byte| matches!(byte, 0 | b' ')).next()?;
    let text = std::str::from_utf8(text).ok()?;
    (!text.is_empty() && text.len() < 128).then(|| text.to_owned())
}
