//! Both programs at once on one header: reported edits are there, refused ones are not.

use crate::volume::{Tool, Volume};
use keyway_tests::peers::CHEAP_ARGON2;
use keyway_tests::{cryptsetup, keyway, need};
use std::path::PathBuf;
use std::process::Child;

#[test]
fn no_key_added_at_the_same_time_is_lost() {
    need!("cryptsetup");
    let v = Volume::made_by(cryptsetup, &format!("--type luks2 {CHEAP_ARGON2}"), 20 << 20);
    let adders: Vec<(PathBuf, Child)> = (0..12)
        .map(|number| {
            let key = v.scratch.file(&format!("{number}.key"), format!("key number {number}"));
            let tool: Tool = if number % 2 == 0 { keyway } else { cryptsetup };
            let run =
                v.run(tool, "luksAddKey -q").arg(&key).args(CHEAP_ARGON2).arg("--key-file").arg(&v.first_key);
            (key, run.spawn().expect("the program starts"))
        })
        .collect();
    for (key, child) in adders {
        let output = child.wait_with_output().expect("the program ends");
        // The slow part runs outside the lock; a program that then finds the header changed gives
        // up.
        let refused = String::from_utf8_lossy(&output.stderr).contains("concurrent LUKS");
        assert!(output.status.success() != refused, "{}: {output:?}", key.display());
        v.opens(keyway, &key, !refused);
        v.opens(cryptsetup, &key, !refused);
        if refused {
            v.run(cryptsetup, "luksAddKey -q")
                .arg(&key)
                .args(CHEAP_ARGON2)
                .arg("--key-file")
                .arg(&v.first_key)
                .ok();
        }
    }
    assert_eq!(v.dump().matches(": luks2\n").count(), 13);
}
