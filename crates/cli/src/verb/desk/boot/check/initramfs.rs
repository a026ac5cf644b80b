//! An initramfs image beside a header: modules that the header needs,
//! and a program that can unlock.

use super::IMAGE;
use crate::device;
use crate::door::{Args, shared};
use crate::say::failure::{Exit, Failure, Result};
use crate::say::output;
use crate::say::paint::{Paint, printable};
use crate::verb::desk::boot::files;
use crate::verb::desk::boot::options::KERNEL;
use keyway_boot::initramfs;
use keyway_crypto::CipherSpec;
use keyway_format::json::{Object, Value};
use keyway_format::luks2::SegmentKind;
use keyway_measure::kernel::modules::{Found, Inventory};
use keyway_measure::kernel::{Need, Version, needs};
use keyway_volume::{Access, Header, Luks};
use std::fmt::Write;
use std::path::Path;

pub(super) fn run(args: &Args) -> Result<()> {
    let Some(image) = args.path(&IMAGE) else {
        return Err(Failure::new(
            Exit::Parameters,
            "--loader initramfs needs --image FILE: the initramfs to look into.",
        ));
    };
    let volume =
        args.path(&shared::HEADER).or_else(|| args.operand(1)).map(device::resolve).unwrap_or_default();
    let luks =
        Luks::open_with(device::storage(&volume, Access::Probe)?, Access::Probe, device::locking(args))
            .map_err(|error| device::explain::on_device(&volume, &error))?;
    let unusable =
        |why: &dyn std::fmt::Display| Failure::new(Exit::Device, format!("{}: {why}.", image.display()));
    let content = files::read(image)?;
    let mut inventory = Inventory::of_image(&content).map_err(|why| unusable(&why))?;
    if let Some(kernel) = args.text(&KERNEL) {
        if !inventory.release.is_empty() && inventory.release != kernel {
            let message = format!("{} is for Linux {}, not {kernel}.", image.display(), inventory.release);
            return Err(Failure::new(Exit::Parameters, message));
        }
        inventory.release = kernel.to_owned();
    }
    if !inventory.knows_built_in
        && let Ok(other) = Inventory::of_release(Path::new("/"), &inventory.release)
    {
        inventory.learn_built_in(&other);
    }
    let version = Version::parse(&inventory.release);
    let mut found: Vec<(Need, Found)> = Vec::new();
    for need in specs(&luks)?.iter().flat_map(|spec| needs(spec, version)) {
        if !found.iter().any(|(known, _)| known.name == need.name) {
            let state = need.find(&inventory, None);
            found.push((need, state));
        }
    }
    let programs = programs(&content).map_err(|why| unusable(&why))?;
    let lacking: Vec<&str> = found
        .iter()
        .filter(|(_, state)| matches!(state, Found::Missing | Found::Incomplete { .. }))
        .map(|(need, _)| need.name.as_str())
        .collect();
    let opens = lacking.is_empty() && !programs.is_empty();
    let page = match args.given(&shared::JSON) {
        true => json(image, &inventory.release, &found, &programs, opens),
        false => text(image, &inventory.release, &found, &programs, &lacking),
    };
    output::print(&page)?;
    if opens { Ok(()) } else { Err(Failure::silent(Exit::Parameters)) }
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
    release: &str,
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
        paint.faint(&format!("Linux {}", printable(release)))
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
        (true, false) => paint.good("It has what this volume needs."),
        (true, true) => paint.bad("It cannot unlock: no program for it is there."),
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
    let object = Object::new()
        .with("image", image.display().to_string().as_str())
        .with("loader", "initramfs")
        .with("kernel", release)
        .with("opens", Value::Bool(opens))
        .with("needs", Value::Array(needs.collect()))
        .with("programs", Value::Array(programs.iter().map(|program| program.as_str().into()).collect()));
    format!("{}\n", Value::from(object).to_pretty())
}

const PROGRAMS: &[&str] = &["cryptsetup", "systemd-cryptsetup", "keyway"];
