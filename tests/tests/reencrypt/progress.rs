//! What is said of progress: a run that goes on counts only its own bytes in its speed and in the time left.

use crate::Fixture;
use keyway_format::json::{self, Value};
use keyway_tests::{keyway, need};

/// 5.25 of 16 MiB are done when it goes on, at 4 MiB a second: counted in, the speed would begin far above that.
#[test]
fn earlier_work_makes_no_run_faster() {
    need!("prlimit");
    let f = Fixture::volume();
    f.cut_off("--hotzone-size 256K");
    let run = f.reencrypt(keyway, "--resume-only --hotzone-size 256K --limit-rate 4M --progress-json").ok();
    let lines = run.text();
    let lines: Vec<Value> = lines.lines().map(|line| json::parse(line.as_bytes()).unwrap()).collect();
    assert!(lines.len() >= 3, "{run}");
    for line in &lines {
        let Value::Object(line) = line else { panic!("{run}") };
        let number = |name: &str| line.get(name).and_then(Value::as_str).unwrap().parse::<u64>().unwrap();
        let (done, len, speed) = (number("device_bytes"), number("device_size"), number("speed"));
        let (left, time) = (number("eta_ms"), number("time_ms"));
        assert!(done >= BEFORE && len == 16 << 20, "{run}");
        // What this run did in the time that it says, to the millisecond.
        let own = (done - BEFORE) as f64 * 1000.0 / time as f64;
        assert!((own - speed as f64).abs() < own * 0.02, "{own} {speed}: {run}");
        let expected = (len - done) as f64 * 1000.0 / speed as f64;
        assert!((expected - left as f64).abs() <= 2.0 + expected * 0.02, "{expected} {left}: {run}");
    }
}

/// Where the writing was cut off, and the zone that was completed first.
const BEFORE: u64 = (5 << 20) + (256 << 10);
