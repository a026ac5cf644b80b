//! `luksVersion`: which version of LUKS a volume has.

use crate::args::{self, Args, Command, Example, Group, Offers, Operand, Request, shared};
use crate::device::{Target, Versions};
use crate::output::failure::Result;
use crate::output::stdio;
use keyway::Access;

/// `keyway luksVersion`.
pub(crate) static COMMAND: Command = Command {
    name: "luksVersion",
    aliases: &[],
    group: Group::Rootless,
    operands: &[Operand { name: "VOLUME", required: true, help: "The volume.", offers: Offers::Volumes }],
    about: "Print which version of LUKS a volume has.",
    man: "Prints 1 or 2. Needs no key.",
    options: &[&[&shared::HEADER]],
    rules: &[],
    examples: &[Example { line: "keyway luksVersion disk.img", does: "Prints 1 or 2." }],
    risks: &[],
    run: args::run::<Version>,
};

struct Version {
    target: Target,
    versions: Versions,
}

impl Request for Version {
    fn from_args(args: &Args) -> Result<Self> {
        Ok(Self { target: Target::from_args(args, 0)?, versions: Versions::from_args(args)? })
    }

    fn run(self) -> Result<()> {
        let luks = self.target.load(Access::Read, self.versions)?;
        stdio::print(&format!("{}\n", luks.version()))
    }
}

/// The blocks of docs/VERBS.md stand in this file, which is compiled for tests alone: what the page
/// teaches, compiles.
mod tests {
    use super::*;
    use crate::args::{Kind, Opt};

    static FREE: Opt =
        Opt { long: "free", short: None, value: "", kind: Kind::Flag, help: "Those that are free.", man: "" };

    #[test]
    fn the_page_teaches_what_compiles() {
        let lines = |text: &'static str| text.lines().map(str::trim).filter(|line| !line.is_empty());
        let here: Vec<&str> = lines(include_str!("sample.rs")).collect();
        let page = include_str!("../../../../docs/VERBS.md");
        let blocks = page.split("```rust,ignore").skip(1).filter_map(|rest| rest.split("```").next());
        // The last is a file of the integration tests, and is compiled with them.
        let blocks: Vec<&'static str> = blocks.filter(|block| !block.contains("#[test]")).collect();
        assert_eq!(blocks.len(), 3);
        for block in blocks {
            let block: Vec<&str> = lines(block).collect();
            assert!(here.windows(block.len()).any(|some| some == block), "{block:#?}");
        }
    }

    #[test]
    fn an_option_of_its_own_is_a_row_beside_the_table() {
        assert!(!FREE.takes_value() && COMMAND.own_options().all(|own| own.long != FREE.long));
    }
}
