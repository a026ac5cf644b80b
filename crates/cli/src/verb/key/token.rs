//! `token`: adds, removes, imports, exports and unassigns LUKS2 tokens.

use crate::args::risk::{Effect, Proof, risk};
use crate::args::rule::Rule;
use crate::args::{
    self, Args, Command, Example, Group, Kind, Offers, Operand, Opt, Request, Topic, Verb, did_you_mean,
    quoted, shared,
};
use crate::device::{Inputs, Target, Versions, explain};
use crate::make::output_file;
use crate::output::failure::{Exit, Failure, Result};
use crate::output::manner::Manner;
use crate::output::sentence::sentence;
use crate::output::stdio;
use crate::verb::key::keyslot;
use keyway::parts::Error;
use keyway::{Access, Header, NewToken, Unlock};
use keyway_format::json;
use std::io::{self, IsTerminal, Read, Write};
use std::path::Path;
use std::path::PathBuf;

/// `keyway token`.
pub(crate) static COMMAND: Command = Command {
    name: "token",
    aliases: &[],
    group: Group::Cryptsetup(Topic::Passphrases),
    operands: &[
        Operand {
            name: "ACTION",
            required: true,
            help: "add, remove, import, export or unassign.",
            offers: Offers::Verbs(VERBS),
        },
        shared::operands::DEVICE,
    ],
    about: "Add, remove, import, export, unassign LUKS2 tokens.",
    man: "A token is a note in the header that says where a keyslot's passphrase comes from. add creates one \
          that names a key in the kernel keyring; import and export handle any token as JSON, from and to \
          --json-file or standard input and output. unassign detaches a token from a keyslot.",
    options: &[&[
        &shared::TOKEN_ID,
        &shared::KEY_SLOT,
        &KEY_DESCRIPTION,
        &shared::JSON_FILE,
        &TOKEN_REPLACE,
        &shared::UNBOUND,
        &shared::HEADER,
        &shared::TIMEOUT,
    ]],
    rules: RULES,
    examples: &[
        Example {
            line: "keyway token add --key-description backup --key-slot 1 disk.img",
            does: "Keyslot 1's passphrase is the keyring's key \"backup\".",
        },
        Example { line: "keyway token export --token-id 0 disk.img", does: "Prints token 0 as JSON." },
    ],
    risks: &[risk("DEVICE", Effect::Edits, Proof::Header, "token remove -q --token-id 0 TARGET")],
    run: args::run::<TokenRequest>,
};

/// cryptsetup takes any option with any of them.
static VERBS: &[Verb] = &[
    verb("add", "Add a token that names a key in the keyring."),
    verb("remove", "Remove a token."),
    verb("import", "Add any token, as JSON."),
    verb("export", "Print a token as JSON."),
    verb("unassign", "Detach a token from a keyslot."),
];

const fn verb(name: &'static str, about: &'static str) -> Verb {
    Verb { name, operands: "DEVICE", about, options: &[] }
}

/// In cryptsetup's words and order.
static RULES: &[Rule] = &[
    // Keyway's own refusal suggests one.
    Rule::line(
        |a| a.is_cryptsetup() && !a.names_verb(&["add", "remove", "import", "export", "unassign"]),
        "Invalid token action: add, remove, import, export or unassign is needed.",
    ),
    Rule::line(
        |a| a.names_verb(&["add"]) && !a.given(&KEY_DESCRIPTION),
        "--key-description parameter is mandatory for token add action.",
    ),
    Rule::line(|a| a.names_verb(&["remove", "export"]) && !a.given(&shared::TOKEN_ID), NO_TOKEN),
    Rule::line(
        |a| a.given(&shared::UNBOUND) && !a.names_verb(&["add"]),
        "Option --unbound is valid only with token add action.",
    ),
    Rule::excludes(&shared::KEY_SLOT, &[&shared::UNBOUND]),
    Rule::line(|a| a.names_verb(&["unassign"]) && !a.given(&shared::KEY_SLOT), NO_KEYSLOT),
    Rule::line(|a| a.names_verb(&["unassign"]) && !a.given(&shared::TOKEN_ID), NO_TOKEN),
];

const NO_KEYSLOT: &str = "Action requires specific keyslot. Use --key-slot parameter.";
const NO_TOKEN: &str = "Action requires specific token. Use --token-id parameter.";

static KEY_DESCRIPTION: Opt = Opt {
    long: "key-description",
    short: None,
    value: "TEXT",
    kind: Kind::Text,
    help: "Name of the key in the kernel's keyring.",
    man: "",
};
static TOKEN_REPLACE: Opt = Opt {
    long: "token-replace",
    short: None,
    value: "",
    kind: Kind::Flag,
    help: "Replace the token that has this number.",
    man: "",
};

/// cryptsetup's limit for a token's JSON.
const LONGEST_JSON: u64 = 4 << 20;

struct TokenRequest {
    target: Target,
    action: Action,
}

enum Action {
    Add { token: Option<u32>, replace: bool, description: String, keyslots: Keyslots },
    Import { token: Option<u32>, replace: bool, json: Option<PathBuf>, keyslot: Option<u32> },
    Remove { token: u32 },
    Export { token: u32, json: Option<PathBuf>, inputs: Inputs },
    Unassign { token: u32, keyslot: u32 },
}

/// The keyslots that a new token is assigned to.
enum Keyslots {
    One(u32),
    All,
    None,
}

impl Request for TokenRequest {
    fn from_args(args: &Args) -> Result<Self> {
        Ok(Self { action: Action::from_args(args)?, target: Target::from_args(args, 1)? })
    }

    fn run(self) -> Result<()> {
        let access = if matches!(self.action, Action::Export { .. }) { Access::Read } else { Access::Write };
        let header = &mut self.target.header(access, Versions::Two, &Unlock::new())?;
        if access == Access::Write {
            header.luks().check_seal()?;
        }
        let line = match self.action {
            Action::Add { token, replace, description, keyslots } => {
                add(header, token, replace, &description, &keyslots)?
            }
            Action::Import { token, replace, json, keyslot } => {
                let new = new_token(header, token, replace)?;
                let keyslot = keyslot.map(|keyslot| active(header, keyslot)).transpose()?;
                import(header, new, &read_json(json.as_deref(), self.target.manner)?, keyslot)?
            }
            Action::Remove { token } => remove(header, token)?,
            Action::Export { token, json, inputs } => return export(header, token, json.as_deref(), &inputs),
            Action::Unassign { token, keyslot } => return unassign(header, token, keyslot),
        };
        stdio::verbose(self.target.manner, &line)
    }
}

impl Action {
    fn from_args(args: &Args) -> Result<Self> {
        let refuse = |message: &str| Failure::new(Exit::Parameters, message);
        let action = args.operand(0).and_then(Path::to_str).unwrap_or_default();
        let (token, keyslot) = (args.number32(&shared::TOKEN_ID), args.number32(&shared::KEY_SLOT));
        let this_token = || token.ok_or_else(|| refuse(NO_TOKEN));
        let (replace, unbound) = (args.given(&TOKEN_REPLACE), args.given(&shared::UNBOUND));
        let json = args.path(&shared::JSON_FILE).filter(|path| *path != Path::new("-")).map(Path::to_owned);
        Ok(match action {
            "add" => {
                let description = args.text(&KEY_DESCRIPTION).unwrap_or_default().to_owned();
                let others = if unbound { Keyslots::None } else { Keyslots::All };
                let keyslots = keyslot.map_or(others, Keyslots::One);
                Self::Add { token, replace, description, keyslots }
            }
            "import" => Self::Import { token, replace, json, keyslot },
            "remove" => Self::Remove { token: this_token()? },
            "export" => {
                let inputs = Inputs::from_args(args, &[], &[&shared::JSON_FILE]);
                Self::Export { token: this_token()?, json, inputs }
            }
            "unassign" => {
                let keyslot = keyslot.ok_or_else(|| refuse(NO_KEYSLOT))?;
                Self::Unassign { token: this_token()?, keyslot }
            }
            other => {
                let question = did_you_mean(other, VERBS.iter().map(|verb| verb.name), quoted);
                let hint = question.unwrap_or_else(|| "add, remove, import, export or unassign.".to_owned());
                return Err(refuse(&format!("Invalid token action {other}: {hint}")));
            }
        })
    }
}

fn add(
    header: &mut Header,
    token: Option<u32>,
    replace: bool,
    description: &str,
    keyslots: &Keyslots,
) -> Result<String> {
    let new = new_token(header, token, replace)?;
    let keyslots = match keyslots {
        Keyslots::One(keyslot) => vec![active(header, *keyslot)?],
        Keyslots::None => Vec::new(),
        Keyslots::All => header.luks().active_keyslots(),
    };
    let number = header.add_keyring_token(description, &keyslots.into_iter().fold(new, NewToken::keyslot))?;
    Ok(format!("Token {number} created."))
}

fn import(header: &mut Header, new: NewToken, json: &[u8], keyslot: Option<u32>) -> Result<String> {
    let imported = header.import_token(json, &keyslot.into_iter().fold(new, NewToken::keyslot));
    let number = imported.map_err(|error| match error.into_volume_error() {
        // The header was good: what is wrong is the token.
        Ok(Error::Format(why)) => {
            Failure::new(Exit::Parameters, "Failed to import token from file.").hinting(of_token(&why))
        }
        Ok(other) => other.into(),
        Err(error) => error.into(),
    })?;
    Ok(format!("Token {number} created."))
}

/// What is wrong with a token, as a line: the header's path to it says nothing about a file.
fn of_token(why: &keyway_format::Error) -> String {
    let said = why.to_string();
    let in_token = said.strip_prefix("tokens.").and_then(|said| said.split_once(": "));
    match in_token.map(|(place, what)| (place.split_once('.'), what)) {
        // Some reasons are the rest of a sentence about the field, others a sentence.
        Some((Some((_, field)), what)) if what.starts_with('"') => {
            format!("The token's field \"{field}\": {what}.")
        }
        Some((Some((_, field)), what)) => format!("The token's field \"{field}\" {what}."),
        Some((None, what)) if what.starts_with("is ") => format!("It is not a token: it {what}."),
        Some((None, what)) => format!("It is not a token: {what}."),
        None => match why {
            keyway_format::Error::Full { area, .. } => {
                format!("{} {}", sentence(&said), explain::room_in(area))
            }
            _ => sentence(&said),
        },
    }
}

fn remove(header: &mut Header, token: u32) -> Result<String> {
    if !exists(header, token) {
        return Err(Failure::new(Exit::Parameters, format!("Token {token} is not in use.")));
    }
    header.remove_token(token)?;
    Ok(format!("Token {token} removed."))
}

fn export(header: &Header, token: u32, to: Option<&Path>, inputs: &Inputs) -> Result<()> {
    if !exists(header, token) {
        return Err(Failure::new(Exit::Parameters, format!("Failed to get token {token} for export.")));
    }
    let json = header.export_token(token)?;
    let Some(path) = to else {
        return stdio::print(&json::shown(&json));
    };
    let failed = |e| of_file(&e, format!("Cannot write JSON file {}: {e}.", path.display()));
    let mut file = output_file::text_file(path, (true, 0o600), inputs, failed)?;
    file.write_all(json.as_bytes()).map_err(failed)
}

fn unassign(header: &mut Header, token: u32, keyslot: u32) -> Result<()> {
    if !exists(header, token) {
        return Err(Failure::new(Exit::Parameters, format!("Token {token} is not in use.")));
    }
    let keyslot = active(header, keyslot)?;
    Ok(header.unassign_token(token, keyslot)?)
}

/// The number of a new token; refuses one that is taken, unless the token is to be replaced.
fn new_token(header: &Header, token: Option<u32>, replace: bool) -> Result<NewToken> {
    let Some(number) = token else { return Ok(NewToken::new()) };
    if number > 31 {
        return Err(Failure::new(Exit::Parameters, format!("Token {number} is invalid: 0 to 31.")));
    }
    if exists(header, number) && !replace {
        return Err(Failure::new(Exit::Parameters, format!("Token {number} in use.")));
    }
    let new = NewToken::new().number(number);
    Ok(if replace { new.replace() } else { new })
}

fn exists(header: &Header, token: u32) -> bool {
    header.tokens().iter().any(|stored| stored.number == token)
}

fn active(header: &Header, keyslot: u32) -> Result<u32> {
    keyslot::check_active(header, keyslot).map(|()| keyslot)
}

/// The token's JSON from `--json-file` or standard input; who is to type it is told so.
fn read_json(from: Option<&Path>, manner: Manner) -> Result<Vec<u8>> {
    if from.is_none() && !manner.batch_mode && io::stdin().is_terminal() {
        say!("Provide valid LUKS2 token JSON:");
    }
    let failed = |e| {
        let file = from.map(|path| format!(" {}", path.display())).unwrap_or_default();
        of_file(&e, format!("Failed to read JSON file{file}: {e}."))
    };
    let mut json = Vec::new();
    match from {
        Some(path) => std::fs::File::open(path).and_then(|f| f.take(LONGEST_JSON).read_to_end(&mut json)),
        None => io::stdin().lock().take(LONGEST_JSON).read_to_end(&mut json),
    }
    .map_err(failed)?;
    Ok(json)
}

fn of_file(error: &io::Error, message: String) -> Failure {
    Failure::new(Exit::of_file(error, Exit::Parameters), message).in_cryptsetup(Exit::Parameters)
}
