//! Every `--json`: an object with a version, and follows the schema in docs/, checked by
//! a third-party implementation of JSON Schema.

use crate::help::verbs;
use keyway_format::json::{Value, parse};
use keyway_tests::bitlk::Bitlk;
use keyway_tests::peers::{CHEAP_ARGON2, CHEAP_PBKDF2};
use keyway_tests::run::Run;
use keyway_tests::{Scratch, bitlk, keyway, need, peer};
use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

/// The schema in docs/, the command line, and its exit code.
const LINES: &[(&str, &str, i32)] = &[
    ("list", "list --json", 0),
    ("status", "status --json open", 0),
    ("status", "status --json closed", 4),
    ("inspect", "inspect --json luks1", 0),
    ("inspect", "inspect --json luks2", 0),
    ("inspect", "inspect --json --require policy.toml luks2", 6),
    ("reencrypt", "reencrypt --estimate --json luks1", 0),
    ("reencrypt", "reencrypt --estimate --json --encrypt --reduce-device-size 16M plain", 0),
    ("toLuks", "toLuks --estimate --json --type tcrypt plain new.header", 0),
    ("repair", "repair --json luks1", 0),
    ("repair", "repair --json luks2", 0),
    ("repair", "repair --json --dry-run damaged", 0),
    ("passport", "passport --json luks1", 0),
    ("passport", "passport --json --target grub-2.12 --within 4s luks2", 0),
    ("passport", "passport --json --within 4s luks1", 0),
    ("passport", "passport --json --type tcrypt --hash sha512 plain", 0),
    ("passport", "passport --json --type plain --target grub-2.12 plain", 0),
    ("passport", "passport --json --type loopaes plain", 0),
    ("passport", "passport --json --type bitlk windows", 0),
    ("boot-check", "boot check --json --grub-version 2.12 luks1", 0),
    ("boot-check", "boot check --json --grub-version 2.12 -d key luks2", 1),
    ("boot-check", "boot check --json --loader initramfs --image initrd luks2", 1),
    ("boot-check", "boot check --json --loader initramfs --image initrd -d key luks2", 1),
    ("xray", "xray --json --no-measure aes-xts-plain64", 0),
    ("xray", "xray --json --proc-crypto crypto --kernel-version 6.1 luks2", 0),
    ("xray", "xray --json --initramfs image.initrd luks2", 1),
    ("ciphers", "ciphers --json", 0),
    ("luksDump", "luksDump --json luks1", 0),
    ("luksDump", "luksDump --json luks2", 0),
    ("luksUUID", "luksUUID --json luks1", 0),
    ("benchmark", "benchmark --json -c aes-cbc -s 256", 0),
    ("benchmark", "benchmark --json -h sha1", 0),
    ("benchmark", "benchmark --json --pbkdf argon2id --pbkdf-memory 1024 -i 50", 0),
    ("bench", "bench --json --time 1 -c aes-xts-plain64 -s 512 --message 512", 0),
    ("bench-diff", "bench diff --json run run", 0),
    ("bench-merge", "bench merge --json run run", 0),
    ("bench", "bench merge --json run", 0),
];

/// A driver that is wrong, one that is not chosen: what `xray` can find in a table.
const CRYPTO: &str = "name : xts(aes)\ndriver : xts-aes-ce\nmodule : aes_ce_blk\npriority : 300\nselftest : passed\ntype : skcipher\n\n\
                      name : aes\ndriver : aes-generic\nmodule : kernel\npriority : 100\nselftest : passed\ntype : cipher\n";

struct Place(Scratch);

impl Place {
    fn new() -> Self {
        let place = Self(Scratch::new());
        fs::set_permissions(place.0.root(), Permissions::from_mode(0o700)).unwrap();
        for file in ["luks1", "luks2"] {
            place.0.sized(file, 20 << 20);
        }
        place.0.sized("plain", 40 << 20);
        place.0.file("key", "secret");
        place.0.file("windows", Bitlk::default().make(&vec![0; bitlk::LEN]));
        place.0.file("policy.toml", "max-keyslots = 0\nsealed = true\nlabel = \"name\"\n");
        place.0.file("crypto", CRYPTO);
        place.0.file("token", r#"{"type":"note","keyslots":["0"]}"#);
        let format = "luksFormat -q -d key --label name";
        place.run("luksFormat -q -d key --type luks1 luks1").args(CHEAP_PBKDF2).ok();
        place.run(format).args(CHEAP_ARGON2).arg("luks2").ok();
        place.run("token import --json-file token luks2").ok();
        place.run("seal -d key luks2").ok();
        let mut damaged = fs::read(place.0.path("luks2")).unwrap();
        damaged[..6].fill(0);
        damaged[40_000..41_000].fill(0);
        place.0.file("damaged", damaged);
        let line =
            "set -e; mkdir -p tree/bin; echo x >tree/bin/sh; cd tree; find . | cpio -o -H newc >../initrd";
        peer("sh", "-c").arg(line).directory(place.0.root()).ok();
        // One with a module, none of those that the volume needs.
        let line = "set -e; mkdir -p tree/lib/modules/6.1.0/kernel; cd tree/lib/modules/6.1.0; echo x >kernel/dm-mod.ko; \
                    echo kernel/dm-mod.ko: >modules.dep; : >modules.builtin; cd ../../..; \
                    find . | cpio -o -H newc >../image.initrd";
        peer("sh", "-c").arg(line).directory(place.0.root()).ok();
        place.run("bench --time 1 -c aes-xts-plain64 -s 512 --message 512 --save run").ok();
        place.run("open --backend nbd -d key luks2 open").ok();
        place
    }

    fn run(&self, line: &str) -> Run {
        keyway(line).directory(self.0.root()).env("XDG_RUNTIME_DIR", self.0.root())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = self.run("close open").outcome();
    }
}

fn schema_file(name: &str) -> String {
    format!("{}/../docs/{name}.schema.json", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn every_json_is_an_object_with_a_version_and_follows_its_schema() {
    need!("jsonschema", "cpio", "sh");
    let place = Place::new();
    let mut documents: BTreeMap<&str, Vec<PathBuf>> = BTreeMap::new();
    for (number, (schema, line, code)) in LINES.iter().enumerate() {
        let said = place.run(line).fails(*code).text();
        assert!(said.ends_with("}\n"), "{line}: {said}");
        let document = parse(said.as_bytes()).unwrap_or_else(|e| panic!("{line}: {e}\n{said}"));
        let version = document.as_object().and_then(|object| object.get("version"));
        assert_eq!(version.map(Value::to_compact).as_deref(), Some("1"), "{line}");
        // It names the file of what does not follow.
        let name = format!("{number}: {}", line.replace('/', "_"));
        documents.entry(schema).or_default().push(place.0.file(&name, said));
    }
    for (schema, documents) in documents {
        let checks = peer("jsonschema", "--output pretty");
        let checks = documents.iter().fold(checks, |checks, document| checks.arg("-i").arg(document));
        checks.arg(schema_file(schema)).ok();
    }
    // A schema that takes anything would prove nothing.
    let listed = place.run("list --json").ok().text().replace("\"pid\"", "\"process\"");
    let file = place.0.file("document.json", listed);
    peer("jsonschema", "-i").arg(file).arg(schema_file("list")).fails(1);
}

/// A verb that gets `--json` gets a line above, and a schema that the docs name.
#[test]
fn no_json_is_left_out() {
    let docs = include_str!("../../../docs/FEATURES.md");
    for verb in verbs() {
        let has_json = keyway(verb).args("--help-all").ok().text().contains("      --json ");
        let tried = LINES.iter().any(|(_, line, _)| line.starts_with(&format!("{verb} ")));
        assert_eq!(has_json, tried, "{verb}");
    }
    for (schema, ..) in LINES {
        assert!(docs.contains(&format!("({schema}.schema.json)")), "{schema}");
    }
}
