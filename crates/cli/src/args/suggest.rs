//! "Did you mean": the known names that a mistyped or shortened one may stand for.

/// The question that names what was probably meant, each name as `quote` writes it. `None` if
/// nothing is near.
pub(crate) fn did_you_mean<'a>(
    typed: &str,
    candidates: impl Iterator<Item = &'a str> + Clone,
    quote: impl Fn(&str) -> String,
) -> Option<String> {
    let names = match begun(typed, candidates.clone()) {
        names if names.is_empty() => nearest(typed, candidates).into_iter().collect(),
        names => names,
    };
    let names: Vec<String> = names.into_iter().map(quote).collect();
    (!names.is_empty()).then(|| format!("did you mean {}?", names.join(" or ")))
}

/// A name between quotation marks.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{name}\"")
}

/// The candidates that begin with `typed`, if they are few.
fn begun<'a>(typed: &str, candidates: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let typed = typed.to_lowercase();
    let mut names: Vec<&str> = candidates.filter(|name| name.to_lowercase().starts_with(&typed)).collect();
    names.sort_unstable();
    names.dedup();
    if typed.is_empty() || names.len() > MOST_BEGUN { Vec::new() } else { names }
}

/// The candidate with the fewest edits to `typed`, if they are few for its length.
fn nearest<'a>(typed: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let limit = 1 + typed.chars().count() / 4;
    candidates
        .map(|c| (edits(&typed.to_lowercase(), &c.to_lowercase()), c))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, c)| c)
}

/// Edit distance: insertions, deletions, substitutions and swaps of
/// neighbours (optimal string alignment).
fn edits(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            rows[i][j] = if i == 0 || j == 0 {
                i + j
            } else {
                let mut best = (rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
                best = best.min(rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]));
                if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                    best = best.min(rows[i - 2][j - 2] + 1);
                }
                best
            };
        }
    }
    rows[a.len()][b.len()]
}

/// More names than these are a list, not a question.
const MOST_BEGUN: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_found_and_far_ones_are_not() {
        let names = ["luksFormat", "luksDump", "luksAddKey", "read"];
        assert_eq!(nearest("luksfromat", names.into_iter()), Some("luksFormat"));
        assert_eq!(nearest("luksDupm", names.into_iter()), Some("luksDump"));
        assert_eq!(nearest("raed", names.into_iter()), Some("read"));
        assert_eq!(nearest("zzz", names.into_iter()), None);
    }

    #[test]
    fn a_beginning_stands_for_the_names_that_begin_so() {
        let names = ["bench", "benchmark", "boot", "benchmark", "luksA", "luksB", "luksC", "luksD"];
        let asked = |typed| did_you_mean(typed, names.into_iter(), quoted);
        assert_eq!(asked("bo").as_deref(), Some("did you mean \"boot\"?"));
        assert_eq!(asked("Ben").as_deref(), Some("did you mean \"bench\" or \"benchmark\"?"));
        assert_eq!(asked("luks").as_deref(), Some("did you mean \"luksA\"?"), "four begin so, one is near");
        assert_eq!(asked("benhc").as_deref(), Some("did you mean \"bench\"?"));
        assert_eq!(asked(""), None);
        assert_eq!(asked("nothing"), None);
    }
}
