//! Host names: resolved without the C library's modules, which would come from the system the
//! program runs on.

use super::Volume;
use super::server::{Manner, Server};
use keyway_tests::{need, need_that, peer};
use std::fs;
use std::path::Path;

/// A module named in the system's table, placed where the C library looks first: it would leave a
/// trace if loaded.
#[test]
fn no_module_of_the_system_is_loaded() {
    need!("cc", "unshare", "bash");
    let in_namespace = peer("unshare", "--mount true").outcome().code == Some(0);
    need_that!(in_namespace, "no mount namespace can be made (it takes root)");
    need_that!(Path::new("/etc/nsswitch.conf").exists(), "this system has no /etc/nsswitch.conf");
    let volume = Volume::new(1);
    let server = Server::start(volume.bytes(), |_| Manner::Proper);
    let scratch = &volume.scratch;
    let mark = scratch.path("loaded");
    let module = format!(
        "#include <fcntl.h>\n__attribute__((constructor)) static void f(void) {{ open(\"{}\", O_CREAT, 0600); }}\n",
        mark.display()
    );
    scratch.file("module.c", module);
    let library = scratch.path("libnss_evil.so.2");
    peer("cc", "-shared -fPIC -o").arg(&library).arg(scratch.path("module.c")).ok();
    scratch.file("nsswitch.conf", "passwd: evil files\ngroup: evil files\nhosts: evil files dns\n");
    scratch.file("hosts", "127.0.0.1 far.example\n");
    let script = "mount --bind nsswitch.conf /etc/nsswitch.conf && mount --bind hosts /etc/hosts && \
                  LD_LIBRARY_PATH=$PWD exec \"$0\" \"$@\"";
    let inside = |program: &Path| {
        let shell = peer("unshare", "--mount bash -c").arg(script).arg(program).directory(scratch.root());
        let _ = fs::remove_file(&mark);
        shell
    };
    let url = server.url().replace("127.0.0.1", "far.example");
    inside(&keyway_tests::peers::program()).arg("luksDump").arg(url).ok().says("LUKS header information");
    assert!(!mark.exists(), "a module was loaded");
    let nobody = inside(&keyway_tests::peers::program()).arg("luksDump").arg("nbd://far.example:1/x");
    nobody.fails(4).says("far.example");
    assert!(!mark.exists(), "a module was loaded");
    // The module works: the system's own programs load it.
    let _ = inside(Path::new("/usr/bin/getent")).args("hosts far.example").outcome();
    assert!(mark.exists(), "the module is not where it would be found");
}
