//! One row per line, with all the data that a query over many machines needs: CSV for spreadsheets,
//! JSON lines for databases. Both have the same columns; columns that do not apply to a kind of
//! case are empty, or null.

use crate::results::{Case, Measured, Outcome, Results, Row};
use crate::stats::Summary;
use serde_json::{Map, Value, json};

/// The columns, in CSV's order. `docs/METHOD.md` describes each.
pub(super) const HEADER: &str = "\
     schema,started,keyway,machine,cpu,architecture,cpus,governor,kernel,virtualisation,suite,id,\
     kind,by,spec,key_bits,sector_size,message,direction,threads,kdf,hash,memory_kib,lanes,\
     iter_time_ms,medium,engine,flags,pattern,block,depth,total,default,result,reason,unit,samples,\
     median,low,high,mad,p5,p95,outliers,precise,code,p50_us,p99_us,p999_us,cpu_seconds_per_gb";

/// The value of `schema`.
const ROW_SCHEMA: &str = "keyway-bench-row/1";

/// Comma-separated values (RFC 4180, with plain line ends) with a header line.
pub fn csv(all: &[Results]) -> String {
    let mut text = HEADER.to_owned() + "\n";
    for (results, row) in rows(all) {
        let record = record(results, row);
        let cells: Vec<String> = columns().map(|column| quoted(&text_of(&record[column]))).collect();
        text += &(cells.join(",") + "\n");
    }
    text
}

pub(super) fn columns() -> impl Iterator<Item = &'static str> {
    HEADER.split(',')
}

/// One object per line.
pub fn json_lines(all: &[Results]) -> String {
    rows(all).map(|(results, row)| Value::Object(record(results, row)).to_string() + "\n").collect()
}

fn rows(all: &[Results]) -> impl Iterator<Item = (&Results, &Row)> {
    all.iter().flat_map(|results| results.rows.iter().map(move |row| (results, row)))
}

fn record(results: &Results, row: &Row) -> Map<String, Value> {
    let machine = &results.machine;
    let mut record: Map<String, Value> = columns().map(|name| (name.to_owned(), Value::Null)).collect();
    let run = json!({
        "schema": ROW_SCHEMA, "started": results.started, "keyway": results.versions.get("keyway"),
        "machine": machine.name, "cpu": machine.cpu, "architecture": machine.architecture, "cpus": machine.cpus,
        "governor": machine.governor, "kernel": machine.kernel, "virtualisation": machine.virtualisation,
        "suite": results.settings.suite, "id": row.id, "default": row.case.is_default(),
    });
    let outcome = match &row.outcome {
        Outcome::Measured(measured) => figures(measured, results.settings.precision),
        Outcome::Impossible { reason } => json!({"result": "impossible", "reason": reason}),
        Outcome::NotMeasured { reason, .. } => json!({"result": "not-measured", "reason": reason}),
        Outcome::Wrong(wrong) => {
            json!({"result": "wrong", "reason": format!("byte {} differs: {}", wrong.at, wrong.during)})
        }
    };
    // A column that does not exist would be a bug here, and the tests would show it.
    for fields in [run, case(&row.case), outcome] {
        record.extend(fields.as_object().cloned().unwrap_or_default());
    }
    record
}

fn case(case: &Case) -> Value {
    match case {
        Case::Cipher(it) => json!({
            "kind": "cipher", "by": it.by, "spec": it.spec, "key_bits": it.key_bits, "sector_size": it.sector_size,
            "message": it.message, "direction": it.direction, "threads": it.threads,
        }),
        Case::Kdf(it) => json!({
            "kind": "kdf", "by": it.by, "kdf": it.kdf, "hash": it.hash, "memory_kib": it.memory_kib, "lanes": it.lanes,
            "key_bits": it.key_bits, "iter_time_ms": it.iter_time_ms,
        }),
        Case::Disk(it) => json!({
            "kind": "disk", "by": it.by, "spec": it.spec, "key_bits": it.key_bits, "sector_size": it.sector_size,
            "medium": it.medium, "engine": it.engine, "flags": it.flags.join(" "), "pattern": it.pattern, "block": it.block, "depth": it.depth, "total": it.total,
        }),
        Case::Driver(it) => json!({
            "kind": "driver", "by": format!("kernel:{}", it.driver), "spec": it.algorithm, "key_bits": it.key_bits,
            "message": it.message, "direction": it.direction,
        }),
    }
}

fn figures(measured: &Measured, precision: f64) -> Value {
    let Some(it) = Summary::of(measured) else { return json!({"result": "measured"}) };
    json!({
        "result": "measured", "unit": measured.unit, "samples": it.count, "median": it.median,
        "low": it.interval.map(|interval| interval.0), "high": it.interval.map(|interval| interval.1),
        "mad": it.mad, "p5": it.p5, "p95": it.p95, "outliers": it.outliers.len(),
        "precise": it.precision().is_some_and(|found| found <= precision), "code": measured.code,
        "p50_us": measured.latency_at(50.0), "p99_us": measured.latency_at(99.0),
        "p999_us": measured.latency_at(99.9), "cpu_seconds_per_gb": measured.cpu_seconds_per_gb,
    })
}

fn text_of(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn quoted(cell: &str) -> String {
    match cell.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", cell.replace('"', "\"\"")),
        false => cell.to_owned(),
    }
}
