//! `bench disk` on real storage: rows and reasons, what it refuses, and that it leaves nothing
//! behind, however it ends.

use super::runs::{follows_the_schema, lines_follow_the_schema};
use keyway_measure::Results;
use keyway_measure::disk::{cost, model};
use keyway_measure::results::{By, Case, DiskCase, Measured, Outcome, Row};
use keyway_tests::peers::program;
use keyway_tests::timeouts;
use keyway_tests::{Run, Scratch, keyway, need, need_that, peer, until};
use rustix::process::geteuid;
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

pub(super) fn results(file: &Path) -> Results {
    Results::parse(&fs::read_to_string(file).unwrap()).unwrap()
}

fn disk(row: &Row) -> Option<(&DiskCase, &Row)> {
    match &row.case {
        Case::Disk(case) => Some((case, row)),
        _ => None,
    }
}

fn measured(results: &Results) -> Vec<(&DiskCase, &Measured)> {
    let rows = results.rows.iter().filter_map(disk);
    rows.filter_map(|(case, row)| Some((case, row.measured()?))).collect()
}

#[test]
fn a_directory_is_measured_plain_and_encrypted_and_left_as_it_was() {
    let scratch = Scratch::new();
    let place = scratch.path("place");
    fs::create_dir(&place).unwrap();
    let (saved, tables, csv) = (scratch.path("r.json"), scratch.path("r.md"), scratch.path("r.csv"));
    let run = keyway("bench disk --time 12 --save").arg(&saved).args("--markdown").arg(&tables);
    let shown = run.args("--csv").arg(&csv).arg(&place).limit(LONG).ok();
    assert_eq!(fs::read_dir(&place).unwrap().count(), 0);

    let results = results(&saved);
    assert_eq!((results.complete, &results.settings.suite[..]), (true, "disk"));
    for by in [By::Plain, By::Keyway] {
        let of_path = results.rows.iter().filter(|row| disk(row).is_some_and(|(case, _)| case.by == by));
        let of_path: Vec<_> = of_path.filter_map(|row| Some((row, row.measured()?))).collect();
        assert!(of_path.len() >= 4, "{by}: {} rows", of_path.len());
        for (row, figures) in of_path {
            let case = &row.case;
            assert!(
                !figures.samples.is_empty() && figures.samples.iter().all(|sample| *sample > 0.0),
                "{case:?}"
            );
            assert!(figures.latency.is_some() && figures.cpu_seconds_per_gb.is_some(), "{case:?}");
            assert!(figures.checked.contains("8 places"), "{case:?}");
            let model = figures.notes.iter().any(|note| note.starts_with("c·d/(c+d) = "));
            // Of plain and of the cipher in memory, which a busy machine may have had no time for.
            let both = model::beside(&results.rows, 1, row).is_some();
            assert_eq!(model, both, "{case:?} {figures:?}");
            assert!(!model || by == By::Keyway, "{case:?} {figures:?}");
        }
    }
    // Every case has its row: figures, or the reason why there are none.
    let all: Vec<_> = results.rows.iter().filter_map(disk).collect();
    assert!(all.len() >= 24 * 7 && all.len().is_multiple_of(24), "{}", all.len());
    for (_, row) in all {
        match &row.outcome {
            Outcome::Measured(_) => {}
            Outcome::NotMeasured { reason, .. } => assert!(reason.len() > 10, "{row:?}"),
            other => panic!("{}: {other:?}", row.id),
        }
    }
    let text = shown.text();
    assert!(text.contains("file, requests by keyway: sequential write, MiB/s"), "{text}");
    // The model's line stands below a line of costs, where the cipher was measured too.
    let models = results.rows.iter().filter(|row| row.id.contains("/sequential-")).any(|row| {
        cost::of_row(&results.rows, row).is_some() && model::beside(&results.rows, 1, row).is_some()
    });
    assert_eq!(text.lines().any(|line| line.starts_with("  c·d/(c+d)")), models, "{text}");
    assert!(text.contains("  costs"), "{text}");
    costs_are_said_with_their_intervals(&text);
    // Last in turn: a busy machine may have had no time for it.
    let is_random = |row: &&Row| row.id.contains("/random-") && row.id.contains("/block4096/");
    let measured = results.rows.iter().filter(is_random).any(|row| row.measured().is_some());
    let tables = fs::read_to_string(tables).unwrap();
    assert_eq!(tables.contains("## file, requests by keyway: 4 KiB at random"), measured, "{tables}");
    assert_eq!(fs::read_to_string(csv).unwrap().lines().count(), results.rows.len() + 1);
}

/// What it says last is a figure with its interval, or that noise or too few rounds left none.
#[track_caller]
fn costs_are_said_with_their_intervals(text: &str) {
    let said: Vec<&str> =
        text.lines().filter(|line| line.starts_with("keyway ") && line.contains(": ")).collect();
    assert!(said.len() >= 2, "{text}");
    for line in said {
        let known = line.contains("encryption costs") && line.contains('(') && line.contains(" %)");
        let none =
            line.contains("no difference beyond noise in") || line.contains("rounds that an interval needs");
        assert!(known || none, "{line}");
        assert!(!line.contains("is the limit"), "{line}");
    }
    assert!(!text.contains("±?"), "{text}");
}

#[test]
fn rows_over_storage_follow_the_schemas() {
    need!("jsonschema");
    let scratch = Scratch::new();
    let (file, saved, lines) =
        (scratch.sized("file", 12 << 20), scratch.path("r.json"), scratch.path("r.jsonl"));
    let run = keyway("bench disk -q --time 9 --save").arg(&saved).args("--json-lines").arg(&lines);
    run.arg(&file).limit(LONG).ok();
    follows_the_schema(&saved);
    lines_follow_the_schema(&scratch, &lines);
    let rows: Vec<serde_json::Value> =
        fs::read_to_string(lines).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let plain = rows.iter().find(|row| row["by"] == "plain" && row["result"] == "measured").unwrap();
    assert_eq!((&plain["medium"], &plain["engine"]), (&"file".into(), &"keyway".into()));
    for column in ["p50_us", "p99_us", "p999_us", "cpu_seconds_per_gb"] {
        assert!(plain[column].as_f64().is_some_and(|figure| figure > 0.0), "{column}: {plain}");
    }
}

#[test]
fn a_killed_run_goes_on_and_measures_no_row_twice() {
    let scratch = Scratch::new();
    let (file, saved) = (scratch.sized("file", 12 << 20), scratch.path("r.json"));
    let ids = || -> Vec<String> {
        let text = fs::read_to_string(&saved).unwrap_or_default();
        let lines = text.lines().filter(|line| line.starts_with("{\"id\":\"disk/"));
        lines.map(|line| line.trim_end_matches(',').to_owned()).collect()
    };
    let mut killed = keyway("bench disk -q --time 60 --save").arg(&saved).arg(&file).spawn().unwrap();
    let start = Instant::now();
    while ids().is_empty() {
        assert!(timeouts::is_within(LONG, start), "no row came");
        thread::sleep(Duration::from_millis(20));
    }
    killed.kill().unwrap();
    killed.wait().unwrap();
    let before = results(&saved);
    assert!(!before.complete && before.rows.len() < 24 * 3);

    let resume = |line: &str| keyway(line).arg(&saved);
    resume("bench --resume").fails(1).says("this run measured storage; \"keyway bench disk --resume");
    resume("bench disk -q --resume").arg(scratch.root()).fails(1).says("omit TARGET to resume there");
    resume("bench disk -q -c aes-cbc-plain64 --resume").fails(1).says("the run began with other options");
    resume("bench disk --resume").fails(1).says("--batch-mode confirms this");
    let other = scratch.path("memory.json");
    keyway("bench --time 1 -c aes-xts-plain64 -s 512 --threads 1 --save").arg(&other).ok();
    keyway("bench disk --resume").arg(&other).fails(1).says("this run did not measure storage");
    // The rest in a short time: the settings come from the file.
    let shorter =
        fs::read_to_string(&saved).unwrap().replace("\"time_seconds\":60.0", "\"time_seconds\":6.0");
    fs::write(&saved, shorter).unwrap();
    let kept = ids();
    let shown = resume("bench disk -q --resume").limit(LONG).ok().text();
    assert!(shown.contains("requests by keyway: sequential write"), "{shown}");

    let after = results(&saved);
    assert!(after.complete && after.settings.filters == before.settings.filters);
    for row in kept {
        assert!(ids().contains(&row), "a row was measured again: {row}");
    }
    // Like an uninterrupted run: every case once, in the same order.
    let fresh = scratch.path("fresh.json");
    keyway("bench disk -q --time 6 --save").arg(&fresh).arg(&file).limit(LONG).ok();
    let names = |results: &Results| results.rows.iter().map(|row| row.id.clone()).collect::<Vec<_>>();
    let by_keyway = |names: Vec<String>| {
        names.into_iter().filter(|id| id.contains("/file/") && id.ends_with("/keyway")).collect::<Vec<_>>()
    };
    assert_eq!(by_keyway(names(&after)), by_keyway(names(&results(&fresh))));

    // A run over storage that is gone cannot be resumed.
    fs::OpenOptions::new().write(true).open(&file).unwrap().set_len(11 << 20).unwrap();
    resume("bench disk -q --resume").fails(4).says("has 11 MiB; the run began with 12");
}

/// For a run of some seconds on a busy machine.
const LONG: Duration = timeouts::LONG_COMMAND;

#[test]
fn fio_makes_the_requests_where_it_is_installed() {
    need!("fio", "setpriv");
    let scratch = Scratch::new();
    let theirs = scratch.path("theirs");
    fs::create_dir(&theirs).unwrap();
    let saved = theirs.join("r.json");
    let run = by_an_ordinary_user(&scratch, &theirs).args("bench disk --time 45 --save");
    run.arg(&saved).arg(&theirs).limit(LONG).ok();
    let results = results(&saved);
    let buffered = results.warnings.iter().any(|warning| warning.contains("page cache"));
    need_that!(!buffered, "there is no direct access here");
    let late = results
        .warnings
        .iter()
        .any(|warning| warning.contains("fio was not used") && warning.contains(" to start"));
    need_that!(!late, "this machine is so busy that fio's starts take most of the time");
    assert!(results.versions.contains_key("fio"));
    let by_fio = measured(&results).iter().filter(|(case, _)| case.engine == "fio").count();
    assert!(by_fio >= 4, "{by_fio}");
}

/// Keyway as whoever is not root runs it, in a directory of their own.
fn by_an_ordinary_user(scratch: &Scratch, theirs: &Path) -> Run {
    if !geteuid().is_root() {
        return keyway("");
    }
    const NOBODY: u32 = 65534;
    fs::set_permissions(scratch.root(), fs::Permissions::from_mode(0o755)).unwrap();
    chown(theirs, Some(NOBODY), Some(NOBODY)).unwrap();
    let run = peer("setpriv", &format!("--reuid={NOBODY} --regid={NOBODY} --clear-groups"));
    run.arg(scratch.copy(&program(), "keyway"))
}

#[test]
fn nothing_is_left_when_it_is_stopped_or_killed() {
    let scratch = Scratch::new();
    let saved = scratch.path("r.json");
    for signal in ["INT", "TERM", "KILL"] {
        let place = scratch.path(signal);
        fs::create_dir(&place).unwrap();
        let run =
            peer("env", "--default-signal=INT,TERM").arg(program()).args("bench disk --time 100 --save");
        let mut child = run.arg(&saved).arg(&place).spawn().unwrap();
        let measures = || fs::read_to_string(&saved).is_ok_and(|rows| rows.contains("\"id\":\"disk/"));
        until("it measures the disk", measures);
        peer("kill", &format!("-{signal} {}", child.id())).ok();
        let start = Instant::now();
        let status = child.wait().unwrap();
        assert!(!status.success() && timeouts::is_within(timeouts::EVENT, start), "{signal}: {status}");
        assert_eq!(status.code(), (signal != "KILL").then_some(1), "{signal}: it ends by itself");
        fs::remove_file(&saved).unwrap();
        assert_eq!(fs::read_dir(&place).unwrap().count(), 0, "{signal}");
        assert!(!fs::read_to_string("/proc/mounts").unwrap().contains("keyway-bench"));
        let loops = fs::read_dir("/sys/block").unwrap().flatten();
        for device in loops {
            let file = fs::read_to_string(device.path().join("loop/backing_file")).unwrap_or_default();
            assert!(!file.starts_with(place.to_str().unwrap()), "{signal}: {file}");
        }
    }
}

#[test]
fn what_may_still_be_wanted_is_not_written_over() {
    need!("mke2fs", "cryptsetup");
    let scratch = Scratch::new();
    let (key, ext4) = (scratch.file("key", "secret"), scratch.sized("ext4", 16 << 20));
    peer("mke2fs", "-q -t ext4").arg(&ext4).ok();
    let luks = scratch.sized("luks", 20 << 20);
    peer("cryptsetup", "luksFormat -q --pbkdf pbkdf2 --pbkdf-force-iterations 1000")
        .arg(&luks)
        .arg(&key)
        .ok();
    let partitions = scratch.sized("partitions", 16 << 20);
    let mut table = [0; 512];
    table[450..466].copy_from_slice(&[0x83, 0, 0, 0, 0, 8, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0]);
    table[510..].copy_from_slice(&[0x55, 0xaa]);
    fs::write(&partitions, [&table[..], &vec![0; (16 << 20) - 512]].concat()).unwrap();
    for (file, what) in [
        (&ext4, "already contains a 'ext4' superblock signature"),
        (&luks, "already contains a 'crypto_LUKS' superblock signature"),
        (&partitions, "already contains a 'dos' partition signature"),
    ] {
        let before = fs::read(file).unwrap();
        let failed = keyway("bench disk -q").arg(file).fails(4);
        failed.says(what).says("Nothing was written");
        assert!(fs::read(file).unwrap() == before, "{what}");
    }
    let empty = scratch.sized("empty", 16 << 20);
    keyway("bench disk").arg(&empty).fails(1).says("--batch-mode confirms this");
    assert!(fs::read(&empty).unwrap().iter().all(|byte| *byte == 0));
    // A lock of QEMU's kind, held by another Keyway process that measures it.
    let mut other = keyway("bench disk -q --time 100").arg(&empty).spawn().unwrap();
    until("it begins", || fs::read(&empty).unwrap().iter().any(|byte| *byte != 0));
    keyway("bench disk -q").arg(&empty).fails(5).says("in use");
    other.kill().unwrap();
    other.wait().unwrap();
}

#[test]
fn a_file_is_used_from_its_first_byte_to_its_last_and_keeps_its_length() {
    let scratch = Scratch::new();
    let file = scratch.sized("file", (12 << 20) + 512);
    let saved = scratch.path("r.json");
    keyway("bench disk -q --time 6 --save").arg(&saved).arg(&file).limit(LONG).ok();
    assert_eq!(fs::metadata(&file).unwrap().len(), (12 << 20) + 512);
    let text = fs::read_to_string(&saved).unwrap();
    // All of it, or as much as a busy machine fills in that time.
    let whole = format!("{} has room for 12 MiB", file.display());
    let late = "MiB would have taken too much of --time";
    assert!(text.contains(&whole) || text.contains(late), "{text}");
    // A file that does not exist yet is created, and removed afterwards.
    let new = scratch.path("new");
    keyway("bench disk --time 5").arg(&new).limit(LONG).ok();
    assert!(!new.exists());
}

#[test]
fn targets_that_cannot_be_used_are_told_in_one_line() {
    let scratch = Scratch::new();
    let small = scratch.sized("small", 5 << 20);
    let read_only = Path::new("/proc");
    for (target, code, words) in [
        (small.as_path(), 4, "has 5 MiB; 10 are needed"),
        (Path::new("/nowhere/at/all"), 4, "does not exist"),
        (Path::new("/dev/no-such-disk"), 4, "does not exist"),
        (Path::new("/dev/null"), 4, "a directory, a regular file or a block device is needed"),
        (read_only, 4, "/proc"),
    ] {
        let failed = keyway("bench disk -q").arg(target).fails(code);
        assert_eq!(failed.says(words).errors().lines().count(), 1);
    }
    keyway("bench disk").fails(1).says("takes one TARGET");
    keyway("bench disk -c aes-foo .").fails(1).says("aes-foo");
    keyway("bench dsik .").fails(1).says("did you mean \"disk\"?");
}
