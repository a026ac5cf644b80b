//! The list of combinations, printed whether the test passes or not.

use super::cases::{Case, Expected};
use super::verdict::Verdict;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Write as _};

/// Prints a line for each cipher and mode, and the counts. Returns the disagreements.
pub(super) fn print(cases: &[Case], verdicts: &[Verdict]) -> Vec<String> {
    let mut text = String::new();
    list(&mut text, cases, verdicts).expect("writing to a String");
    // Bypasses the test harness, which shows standard error of failing tests only.
    io::stderr().write_all(text.as_bytes()).expect("standard error takes the report");
    verdicts
        .iter()
        .filter_map(|verdict| match verdict {
            Verdict::Differ(how) => Some(how.clone()),
            _ => None,
        })
        .collect()
}

fn list(text: &mut String, cases: &[Case], verdicts: &[Verdict]) -> std::fmt::Result {
    let mut rows: BTreeMap<&str, Vec<(&Case, &Verdict)>> = BTreeMap::new();
    for (case, verdict) in cases.iter().zip(verdicts) {
        rows.entry(&case.row).or_default().push((case, verdict));
    }
    writeln!(
        text,
        "\nThe kernel's bytes are Keyway's, cipher by cipher (key bits; sector sizes; IVs; volumes of 256 KiB):"
    )?;
    for (row, cases) in &rows {
        let same: Vec<&Case> = with(cases, |verdict| *verdict == Verdict::Same).collect();
        if !same.is_empty() {
            let keys = distinct(same.iter().map(|case| 8 * case.question.key.len()));
            let sectors = distinct(same.iter().filter_map(|case| match &case.expected {
                Expected::Ciphertext { sector_size, .. } => Some(sector_size.bytes()),
                _ => None,
            }));
            let mut entries: Vec<&str> = same.iter().map(|case| &case.entry[..]).collect();
            entries.dedup();
            writeln!(text, "{row}: {keys}; {sectors}; {}; {}", entries.join(" "), same.len())?;
        }
    }
    let mut others: BTreeMap<String, (usize, Vec<&str>)> = BTreeMap::new();
    for (case, verdict) in cases.iter().zip(verdicts) {
        let reason = match verdict {
            Verdict::Missing(name) => format!("this kernel has no {name}"),
            Verdict::Explained(why) => (*why).to_string(),
            _ => continue,
        };
        let (count, names) = others.entry(reason).or_default();
        *count += 1;
        names.push(&case.question.cipher);
    }
    for (reason, (count, mut names)) in others {
        names.dedup();
        let shown = names.iter().take(12).copied().collect::<Vec<_>>().join(" ");
        let more = if names.len() > 12 { format!(" and {} more", names.len() - 12) } else { String::new() };
        writeln!(text, "left aside, {count}: {reason}: {shown}{more}")?;
    }
    let count = |wanted: fn(&Verdict) -> bool| verdicts.iter().filter(|verdict| wanted(verdict)).count();
    let mut combinations: Vec<&str> = cases
        .iter()
        .zip(verdicts)
        .filter(|(_, verdict)| **verdict == Verdict::Same)
        .map(|(case, _)| &case.question.cipher[..])
        .collect();
    combinations.sort_unstable();
    combinations.dedup();
    writeln!(
        text,
        "{} combinations of cipher, mode and IV in {} volumes: the kernel and Keyway wrote the same bytes; \
         {} key sizes taken and {} combinations or key sizes refused by both; {} disagreements",
        combinations.len(),
        count(|verdict| *verdict == Verdict::Same),
        count(|verdict| *verdict == Verdict::BothTake),
        count(|verdict| *verdict == Verdict::BothRefuse),
        count(|verdict| matches!(verdict, Verdict::Differ(_)))
    )
}

fn with<'a>(
    cases: &'a [(&'a Case, &'a Verdict)],
    wanted: impl Fn(&Verdict) -> bool + 'a,
) -> impl Iterator<Item = &'a Case> {
    cases.iter().filter(move |(_, verdict)| wanted(verdict)).map(|(case, _)| *case)
}

/// "128 192 256"; a long list as "32…448".
fn distinct(numbers: impl Iterator<Item = usize>) -> String {
    let mut numbers: Vec<usize> = numbers.collect();
    numbers.sort_unstable();
    numbers.dedup();
    match &numbers[..] {
        [first, .., last] if numbers.len() > 8 => format!("{first}…{last} ({} sizes)", numbers.len()),
        all => all.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "),
    }
}
