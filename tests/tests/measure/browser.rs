//! The report page in a real browser: whether it is readable on a desktop and on a phone, in light
//! and dark mode, and with a keyboard.
//!
//! The pages are those of invented results ([`super::pages`]), and what the program writes.

use super::disk::results;
use super::pages;
use keyway_measure::results::{Case, Row};
use keyway_tests::browser::Browser;
use keyway_tests::timeouts;
use keyway_tests::{Scratch, keyway, need};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A desktop, a phone, and the narrowest phone.
const WIDTHS: [u32; 3] = [1280, 360, 320];

/// Each page of invented results, in a file.
fn invented(scratch: &Scratch) -> [PathBuf; 3] {
    pages::all().map(|(name, page)| {
        let path = scratch.path(&format!("{name}.html"));
        fs::write(&path, page).unwrap();
        path
    })
}

/// The problems that a function of `checks.js` finds.
fn found(browser: &Browser, check: &str) -> Vec<String> {
    let found = browser.script(&format!("{}\nreturn {check}", include_str!("checks.js")));
    let texts = found.as_array().expect("a list").iter();
    texts.map(|text| text.as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn pages_can_be_read_at_every_width_in_the_light_and_in_the_dark() {
    need!("chromium", "chromedriver");
    let (browser, scratch) = (Browser::start(), Scratch::new());
    for page in invented(&scratch) {
        can_be_read(&browser, &page);
    }
}

/// At every width, in light and dark mode and in print, as loaded and with all sections expanded;
/// without console messages.
#[track_caller]
fn can_be_read(browser: &Browser, page: &Path) {
    let screens = ["light", "dark"].iter().flat_map(|scheme| WIDTHS.map(|width| (*scheme, "screen", width)));
    for (scheme, medium, width) in screens.chain([("dark", "print", PAPER)]) {
        browser.prefers(scheme, medium);
        browser.size(width, 900);
        browser.open(page);
        let place = format!("{}, {scheme}, {medium}, {width} wide", page.display());
        assert_eq!(browser.script("return innerWidth"), width, "{place}");
        for open in ["", "document.querySelectorAll('details').forEach(it => it.open = true)"] {
            browser.script(open);
            for check in ["overflow()", "contrast()", "drawings()"] {
                let found = found(browser, check);
                assert!(found.is_empty(), "{place}, {check}:\n{}", found.join("\n"));
            }
        }
        assert_eq!(browser.console(), [] as [Value; 0], "{place}");
    }
    browser.prefers("light", "screen");
}

/// A4 between its margins, in pixels of CSS.
const PAPER: u32 = 718;

/// From the program's command line to the browser's window: with nothing invented in between.
#[test]
fn pages_that_the_program_writes_can_be_read() {
    need!("chromium", "chromedriver");
    let scratch = Scratch::new();
    let (memory, disk, all) =
        (scratch.path("memory.html"), scratch.path("disk.html"), scratch.path("all.html"));
    let (of_memory, of_disk) = (scratch.path("memory.json"), scratch.path("disk.json"));
    let run = keyway("bench --suite quick --pbkdf pbkdf2 --time 8 --html").arg(&memory);
    run.args("--save").arg(&of_memory).limit(LONG).ok();
    let file = scratch.sized("file", 24 << 20);
    let run = keyway("bench disk -q --time 13 --html").arg(&disk).args("--save").arg(&of_disk);
    run.arg(&file).limit(LONG).ok();
    // Derivations have a chart where the machine had time for one.
    let derived = results(&of_memory)
        .rows
        .iter()
        .any(|row| matches!(row.case, Case::Kdf(_)) && row.measured().is_some());
    let derivations = if derived { "PBKDF2: iterations per second" } else { "1 thread" };
    // So has the comparison with the cipher alone, whose speed in memory the same run measures first.
    let modelled = |row: &Row| {
        row.measured().is_some_and(|it| it.notes.iter().any(|note| note.starts_with("c·d/(c+d)")))
    };
    let compared = results(&of_disk).rows.iter().any(modelled);
    let beside = if compared { "Disk or cipher" } else { "Processor time, in order" };
    keyway("bench merge").arg(&of_memory).arg(&of_disk).args("--html").arg(&all).ok();

    let browser = Browser::start();
    let texts = |selector: &str| -> Vec<String> {
        let texts = browser.script(&format!(
            "return [...document.querySelectorAll('{selector}')].map(it => it.textContent)"
        ));
        texts.as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect()
    };
    for (page, titles, charts) in [
        (&memory, ["The answer", "Ciphers in memory"], ["1 thread", derivations]),
        // Workloads that a busy machine had no time for have no chart; the first size is always
        // there.
        (&disk, ["The answer", "Storage, plain and encrypted"], [beside, "Processor time, in order"]),
        (&all, ["Machine beside machine", "The machines"], ["The default on each machine", beside]),
    ] {
        can_be_read(&browser, page);
        browser.size(1280, 900);
        browser.open(page);
        assert_eq!(found(&browser, "names()"), [] as [&str; 0], "{}", page.display());
        let found = texts("h2");
        assert!(titles.iter().all(|title| found.iter().any(|it| it == title)), "{found:?}");
        let figures = texts("figure figcaption strong");
        let has = |chart: &&str| figures.iter().any(|it| it.contains(*chart));
        assert!(charts.iter().all(has), "{figures:?}");
        // Each drawing has its table.
        let tables =
            browser.script("return document.querySelectorAll('figure details table tbody tr').length");
        assert!(tables.as_u64().unwrap() >= figures.len() as u64, "{tables} rows for {figures:?}");
    }
}

/// For runs of some seconds on a busy machine.
const LONG: Duration = timeouts::LONG_COMMAND;

#[test]
fn the_switch_decides_the_colours_and_paper_is_light() {
    need!("chromium", "chromedriver");
    let (browser, scratch) = (Browser::start(), Scratch::new());
    let [workstation, ..] = invented(&scratch);
    let page = || browser.script("return getComputedStyle(document.body).backgroundColor");
    let (light, dark) = ("rgb(255, 255, 255)", "rgb(18, 22, 27)");
    for (system, by_itself) in [("light", light), ("dark", dark)] {
        browser.prefers(system, "screen");
        browser.open(&workstation);
        assert_eq!(page(), by_itself);
        for (choice, colour) in [("dark", dark), ("light", light), ("auto", by_itself)] {
            browser.script(&format!("document.querySelector('#{choice}').click()"));
            assert_eq!(page(), colour, "{system}, {choice}");
        }
        browser.script("document.querySelector('#dark').click()");
        browser.prefers(system, "print");
        assert_eq!(page(), light, "{system}, printed");
        assert_eq!(found(&browser, "contrast()"), [] as [&str; 0], "{system}, printed");
    }
}

#[test]
fn a_keyboard_reaches_everything() {
    need!("chromium", "chromedriver");
    let (browser, scratch) = (Browser::start(), Scratch::new());
    let [workstation, ..] = invented(&scratch);
    browser.prefers("light", "screen");
    browser.size(1280, 900);
    browser.open(&workstation);
    let focused = || {
        let who =
            browser.script("const it = document.activeElement; return it.id || it.className || it.tagName");
        who.as_str().unwrap_or_default().to_owned()
    };
    browser.press("Tab");
    assert_eq!(focused(), "auto", "the switch comes first");
    let outline = browser.script("return getComputedStyle(document.activeElement).outlineStyle");
    assert_eq!(outline, "solid", "the focus is seen");
    browser.press("ArrowRight");
    browser.press("ArrowRight");
    assert_eq!(focused(), "dark");
    assert_eq!(browser.script("return getComputedStyle(document.body).backgroundColor"), "rgb(18, 22, 27)");
    browser.press("Tab");
    assert_eq!(focused(), "SUMMARY", "then the first table");
    assert_eq!(browser.script("return document.querySelector('details').open"), false);
    browser.press("Enter");
    assert_eq!(browser.script("return document.querySelector('details').open"), true);
    browser.press("Tab");
    assert_eq!(focused(), "scroll", "which can be scrolled");

    let all = browser.script("return document.querySelectorAll('main summary, main .scroll').length");
    let all = all.as_u64().unwrap();
    browser.script(
        "document.querySelectorAll('details').forEach(it => it.open = true); document.activeElement.blur()",
    );
    browser.script("getSelection().removeAllRanges(); window.seen = new Set()");
    // Once around, including the switch and the window itself.
    for _ in 0..all + 8 {
        browser.press("Tab");
        browser.script("window.seen.add(document.activeElement)");
    }
    let reached = "return [...document.querySelectorAll('main summary, main .scroll')].filter(it => !window.seen.has(it)).length";
    let missed = browser.script(reached).as_u64().unwrap();
    assert_eq!(missed, 0, "of {all}");
}

#[test]
fn a_screen_reader_has_names_for_everything() {
    need!("chromium", "chromedriver");
    let (browser, scratch) = (Browser::start(), Scratch::new());
    let [_, machines, _] = invented(&scratch);
    browser.open(&machines);
    assert_eq!(found(&browser, "names()"), [] as [&str; 0]);
    assert_eq!(browser.script("return document.title"), "Disk encryption on 2 machines");
}
