//! The page of fixed results: the same bytes everywhere, kept in `../snapshots/`; and of hostile
//! results. How a browser renders it is tested in `tests/tests/measure/page.rs`.

use super::super::tests::same_as_the_snapshot;
use super::fixture::{board, server, storage, workstation};
use super::*;
use crate::results::{By, Case, CipherCase, Machine, Outcome, Row, SCHEMA, VERSION};

#[test]
fn pages_are_the_same_to_the_byte() {
    same_as_the_snapshot("workstation.html", &page(&[workstation()]));
    same_as_the_snapshot("machines.html", &page(&[server(), board()]));
    same_as_the_snapshot("storage.html", &page(&[storage()]));
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
    let style = palette::style_sheet();
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
    let results = storage();
    let run = &run::runs(std::slice::from_ref(&results))[0];
    let all = disk::comparisons(run);
    let names = |number: usize| {
        let mut names: Vec<&str> = all[number].items.iter().map(|it| it.path.as_str()).collect();
        names.dedup();
        names.sort_unstable();
        names.dedup();
        names
    };
    assert_eq!(all.len(), 2);
    assert_eq!(names(0), ["keyway, 4096 B sectors", "keyway, 512 B sectors", "plain"]);
    assert_eq!(
        names(1),
        [
            "dm-crypt, 4096 B sectors",
            "dm-crypt, 4096 B sectors, no queues",
            "dm-crypt, 512 B sectors",
            "dm-crypt, 512 B sectors, no queues",
            "plain",
        ]
    );
    let page = page(std::slice::from_ref(&results));
    assert!(!page.contains("is the fastest cipher here"), "there is one");
    let (storage, memory) = (page.find("<h2>Storage"), page.find("<h2>Ciphers in memory"));
    assert!(storage < memory && storage.is_some());

    // Plain storage measured by fio only stands alone, and a device measured by one engine is
    // compared twice.
    let mut alone = results.clone();
    alone.rows.retain(|row| !matches!(&row.case, Case::Disk(case) if case.by == By::DmCrypt));
    let runs = run::runs(std::slice::from_ref(&alone));
    let by: Vec<_> = disk::comparisons(&runs[0]).into_iter().map(|one| (one.by, one.engine)).collect();
    assert_eq!(by, [(Some(By::Keyway), "keyway".to_owned()), (None, "fio".to_owned())]);
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
        Row::new(case, Outcome::Measured(crate::results::Measured { samples, ..measured }))
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
