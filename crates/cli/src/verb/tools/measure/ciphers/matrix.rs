//! The overview: ciphers by mode, IVs by mode, and the number of combinations.

use super::rows::{dm_crypt, sizes};
use super::survey::{Entry, Survey};
use std::fmt::Write;

/// The columns: the mode, its heading, and its width.
const MODES: [(&str, &str, usize); 12] = [
    ("xts", "xts", 4),
    ("cbc", "cbc", 4),
    ("ctr", "ctr", 4),
    ("ecb", "ecb", 4),
    ("pcbc", "pcbc", 5),
    ("cfb", "cfb", 4),
    ("ofb", "ofb", 4),
    ("xctr", "xctr", 5),
    ("lrw", "lrw", 4),
    ("adiantum-xchacha12", "adi12", 6),
    ("adiantum-xchacha20", "adi20", 6),
    ("hctr2", "hctr2", 6),
];

/// Both tables.
pub(super) fn show(survey: &Survey) -> String {
    let mut text = format!("{}.\n\n", capitalised(&dm_crypt(survey)));
    ciphers(&mut text, survey);
    text.push('\n');
    ivs(&mut text, survey);
    let existing = survey.entries.iter().filter(|entry| entry.existing().is_some()).count();
    let with_code = survey.entries.iter().filter(|entry| entry.code.is_some()).count();
    let _ = writeln!(text, "\nHashes for essiv: {}", wrapped(&survey.hashes, 100));
    let _ = write!(
        text,
        "\nyes: exists and runs here; ~: exists, without code in this build; -: cannot exist. adi12 and adi20 are\n\
         adiantum with xchacha12 and xchacha20. Of {} combinations {existing} exist, {with_code} with code; essiv is counted\n\
         with sha256 alone. \"keyway ciphers blowfish-xts\" lists some and says why the rest cannot be.\n",
        survey.entries.len()
    );
    text
}

fn ciphers(text: &mut String, survey: &Survey) {
    let _ = write!(text, "{:<12}{:>5}  {:<17}", "cipher", "block", "key bits");
    headings(text);
    text.push_str("  code           kernel\n");
    let mut rest = &survey.entries[..];
    while let [first, ..] = rest {
        let cipher = first.combination.cipher;
        let (of_cipher, others) = rest
            .split_at(rest.iter().position(|entry| entry.combination.cipher != cipher).unwrap_or(rest.len()));
        rest = others;
        cipher_row(text, survey, cipher, of_cipher);
    }
}

fn cipher_row(text: &mut String, survey: &Survey, cipher: &str, entries: &[Entry]) {
    let ecb = entries.iter().find(|entry| entry.combination.mode == "ecb").and_then(Entry::existing);
    let (block, keys) = ecb.map_or((0, String::new()), |it| (8 * it.spec.block_len(), sizes(&it.key_bits)));
    let _ = write!(text, "{cipher:<12}{block:>5}  {:<17}", keys.replace(", ", ","));
    for (mode, _, width) in MODES {
        let cell = cell(entries.iter().filter(|entry| entry.combination.mode == mode));
        let _ = write!(text, "{cell:<width$}");
    }
    let code = entries.iter().find_map(|entry| entry.code).unwrap_or("-");
    let _ = writeln!(text, "  {code:<14} {}", survey.kernel.presence(cipher).name());
}

fn ivs(text: &mut String, survey: &Survey) {
    let _ = write!(text, "{:<36}", "IV");
    headings(text);
    text.push_str("  sectors\n");
    let mut names: Vec<&str> = Vec::new();
    for entry in survey.entries.iter().filter(|entry| !entry.combination.iv.is_empty()) {
        if !names.contains(&&*entry.combination.iv) {
            names.push(&entry.combination.iv);
        }
    }
    for name in names {
        let with_iv = || survey.entries.iter().filter(|entry| entry.combination.iv == name);
        let _ = write!(text, "{:<36}", if name == "essiv:sha256" { "essiv:HASH" } else { name });
        for (mode, _, width) in MODES {
            let cell = cell(with_iv().filter(|entry| entry.combination.mode == mode));
            let _ = write!(text, "{cell:<width$}");
        }
        let small = with_iv().filter_map(Entry::existing).any(|existing| existing.sector_sizes.len() == 1);
        let any = with_iv().any(|entry| entry.existing().is_some());
        let sectors = if !any {
            ""
        } else if small {
            "512"
        } else {
            "512-4096"
        };
        let _ = writeln!(text, "  {sectors}");
    }
}

fn headings(text: &mut String) {
    for (_, heading, width) in MODES {
        let _ = write!(text, "{heading:<width$}");
    }
}

/// The cell for a group of entries: the best that holds for any of them.
fn cell<'a>(entries: impl Iterator<Item = &'a Entry>) -> &'static str {
    entries.fold("-", |cell, entry| match (entry.existing(), entry.code) {
        (Some(_), Some(_)) => "yes",
        (Some(_), None) if cell == "-" => "~",
        _ => cell,
    })
}

/// Names separated by spaces, on lines of about `width`.
fn wrapped(names: &[String], width: usize) -> String {
    let mut text = String::new();
    let mut used = "Hashes for essiv:".len();
    for name in names {
        if used + name.len() > width {
            text.push_str("\n ");
            used = 1;
        }
        let space = if text.is_empty() { "" } else { " " };
        text.push_str(space);
        text.push_str(name);
        used += name.len() + 1;
    }
    text
}

fn capitalised(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
}
