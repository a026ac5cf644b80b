//! `--require`: the policies that a volume must meet, read once, before anything is asked for.

use crate::args::{Args, shared};
use crate::failure::{Exit, Failure, Result};
use keyway_volume::admission::Required;
use keyway_volume::policy::{MAX_LEN, Policy};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};

/// Every policy that the command line, crypttab or the kernel's command line names; all of them hold.
pub(crate) fn required(args: &Args) -> Result<Vec<Required>> {
    args.all(&shared::REQUIRE).into_iter().map(read).collect()
}

fn read(file: &OsStr) -> Result<Required> {
    let name = file.to_string_lossy().into_owned();
    if file == SEALED {
        return Ok(Required {
            name: format!("--{} {SEALED}", shared::REQUIRE.long),
            policy: Policy::sealed(),
        });
    }
    let text = bytes(file).map_err(|e| {
        Failure::new(Exit::Device, format!("The policy {name} cannot be read: {e}; nothing is opened."))
    })?;
    let policy = Policy::parse(&text)
        .map_err(|e| Failure::new(Exit::Parameters, format!("Policy {name}:{e}; nothing is opened.")))?;
    Ok(Required { name, policy })
}

/// One byte more than a policy may have is enough to refuse it.
fn bytes(file: &OsStr) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    File::open(file)?.take(MAX_LEN as u64 + 1).read_to_end(&mut text)?;
    Ok(text)
}

/// A policy without a file.
const SEALED: &str = "sealed";
