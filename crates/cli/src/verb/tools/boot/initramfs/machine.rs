//! Checks that everything in an image is for the same architecture: a program for another one does
//! not start, and the machine does not boot.

use crate::output::failure::{Exit, Failure, Result};
use crate::verb::tools::boot::files::unusable;
use keyway_boot::architecture::{Architecture, Object};
use keyway_boot::initramfs::Contained;
use keyway_boot::initramfs::layout::Contents;
use std::path::Path;

/// Checks the program against the modules that are added with it.
pub(super) fn check_modules(contents: &Contents) -> Result<()> {
    let mut modules = Contained::default();
    for (name, module) in &contents.modules {
        modules.count(name, module);
    }
    match architecture(contents) {
        Some(program) if !modules.takes(program) => {
            Err(refused("The modules that --modules adds are", &modules, program))
        }
        _ => Ok(()),
    }
}

/// Checks the program and the modules against the image that they are added to; `seen` is what is
/// already known about the image.
pub(super) fn check(contents: &Contents, path: &Path, image: &[u8], seen: &Contained) -> Result<()> {
    let Some(program) = architecture(contents) else { return Ok(()) };
    if seen.takes(program) {
        return Ok(());
    }
    // What was seen may be an exception: the whole image decides.
    let all = Contained::of(image).map_err(|why| unusable(path, &why))?;
    match all.takes(program) {
        true => Ok(()),
        false => Err(refused(&format!("{} is", path.display()), &all, program)),
    }
}

fn architecture(contents: &Contents) -> Option<Architecture> {
    Object::parse(&contents.program).map(|object| object.architecture)
}

fn refused(what: &str, contained: &Contained, program: Architecture) -> Failure {
    let machine = contained.architecture().unwrap_or(program);
    let line = format!(
        "{what} for {machine}, and the keyway to embed is for {program}: --program FILE names one for {machine}."
    );
    Failure::new(Exit::Parameters, line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use keyway_boot::initramfs::writer::{Node, Tree};

    /// The start of a 64-bit ELF file for this machine (183 is AArch64, 62 x86-64): a program or a
    /// module.
    fn elf(machine: u8, kind: u8) -> Vec<u8> {
        let mut head = vec![0; 64];
        head[..6].copy_from_slice(b"\x7fELF\x02\x01");
        (head[16], head[18]) = (kind, machine);
        head
    }

    fn contents(program: u8, modules: &[u8]) -> Contents {
        let modules = modules.iter().map(|machine| ("m.ko".to_owned(), elf(*machine, 1))).collect();
        Contents { program: elf(program, 2), modules, ..Contents::default() }
    }

    #[test]
    fn modules_of_another_machine_are_refused() {
        assert!(check_modules(&contents(183, &[])).is_ok());
        assert!(check_modules(&contents(183, &[183, 183])).is_ok());
        let refused = check_modules(&contents(62, &[183])).unwrap_err();
        assert_eq!(
            refused.message(),
            "The modules that --modules adds are for aarch64, and the keyway to embed is for x86_64: --program \
             FILE names one for aarch64."
        );
    }

    #[test]
    fn all_of_an_image_decides() {
        let mut tree = Tree::default();
        for (name, machine) in [("bin/a", 62), ("bin/b", 183), ("bin/c", 183)] {
            tree.add(name, Node::file(0o755, elf(machine, 2)));
        }
        let image = tree.archive().unwrap();
        let judged = |program: u8, seen: &Contained| {
            check(&contents(program, &[]), Path::new("image"), &image, seen)
                .map_err(|why| why.message().to_owned())
        };
        let mut first = Contained::default();
        first.count("bin/a", &elf(62, 2));
        assert_eq!(judged(183, &first), Ok(()), "what was seen first is the exception");
        let refused = "image is for aarch64, and the keyway to embed is for x86_64: --program FILE names one for aarch64.";
        assert_eq!(judged(62, &Contained::of(&image).unwrap()), Err(refused.to_owned()));
        assert_eq!(judged(62, &Contained::default()), Ok(()), "nothing is known of it");
        assert!(
            check(&contents(62, &[]), Path::new("image"), b"noise", &Contained::of(&image).unwrap()).is_err()
        );
    }
}
