//! Checks an initramfs image against a header: whether it has the modules that the header needs,
//! and a program that can unlock; and whether a passphrase can be typed at its keyboard.

use super::given::Given;
use super::show::OPENS_NONE;
use super::typed::{self, Finding, Keyboard};
use crate::device::{self, explain};
use crate::output::document::{self, document};
use crate::output::failure::{Exit, Failure, Result};
use crate::output::paint::{Paint, printable};
use crate::output::sentence::cannot_map;
use crate::verb::tools::boot::files::{self, unusable};
use keyway::parts::{Header, Luks};
use keyway::{Access, Locking};
use keyway_boot::initramfs;
use keyway_crypto::CipherSpec;
use keyway_format::json::{Object, Value};
use keyway_format::luks2::SegmentKind;
use keyway_kernel::modules::{self, Found, Inventory};
use keyway_kernel::{Need, Version, needs};
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
    pub(super) passphrase: Option<Given>,
}

/// What was found.
struct Outcome {
    inventory: Inventory,
    needs: Vec<(Need, Found)>,
    programs: Vec<String>,
    keyboard: Keyboard,
    /// What happens to the passphrase when it is entered, if one was given.
    typed: Option<Finding>,
    /// The keyslot that the given passphrase opens; `Some(None)` if it opens none.
    keyslot: Option<Option<u32>>,
}

impl Outcome {
    /// The modules that are not in the image.
    fn lacking(&self) -> Vec<&str> {
        let lacks = |state: &Found| matches!(state, Found::Missing | Found::Incomplete { .. });
        self.needs.iter().filter(|(_, state)| lacks(state)).map(|(need, _)| need.name.as_str()).collect()
    }

    /// Whether it can map the volume.
    fn maps(&self) -> bool {
        self.lacking().is_empty() && !self.programs.is_empty()
    }

    fn opens(&self) -> bool {
        self.maps() && self.keyslot != Some(None) && self.typed.is_none()
    }
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
        let keyboard = Keyboard::of(&content, &programs).map_err(|why| unusable(image, &why))?;
        let (mut typed, mut keyslot) = (None, None);
        if let Some(given) = &self.passphrase {
            let passphrase = given.source.read()?;
            typed = keyboard.judge(passphrase.expose(), &given.way);
            keyslot = Some(given.keyslot(&passphrase, &self.header, self.locking)?);
        }
        let outcome = Outcome { inventory, needs: found, programs, keyboard, typed, keyslot };
        let page = match as_json {
            true => json(image, &outcome),
            false => text(image, &outcome),
        };
        Ok((page, outcome.opens()))
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
        .map(|cipher| CipherSpec::parse(cipher).map_err(|why| keyway::parts::Error::from(why).into()));
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

fn text(image: &Path, outcome: &Outcome) -> String {
    let Outcome { inventory, needs: found, programs, .. } = outcome;
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
    if let Some(why) = outcome.keyboard.unknown() {
        let file = outcome.keyboard.file.as_deref().unwrap_or_default();
        let line = format!("The keymap ({file}) cannot be judged: {why}.");
        let _ = writeln!(page, "  {} {}", paint.warning("!"), printable(&line));
    }
    if outcome.keyslot == Some(None) {
        let _ = writeln!(page, "  {}", paint.bad(OPENS_NONE));
    }
    if let Some(finding) = &outcome.typed {
        let _ = writeln!(page, "  {} The passphrase: {}.", paint.bad("X"), printable(&finding.because));
    }
    let _ = writeln!(page, "  {}", closing(outcome, paint));
    page
}

fn closing(outcome: &Outcome, paint: Paint) -> String {
    let (inventory, lacking) = (&outcome.inventory, outcome.lacking());
    match (lacking.is_empty(), outcome.programs.is_empty()) {
        (true, false) if outcome.maps() && !outcome.opens() => {
            paint.bad("It does not open with this passphrase, typed there.")
        }
        (true, false) if inventory.files.is_empty() && !inventory.knows_built_in => paint.warning(
            "It holds no kernel modules: its kernel must have all of this built in. --kernel RELEASE looks it up in \
             this machine's /lib/modules.",
        ),
        (true, false) => paint.good("It has everything that this volume needs."),
        (true, true) => paint.bad("It cannot unlock: it contains no program for that."),
        (false, _) => paint.bad(&cannot_map(&lacking.join(", "))),
    }
}

fn json(image: &Path, outcome: &Outcome) -> String {
    let needs = outcome.needs.iter().map(|(need, state)| {
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
        .with("kernel", outcome.inventory.release.as_str())
        .with("opens", Value::Bool(outcome.opens()))
        .with("needs", Value::Array(needs.collect()))
        .with(
            "programs",
            Value::Array(outcome.programs.iter().map(|program| program.as_str().into()).collect()),
        )
        .with("keymap", outcome.keyboard.file.as_deref().map_or(Value::Null, Value::from))
        .with("passphrase_given", Value::Bool(outcome.keyslot.is_some()))
        .with(
            "passphrase_keyslot",
            outcome.keyslot.flatten().map_or(Value::Null, |number| Value::Number(number.to_string())),
        )
        .with(
            "passphrase_findings",
            Value::Array(outcome.typed.iter().map(|finding| finding_of(finding).into()).collect()),
        );
    document::text(object)
}

fn finding_of(finding: &Finding) -> Object {
    Object::new()
        .with("rule", finding.rule)
        .with("because", finding.because.as_str())
        .with("source", typed::SOURCE)
}

const PROGRAMS: &[&str] = &["cryptsetup", "systemd-cryptsetup", "keyway"];
