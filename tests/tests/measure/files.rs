//! Results files: other programs read them, damaged ones are refused, two are compared, several
//! shown side by side.

use super::runs::repository;
use super::saved;
use keyway_tests::{Scratch, keyway, need, peer};
use std::fs;
use std::path::Path;

const SLICE: &str = "-c aes-xts-plain64 -c des-xts-plain -s 512 --threads 1";

/// Nine samples near each row's first one, multiplied: what a faster or slower build would have
/// measured on a machine that has nothing else to do, whatever this one does meanwhile.
fn scaled(from: &Path, to: &Path, by: f64) {
    let code = "import json,sys\n\
                d=json.load(open(sys.argv[1]))\n\
                for row in d['rows']:\n\
                \x20   o=row['outcome']\n\
                \x20   if o['result']=='measured': o['samples']=[o['samples'][0]*(1+k%3/500)*float(sys.argv[3]) for k in range(9)]\n\
                open(sys.argv[2],'w').write(json.dumps(d))\n";
    peer("python3", "-c").arg(code).arg(from).arg(to).arg(by.to_string()).ok();
}

#[test]
fn diff_tells_noise_from_regression() {
    need!("python3");
    let scratch = Scratch::new();
    let run = saved(&scratch, "run.json", SLICE);
    let same = keyway("bench diff").arg(&run).arg(&run).ok();
    assert!(same.text().contains("0 worse, 0 better"), "{}", same.text());
    let [before, slower, faster] = ["before", "slower", "faster"].map(|name| scratch.path(name));
    scaled(&run, &before, 1.0);
    scaled(&before, &slower, 0.2);
    scaled(&before, &faster, 5.0);
    let same = keyway("bench diff").arg(&before).arg(&before).ok();
    assert!(same.text().contains("0 worse, 0 better"), "{}", same.text());
    let worse = keyway("bench diff").arg(&before).arg(&slower).fails(1);
    assert!(worse.text().contains("-80.0 %  aes-xts-plain64 512 "), "{}", worse.text());
    let better = keyway("bench diff").arg(&before).arg(&faster).ok();
    assert!(better.text().contains("+400.0 %"), "{}", better.text());
    let hidden = keyway("bench diff --threshold 90").arg(&before).arg(&slower).ok();
    assert!(hidden.text().contains("0 worse"), "{}", hidden.text());
    // As much as two runs of one program may differ by.
    let nearly = scratch.path("nearly.json");
    scaled(&before, &nearly, 0.985);
    let same = keyway("bench diff").arg(&before).arg(&nearly).ok();
    assert!(same.text().contains("0 worse"), "{}", same.text());
    keyway("bench diff").arg(&before).fails(1).says("takes two results files");
}

#[test]
fn a_diff_as_json_follows_its_schema_and_exits_as_the_text_does() {
    need!("python3", "jsonschema");
    let scratch = Scratch::new();
    let run = saved(&scratch, "run.json", SLICE);
    let (before, slower) = (scratch.path("before.json"), scratch.path("slower.json"));
    scaled(&run, &before, 1.0);
    scaled(&run, &slower, 0.01);
    for (after, code) in [(&before, 0), (&slower, 1)] {
        let run = keyway("bench diff --json").arg(&before).arg(after);
        let text = if code == 0 { run.ok().text() } else { run.fails(code).text() };
        assert!(text.contains("\"version\": 1") && text.ends_with("}\n"), "{text}");
        assert_eq!(text.contains("\"verdict\": \"worse\""), code == 1, "{text}");
        let file = scratch.file("diff.json", &text);
        peer("jsonschema", "-i").arg(file).arg(repository("docs/bench-diff.schema.json")).ok();
    }
}

#[test]
fn a_damaged_file_is_refused_with_its_line() {
    let scratch = Scratch::new();
    let good = saved(&scratch, "good.json", SLICE);
    let text = fs::read_to_string(&good).unwrap();
    let bad = scratch.path("bad.json");
    let refused = |content: &[u8], line: &str| {
        fs::write(&bad, content).unwrap();
        for verb in ["bench diff", "bench merge"] {
            keyway(verb).arg(&bad).arg(&good).fails(1).says(line);
        }
        keyway("bench --resume").arg(&bad).fails(1).says(line);
    };
    refused(text.replacen("\"threads\":1", "\"threads\":\"one\"", 1).as_bytes(), "line 2: invalid type");
    refused(
        text.replacen("\"threads\":1", "\"threads\":1,\"cores\":1", 1).as_bytes(),
        "line 2: unknown field",
    );
    refused(text.replacen("keyway-bench/1", "keyway-bench/7", 1).as_bytes(), "line 1: the schema is");
    refused(&text.as_bytes()[..text.len() - 40], &format!("line {}: EOF", text.lines().count()));
    refused(b"\xff\xfe", "it is not text");
    refused(b"", "line 1: EOF");
    keyway("bench merge /nonexistent").fails(4).says("Cannot read /nonexistent");
}

#[test]
fn other_programs_read_the_reports() {
    need!("python3");
    let scratch = Scratch::new();
    let (csv, lines) = (scratch.path("r.csv"), scratch.path("r.jsonl"));
    let run = keyway("bench --time 3 --json --name box").args(SLICE).args("--csv").arg(&csv);
    let shown = run.args("--json-lines").arg(&lines).ok();
    let json = scratch.file("r.json", shown.text().as_bytes());
    let code = "import csv,json,sys,statistics\n\
                rows=json.load(open(sys.argv[1]))['rows']\n\
                c=list(csv.DictReader(open(sys.argv[2])))\n\
                j=[json.loads(l) for l in open(sys.argv[3])]\n\
                assert len(rows)==len(c)==len(j), (len(rows),len(c),len(j))\n\
                for r,a,b in zip(rows,c,j):\n\
                \x20   assert r['id']==a['id']==b['id']\n\
                \x20   assert a['machine']==b['machine']=='box'\n\
                \x20   assert list(a)==list(dict.fromkeys(a)) and set(a)==set(b)\n\
                \x20   if b['result']=='measured':\n\
                \x20       m=statistics.median(r['outcome']['samples'])\n\
                \x20       assert abs(float(a['median'])-m)<1e-6*m and abs(b['median']-m)<1e-6*m\n\
                print(sorted({b['result'] for b in j}-{'not-measured'}))\n";
    let read = peer("python3", "-c").arg(code).arg(&json).arg(&csv).arg(&lines).ok();
    assert_eq!(read.text().trim(), "['impossible', 'measured']");
    let table = keyway("bench --time 3 --markdown -").args(SLICE).ok();
    table.says("| 1 | aes-xts-plain64 **(default)** | 512 |");
}

#[test]
fn machines_are_put_side_by_side() {
    need!("python3");
    let scratch = Scratch::new();
    let one = saved(&scratch, "one.json", &format!("{SLICE} --name one"));
    let two = scratch.path("two.json");
    scaled(&one, &two, 2.0);
    let both = keyway("bench merge").arg(&one).arg(&two).ok();
    assert!(both.text().contains("[1] one") && both.text().contains("[2] one"), "{}", both.text());
    let lines = keyway("bench merge --json-lines -").arg(&one).arg(&two).ok().text();
    let rows = fs::read_to_string(&one).unwrap().lines().filter(|l| l.starts_with("{\"id\":")).count();
    assert_eq!(lines.lines().count(), 2 * rows);
    keyway("bench merge").fails(1).says("takes results files");
}
