//! `token`: adds, removes, imports, exports and unassigns LUKS2 tokens.

use crate::device::{Target, Versions};
use crate::door::{self, Args, Command, Example, Group, Kind, Offers, Operand, Opt, Request, Topic, shared};
use crate::say::failure::{Exit, Failure, Result};
use crate::say::output;
use crate::verb::key::keyslot;
use keyway_format::json;
use keyway_volume::edit::{token_add_keyring, token_export, token_import, token_remove, token_unassign};
use keyway_volume::storage::Place;
use keyway_volume::{Access, Header, Luks, OsRandom};
use std::io::{Read, Write};
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
            offers: Offers::Words(&["add", "remove", "import", "export", "unassign"]),
        },
        Operand { name: "DEVICE", required: true, help: "The volume.", offers: Offers::Files },
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
        &shared::EXTERNAL_TOKENS_PATH,
    ]],
    examples: &[
        Example {
            line: "keyway token add --key-description backup --key-slot 1 disk.img",
            does: "Keyslot 1's passphrase is the keyring's key \"backup\".",
        },
        Example { line: "keyway token export --token-id 0 disk.img", does: "Prints token 0 as JSON." },
    ],
    run: door::run::<TokenRequest>,
};

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
    Export { token: u32, json: Option<PathBuf> },
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
        let luks = &mut self.target.load(access, Versions::Two)?;
        let line = match self.action {
            Action::Add { token, replace, description, keyslots } => {
                add(luks, token, replace, &description, &keyslots)?
            }
            Action::Import { token, replace, json, keyslot } => {
                import(luks, token, replace, json.as_deref(), keyslot)?
            }
            Action::Remove { token } => remove(luks, token)?,
            Action::Export { token, json } => return export(luks, token, json.as_deref()),
            Action::Unassign { token, keyslot } => return unassign(luks, token, keyslot),
        };
        output::verbose(self.target.manner, &line)
    }
}

impl Action {
    fn from_args(args: &Args) -> Result<Self> {
        let refuse = |message: &str| Err(Failure::new(Exit::Parameters, message));
        let action = args.operand(0).and_then(Path::to_str).unwrap_or_default();
        let (token, keyslot) = (args.number32(&shared::TOKEN_ID), args.number32(&shared::KEY_SLOT));
        let (replace, unbound) = (args.given(&TOKEN_REPLACE), args.given(&shared::UNBOUND));
        let json = args.path(&shared::JSON_FILE).filter(|path| *path != Path::new("-")).map(Path::to_owned);
        match (action, token) {
            ("add", _) if !args.given(&KEY_DESCRIPTION) => {
                refuse("--key-description parameter is mandatory for token add action.")
            }
            ("import" | "remove" | "export" | "unassign", _) if unbound => {
                refuse("Option --unbound is valid only with token add action.")
            }
            ("add", _) if unbound && keyslot.is_some() => refuse(
                "Options --unbound and --key-slot cannot be combined: an unbound token has no keyslot.",
            ),
            ("add", token) => {
                let description = args.text(&KEY_DESCRIPTION).unwrap_or_default().to_owned();
                let others = if unbound { Keyslots::None } else { Keyslots::All };
                let keyslots = keyslot.map_or(others, Keyslots::One);
                Ok(Self::Add { token, replace, description, keyslots })
            }
            ("import", token) => Ok(Self::Import { token, replace, json, keyslot }),
            ("remove" | "export" | "unassign", None) => {
                refuse("Action requires specific token. Use --token-id parameter.")
            }
            ("remove", Some(token)) => Ok(Self::Remove { token }),
            ("export", Some(token)) => Ok(Self::Export { token, json }),
            ("unassign", Some(token)) => match keyslot {
                Some(keyslot) => Ok(Self::Unassign { token, keyslot }),
                None => refuse("Action requires specific keyslot. Use --key-slot parameter."),
            },
            (other, _) => {
                refuse(&format!("Invalid token action {other}: add, remove, import, export or unassign."))
            }
        }
    }
}

fn add(
    luks: &mut Luks,
    token: Option<u32>,
    replace: bool,
    description: &str,
    keyslots: &Keyslots,
) -> Result<String> {
    let replace = check_number(luks, token, replace)?;
    let keyslots = match keyslots {
        Keyslots::One(keyslot) => vec![active(luks, *keyslot)?],
        Keyslots::None => Vec::new(),
        Keyslots::All => luks.active_keyslots(),
    };
    let number = token_add_keyring(luks, token, description, &keyslots, replace, &mut OsRandom)?;
    Ok(format!("Token {number} created."))
}

fn import(
    luks: &mut Luks,
    token: Option<u32>,
    replace: bool,
    json: Option<&Path>,
    keyslot: Option<u32>,
) -> Result<String> {
    let replace = check_number(luks, token, replace)?;
    let keyslot = keyslot.map(|keyslot| active(luks, keyslot)).transpose()?;
    let json = read_json(json)?;
    let number = token_import(luks, token, &json, keyslot, replace, &mut OsRandom)?;
    Ok(format!("Token {number} created."))
}

fn remove(luks: &mut Luks, token: u32) -> Result<String> {
    if !exists(luks, token) {
        return Err(Failure::new(Exit::Parameters, format!("Token {token} is not in use.")));
    }
    token_remove(luks, token, &mut OsRandom)?;
    Ok(format!("Token {token} removed."))
}

fn export(luks: &Luks, token: u32, to: Option<&Path>) -> Result<()> {
    if !exists(luks, token) {
        return Err(Failure::new(Exit::Parameters, format!("Failed to get token {token} for export.")));
    }
    let json = token_export(luks, token)?;
    let Some(path) = to else {
        return output::print(&json::shown(&String::from_utf8_lossy(&json)));
    };
    let failed =
        |e| Failure::new(Exit::Parameters, format!("Cannot write JSON file {}: {e}.", path.display()));
    let mut file = Place::find(path, true).and_then(|place| place.make_or_empty(0o600)).map_err(failed)?;
    file.write_all(&json).map_err(failed)
}

fn unassign(luks: &mut Luks, token: u32, keyslot: u32) -> Result<()> {
    if !exists(luks, token) {
        return Err(Failure::new(Exit::Parameters, format!("Token {token} is not in use.")));
    }
    let keyslot = active(luks, keyslot)?;
    Ok(token_unassign(luks, token, keyslot, &mut OsRandom)?)
}

/// Whether an existing token is to be replaced; refuses a number that is taken.
fn check_number(luks: &Luks, token: Option<u32>, replace: bool) -> Result<bool> {
    let Some(number) = token else { return Ok(false) };
    if number > 31 {
        return Err(Failure::new(Exit::Parameters, format!("Token {number} is invalid: 0 to 31.")));
    }
    if exists(luks, number) && !replace {
        return Err(Failure::new(Exit::Parameters, format!("Token {number} in use.")));
    }
    Ok(replace)
}

fn exists(luks: &Luks, token: u32) -> bool {
    matches!(luks.header(), Header::Luks2 { metadata, .. } if metadata.tokens.contains_key(&token))
}

fn active(luks: &Luks, keyslot: u32) -> Result<u32> {
    keyslot::check_active(luks, keyslot).map(|()| keyslot)
}

/// The token's JSON from `--json-file` or standard input.
fn read_json(from: Option<&Path>) -> Result<Vec<u8>> {
    let failed =
        |e: std::io::Error| Failure::new(Exit::Parameters, format!("Failed to read JSON file: {e}."));
    let mut json = Vec::new();
    match from {
        Some(path) => std::fs::File::open(path).and_then(|f| f.take(LONGEST_JSON).read_to_end(&mut json)),
        None => std::io::stdin().lock().take(LONGEST_JSON).read_to_end(&mut json),
    }
    .map_err(failed)?;
    Ok(json)
}
