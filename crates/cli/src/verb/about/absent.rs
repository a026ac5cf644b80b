//! cryptsetup's commands that this build lacks: each prints one line that says so and names what
//! works instead.

use crate::door::{self, Args, Command, Group, Offers, Operand, Opt, Request};
use crate::output::failure::{Exit, Failure, Result};

const DEVICE: Operand = Operand {
    name: "DEVICE",
    required: true,
    help: "The encrypted device or file.",
    offers: Offers::Volumes,
};

const fn absent(
    name: &'static str,
    operands: &'static [Operand],
    about: &'static str,
    options: &'static [&'static [&'static Opt]],
) -> Command {
    Command {
        name,
        aliases: &[],
        group: Group::Absent,
        operands,
        about,
        man: "",
        options,
        examples: &[],
        risks: &[],
        run: door::run::<Absent>,
    }
}

pub(crate) static FVAULT2_DUMP: Command = absent("fvault2Dump", &[DEVICE], "Show a FileVault2 header.", &[]);

/// Never made: its command line is refused.
enum Absent {}

impl Request for Absent {
    fn from_args(args: &Args) -> Result<Self> {
        let name = args.command().name;
        let Some(format) = name.strip_suffix("Dump") else {
            let line = "reencrypt: changing the volume key in place is not implemented yet; \"keyway copy\" makes a \
                        re-encrypted copy.";
            return Err(Failure::new(Exit::Parameters, line));
        };
        let line = format!("{name}: {}", another_format(format).unwrap_or_default());
        Err(Failure::new(Exit::Parameters, line))
    }

    fn run(self) -> Result<()> {
        match self {}
    }
}

/// What is said of a format of cryptsetup's or its sisters' that this program does not read: that,
/// and which program does.
pub(crate) fn another_format(kind: &str) -> Option<String> {
    let (format, programs) = match kind {
        "fvault2" => ("FileVault2 volumes", "cryptsetup opens them"),
        "loopaes" => ("loop-AES volumes", "cryptsetup opens them"),
        "verity" => ("dm-verity devices", "veritysetup opens them"),
        "integrity" => ("dm-integrity devices", "integritysetup opens them"),
        _ => return None,
    };
    Some(format!(
        "{format} (type {kind}) are not implemented yet: {programs}. Keyway opens LUKS, plain, TrueCrypt, VeraCrypt and BitLocker volumes."
    ))
}
