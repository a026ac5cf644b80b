//! `ciphers`: lists every cipher, mode and IV of dm-crypt, which combinations are possible, why
//! others are not, and what code runs them.
//!
//! `survey` gathers, `kernel` examines the running kernel, `matrix`, `rows` and `json` show.

mod json;
mod kernel;
mod matrix;
mod rows;
mod survey;

use crate::args::{self, Args, Command, Example, Group, Kind, Offers, Operand, Opt, Request, shared};
use crate::output::failure::Result;
use crate::output::stdio;
use kernel::Kernel;
use std::path::Path;
use survey::Survey;

/// `keyway ciphers`.
pub(crate) static COMMAND: Command = Command {
    name: "ciphers",
    aliases: &[],
    group: Group::Also,
    operands: &[Operand {
        name: "FILTER",
        required: false,
        help: "What to list, as with --cipher.",
        offers: Offers::Words(shared::CIPHERS),
    }],
    about: "List ciphers, modes and IVs: what exists, and what runs it.",
    man: "Covers all of dm-crypt's ciphers, modes, IVs, key sizes and sector sizes: which combinations exist, \
          which rule forbids the others, which code runs them on this CPU, and whether the running kernel has them \
          (from /proc/crypto and /lib/modules; nothing is loaded).\n\nWithout a filter it prints two tables, ciphers \
          by modes and IVs by modes. With a filter it prints the combinations that have all of its parts, one per \
          line, then those that cannot exist, with the rule that forbids them. A complete specification, or one that \
          starts with capi:, is described in full.\n\nESSIV with sha256 represents all hashes, unless --all is \
          given.\n\nJSON is one object. \"kernel\": \"release\", \"dm_crypt\" (loaded, built-in, loadable, absent or \
          unknown). \"combinations\": an array, each with \"spec\", \"cipher\", \"mode\", \"iv\" (null where there \
          is none) and \"exists\". Those that exist have \"block_bits\", \"iv_bytes\", \"key_bits\" and \
          \"sector_sizes\" (arrays of numbers), \"code\" (what runs it here; null when this build does not) and \
          \"kernel\" (as above); those that do not have \"reason\".",
    options: &[&[&CIPHER, &ALL, &shared::JSON]],
    rules: &[],
    examples: &[
        Example { line: "keyway ciphers", does: "What exists, as two tables." },
        Example { line: "keyway ciphers serpent-xts", does: "All combinations of a cipher and a mode." },
        Example { line: "keyway ciphers blowfish-xts-plain64", does: "Why this cannot exist." },
        Example { line: "keyway ciphers --json --all", does: "Everything, for programs." },
    ],
    risks: &[],
    run: args::run::<Ciphers>,
};

static CIPHER: Opt = Opt {
    long: "cipher",
    short: Some('c'),
    value: "FILTER",
    kind: Kind::Words(shared::CIPHERS),
    help: "Only these: serpent, aes-xts, essiv, a spec.",
    man: "",
};

static ALL: Opt = Opt {
    long: "all",
    short: None,
    value: "",
    kind: Kind::Flag,
    help: "Every combination, and every hash of essiv.",
    man: "",
};

struct Ciphers {
    filter: Option<String>,
    /// Every combination, and every hash for ESSIV.
    all: bool,
    json: bool,
}

impl Request for Ciphers {
    fn from_args(args: &Args) -> Result<Self> {
        let operand = args.operand(0).map(|operand| operand.to_string_lossy().into_owned());
        let filter = args.text(&CIPHER).map(str::to_owned).or(operand);
        Ok(Self { filter, all: args.given(&ALL), json: args.given(&shared::JSON) })
    }

    fn run(self) -> Result<()> {
        let Self { filter, all, json } = self;
        let survey = Survey::take(filter.as_deref(), all, Kernel::look(Path::new("/")))?;
        let text = match filter {
            _ if json => format!("{}\n", json::show(&survey)),
            None if !all => matrix::show(&survey),
            Some(filter) if survey.entries.len() == 1 => rows::one(&survey, &filter),
            _ => rows::many(&survey),
        };
        stdio::print(&text)
    }
}
