//! Servers that change, stall, lie or redirect in circles: termination within the time limit, exit
//! code 4, and the cause.

use super::Volume;
use super::server::{Manner, Server};
use keyway_tests::timeouts;
use keyway_tests::{Run, assert_same_bytes, keyway};
use std::time::{Duration, Instant};

/// Longer than any test should wait.
const LONG: Duration = timeouts::LATE;

fn dump(server: &Server) -> Run {
    keyway("luksDump").arg(server.url()).limit(Duration::from_secs(100))
}

#[test]
fn what_changed_is_named_and_pinned() {
    let volume = Volume::new(16);
    let after = |manner: Manner| move |n| if n < 2 { Manner::Proper } else { manner };
    let out = volume.scratch.path("out");
    for (manner, what) in [
        (Manner::Changed, "its ETag was \"one\" and is \"two\""),
        (Manner::NoTag, "its ETag was \"one\" and is none"),
        (Manner::Status(412), "the server reports this (status 412)"),
    ] {
        let server = volume.served(after(manner));
        let read = volume.read(&server.url()).arg("-o").arg(&out).fails(4);
        read.says("the object has changed since it was opened").says(what).says(&server.url());
        assert!(!out.exists());
        let pinned = server.heads()[1..].iter().filter(|head| head.contains("if-match: \"one\"")).count();
        assert!(pinned > 0, "{:?}", server.heads());
        assert!(!server.heads()[0].contains("if-match"));
    }
    // A server that supports the condition only reports that it failed: the client asks what is
    // there now.
    let refuses = |n: usize| match n {
        0 | 1 => Manner::Proper,
        n if n % 2 == 0 => Manner::Status(412),
        _ => Manner::Changed,
    };
    let server = volume.served(refuses);
    volume
        .read(&server.url())
        .arg("-o")
        .arg(&out)
        .fails(4)
        .says("the object has changed since it was opened");
}

#[test]
fn a_date_is_a_version_where_there_is_no_tag() {
    let volume = Volume::new(8);
    let (then, now) = ("Mon, 23 Nov 2026 05:47:13 GMT", "Mon, 23 Nov 2026 05:47:14 GMT");
    let server = volume.served(move |_| Manner::Dated(then));
    let read = volume.read(&server.url()).ok().quiet();
    assert_same_bytes("with a date", &read.stdout, "original", &volume.plain);
    let condition = format!("if-unmodified-since: {then}");
    assert!(server.heads()[1..].iter().all(|head| head.contains(&condition)), "{:?}", server.heads());

    let server = volume.served(move |n| Manner::Dated(if n < 2 { then } else { now }));
    let read = volume.read(&server.url()).fails(4);
    read.says(&format!("its Last-Modified was {then} and is {now}"));
}

#[test]
fn no_version_is_said_once() {
    let volume = Volume::new(8);
    let server = volume.served(|_| Manner::NoTag);
    let read = volume.read(&server.url()).ok();
    assert_same_bytes("without a tag", &read.stdout, "original", &volume.plain);
    let said = read.errors().matches("neither ETag nor Last-Modified").count();
    assert_eq!(said, 1, "{}", read.errors());
    assert!(server.asked().len() > 3);
    // The length still identifies the version.
    let server = volume.served(|n| if n < 2 { Manner::NoTag } else { Manner::Ranged(Some("bytes 0-0/1")) });
    volume.read(&server.url()).fails(4);
}

#[test]
fn a_permanent_fault_ends_at_once() {
    let volume = Volume::new(1);
    for (manner, words) in [
        (Manner::Loop, "the server redirects endlessly (status 302)"),
        (Manner::Ranged(None), "status 206 without Content-Range"),
        (Manner::Ranged(Some("bytes 5-10/4000")), "bytes 5-10 instead of 0-3999"),
        (Manner::Ranged(Some("bytes 0-262143/*")), "a Content-Range without bytes or total length"),
        (Manner::Ranged(Some("bytes 0-18446744073709551615/18446744073709551615")), "a Content-Range"),
        (Manner::Status(416), "(status 416)"),
        (Manner::Status(204), "the server answers without content (status 204, No Content)"),
        (Manner::Status(404), "there is no such object (status 404)"),
        (Manner::Status(403), "the server denies access (status 403)"),
        (Manner::Status(501), "status 501"),
        (Manner::Status(304), "status 304"),
        (Manner::NoRanges, "status 200"),
        (Manner::Endless, "more of them than it announced"),
        (Manner::Later(503, "3600"), "status 503, and asks to retry in 3600 s"),
        (Manner::Later(429, "Fri, 31 Dec 9999 23:59:59 GMT"), "status 429, and asks to retry in"),
    ] {
        let server = volume.served(move |_| manner);
        let started = Instant::now();
        let failed = dump(&server).fails(4).says(words).lacks("token");
        assert!(failed.errors().starts_with(&format!("Cannot open {}: ", server.url())), "{failed}");
        assert_eq!(failed.errors().lines().count(), 1, "{failed}");
        assert!(server.asked().len() <= if manner == Manner::Loop { 11 } else { 1 }, "{manner:?}");
        assert!(timeouts::is_within(LONG, started), "{manner:?}");
    }
}

#[test]
fn the_same_faults_later_on_name_url_and_status() {
    let volume = Volume::new(4);
    for (manner, words) in [
        (Manner::Loop, "(status 302)"),
        (Manner::Status(416), "416"),
        (Manner::Status(404), "(status 404)"),
        (Manner::Ranged(None), "status 206"),
        (Manner::Later(503, "3600"), "status 503"),
    ] {
        let server = volume.served(move |n| if n < 2 { Manner::Proper } else { manner });
        let read = volume.read(&server.url()).args("--offset 2M --length 1M").limit(LONG).fails(4);
        assert!(read.errors().contains(&server.url()) && read.errors().contains(words), "{manner:?}: {read}");
    }
}

#[test]
fn retry_after_is_obeyed() {
    let volume = Volume::new(1);
    for when in ["1", "Sun, 06 Nov 1994 08:49:37 GMT", "soon"] {
        let server = volume.served(move |n| if n < 1 { Manner::Later(503, when) } else { Manner::Proper });
        let started = Instant::now();
        dump(&server).ok().says("LUKS header information");
        assert!(when != "1" || started.elapsed() >= Duration::from_secs(1));
        assert_eq!(server.asked().len(), 2);
    }
}

#[test]
fn a_silent_server_and_a_trickle_end_in_time() {
    let volume = Volume::new(1);
    for manner in [Manner::Silent, Manner::Trickle] {
        let server = volume.served(move |_| manner);
        let started = Instant::now();
        let failed = dump(&server).args("--timeout 2").fails(4);
        failed.says("the server did not answer within 2 s").says("--timeout").says(&server.url());
        assert!(
            started.elapsed() >= Duration::from_secs(2) && timeouts::is_within(LONG, started),
            "{manner:?}"
        );
    }
    for command in ["inspect", "isLuks", "luksUUID", "read", "luksHeaderBackup --header-backup-file x"] {
        let server = volume.served(|_| Manner::Silent);
        let run = keyway(command).directory(volume.scratch.root()).arg(server.url());
        run.args("--timeout 1").limit(LONG).fails(4).says("did not answer within 1 s");
    }
}

#[test]
fn who_waits_is_told_after_five_seconds() {
    let volume = Volume::new(1);
    let server = volume.served(|n| if n == 0 { Manner::After(6000) } else { Manner::Proper });
    let dump = dump(&server).ok().says("LUKS header information");
    let line = format!("Waiting for {}: no data for 5 s; giving up after 60 s (--timeout)", server.url());
    assert!(dump.errors().starts_with(&line), "{}", dump.errors());
    assert_eq!(dump.errors().lines().count(), 1);
}

/// A length announced by a server takes no memory: only data received does, and no more of it than
/// was requested.
#[test]
fn a_body_without_an_end_takes_no_memory() {
    let volume = Volume::new(4);
    let server = volume.served(|n| if n < 2 { Manner::Proper } else { Manner::Endless });
    let limited = "ulimit -v 400000; exec \"$0\" \"$@\"";
    let program = keyway("").program().to_owned();
    let read = keyway_tests::peer("bash", "-c").arg(limited).arg(program).args("read -d").arg(&volume.key);
    read.arg(server.url()).limit(LONG).fails(4).says("more of them than it announced");
}
