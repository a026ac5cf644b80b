//! A place that a kernel loads its modules from, and which of the needed ones it has.

use super::subject::Subject;
use crate::device::whole_file::{self, BOOT_IMAGE};
use crate::output::failure::{Exit, Failure, Result};
use keyway_kernel::modules::{Found, Inventory};
use keyway_kernel::{Need, System, Version, accelerators, needs};
use keyway_measure::machine;
use std::path::Path;

/// One place and one kernel.
pub(super) struct Place {
    /// "initrd.img", "the running system".
    pub(super) name: String,
    pub(super) release: String,
    /// The number of modules.
    pub(super) modules: usize,
    pub(super) needs: Vec<(Need, Found)>,
    /// Notes for the reader.
    pub(super) notes: Vec<String>,
}

impl Place {
    /// Whether anything needed is missing.
    pub(super) fn lacks_something(&self) -> bool {
        self.needs.iter().any(|(_, found)| matches!(found, Found::Missing | Found::Incomplete { .. }))
    }

    fn of(name: String, inventory: &Inventory, subject: &Subject, system: Option<&System>) -> Self {
        let version = Version::parse(&inventory.release);
        let mut wanted: Vec<Need> = Vec::new();
        let of_specs = subject.specs.iter().flat_map(|spec| needs(spec, version));
        for need in of_specs.chain(subject.also.iter().cloned()) {
            if !wanted.iter().any(|known| known.name == need.name) {
                wanted.push(need);
            }
        }
        let running = system.map(|system| &system.running);
        let found = |need: Need| {
            let found = need.find(inventory, running);
            (need, found)
        };
        let needs: Vec<(Need, Found)> = wanted.into_iter().map(found).collect();
        let notes = slow_code(&needs, inventory);
        Self { name, release: inventory.release.clone(), modules: inventory.len(), needs, notes }
    }
}

/// What the running system uses, and what its modules provide.
pub(super) fn running(system: &System, subject: &Subject) -> Place {
    let found = Inventory::of_release(Path::new("/"), &system.release);
    let inventory = found.unwrap_or_else(|_| Inventory::unseen(&system.release));
    let mut place = Place::of("the running system".into(), &inventory, subject, Some(system));
    if inventory.is_empty() {
        place.notes =
            vec![format!("/lib/modules/{} is missing: only loaded modules can be found.", system.release)];
    }
    place
}

/// Examines a root file system, an initramfs image, or an image of the system below a root.
pub(super) fn look(root: Option<&Path>, image: Option<&Path>, subject: &Subject) -> Result<Vec<Place>> {
    let unusable = |path: &Path, why: &dyn std::fmt::Display| {
        Failure::new(Exit::Parameters, format!("{}: {why}.", path.display()))
    };
    let Some(image) = image else {
        let root = root.unwrap_or(Path::new("/"));
        let inventories = Inventory::of_root(root).map_err(|why| unusable(root, &why))?;
        let name = root.display().to_string();
        return Ok(inventories.iter().map(|it| Place::of(name.clone(), it, subject, None)).collect());
    };
    let content = whole_file::read(image, BOOT_IMAGE).map_err(|why| {
        let exit = Exit::of_file(&why, Exit::Device);
        Failure::new(exit, format!("{}: {why}.", image.display()))
    })?;
    let mut inventory = Inventory::of_image(&content).map_err(|why| unusable(image, &why))?;
    let mut notes = Vec::new();
    if !inventory.knows_built_in {
        let system = root.unwrap_or(Path::new("/"));
        match Inventory::of_release(system, &inventory.release) {
            Ok(other) => {
                inventory.learn_built_in(&other);
                notes.push(format!(
                    "What Linux {} has built in is taken from {}.",
                    inventory.release,
                    system.join("lib/modules").display()
                ));
            }
            Err(_) => notes.push(
                "The image does not list its kernel's built-in modules: what it lacks may be built in."
                    .to_owned(),
            ),
        }
    }
    let mut place = Place::of(image.display().to_string(), &inventory, subject, None);
    place.notes.extend(notes);
    Ok(vec![place])
}

/// Ciphers that are available in portable code only, although this CPU has instructions for them.
fn slow_code(needs: &[(Need, Found)], inventory: &Inventory) -> Vec<String> {
    let machine = machine::look(Path::new("/"));
    let has = |feature: &str| machine.features.iter().any(|known| known == feature);
    let mut notes = Vec::new();
    for (need, _) in needs.iter().filter(|(need, found)| !need.is_module && found.is_there()) {
        let faster = accelerators(&need.name, &machine.architecture, has);
        let have = |module: &&&str| inventory.module(module).is_there();
        if let (Some(first), None) = (faster.first(), faster.iter().find(have)) {
            notes.push(format!(
                "Without {first}, {} runs in portable code, though this CPU has instructions for it.",
                need.name
            ));
        }
    }
    notes
}
