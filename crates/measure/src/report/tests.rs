//! Reports of a run with a scripted clock: the same bytes on every machine, kept as files in
//! `tests/snapshots/`. `KEYWAY_BLESS=1` regenerates them.

use super::diff::{Diff, Verdict};
use super::*;
use crate::clock::{Clock, Scripted};
use crate::results::{By, DiskCase, Frequency, Latency, Machine, Pattern, SCHEMA, Settings, VERSION, right};
use crate::rounds::{self, tests::Watch};
use crate::suite::{self, Asked};
use std::time::Duration;

/// Real ciphers, whose passes appear to take the time given by the script.
fn run(steps_us: &[u64]) -> Results {
    let steps: Vec<Duration> = steps_us.iter().map(|us| Duration::from_micros(*us)).collect();
    // The script repeats a few thousand times.
    let steps: Vec<Duration> = steps.iter().cycle().take(20_011).copied().collect();
    let clock = Scripted::new(1_795_315_755, &steps);
    let asked = Asked {
        ciphers: ["aes-xts-plain64", "serpent-cbc-plain64", "blowfish-xts-plain64"].map(str::to_owned).into(),
        key_bits: vec![256],
        sector_sizes: vec![512, 4096],
        messages: vec![4096],
        threads: vec![1],
        cpus: 2,
        ..Asked::default()
    };
    let mut listed = suite::list(&asked).unwrap();
    let kdfs =
        Asked { kdfs: vec!["pbkdf2".into()], hashes: vec!["sha256".into()], cpus: 1, ..Asked::default() };
    listed.extend(suite::list(&kdfs).unwrap().into_iter().filter(|it| matches!(it.case, Case::Kdf(_))));
    let settings = Settings { suite: "slice".into(), ..rounds::settings(None, listed.len(), 2.5e-8) };
    let mut seen = Watch::default();
    rounds::run(&listed, &settings, &clock, &crate::prepare, &mut seen);
    let mut rows = seen.rows;
    rows.sort_by_key(|row| listed.iter().position(|it| it.case.id() == row.id));
    for row in &mut rows {
        if let Outcome::Measured(measured) = &mut row.outcome {
            // Which code runs depends on the CPU.
            measured.code = Some("code".into());
            measured.checked = "checked".into();
        }
    }
    Results {
        version: VERSION,
        schema: SCHEMA.into(),
        started: clock.date(),
        versions: [("keyway".to_owned(), "0.1.0".to_owned())].into(),
        machine: machine(),
        settings,
        rows,
        warnings: vec!["Other work ran on this machine.".into()],
        complete: true,
    }
}

fn machine() -> Machine {
    Machine {
        name: "snapshot".into(),
        cpu: "A CPU, \"fast\" | 2 GHz".into(),
        architecture: "x86_64".into(),
        cpus: 2,
        features: vec!["aes".into()],
        aes_code: "aes-ni".into(),
        governor: Some("performance".into()),
        frequency: Some(Frequency { lowest_mhz: 2000.0, highest_mhz: 2010.0 }),
        load: [0.0; 3],
        memory_mib: 1024,
        kernel: "Linux 6.1".into(),
        system: None,
        virtualisation: None,
    }
}

fn same_as_the_snapshot(name: &str, text: &str) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots").join(name);
    if std::env::var_os("KEYWAY_BLESS").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == text, "{} differs; now it is:\n{text}", path.display());
}

#[test]
fn reports_are_the_same_to_the_byte() {
    let steps = [2000, 2020, 1980, 2000, 2040, 1960, 2000, 3600, 2010];
    let results = run(&steps);
    assert_eq!(results, run(&steps), "a scripted run repeats itself");
    for (name, text) in [
        ("run.txt", terminal(&results)),
        ("run.md", markdown(&results)),
        ("run.csv", csv(std::slice::from_ref(&results))),
        ("run.jsonl", json_lines(std::slice::from_ref(&results))),
        ("run.json", results.to_json()),
        ("machines.txt", machines(&[results.clone(), run(&[4000])])),
    ] {
        same_as_the_snapshot(name, &text);
    }
}

#[test]
fn lines_of_the_terminal_fit() {
    for line in terminal(&run(&[5000])).lines().filter(|line| line.contains('█')) {
        assert!(line.chars().count() <= 90, "{line}");
    }
}

#[test]
fn every_row_has_all_columns_and_no_others() {
    let results = run(&[5000]);
    for line in json_lines(std::slice::from_ref(&results)).lines() {
        let serde_json::Value::Object(object) = serde_json::from_str(line).unwrap() else { panic!("{line}") };
        assert_eq!(object.len(), flat::columns().count());
        assert!(flat::columns().all(|column| object.contains_key(column)));
    }
    let csv = csv(std::slice::from_ref(&results));
    assert_eq!(csv.lines().count(), 1 + results.rows.len());
    assert!(csv.contains("\"A CPU, \"\"fast\"\" | 2 GHz\""), "{csv}");
}

/// Every column is documented, and storage rows fill the columns for storage.
#[test]
fn columns_are_documented_and_storage_has_its_own() {
    let method = include_str!("../../../../docs/METHOD.md");
    let words = method.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains(&format!("the same {} columns always", flat::columns().count())));
    let (_, table) = method.split_once("| columns | |").unwrap();
    let (table, _) = table.split_once("\n\n").unwrap();
    for column in flat::columns().filter(|column| *column != "schema") {
        assert!(table.contains(&format!("`{column}`")), "{column}");
    }
    let mut results = run(&[5000]);
    let Outcome::Measured(measured) = &mut results.rows[0].outcome else { panic!() };
    measured.latency = Some(
        [(50.0, 80.5), (99.0, 200.0), (99.9, 4000.0)]
            .map(|(percent, microseconds)| Latency { percent, microseconds })
            .into(),
    );
    measured.cpu_seconds_per_gb = Some(0.75);
    results.rows[0].case = Case::Disk(DiskCase {
        by: By::DmCrypt,
        medium: "loop".into(),
        spec: Some("aes-xts-plain64".into()),
        key_bits: Some(512),
        sector_size: Some(4096),
        pattern: Pattern::RandomRead,
        block: 4096,
        depth: 32,
        total: None,
        flags: ["no_read_workqueue", "no_write_workqueue"].map(str::to_owned).into(),
        engine: "fio".into(),
    });
    let lines = json_lines(std::slice::from_ref(&results));
    let row: serde_json::Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    let expected = serde_json::json!({
        "kind": "disk", "medium": "loop", "engine": "fio", "flags": "no_read_workqueue no_write_workqueue",
        "p50_us": 80.5, "p99_us": 200.0, "p999_us": 4000.0, "cpu_seconds_per_gb": 0.75,
    });
    for (column, value) in expected.as_object().unwrap() {
        assert_eq!(row[column], *value, "{column}");
    }
    let csv = csv(std::slice::from_ref(&results));
    assert!(csv.lines().nth(1).unwrap().ends_with(",80.5,200.0,4000.0,0.75"), "{csv}");
}

#[test]
fn places_are_shared_where_noise_could_decide() {
    let mut results = run(&[5000]);
    let mut factor = 1.0;
    for row in &mut results.rows {
        let Outcome::Measured(measured) = &mut row.outcome else { continue };
        // Two overlapping entries, then one that is clearly slower.
        measured.samples = (0..20).map(|i| 1e9 * factor + f64::from(i) * 1e7).collect();
        factor *= if factor > 0.9 { 0.95 } else { 0.5 };
    }
    let places: Vec<usize> = ranking::groups(&results)[0].entries.iter().map(|entry| entry.place).collect();
    assert_eq!(places[0], 1);
    assert!(places.windows(2).all(|pair| pair[0] <= pair[1]), "{places:?}");
}

#[test]
fn only_keyways_own_default_is_marked() {
    let mut results = run(&[5000]);
    let others: Vec<Row> = results.rows.iter().filter(|row| row.case.is_default()).cloned().collect();
    for mut row in others {
        let Case::Cipher(case) = &mut row.case else { continue };
        case.by = By::Peer("openssl".into());
        results.rows.push(Row::new(row.case, row.outcome));
    }
    let lines = |text: String, name: &str| -> Vec<String> {
        text.lines().filter(|line| line.contains(name)).map(str::to_owned).collect()
    };
    let (terminal, markdown) = (terminal(&results), markdown(&results));
    assert!(lines(terminal.clone(), "* aes-xts-plain64").iter().all(|line| !line.contains("(openssl)")));
    let others = lines(terminal.clone(), "(openssl)");
    assert!(!others.is_empty() && others.iter().all(|line| !line.contains('*')), "{terminal}");
    assert!(terminal.contains("* aes-xts-plain64"), "{terminal}");
    assert!(lines(markdown.clone(), "(openssl)").iter().all(|line| !line.contains("default")), "{markdown}");
    assert!(markdown.contains("| aes-xts-plain64 **(default)** |"), "{markdown}");
}

#[test]
fn a_diff_tells_change_from_noise_and_regressions_from_progress() {
    let before = run(&[2000, 2100, 1900, 2050, 1950]);
    let again = run(&[2100, 1900, 2050, 1950, 2000]);
    let same = Diff::between(&before, &again, 0.0);
    assert!(!same.is_regression() && same.count(Verdict::Better) == 0, "{}", same.text());
    assert_eq!(same.count(Verdict::Same), before.rows.len());

    let mut after = before.clone();
    let scale = |row: &mut Row, by: f64| {
        let Outcome::Measured(measured) = &mut row.outcome else { panic!() };
        measured.samples.iter_mut().for_each(|sample| *sample *= by);
    };
    scale(&mut after.rows[0], 0.8);
    scale(&mut after.rows[1], 1.5);
    after.rows[2].outcome = right(&[0], &[1], "sample 1").unwrap_err();
    after.rows.pop();
    after.machine.kernel = "Linux 6.2".into();
    let diff = Diff::between(&before, &after, 0.0);
    assert!(diff.is_regression());
    assert_eq!([Verdict::Worse, Verdict::Better, Verdict::NotCompared].map(|it| diff.count(it)), [2, 1, 1]);
    let text = diff.text();
    assert!(text.contains(" -20.0 %  aes-xts-plain64 512 encrypt"), "{text}");
    assert!(text.contains("+50.0 %"), "{text}");
    assert!(text.contains("the kernel differs: Linux 6.1, then Linux 6.2"), "{text}");
    assert!(
        !Diff::between(&before, &Results { rows: vec![after.rows[0].clone()], ..before.clone() }, 0.3)
            .is_regression()
    );
}

/// The interval of three samples that differ much reached below zero, where no rate is.
#[test]
fn the_interval_of_few_samples_ends_at_zero() {
    let whole = run(&[2000, 2100, 1900, 2050, 1950]);
    for count in 3..=5 {
        let mut row = whole.rows[0].clone();
        let Outcome::Measured(measured) = &mut row.outcome else { panic!() };
        measured.samples = [1e9, 3e9, 9e9, 2e9, 1e9][..count].to_vec();
        let (low, high) = crate::stats::summarise(&measured.samples).unwrap().apart.unwrap();
        assert!(low < 0.0, "{count} samples: {low}");
        let results = Results { rows: vec![row], ..whole.clone() };
        let diff = Diff::between(&results, &results, 0.0);
        let figure = diff.rows[0].before.unwrap();
        assert_eq!((figure.low, figure.high), (Some(0.0), Some(high)));
        let json: serde_json::Value = serde_json::from_str(&diff.json()).unwrap();
        assert_eq!(json["rows"][0]["after"]["low"], 0.0);
    }
}

/// A run that ended by its bound called the program slower, or the next one faster.
#[test]
fn what_there_was_no_time_for_is_not_compared() {
    let all = run(&[2000, 2100, 1900, 2050, 1950]);
    let mut cut = all.clone();
    let reasons = ["--time was over", "three samples would take about 6.0 s, more than --time leaves"];
    for (row, reason) in cut.rows.iter_mut().zip(reasons) {
        row.outcome = Outcome::no_time(reason, None);
    }
    for (before, after) in [(&all, &cut), (&cut, &all)] {
        let diff = Diff::between(before, after, 0.0);
        assert!(!diff.is_regression() && diff.count(Verdict::Better) == 0, "{}", diff.text());
        assert_eq!(diff.count(Verdict::NotCompared), reasons.len());
        assert_eq!(diff.rows[1].reason.as_deref(), Some(reasons[1]));
        assert!(diff.text().contains("  no time was left in one of the runs: aes-xts-plain64 512 "));
    }
    for other in ["AF_ALG is missing", "\"fio --time_based --runtime=50ms\" printed no figure: "] {
        cut.rows[0].outcome = Outcome::not_measured(other);
        assert!(Diff::between(&all, &cut, 0.0).is_regression(), "{other}");
    }
}

/// A row that became thirty times slower was not compared, for want of time.
#[test]
fn what_there_was_no_time_for_because_it_is_slower_is_worse() {
    let before = run(&[2000, 2100, 1900, 2050, 1950]);
    let took = before.rows[0].measured().unwrap().sample_seconds;
    let reason = "three samples would take about 9.0 s, more than --time leaves";
    let after = |least_seconds| {
        let mut after = before.clone();
        after.rows[0].outcome = Outcome::no_time(reason, least_seconds);
        after
    };
    for (least_seconds, verdict) in [
        (None, Verdict::NotCompared),
        (Some(took / 30.0), Verdict::NotCompared),
        // Within what another run of the same program may take.
        (Some(took * 1.001), Verdict::NotCompared),
        (Some(took * 30.0), Verdict::Worse),
    ] {
        let diff = Diff::between(&before, &after(least_seconds), 0.02);
        assert_eq!(diff.rows[0].verdict, verdict, "{least_seconds:?}");
        assert_eq!(diff.rows[0].reason.as_deref(), Some(reason));
    }
    let diff = Diff::between(&before, &after(Some(took * 30.0)), 0.02);
    assert!(diff.is_regression());
    let line = format!(": no longer has a figure, being slower: {reason}\n");
    assert!(diff.text().starts_with("Worse\n  aes-xts-plain64 512 ") && diff.text().contains(&line));
    // What took no time before that could be told, or had too few samples, is not judged.
    let mut few = before.clone();
    let Outcome::Measured(measured) = &mut few.rows[0].outcome else { panic!() };
    measured.samples.truncate(2);
    let diff = Diff::between(&few, &after(Some(took * 30.0)), 0.02);
    assert_eq!(diff.rows[0].verdict, Verdict::NotCompared);
}

/// The answer comes first, and says what to choose from the figures below it.
#[test]
fn the_answer_names_what_to_choose_and_why() {
    let results = run(&[5000]);
    let text = brief(&results).unwrap();
    let first = text.lines().next().unwrap();
    assert!(first.starts_with("Choose the default, aes-xts-plain64, 512-bit key: "), "{text}");
    assert!(first.ends_with("beyond noise.") || first.ends_with("is faster here."), "{text}");
    assert!(text.contains("\n  1* aes-xts-plain64 "), "{text}");
    assert!(!text.contains("<b>") && text.contains("--all shows all"), "{text}");
    let mut faster = results.clone();
    for row in &mut faster.rows {
        let is_default = matches!(&row.case, Case::Cipher(case) if case.is_default());
        if let (false, Outcome::Measured(measured)) = (is_default, &mut row.outcome) {
            measured.samples.iter_mut().for_each(|sample| *sample *= 4.0);
        }
    }
    let text = brief(&faster).unwrap();
    assert!(text.starts_with("Choose aes-xts-plain64, 256-bit key: 4.0 times as fast"), "{text}");
    let nothing = Results { rows: Vec::new(), ..results };
    assert_eq!(brief(&nothing), None);
}
