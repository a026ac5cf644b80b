//! LUKS1, whose header has no checksum: a passphrase proves what is put back.

use super::*;
use keyway_volume::change::create::{Luks1Params, create_luks1};

fn luks1() -> Vec<u8> {
    let storage = Arc::new(Memory::zeroed(4 << 20));
    let params = Luks1Params { kdf: cheap(), key_bits: 256, ..Luks1Params::default() };
    let key = Secret::copy_from(&[7; 32]);
    create_luks1(storage.clone(), &params, &key, &Secret::copy_from(b"one"), &mut OsRandom).unwrap();
    storage.to_vec()
}

#[test]
fn a_passphrase_confirms_a_luks1_header_without_its_magic() {
    let sound = luks1();
    for lost in [0..6, 0..8, 6..8, 3..4] {
        let image = with_noise(&sound, &[lost]);
        let storage = Arc::new(Faulty::new(image.clone()));
        let prepared = || Repair::prepare(storage.clone(), Locking::Disabled).unwrap();
        let repair = prepared();
        assert_eq!(repair.changes(), ["LUKS1 header has no magic: put back (bytes 0 to 8)."]);
        assert!(repair.needs_passphrase());
        assert!(matches!(repair.run(), Err(Error::Refused { kind: Refusal::Unproven, .. })));
        let (repair, how) = (prepared(), UnlockOptions::default());
        let wrong = repair.prove(&Secret::copy_from(b"two"), &how);
        assert!(matches!(wrong, Err(Error::WrongPassphrase)));
        assert!(matches!(repair.run(), Err(Error::Refused { kind: Refusal::Unproven, .. })));
        assert!(storage.events().is_empty());
        let repair = prepared();
        repair.prove(&Secret::copy_from(b"one"), &how).unwrap();
        repair.run().unwrap();
        assert!(storage.image() == sound);
        for cut in storage.cuts() {
            let left = Arc::new(Memory::from(storage.image_at(cut)));
            let repair = Repair::prepare(left.clone(), Locking::Disabled).unwrap();
            repair.prove(&Secret::copy_from(b"one"), &how).unwrap();
            repair.run().unwrap();
            assert!(left.to_vec() == sound, "{cut:?}");
        }
    }
    // What the key depends on is not known.
    let image = with_noise(&sound, &[0..8, 112..132]);
    let repair = Repair::prepare(Arc::new(Memory::from(image)), Locking::Disabled).unwrap();
    let refused = repair.prove(&Secret::copy_from(b"one"), &UnlockOptions::default());
    assert!(matches!(refused, Err(Error::WrongPassphrase)));
    assert_refused(&with_noise(&sound, &[0..512]));
}
