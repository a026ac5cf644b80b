//! `token`: LUKS2 tokens added, removed, imported, exported and unbound.

use crate::device;
use crate::device::Versions;
use crate::door::{Args, Command, Example, Group, Kind, Operand, Opt, Topic, shared};
use crate::say::failure::{Exit, Failure, Result};
use crate::say::output;
use crate::verb::key::keyslot;
use keyway_format::json;
use keyway_volume::edit::{token_add_keyring, token_export, token_import, token_remove, token_unassign};
use keyway_volume::storage::Place;
use keyway_volume::{Access, Header, Luks, OsRandom};
use std::io::{Read, Write};
use std::path::Path;

/// `keyway token`.
pub(crate) static COMMAND: Command = Command {
    name: "token",
    aliases: &[],
    group: Group::Cryptsetup(Topic::Passphrases),
    operands: &[
        Operand { name: "ACTION", required: true, help: "add, remove, import, export or unassign." },
        Operand { name: "DEVICE", required: true, help: "The volume." },
    ],
    about: "Add, remove, import, export, unassign LUKS2 tokens.",
    man: "A token is a note in the header that says where a keyslot's passphrase comes from. add writes one that names a key \
          in the kernel's keyring; import and export take any token as JSON, from and to --json-file or standard input and \
          output. unassign takes a token off a keyslot.",
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
    run,
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

fn run(args: &Args) -> Result<()> {
    let action = args.operand(0).and_then(Path::to_str).unwrap_or_default();
    check(args, action)?;
    let access = if action == "export" { Access::Read } else { Access::Write };
    let mut luks = device::load(args, 1, access, Versions::Two)?;
    let token = args.number32(&shared::TOKEN_ID);
    match action {
        "add" => add(args, &mut luks, token),
        "import" => import(args, &mut luks, token),
        "remove" => remove(args, &mut luks, token.unwrap_or_default()),
        "export" => export(args, &luks, token.unwrap_or_default()),
        _ => unassign(args, &mut luks, token.unwrap_or_default()),
    }
}

fn check(args: &Args, action: &str) -> Result<()> {
    let refuse = |message: &str| Err(Failure::new(Exit::Parameters, message));
    let named = args.given(&shared::TOKEN_ID);
    match action {
        "add" if !args.given(&KEY_DESCRIPTION) => {
            refuse("--key-description parameter is mandatory for token add action.")
        }
        "import" | "remove" | "export" | "unassign" if args.given(&shared::UNBOUND) => {
            refuse("Option --unbound is valid only with token add action.")
        }
        "add" if args.given(&shared::UNBOUND) && args.given(&shared::KEY_SLOT) => {
            refuse("Options --unbound and --key-slot cannot be combined: an unbound token has no keyslot.")
        }
        "add" | "import" => Ok(()),
        "remove" | "export" | "unassign" if !named => {
            refuse("Action requires specific token. Use --token-id parameter.")
        }
        "unassign" if !args.given(&shared::KEY_SLOT) => {
            refuse("Action requires specific keyslot. Use --key-slot parameter.")
        }
        "remove" | "export" | "unassign" => Ok(()),
        other => refuse(&format!("Invalid token action {other}: add, remove, import, export or unassign.")),
    }
}

fn add(args: &Args, luks: &mut Luks, token: Option<u32>) -> Result<()> {
    let replace = check_number(args, luks, token)?;
    let description = args.text(&KEY_DESCRIPTION).unwrap_or_default();
    let keyslots = match args.number32(&shared::KEY_SLOT) {
        Some(keyslot) => vec![active(luks, keyslot)?],
        None if args.given(&shared::UNBOUND) => Vec::new(),
        None => luks.active_keyslots(),
    };
    let number = token_add_keyring(luks, token, description, &keyslots, replace, &mut OsRandom)?;
    output::verbose(args.manner(), &format!("Token {number} created."))
}

fn import(args: &Args, luks: &mut Luks, token: Option<u32>) -> Result<()> {
    let replace = check_number(args, luks, token)?;
    let keyslot = args.number32(&shared::KEY_SLOT).map(|k| active(luks, k)).transpose()?;
    let json = read_json(args)?;
    let number = token_import(luks, token, &json, keyslot, replace, &mut OsRandom)?;
    output::verbose(args.manner(), &format!("Token {number} created."))
}

fn remove(args: &Args, luks: &mut Luks, token: u32) -> Result<()> {
    if !exists(luks, token) {
        return Err(Failure::new(Exit::Parameters, format!("Token {token} is not in use.")));
    }
    token_remove(luks, token, &mut OsRandom)?;
    output::verbose(args.manner(), &format!("Token {token} removed."))
}

fn export(args: &Args, luks: &Luks, token: u32) -> Result<()> {
    if !exists(luks, token) {
        return Err(Failure::new(Exit::Parameters, format!("Failed to get token {token} for export.")));
    }
    let json = token_export(luks, token)?;
    let Some(path) = args.path(&shared::JSON_FILE).filter(|p| *p != Path::new("-")) else {
        return output::print(&json::shown(&String::from_utf8_lossy(&json)));
    };
    let failed =
        |e| Failure::new(Exit::Parameters, format!("Cannot write JSON file {}: {e}.", path.display()));
    let mut file = Place::find(path, true).and_then(|place| place.make_or_empty(0o600)).map_err(failed)?;
    file.write_all(&json).map_err(failed)
}

fn unassign(args: &Args, luks: &mut Luks, token: u32) -> Result<()> {
    if !exists(luks, token) {
        return Err(Failure::new(Exit::Parameters, format!("Token {token} is not in use.")));
    }
    let keyslot = active(luks, args.number32(&shared::KEY_SLOT).unwrap_or_default())?;
    Ok(token_unassign(luks, token, keyslot, &mut OsRandom)?)
}

/// Whether the token is to be replaced; refuses a number that is taken.
fn check_number(args: &Args, luks: &Luks, token: Option<u32>) -> Result<bool> {
    let Some(number) = token else { return Ok(false) };
    if number > 31 {
        return Err(Failure::new(Exit::Parameters, format!("Token {number} is invalid: 0 to 31.")));
    }
    let replace = args.given(&TOKEN_REPLACE);
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
fn read_json(args: &Args) -> Result<Vec<u8>> {
    let failed =
        |e: std::io::Error| Failure::new(Exit::Parameters, format!("Failed to read JSON file: {e}."));
    let mut json = Vec::new();
    match args.path(&shared::JSON_FILE).filter(|p| *p != Path::new("-")) {
        Some(path) => std::fs::File::open(path).and_then(|f| f.take(LONGEST_JSON).read_to_end(&mut json)),
        None => std::io::stdin().lock().take(LONGEST_JSON).read_to_end(&mut json),
    }
    .map_err(failed)?;
    Ok(json)
}
