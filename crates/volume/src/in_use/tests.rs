use super::*;
use crate::storage::{File, Memory};

#[test]
fn writers_are_alone_readers_are_many_and_sharing_is_said() {
    let path = std::env::temp_dir().join(format!("keyway-in-use-{}", std::process::id()));
    std::fs::write(&path, b"volume").unwrap();
    let (reading, writing) = (File::open(&path).unwrap(), File::open_rw(&path).unwrap());
    let read = |shared| InUse::acquire(&reading, Access::ReadOnly, shared);
    let write = |shared| InUse::acquire(&writing, Access::Write, shared);

    let writer = write(false).unwrap();
    assert!(matches!(write(false), Err(Error::InUse(_))));
    assert!(matches!(read(false), Err(Error::InUse(_))));
    let beside = write(true).unwrap();
    drop(writer);
    assert!(matches!(write(false), Err(Error::InUse(_))), "the shared one is a writer, too");
    drop(beside);
    let readers = [read(false).unwrap(), read(false).unwrap()];
    assert!(matches!(write(false), Err(Error::InUse(_))));
    drop(readers);
    drop(write(false).unwrap());
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn memory_is_nobody_elses() {
    let memory = Memory::zeroed(512);
    let _first = InUse::acquire(&memory, Access::Write, false).unwrap();
    assert!(InUse::acquire(&memory, Access::Write, false).is_ok());
}
