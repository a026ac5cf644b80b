//! Every volume of the table, every GRUB: the verdict matches GRUB's behaviour.

use super::grub::{Did, Grub};
use super::kit::{Kit, judge};
use super::volumes;
use keyway_boot::loader::grub::{Judgement, Loader, RULES, Verdict, Witness};
use keyway_tests::need;
use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

#[test]
fn verdicts_are_what_grub_does() {
    need!("grub-fstest", "mke2fs");
    let grubs = Grub::all(keyway_tests::test_name!());
    let (kit, cases) = (Kit::new(), volumes::all());
    let (next, wrong) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let seen: Mutex<BTreeSet<&str>> = Mutex::default();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let volume = case.make(&kit);
                    for grub in &grubs {
                        let judgement = judge(&volume.path, &Loader::new(grub.version));
                        let copy = volume.path.with_extension("copy");
                        let (did, said) = grub.tries(&volume.path, &volume.passphrase, &copy, &kit.file);
                        let (agrees, verdict, rules) = compare(&judgement, volume.slot, &did);
                        seen.lock().unwrap().extend(rules);
                        if !agrees {
                            let line = format!(
                                "{}, GRUB {}: {verdict}, but it did {did:?}:\n{said}",
                                case.name, grub.name
                            );
                            wrong.lock().unwrap().push(line);
                        }
                    }
                    let _ = std::fs::remove_file(&volume.path);
                }
            });
        }
    });
    let names: Vec<&str> = grubs.iter().map(|grub| grub.name.as_str()).collect();
    println!("{} volumes, GRUB {}: {} verdicts", cases.len(), names.join(", "), cases.len() * grubs.len());
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{} verdicts are wrong\n{}", wrong.len(), wrong.join("\n"));
    // A rule that no volume demonstrates would be unproven.
    let seen = seen.into_inner().unwrap();
    let shown = |version| grubs.iter().any(|grub| grub.version == version);
    let all_there = keyway_boot::loader::grub::Version::ALL.into_iter().all(shown);
    let rumours: Vec<&str> = RULES
        .iter()
        .filter(|rule| rule.witness == Witness::Fstest && all_there)
        .map(|rule| rule.id)
        .filter(|id| !seen.contains(id))
        .collect();
    assert!(rumours.is_empty(), "no volume shows {rumours:?}");
}

/// Whether they agree, the verdict in words, and the rules that it rests on.
fn compare(judgement: &Judgement, slot: u64, did: &Did) -> (bool, String, Vec<&'static str>) {
    let notes = judgement.notes.iter().map(|note| note.rule.id);
    if let Some(finding) = &judgement.refused {
        let words = format!("it tries no keyslot, because {finding}");
        let expected = if judgement.asks { Did::Failed } else { Did::NotAsked };
        return (*did == expected, words, notes.chain([finding.rule.id]).collect());
    }
    let Some(slot) = judgement.slot(slot) else {
        return (matches!(did, Did::CalledInvalid), "no such keyslot is tried".into(), notes.collect());
    };
    let rule = slot.verdict.finding().map(|finding| finding.rule.id);
    let words = match &slot.verdict {
        Verdict::Opens => "it opens".to_owned(),
        Verdict::Cannot(why) => format!("it cannot, because {why}"),
        Verdict::SaysInvalidPassphrase(why) => format!("it says invalid, because {why}"),
    };
    let agrees = match slot.verdict {
        Verdict::Opens => *did == Did::Opened(slot.number),
        Verdict::SaysInvalidPassphrase(_) => *did == Did::CalledInvalid,
        Verdict::Cannot(_) => matches!(did, Did::Garbage | Did::Failed),
    };
    (agrees, words, notes.chain(rule).collect())
}
