//! "Did you mean": the known name that is closest to a mistyped one.

/// The candidate with the fewest edits to `typed`, if they are few for its length.
pub(crate) fn nearest<'a>(typed: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
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
}
