//! Requests that wait, fail and go on.

use super::*;
use crate::session::{KeyDigest, Origin, SizeFault};
use keyway_volume::device::storage::Memory;
use keyway_volume::{Layout, MappedSegment, Mapping};
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

fn key() -> Secret {
    Secret::copy_from(&[9; 32])
}

fn device() -> Arc<SuspendableDevice> {
    device_over(Arc::new(Memory::from(vec![7; 8192])))
}

fn device_over(storage: Arc<dyn Storage>) -> Arc<SuspendableDevice> {
    device_with(storage, Rights::default())
}

fn device_with(storage: Arc<dyn Storage>, rights: Rights) -> Arc<SuspendableDevice> {
    device_of(storage, rights, 4096)
}

fn device_of(storage: Arc<dyn Storage>, rights: Rights, len: u64) -> Arc<SuspendableDevice> {
    let segment = MappedSegment {
        plaintext_start: 0,
        length: Some(len),
        storage_offset: 512,
        mapping: Mapping::Linear,
        second_key: false,
    };
    let source = Source {
        device: PathBuf::from("disk"),
        storage,
        layout: Layout::new(vec![segment]),
        declared_len: None,
        origin: Origin::Other(KeyDigest::of(&key()).unwrap()),
    };
    Arc::new(SuspendableDevice::open(source, &key(), rights).unwrap())
}

#[test]
fn requests_wait_while_the_volume_is_away() {
    let device = device();
    device.suspend().unwrap();
    assert!(device.suspend().is_err(), "twice");
    let reader = {
        let device = Arc::clone(&device);
        thread::spawn(move || {
            let mut buf = [0; 16];
            device.read_at(&mut buf, 0).map(|()| buf)
        })
    };
    thread::sleep(Duration::from_millis(50));
    assert!(!reader.is_finished());
    assert!(device.resume(&Secret::zeroed(32)).is_err(), "with another key");
    assert!(!reader.is_finished());
    device.resume(&key()).unwrap();
    assert_eq!(reader.join().unwrap().unwrap(), [7; 16]);
    assert!(device.resume(&key()).is_err(), "twice");
}

#[test]
fn a_closing_front_end_gets_its_waiting_requests_back() {
    let device = device();
    device.suspend().unwrap();
    let writer = {
        let device = Arc::clone(&device);
        thread::spawn(move || device.write_at(&[1], 0))
    };
    thread::sleep(Duration::from_millis(20));
    device.shut();
    assert!(writer.join().unwrap().is_err());
    assert!(device.has_turned_away());
}

/// Acknowledged data is flushed before the key is wiped: closing a suspended volume reports no
/// error.
#[test]
fn a_suspended_volume_is_flushed() {
    let device = device();
    device.write_at(&[1], 0).unwrap();
    device.suspend().unwrap();
    // Returns at once: flush does not cover writes that are still waiting.
    device.flush().unwrap();
    device.shut();
    device.flush().unwrap();
    assert!(!device.has_turned_away());
    assert!(device.read_at(&mut [0], 0).is_err() && !device.has_turned_away());
    assert!(device.write_at(&[2], 0).is_err() && device.has_turned_away());
    device.wipe();
    assert!(device.flush().is_err(), "of what is gone nobody knows");
}

#[test]
fn a_front_end_that_stays_open_lets_requests_wait_again() {
    let device = device();
    device.stay();
    device.shut();
    device.write_at(&[1], 0).expect("an open volume is not shut");
    device.suspend().unwrap();
    device.shut();
    assert!(device.read_at(&mut [0], 0).is_err());
    device.stay();
    let reader = {
        let device = Arc::clone(&device);
        thread::spawn(move || {
            let mut byte = [0];
            device.read_at(&mut byte, 0).map(|()| byte)
        })
    };
    thread::sleep(Duration::from_millis(50));
    assert!(!reader.is_finished());
    device.resume(&key()).unwrap();
    assert_eq!(reader.join().unwrap().unwrap(), [1]);
}

#[test]
fn what_is_wiped_does_not_come_back() {
    let device = device();
    device.wipe();
    assert!(device.is_suspended());
    device.stay();
    assert!(device.read_at(&mut [0], 0).is_err(), "and nobody waits for it");
}

#[test]
fn it_is_read_only_where_the_rights_or_the_storage_say_so() {
    let memory = || -> Arc<dyn Storage> { Arc::new(Memory::from(vec![7; 8192])) };
    let program = std::env::current_exe().unwrap();
    let file: Arc<dyn Storage> = Arc::new(keyway_volume::device::storage::File::open(program).unwrap());
    let is_read_only = |storage, read_only| {
        let device = device_with(storage, Rights { read_only, discards: false });
        assert_eq!(device.write_at(&[1], 0).is_err(), device.is_read_only());
        device.is_read_only()
    };
    assert!(!is_read_only(memory(), false));
    assert!(is_read_only(memory(), true));
    assert!(is_read_only(Arc::clone(&file), false));
    assert!(is_read_only(file, true));
}

/// A claim is tied to the storage: whoever finds the session gone can use the volume.
#[test]
fn what_is_wiped_lets_go_of_its_storage() {
    let storage: Arc<dyn Storage> = Arc::new(Memory::from(vec![7; 8192]));
    let device = device_over(Arc::clone(&storage));
    device.suspend().unwrap();
    assert_eq!(Arc::strong_count(&storage), 2, "it is kept while the key is away");
    device.wipe();
    assert_eq!(Arc::strong_count(&storage), 1);
    assert!(matches!(device.resume(&key()), Err(Error::NotSuspended)));
    assert!(matches!(device.resize(None), Err(Error::Suspended)));
}

#[test]
fn another_length_is_kept_while_the_key_is_away() {
    let device = device();
    device.resize(Some(1024)).unwrap();
    assert!(device.len() == 1024 && device.read_at(&mut [0], 1024).is_err());
    let fault = |size| match device.resize(Some(size)).unwrap_err() {
        Error::Size { fault, .. } => fault,
        error => panic!("{error}"),
    };
    assert!(matches!(fault(8192), SizeFault::TooSmall));
    assert!(matches!(fault(700), SizeFault::Unaligned { size: 700, sector: 512 }));
    device.suspend().unwrap();
    assert!(matches!(device.resize(None), Err(Error::Suspended)));
    device.resume(&key()).unwrap();
    assert!(device.len() == 1024 && device.read_at(&mut [0], 1024).is_err());
    device.resize(None).unwrap();
    assert_eq!(device.len(), 7680, "a volume without a header takes all there is");
}

#[test]
fn rights_change_while_it_is_open() {
    let device = device();
    device.discard(0..4096).unwrap();
    let mut byte = [0];
    device.read_at(&mut byte, 0).unwrap();
    assert_eq!(byte, [7], "discarded though it was not allowed");
    assert_eq!(
        (device.next_data(0).unwrap(), device.unit(), device.is_distant()),
        (Some(0..4096), 512, false)
    );
    device.pass_discards(true);
    assert_eq!(device.rights(), Rights { read_only: false, discards: true });
    device.write_from(&mut [1], 5).unwrap();
    device.make_read_only();
    assert!(device.rights().read_only);
    assert_eq!(device.write_at(&[2], 5).unwrap_err().kind(), ErrorKind::ReadOnlyFilesystem);
    assert!(device.write_zeroes(0..16, true).is_err() && device.discard(0..512).is_err());
    device.read_at(&mut byte, 5).unwrap();
    assert_eq!(byte, [1]);
}

/// A large storage that counts writes and discards, and takes its time for them as long as it is told to.
struct Slow {
    is_slow: AtomicBool,
    pieces: AtomicU64,
    longest: AtomicU64,
}

impl Slow {
    fn note(&self, len: u64) {
        self.pieces.fetch_add(1, Ordering::SeqCst);
        self.longest.fetch_max(len, Ordering::SeqCst);
        if self.is_slow.load(Ordering::SeqCst) {
            thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Storage for Slow {
    fn len(&self) -> u64 {
        512 + LARGE
    }

    fn read_at(&self, _: &mut [u8], _: u64) -> io::Result<()> {
        Ok(())
    }

    fn write_at(&self, buf: &[u8], _: u64) -> io::Result<()> {
        self.note(buf.len() as u64);
        Ok(())
    }

    fn flush(&self) -> io::Result<()> {
        Ok(())
    }

    fn discard(&self, range: Range<u64>) -> io::Result<()> {
        self.note(range.end - range.start);
        Ok(())
    }
}

/// Whoever takes the volume away or changes it gets in between the pieces.
#[test]
fn long_requests_give_way() {
    for (discards, piece) in [(false, 1 << 20), (true, DISCARDED)] {
        let storage = Arc::new(Slow {
            is_slow: AtomicBool::new(true),
            pieces: AtomicU64::new(0),
            longest: AtomicU64::new(0),
        });
        let device = device_of(storage.clone(), Rights { read_only: false, discards }, LARGE);
        thread::scope(|scope| {
            let long = scope.spawn(|| match discards {
                true => device.discard(1000..LARGE - 1000),
                false => device.write_zeroes(1000..LARGE - 1000, true),
            });
            let so_far = || storage.pieces.load(Ordering::SeqCst);
            while so_far() < 2 {
                thread::sleep(Duration::from_millis(1));
            }
            device.resize(Some(LARGE)).unwrap();
            device.suspend().unwrap();
            let suspended = so_far();
            storage.is_slow.store(false, Ordering::SeqCst);
            thread::sleep(Duration::from_millis(20));
            assert_eq!(so_far(), suspended, "nothing is written without the key");
            assert!(suspended < LARGE / piece && !long.is_finished(), "{suspended} pieces");
            device.resume(&key()).unwrap();
            device.read_at(&mut [0; 16], 0).unwrap();
            long.join().unwrap().unwrap();
        });
        assert_eq!(storage.longest.load(Ordering::SeqCst), piece);
        assert_eq!(storage.pieces.load(Ordering::SeqCst), LARGE / piece, "at multiples of {piece}");
    }
}

/// Requests go on while others suspend and resume the volume side by side, and nobody is left.
#[test]
fn no_order_of_suspending_and_resuming_leaves_a_request() {
    let device = device();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let users: Vec<_> = (0..3)
            .map(|_| {
                scope.spawn(|| {
                    for _ in 0..2000 {
                        let mut byte = [0];
                        device.read_at(&mut byte, 0).unwrap();
                        assert_eq!(byte, [7]);
                        thread::yield_now();
                    }
                })
            })
            .collect();
        let changers: Vec<_> = (0..4)
            .map(|number| {
                let (device, done) = (&device, &done);
                scope.spawn(move || {
                    while !done.load(Ordering::SeqCst) {
                        let changed = if number == 0 { device.suspend() } else { device.resume(&key()) };
                        if let Err(error) = changed {
                            assert!(
                                matches!(error, Error::AlreadySuspended | Error::NotSuspended),
                                "{error}"
                            );
                        }
                        thread::yield_now();
                    }
                })
            })
            .collect();
        for user in users {
            user.join().unwrap();
        }
        done.store(true, Ordering::SeqCst);
        changers.into_iter().for_each(|changer| changer.join().unwrap());
    });
}

/// Who closes a volume that is suspended only then does not wait for its requests.
#[test]
fn what_is_suspended_while_it_is_shut_fails() {
    let device = device();
    device.shut();
    device.suspend().unwrap();
    assert!(device.write_at(&[1], 0).is_err() && device.has_turned_away());
}

/// Plaintext, in bytes.
const LARGE: u64 = 1 << 30;
