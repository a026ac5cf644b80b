//! The table of parameters in docs/BOOTING.md: a section for each program.

use super::super::table::{Family, PARAMETERS, Parameter};
use Family::{Alpine, Booster, Debian, Dracut, Encrypt, Gentoo, Kernel, Keyway, Systemd};

/// All of it.
pub(super) fn markdown() -> String {
    let section = |family: Family| {
        let rows = PARAMETERS.iter().filter(|parameter| parameter.of[0] == family).map(row);
        let rows: String = rows.collect();
        format!(
            "### {} ({})\n\n| Parameter | Also | Here |\n|---|---|---|\n{rows}",
            capital(family.name()),
            family.source()
        )
    };
    Family::ALL.map(section).join("\n")
}

fn row(parameter: &Parameter) -> String {
    let value = if parameter.value.is_empty() { String::new() } else { format!("={}", parameter.value) };
    let also: Vec<_> = parameter.of[1..].iter().map(|family| family.name()).collect();
    let here = match parameter.read {
        Some(_) => parameter.here.to_owned(),
        None => format!("**not done** (the console says so): {}", parameter.here),
    };
    format!("| `{}{}` | {} | {here} |\n", parameter.name, value.replace('|', "\\|"), also.join(", "))
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().to_string() + letters.as_str()).unwrap_or_default()
}

impl Family {
    /// All of them, in the order of the documentation.
    const ALL: [Self; 9] = [Systemd, Dracut, Encrypt, Debian, Booster, Alpine, Gentoo, Kernel, Keyway];

    /// What people call it.
    const fn name(self) -> &'static str {
        match self {
            Systemd => "systemd, mkinitcpio's sd-encrypt",
            Dracut => "dracut",
            Encrypt => "mkinitcpio's encrypt",
            Debian => "initramfs-tools",
            Booster => "booster",
            Alpine => "Alpine",
            Gentoo => "Gentoo",
            Kernel => "the kernel",
            Keyway => "Keyway",
        }
    }

    /// Where it is documented.
    const fn source(self) -> &'static str {
        match self {
            Systemd => "systemd-cryptsetup-generator(8)",
            Dracut => "dracut.cmdline(7)",
            Encrypt => "mkinitcpio's hooks/encrypt, wiki.archlinux.org/title/Dm-crypt/System_configuration",
            Debian => "README.initramfs of cryptsetup-initramfs, its script local-top/cryptroot",
            Booster => "booster(1)",
            Alpine => "mkinitfs-bootparam(7)",
            Gentoo => "genkernel(8)",
            Kernel => "Documentation/admin-guide/md.rst",
            Keyway => "keyway-unlock(8)",
        }
    }
}
