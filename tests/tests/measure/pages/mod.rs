//! The page of fixed results: what it says and shows, kept beside these tests line by line, the whole page by its
//! SHA-256 (`KEYWAY_BLESS=1` renews them); and of hostile results. How a browser renders it: `browser.rs`.

mod memory;
mod outline;
mod storage;

use keyway_measure::report::html as page;
use keyway_measure::results::{
    By, Case, CipherCase, Machine, Measured, Outcome, Results, Row, SCHEMA, VERSION,
};
use memory::{board, server, workstation};
use std::path::Path;
use std::{env, fs};
use storage::storage;

/// One machine with everything, two side by side, and storage with every path.
pub(crate) fn all() -> [(&'static str, String); 3] {
    [
        ("workstation", page(&[workstation()])),
        ("machines", page(&[server(), board()])),
        ("storage", page(&[storage()])),
    ]
}

#[test]
fn pages_say_and_show_what_they_did() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/measure/pages");
    for (name, page) in all() {
        let (kept, now) = (folder.join(name).with_extension("txt"), outline::outline(&page));
        if env::var_os("KEYWAY_BLESS").is_some() {
            fs::write(&kept, &now).unwrap();
        }
        let before = fs::read_to_string(&kept).unwrap_or_default();
        keyway_tests::assert_same_lines(&kept.display().to_string(), &before, "the page now", &now);
    }
}

/// Tags and attributes of a page.
fn tags(page: &str) -> Vec<&str> {
    page.split('<').skip(1).filter_map(|rest| rest.split_once('>')).map(|(tag, _)| tag).collect()
}

#[test]
fn texts_from_results_stay_texts() {
    let mut results = workstation();
    let bad = "\"><script>alert(1)</script><b onclick='x'>\u{202e}\u{0}&lt;";
    let Machine { name, cpu, architecture, aes_code, kernel, features, .. } = &mut results.machine;
    for text in [name, cpu, architecture, aes_code, kernel, &mut results.started] {
        *text = bad.into();
    }
    *features = vec![bad.into()];
    let Machine { governor, system, virtualisation, .. } = &mut results.machine;
    for text in [governor, system, virtualisation] {
        *text = Some(bad.into());
    }
    results.settings.suite = bad.into();
    results.settings.filters = vec![bad.into()];
    results.warnings = vec![bad.into()];
    results.versions = [(bad.to_owned(), bad.to_owned())].into();
    for row in &mut results.rows {
        match &mut row.case {
            Case::Cipher(case) => case.spec = format!("{}{bad}", case.spec),
            Case::Kdf(case) => case.kdf = bad.into(),
            Case::Disk(case) => {
                case.medium = bad.into();
                case.flags = vec![bad.into()];
                case.spec = Some(bad.into());
            }
            Case::Driver(case) => (case.driver, case.algorithm) = (bad.into(), bad.into()),
        }
        match &mut row.outcome {
            Outcome::Impossible { reason } => *reason = bad.into(),
            Outcome::NotMeasured { reason, missing_right, .. } => {
                (*reason, *missing_right) = (bad.into(), Some(bad.into()))
            }
            Outcome::Wrong(wrong) => {
                (wrong.during, wrong.expected, wrong.found) = (bad.into(), bad.into(), bad.into());
                wrong.remedy = Some(bad.into());
            }
            Outcome::Measured(measured) => {
                (measured.checked, measured.code) = (bad.into(), Some(bad.into()));
                measured.notes = vec![bad.into()];
            }
        }
    }
    for page in [page(&[results.clone()]), page(&[results.clone(), results])] {
        for tag in tags(&page) {
            assert!(
                !tag.starts_with("script") && !tag.contains("onclick") && !tag.starts_with("b "),
                "<{tag}>"
            );
        }
        assert!(page.contains("&lt;script&gt;"), "the name is there, as text");
        assert!(!page.contains(['\u{202e}', '\0']));
    }
}

#[test]
fn the_page_needs_nothing_else() {
    let page = page(&[workstation(), board()]);
    for tag in tags(&page) {
        let name = tag.split([' ', '\n']).next().unwrap();
        assert!(
            !["link", "img", "iframe", "object", "embed", "script", "a", "form", "base"].contains(&name),
            "<{tag}>"
        );
        assert!(!tag.contains("href") && !tag.contains("src="), "<{tag}>");
    }
    assert!(
        !page.contains("url(")
            && !page.contains("@import")
            && !page.contains("http:")
            && !page.contains("https:")
    );
    assert!(page.contains("default-src 'none'"));
}

#[test]
fn every_drawing_says_what_it_is_and_has_its_table() {
    let page = page(&[workstation(), board()]);
    let drawings = page.matches("<svg").count();
    assert!(drawings > 40, "{drawings}");
    assert_eq!(page.matches(" role=\"img\"><title>").count(), drawings);
    assert_eq!(page.matches("<figure>").count() * 2, drawings);
    assert_eq!(page.matches("<summary>Table: ").count() * 2, drawings);
}

#[test]
fn colours_of_drawings_are_all_in_the_style_sheet() {
    let page = page(&[workstation(), board()]);
    let style = page.split_once("<style>").unwrap().1.split_once("</style>").unwrap().0;
    for tag in tags(&page).into_iter().filter(|tag| !tag.starts_with("meta")) {
        for attribute in ["fill", "stroke"] {
            let Some((_, rest)) = tag.split_once(&format!(" {attribute}=\"#")) else { continue };
            let colour = &rest[..6];
            assert!(style.contains(&format!("[{attribute}=\"#{colour}\"]")), "<{tag}>");
        }
    }
}

#[test]
fn storage_is_compared_with_what_the_same_program_asked_of_the_same_storage() {
    let lines = |results: &Results, start: &str| -> Vec<String> {
        let outline = outline::outline(&page(std::slice::from_ref(results)));
        outline.lines().filter_map(|line| Some(line.strip_prefix(start)?.trim().to_owned())).collect()
    };
    let results = storage();
    let through = |results: &Results| -> Vec<String> {
        lines(results, "h3").into_iter().filter(|it| it.starts_with("Through")).collect()
    };
    let (keyway, kernel) = ("Through Keyway, on a file", "Through the kernel's dm-crypt, on a loop device");
    assert_eq!(through(&results), [keyway, kernel]);
    let rows = lines(&results, "rows");
    for (through, other) in [("keyway, 512 B sectors", "dm-crypt"), ("dm-crypt, 512 B sectors", "keyway")] {
        let rows: Vec<&String> = rows.iter().filter(|it| it.contains(through)).collect();
        assert!(rows.iter().all(|it| !it.contains(other)), "{rows:#?}");
        assert_eq!(rows.iter().filter(|it| it.contains(": plain / ")).count(), 12, "{rows:#?}");
    }
    let titles = lines(&results, "h2");
    assert!(!page(std::slice::from_ref(&results)).contains("is the fastest cipher here"), "there is one");
    let place = |title: &str| titles.iter().position(|it| it.starts_with(title));
    assert!(place("Storage") < place("Ciphers in memory") && place("Storage").is_some(), "{titles:?}");

    // Plain storage measured by fio only stands alone, and a device measured by one engine is
    // compared twice.
    let mut alone = results;
    alone.rows.retain(|row| !matches!(&row.case, Case::Disk(case) if case.by == By::DmCrypt));
    assert_eq!(through(&alone), [keyway]);
    let alone = lines(&alone, "h3");
    assert_eq!(alone[1..], [keyway, "Plain, on a loop device"]);
}

#[test]
fn what_noise_could_have_ordered_is_not_told_apart() {
    let mut results = workstation();
    results.rows.retain(|row| matches!(&row.case, Case::Cipher(case) if case.spec.starts_with("serpent")));
    let page = page(&[results]);
    assert!(
        page.contains("Not distinguishable from it beyond noise: serpent-xts-plain64, 512-bit key."),
        "{page}"
    );
}

#[test]
fn odd_files_make_a_page_too() {
    let nothing = Results { rows: Vec::new(), ..workstation() };
    assert!(page(std::slice::from_ref(&nothing)).contains("The machine"));
    assert!(page(&[]).contains("There are no results."));
    let figure = |spec: &str, samples: Vec<f64>| {
        let Some(Row { case: Case::Cipher(case), outcome: Outcome::Measured(measured), .. }) =
            workstation().rows.into_iter().next()
        else {
            panic!()
        };
        let case = Case::Cipher(CipherCase { spec: spec.into(), sector_size: 0, threads: u32::MAX, ..case });
        Row::new(case, Outcome::Measured(Measured { samples, ..measured }))
    };
    let odd = Results {
        version: VERSION,
        schema: SCHEMA.into(),
        rows: vec![
            figure("", vec![f64::MAX; 7]),
            figure(&"x".repeat(10_000), vec![f64::MIN_POSITIVE; 7]),
            figure("-----", vec![1.0]),
        ],
        ..nothing
    };
    let page = page(&[odd.clone(), odd]);
    assert!(!page.contains("NaN") && !page.contains(">inf"));
}
