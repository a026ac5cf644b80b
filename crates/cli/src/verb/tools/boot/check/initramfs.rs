//! Checks an initramfs image against a header: whether it has the modules that the header needs,
//! and a program that can unlock.

use crate::device::{self, explain};
use crate::output::document::{self, document};
use crate::output::failure::{Exit, Failure, Result};
use crate::output::paint::{Paint, printable};
use crate::verb::tools::boot::files::{self, unusable};
use keyway_boot::initramfs;
use keyway_crypto::CipherSpec;
use keyway_format::json::{Object, Value};
use keyway_format::luks2::SegmentKind;
use keyway_kernel::modules::{self, Found, Inventory};
use keyway_kernel::{Need, Version, needs};
use keyway_volume::{Access, Header, Locking, Luks};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// An initramfs image, and the volume that it has to unlock.
pub(super) struct Ramdisk {
    /// The file or device with the volume's header.
    pub(super) header: PathBuf,
    pub(super) locking: Locking,
    pub(super) image: PathBuf,
    /// The release of the image's kernel, for images that do not reveal it.
    pub(super) kernel: Option<String>,
}

impl Ramdisk {
    /// What is present and what is missing, and whether the volume opens.
    pub(super) fn look(&self, as_json: bool) -> Result<(String, bool)> {
        let storage = device::storage(&self.header, Access::Probe)?;
        let luks = Luks::open_with(storage, Access::Probe, self.locking)
            .map_err(|error| explain::on_device(&self.header, &error))?;
        let image = &self.image;
        let content = files::read(image)?;
        let inventory = self.inventory(&content)?;
        let version = Version::parse(&inventory.release);
        let mut found: Vec<(Need, Found)> = Vec::new();
        for need in specs(&luks)?.iter().flat_map(|spec| needs(spec, version)) {
            if !found.iter().any(|(known, _)| known.name == need.name) {
                let state = need.find(&inventory, None);
                found.push((need, state));
            }
        }
        let programs = programs(&content).map_err(|why| unusable(image, &why))?;
        let lacking: Vec<&str> = found
            .iter()
            .filter(|(_, state)| matches!(state, Found::Missing | Found::Incomplete { .. }))
            .map(|(need, _)| need.name.as_str())
            .collect();
        let opens = lacking.is_empty() && !programs.is_empty();
        let page = match as_json {
            true => json(image, &inventory.release, &found, &programs, opens),
            false => text(image, &inventory, &found, &programs, &lacking),
        };
        Ok((page, opens))
    }

    /// The image's modules; which features its kernel has built in may be known on this machine.
    fn inventory(&self, content: &[u8]) -> Result<Inventory> {
        let image = &self.image;
        let mut inventory = match Inventory::of_image(content) {
            // Its kernel may have everything built in.
            Err(modules::Error::NoModules) => Inventory::default(),
            found => found.map_err(|why| unusable(image, &why))?,
        };
        if let Some(kernel) = &self.kernel {
            if !inventory.release.is_empty() && inventory.release != *kernel {
                let message =
                    format!("{} is for Linux {}, not {kernel}.", image.display(), inventory.release);
                return Err(Failure::new(Exit::Parameters, message));
            }
            inventory.release = kernel.clone();
        }
        if !inventory.knows_built_in
            && let Ok(other) = Inventory::of_release(Path::new("/"), &inventory.release)
        {
            inventory.learn_built_in(&other);
        }
        Ok(inventory)
    }
}

fn specs(luks: &Luks) -> Result<Vec<CipherSpec>> {
    let ciphers: Vec<String> = match luks.header() {
        Header::Luks1(header) => vec![header.cipher()],
        Header::Luks2 { metadata, .. } => {
            let crypt = metadata.segments.values().filter_map(|segment| match &segment.kind {
                SegmentKind::Crypt { encryption, .. } => Some(encryption.clone()),
                _ => None,
            });
            crypt.collect()
        }
    };
    let parsed = ciphers
        .iter()
        .map(|cipher| CipherSpec::parse(cipher).map_err(|why| keyway_volume::Error::from(why).into()));
    parsed.collect()
}

/// Programs in the image that can open a LUKS volume.
fn programs(image: &[u8]) -> std::result::Result<Vec<String>, initramfs::Error> {
    let mut found = Vec::new();
    initramfs::walk(image, &mut |entry, _| {
        let path = entry.name.clone();
        let name = path.rsplit('/').next().unwrap_or_default();
        let library = path.contains("/lib") && !path.contains("systemd");
        if PROGRAMS.contains(&name) && !library && !found.contains(&path) {
            found.push(path);
        }
        Ok(())
    })?;
    Ok(found)
}

fn text(
    image: &Path,
    inventory: &Inventory,
    found: &[(Need, Found)],
    programs: &[String],
    lacking: &[&str],
) -> String {
    let paint = Paint::for_stdout();
    let mut page = String::new();
    let _ = writeln!(
        page,
        "{}  {}",
        paint.strong(&printable(&image.display().to_string())),
        paint.faint(&match inventory.release.as_str() {
            "" => "for an unknown kernel".to_owned(),
            release => format!("Linux {}", printable(release)),
        })
    );
    for (need, state) in found {
        let word = match state {
            state if state.is_there() => paint.good("ok     "),
            Found::Unknown => paint.warning("unknown"),
            _ => paint.bad("MISSING"),
        };
        let _ = writeln!(
            page,
            "  {word} {:<12} {}",
            printable(&need.name),
            paint.faint(&format!("({})", need.why))
        );
    }
    match programs.first() {
        Some(program) => {
            let _ = writeln!(page, "  {} {}", paint.good("ok     "), printable(program));
        }
        None => {
            let missing = paint.bad("MISSING");
            let _ = writeln!(
                page,
                "  {missing} a program that unlocks: cryptsetup, systemd-cryptsetup or keyway"
            );
        }
    }
    let closing = match (lacking.is_empty(), programs.is_empty()) {
        (true, false) if inventory.files.is_empty() && !inventory.knows_built_in => paint.warning(
            "It holds no kernel modules: its kernel must have all of this built in. --kernel RELEASE looks it up in \
             this machine's /lib/modules.",
        ),
        (true, false) => paint.good("It has everything that this volume needs."),
        (true, true) => paint.bad("It cannot unlock: it contains no program for that."),
        (false, _) => paint.bad(&format!("It cannot map this volume: {} missing.", lacking.join(", "))),
    };
    let _ = writeln!(page, "  {closing}");
    page
}

fn json(image: &Path, release: &str, found: &[(Need, Found)], programs: &[String], opens: bool) -> String {
    let needs = found.iter().map(|(need, state)| {
        let state = match state {
            state if state.is_there() => "there",
            Found::Unknown => "unknown",
            _ => "missing",
        };
        Value::from(
            Object::new()
                .with("name", need.name.as_str())
                .with("why", need.why.as_str())
                .with("state", state),
        )
    });
    let object = document()
        .with("image", image.display().to_string().as_str())
        .with("loader", "initramfs")
        .with("kernel", release)
        .with("opens", Value::Bool(opens))
        .with("needs", Value::Array(needs.collect()))
        .with("programs", Value::Array(programs.iter().map(|program| program.as_str().into()).collect()));
    document::text(object)
}

const PROGRAMS: &[&str] = &["cryptsetup", "systemd-cryptsetup", "keyway"];
