//! Partition tables as sfdisk makes and reads them.

use keyway_tests::{Scratch, need, peer};
use keyway_volume::device::partitions::{Partitions, Scheme};
use keyway_volume::device::storage::File;

/// What sfdisk is told to make, on a file of so many MiB.
const TABLES: &[(Scheme, u64, &str)] = &[
    (Scheme::Gpt, 8, "label: gpt\nsize=1M\nsize=2M\n\n"),
    (Scheme::Gpt, 8, "label: gpt\ntable-length: 8\n3: start=2048,size=2048\n8: start=8192,size=17\n"),
    (Scheme::Mbr, 8, "label: dos\nsize=1M\n4: start=8192,size=100,type=c,bootable\n"),
    (
        Scheme::Mbr,
        16,
        "label: dos\nstart=2048,size=2048\nstart=8192,size=20000,type=5\nstart=8200,size=100\nstart=9000,size=1,type=82\n\
         start=10000,size=5000\n",
    ),
    (Scheme::Mbr, 16, "label: dos\nsize=4M,type=f\nsize=1M\n"),
];

#[test]
fn partitions_are_where_sfdisk_says() {
    need!("sfdisk");
    for (scheme, mib, script) in TABLES {
        let scratch = Scratch::new();
        let image = scratch.sized("image", mib << 20);
        peer("sfdisk", "-q").arg(&image).stdin(script).ok();
        let table = Partitions::of(&File::open(&image).unwrap()).unwrap().expect(script);
        assert_eq!((table.scheme, table.sector), (*scheme, 512), "{script}");
        let found: Vec<_> = table.all.iter().map(|it| (it.number, it.bytes.start, it.bytes.end)).collect();
        let listed = peer("sfdisk", "--json").arg(&image).ok().text();
        assert_eq!(found, expected(&listed, image.to_str().unwrap()), "{script}{listed}");
    }
}

/// Numbers, starts and ends in bytes, without extended partitions.
fn expected(json: &str, image: &str) -> Vec<(u32, u64, u64)> {
    let field = |entry: &str, name: &str| -> Option<String> {
        let rest = entry.split(&format!("\"{name}\":")).nth(1)?;
        Some(rest.split([',', '\n']).next()?.trim().trim_matches('"').to_owned())
    };
    let entries = json.split("\"partitions\": [").nth(1).unwrap_or_default().split('}');
    let all = entries.filter_map(|entry| {
        let number = field(entry, "node")?.strip_prefix(image)?.parse().ok()?;
        let (start, size): (u64, u64) =
            (field(entry, "start")?.parse().ok()?, field(entry, "size")?.parse().ok()?);
        let is_extended = ["5", "f", "85"].contains(&field(entry, "type")?.as_str());
        (!is_extended).then_some((number, start * 512, (start + size) * 512))
    });
    all.collect()
}
