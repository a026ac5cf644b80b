//! Which dependencies may come in: the rules of `deny.toml`, held against what cargo resolves for
//! each system that Keyway is built for. (cargo-deny reads the same file, and knows of advisories;
//! to compile it takes longer than everything else that `./dev check` does.)

use keyway_tests::Run;
use serde_json::Value;
use spdx::{Expression, ParseMode};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The packages that are compiled for one of the systems, ours included, by their ids.
fn packages(rules: &Rules) -> BTreeMap<String, Value> {
    let mut found = BTreeMap::new();
    for system in &rules.systems {
        let metadata =
            Run::new("cargo", "metadata --format-version 1 --locked --all-features --filter-platform");
        let metadata = metadata.arg(system).directory(&root()).ok().stdout;
        let metadata: Value = serde_json::from_slice(&metadata).expect("cargo writes JSON");
        let nodes = metadata["resolve"]["nodes"].as_array().expect("what is resolved");
        let compiled: BTreeSet<&str> = nodes.iter().filter_map(|node| node["id"].as_str()).collect();
        for package in metadata["packages"].as_array().expect("packages") {
            let id = package["id"].as_str().expect("an id");
            if compiled.contains(id) {
                found.insert(id.to_owned(), package.clone());
            }
        }
    }
    assert!(found.len() > 100, "{} packages", found.len());
    found
}

/// What `deny.toml` says.
struct Rules {
    systems: Vec<String>,
    licences: Vec<String>,
    banned: Vec<String>,
    registries: Vec<String>,
}

impl Rules {
    fn read() -> Self {
        let text = fs::read_to_string(root().join("deny.toml")).unwrap();
        let file = DeTable::parse(&text).expect("TOML").into_inner();
        let keys: Vec<String> = file.iter().flat_map(|(name, part)| keys(name.get_ref(), part)).collect();
        assert_eq!(keys, KNOWN, "deny.toml has other rules than these");
        Self {
            systems: texts(&file["graph"].get_ref()["targets"]),
            licences: texts(&file["licenses"].get_ref()["allow"]),
            banned: list(&file["bans"].get_ref()["deny"])
                .map(|one| text_of(&one.get_ref()["crate"]))
                .collect(),
            registries: texts(&file["sources"].get_ref()["allow-registry"]),
        }
    }
}

type Found<'a> = Spanned<DeValue<'a>>;

fn texts(value: &Found<'_>) -> Vec<String> {
    list(value).map(text_of).collect()
}

fn list<'a, 'b>(value: &'a Found<'b>) -> impl Iterator<Item = &'a Found<'b>> {
    value.get_ref().as_array().expect("a list").iter()
}

fn text_of(value: &Found<'_>) -> String {
    value.get_ref().as_str().expect("a string").to_owned()
}

/// The names of what a table says.
fn keys(name: &str, part: &Found<'_>) -> Vec<String> {
    let part = part.get_ref().as_table().expect("a table");
    part.iter().map(|(key, _)| format!("{name}.{}", key.get_ref())).collect()
}

/// What `deny.toml` says, and is looked at here. (Two versions of a crate are only shown by cargo-deny.)
const KNOWN: &[&str] = &[
    "bans.allow-wildcard-paths",
    "bans.deny",
    "bans.multiple-versions",
    "bans.wildcards",
    "graph.all-features",
    "graph.targets",
    "licenses.allow",
    "licenses.private",
    "licenses.unused-allowed-license",
    "sources.allow-registry",
    "sources.unknown-git",
    "sources.unknown-registry",
];

/// Where the workspace is.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// What is wrong with a package by these rules; nothing, if nothing is.
fn faults(package: &Value, rules: &Rules) -> Vec<String> {
    let name = package["name"].as_str().expect("a name");
    let mut faults = Vec::new();
    if rules.banned.iter().any(|banned| banned == name) {
        faults.push(format!("{name}: deny.toml bans it"));
    }
    let licence = package["license"].as_str().unwrap_or("");
    let is_allowed = Expression::parse_mode(licence, ParseMode::LAX)
        .is_ok_and(|licence| licence.evaluate(|one| rules.licences.contains(&one.to_string())));
    if !is_allowed {
        faults.push(format!("{name}: its licence is {licence:?}"));
    }
    // Ours have no source: they lie in the workspace.
    if let Some(source) = package["source"].as_str() {
        let registry = source.strip_prefix("registry+");
        if !registry.is_some_and(|it| rules.registries.iter().any(|allowed| allowed == it)) {
            faults.push(format!("{name}: it comes from {source}"));
        }
    }
    // Whoever takes a package from a registry takes what it needs from there, too: by a version.
    let is_private = package["publish"].as_array().is_some_and(Vec::is_empty);
    for dependency in package["dependencies"].as_array().into_iter().flatten() {
        let is_beside = !dependency["path"].is_null() && (is_private || dependency["kind"] == "dev");
        if package["source"].is_null() && dependency["req"] == "*" && !is_beside {
            faults.push(format!("{name}: it takes {} in any version", dependency["name"]));
        }
    }
    faults
}

#[test]
fn every_dependency_is_free_from_a_known_source_and_not_banned() {
    let rules = Rules::read();
    let faults: Vec<_> = packages(&rules).values().flat_map(|package| faults(package, &rules)).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn a_package_against_each_rule_is_named_with_it() {
    let rules = Rules::read();
    let package = |name: &str, license: &str, source: Value, dependencies: Value| serde_json::json!({ "name": name, "license": license, "source": source, "dependencies": dependencies });
    let crates_io: Value = "registry+https://github.com/rust-lang/crates.io-index".into();
    let none = || serde_json::json!([]);
    for good in [
        "MIT",
        "MIT OR GPL-2.0-only",
        "Apache-2.0/MIT",
        "Apache-2.0 WITH LLVM-exception",
        "(MIT OR Apache-2.0) AND Unicode-3.0",
    ] {
        assert_eq!(faults(&package("it", good, crates_io.clone(), none()), &rules), Vec::<String>::new());
    }
    let any_version =
        |path: Value| serde_json::json!([{ "name": "other", "req": "*", "path": path, "kind": null }]);
    let mut private = package("it", "MIT", Value::Null, any_version("../other".into()));
    private["publish"] = none();
    assert_eq!(faults(&private, &rules), Vec::<String>::new());
    let cases = [
        (package("it", "GPL-2.0-only", crates_io.clone(), none()), "it: its licence is \"GPL-2.0-only\""),
        (
            package("it", "MIT AND GPL-2.0-only", crates_io.clone(), none()),
            "it: its licence is \"MIT AND GPL-2.0-only\"",
        ),
        (package("it", "", crates_io.clone(), none()), "it: its licence is \"\""),
        (package("openssl-sys", "MIT", crates_io, none()), "openssl-sys: deny.toml bans it"),
        (
            package("it", "MIT", "git+https://example.org/it".into(), none()),
            "it: it comes from git+https://example.org/it",
        ),
        (
            package("it", "MIT", Value::Null, any_version(Value::Null)),
            "it: it takes \"other\" in any version",
        ),
        (
            package("it", "MIT", Value::Null, any_version("../other".into())),
            "it: it takes \"other\" in any version",
        ),
    ];
    for (package, fault) in cases {
        assert_eq!(faults(&package, &rules), [fault]);
    }
}
