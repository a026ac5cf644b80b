//! Distant stores: a client's requests to different places run in parallel from the first one.

use super::Volume;
use super::s3::Service;
use super::server::Manner;
use keyway_tests::keyway;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

/// Sixteen reads far apart, sent at once by a client that has done nothing before.
#[test]
fn the_first_requests_run_side_by_side() {
    let volume = Volume::new(48);
    // By then all requests must have arrived: sequential requests would arrive one at a time.
    let server = volume.served(|n| if n < 3 { Manner::Proper } else { Manner::After(400) });
    let socket = volume.scratch.path("socket");
    let serve = keyway("serve -d").arg(&volume.key).arg("--socket").arg(&socket).arg(server.url());
    let _serving = Service::start_at(&serve, &socket);
    let places: Vec<u64> = (0..16).map(|i| (2 << 20) + i * (2 << 20) + 4096).collect();
    let read = pipelined(&socket, &places).unwrap();
    for (place, bytes) in places.iter().zip(read) {
        let place = *place as usize;
        assert!(bytes == volume.plain[place..place + 4096], "wrong bytes at {place}");
    }
    let most = server.most_under_way();
    assert!(most >= 12, "{most} of 16 at once");
}

/// Reads 4 KiB at each of `places`: all requests are sent before the first answer is read. (NBD
/// protocol, fixed newstyle, NBD_OPT_EXPORT_NAME, simple replies.)
fn pipelined(socket: &Path, places: &[u64]) -> io::Result<Vec<Vec<u8>>> {
    let mut stream = UnixStream::connect(socket)?;
    let mut greeting = [0; 18];
    stream.read_exact(&mut greeting)?;
    // Fixed newstyle and no zeros; then the export with the empty name.
    stream.write_all(&[0, 0, 0, 3])?;
    stream.write_all(b"IHAVEOPT\0\0\0\x01\0\0\0\0")?;
    stream.read_exact(&mut [0; 10])?;
    let mut requests = Vec::new();
    for (cookie, place) in places.iter().enumerate() {
        requests.extend_from_slice(&[0x25, 0x60, 0x95, 0x13, 0, 0, 0, 0]);
        requests.extend_from_slice(&(cookie as u64).to_be_bytes());
        requests.extend_from_slice(&place.to_be_bytes());
        requests.extend_from_slice(&4096u32.to_be_bytes());
    }
    stream.write_all(&requests)?;
    let mut answers = vec![Vec::new(); places.len()];
    for _ in places {
        let mut reply = [0; 16];
        stream.read_exact(&mut reply)?;
        assert_eq!(reply[..8], [0x67, 0x44, 0x66, 0x98, 0, 0, 0, 0], "an error");
        let mut bytes = vec![0; 4096];
        stream.read_exact(&mut bytes)?;
        answers[u64::from_be_bytes(reply[8..].try_into().unwrap()) as usize] = bytes;
    }
    Ok(answers)
}
