//! Combinations, one per line, with the impossible ones grouped by the rule that forbids them; or
//! one combination in full.

use super::kernel::Presence;
use super::survey::{Entry, Survey};
use std::fmt::Write;

/// A line for each combination that exists, then the rules that forbid the others.
pub(super) fn many(survey: &Survey) -> String {
    let mut text = String::new();
    let existing: Vec<&Entry> = survey.entries.iter().filter(|entry| entry.existing().is_some()).collect();
    let width = existing.iter().map(|entry| entry.combination.text.len()).max().unwrap_or(0).max(4);
    if !existing.is_empty() {
        let _ =
            writeln!(text, "{:width$}  {:<22} {:<10} {:<22} kernel", "spec", "key bits", "sectors", "code");
    }
    for entry in &existing {
        let _ = writeln!(text, "{:width$}  {}", entry.combination.text, facts(entry));
    }
    forbidden(&mut text, survey);
    text
}

fn facts(entry: &Entry) -> String {
    let Some(existing) = entry.existing() else { return String::new() };
    let keys = sizes(&existing.key_bits);
    let sectors: Vec<usize> = existing.sector_sizes.iter().map(|size| size.bytes()).collect();
    let code = entry.code.unwrap_or("no code");
    format!("{keys:<22} {:<10} {code:<22} {}", span(&sectors), entry.kernel.name())
}

/// Each rule once, with the combinations that violate it.
fn forbidden(text: &mut String, survey: &Survey) {
    let mut rules: Vec<(String, Vec<&str>)> = Vec::new();
    for entry in &survey.entries {
        let Some(reason) = entry.reason() else { continue };
        match rules.iter_mut().find(|(rule, _)| *rule == reason) {
            Some((_, broken_by)) => broken_by.push(&entry.combination.text),
            None => rules.push((reason, vec![&entry.combination.text])),
        }
    }
    if !rules.is_empty() {
        text.push_str(if text.is_empty() { "Cannot exist:\n" } else { "\nCannot exist:\n" });
    }
    for (rule, broken_by) in rules {
        let shown = broken_by.iter().take(3).copied().collect::<Vec<_>>().join(", ");
        let more = match broken_by.len().saturating_sub(3) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let _ = writeln!(text, "  {shown}{more}:\n      {rule}");
    }
}

/// A combination in full, if it is the only one that the filter leaves.
pub(super) fn one(survey: &Survey, asked: &str) -> String {
    let [entry] = &survey.entries[..] else { return many(survey) };
    let Some(existing) = entry.existing() else {
        let reason = entry.reason().unwrap_or_default();
        return format!("{}\n  cannot exist: {reason}\n", entry.combination.text);
    };
    let mut text = format!("{asked}\n");
    let mut row = |name: &str, value: &str| {
        let _ = writeln!(text, "  {name:<11} {value}");
    };
    let canonical = existing.spec.to_string();
    if canonical != asked {
        row("canonical", &canonical);
    }
    row("block", &format!("{} bits", 8 * existing.spec.block_len()));
    row("IV", &format!("{} bytes", existing.spec.iv_len()));
    row("key", &format!("{} bits", sizes(&existing.key_bits)));
    let sectors: Vec<String> = existing.sector_sizes.iter().map(|size| size.bytes().to_string()).collect();
    row("sectors", &format!("{} bytes", sectors.join(", ")));
    row("code", entry.code.unwrap_or("none"));
    let kernel = match (entry.kernel, &entry.driver) {
        (presence, Some(driver)) => format!("{} ({driver})", presence.name()),
        (presence, None) => presence.name().to_owned(),
    };
    row("kernel", &format!("{kernel}; {}", dm_crypt(survey)));
    text
}

/// Whether the kernel could map a volume at all.
pub(super) fn dm_crypt(survey: &Survey) -> String {
    let kernel = &survey.kernel;
    match kernel.dm_crypt {
        Presence::Absent => {
            format!("Linux {} has no dm-crypt, neither loaded nor as a module", kernel.release)
        }
        Presence::Unknown => format!(
            "no dm-crypt is loaded in Linux {0}, and /lib/modules/{0} is not there to look for it",
            kernel.release
        ),
        there => format!("dm-crypt of Linux {} is {}", kernel.release, there.name()),
    }
}

/// "128, 192, 256", or "32 to 448 by 8".
pub(super) fn sizes(all: &[usize]) -> String {
    match all {
        [first, second, .., last] if all.len() > 3 => {
            let step = second - first;
            match all.windows(2).all(|pair| pair[1] - pair[0] == step) {
                true => format!("{first} to {last} by {step}"),
                false => format!("{first} to {last}, {} sizes", all.len()),
            }
        }
        few => few.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
    }
}

/// "512-4096" or "512".
fn span(all: &[usize]) -> String {
    match all {
        [first, .., last] => format!("{first}-{last}"),
        [only] => only.to_string(),
        [] => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_short() {
        assert_eq!(sizes(&[64]), "64");
        assert_eq!(sizes(&[128, 192, 256]), "128, 192, 256");
        assert_eq!(sizes(&[32, 40, 48, 56]), "32 to 56 by 8");
        assert_eq!(sizes(&[1, 2, 4, 8]), "1 to 8, 4 sizes");
        assert_eq!((span(&[512]), span(&[512, 1024, 4096])), ("512".into(), "512-4096".into()));
    }
}
