//! Control groups as directory trees.

use super::*;

/// Files of control groups, removed with the test.
struct Tree(PathBuf);

impl Tree {
    fn new(name: &str) -> Self {
        let root = std::env::temp_dir().join(format!("keyway-cgroup-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        Self(root)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// A group of version 2.
    fn v2(&self, group: &str, max: &str, current: &str) {
        self.write(&format!("{group}/memory.max"), max);
        self.write(&format!("{group}/memory.current"), current);
    }

    /// A group of version 1.
    fn v1(&self, group: &str, limit: &str, usage: &str) {
        self.write(&format!("{group}/memory.limit_in_bytes"), limit);
        self.write(&format!("{group}/memory.usage_in_bytes"), usage);
    }

    /// A hierarchy, mounted at a directory of the tree.
    fn mount(&self, kind: &str, options: &str, root: &str, point: &str) -> Mount {
        Mount {
            id: 1,
            parent: 0,
            device: (0, 1),
            root: root.into(),
            point: self.0.join(point),
            kind: kind.into(),
            source: kind.into(),
            options: options.into(),
        }
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// PAGE_COUNTER_MAX, with pages of 4 KiB.
const NONE: &str = "9223372036854771712\n";

#[test]
fn meminfo_is_understood() {
    let text = "MemTotal:       24660548 kB\nMemFree:  1 kB\nMemAvailable:   24000000 kB\nSwapTotal:             0 kB\n";
    let memory = Memory { total_kib: 24_660_548, available_kib: 24_000_000, has_swap: false, left_kib: None };
    assert_eq!(Memory::parse(text), Some(memory));
    assert_eq!(Memory::parse("nothing"), None);
    let swaps = Memory::parse(&text.replace("SwapTotal:             0", "SwapTotal: 1")).unwrap();
    assert!(swaps.has_swap);
    assert_eq!((memory.most_kib(), swaps.most_kib()), (Some(24_000_000), None));
    for memory in [memory.within(Some(512)), swaps.within(Some(512))] {
        assert_eq!((memory.available_kib, memory.left_kib, memory.most_kib()), (512, Some(512), Some(512)));
    }
    let roomy = memory.within(Some(99_000_000));
    assert_eq!((roomy.available_kib, roomy.left_kib), (24_000_000, Some(99_000_000)));
}

#[test]
fn the_narrowest_control_group_counts() {
    let tree = Tree::new("v2");
    let mounts = [tree.mount("tmpfs", "rw", "/", ""), tree.mount("cgroup2", "rw,nsdelegate", "/", "")];
    tree.v2("a/b", "max\n", "4096\n");
    assert_eq!(left_to("0::/a/b\n", &mounts), None);
    tree.v2("a", "1048576\n", "524288\n");
    assert_eq!(left_to("1:cpu:/x\n0::/a/b\n", &mounts), Some(512));
    tree.write("a/memory.stat", "anon 5\ninactive_file 1024\nactive_file 2048\n");
    assert_eq!(left_to("0::/a/b\n", &mounts), Some(515));
    tree.v2("a/b", "4096\n", "8192\n");
    assert_eq!(left_to("0::/a/b\n", &mounts), Some(0));
    // Groups above the mount belong to others.
    tree.v2(".", "8192\n", "0\n");
    assert_eq!(left_to("0::/a\n", &mounts), Some(8));
    let inner = [tree.mount("cgroup2", "rw", "/a", "a")];
    assert_eq!(left_to("0::/a\n", &inner), Some(515));
    assert_eq!(left_to("1:cpu:/a/b\n", &mounts), None);
    assert_eq!(left_to("0::/a\n", &mounts[..1]), None, "it is not mounted");
}

#[test]
fn version_1_counts_as_well() {
    let tree = Tree::new("v1");
    let mounts = [
        tree.mount("cgroup", "rw,cpu", "/", "cpu"),
        tree.mount("cgroup", "rw,memory", "/", "memory"),
        tree.mount("cgroup2", "rw", "/", "unified"),
    ];
    let left = |groups: &str| left_to(groups, &mounts);
    tree.v1("cpu/a", "4096\n", "0\n");
    tree.v1("memory/a/b", NONE, "4096\n");
    tree.v1("memory/a", NONE, "4096\n");
    let groups = "5:cpu,cpuacct:/a\n4:memory:/a/b\n0::/\n";
    assert_eq!(left(groups), None);
    tree.v1("memory/a", "1048576\n", "524288\n");
    assert_eq!(left(groups), Some(512));
    assert_eq!(left("4:hugetlb,memory:/a/b\n"), Some(512));
    assert_eq!(left("4:memory2:/a/b\n"), None);
    // Counts the whole group, not only its own processes.
    tree.write("memory/a/memory.stat", "inactive_file 9\ntotal_inactive_file 1024\ntotal_active_file 1024\n");
    assert_eq!(left(groups), Some(514));
    tree.write("memory/a/memory.use_hierarchy", "0\n");
    assert_eq!(left(groups), None, "it does not bind those below");
    assert_eq!(left("4:memory:/a\n"), Some(514), "but itself");
    tree.write("memory/a/memory.use_hierarchy", "1\n");
    assert_eq!(left(groups), Some(514));
    // The lower limit of the two versions.
    tree.v2("unified", "102400\n", "0\n");
    assert_eq!(left(groups), Some(100));
}

/// In Docker, a container sees its group as the mount's root, but the host's path in
/// /proc/self/cgroup.
#[test]
fn a_containers_own_group() {
    let tree = Tree::new("container");
    tree.v1("memory", "419430400\n", "1048576\n");
    let shown = [tree.mount("cgroup", "rw,memory", "/docker/1234", "memory")];
    for path in ["/docker/1234", "/elsewhere/entirely", "/../outside", "/"] {
        assert_eq!(left_to(&format!("4:memory:{path}\n"), &shown), Some(399 << 10), "{path}");
    }
    tree.v1("memory/inner", "2097152\n", "1048576\n");
    assert_eq!(left_to("4:memory:/docker/1234/inner\n", &shown), Some(1024));
    // Only the second mount shows the group.
    let both = [tree.mount("cgroup", "rw,memory", "/other", "nowhere"), shown[0].clone()];
    assert_eq!(left_to("4:memory:/docker/1234/inner\n", &both), Some(1024));
    // A limit of a group above, which no mount shows.
    tree.v1("memory/inner", NONE, "1048576\n");
    tree.write("memory/inner/memory.stat", "hierarchical_memory_limit 1572864\n");
    assert_eq!(left_to("4:memory:/docker/1234/inner\n", &shown), Some(512));
    tree.write("memory/inner/memory.stat", &format!("hierarchical_memory_limit {NONE}"));
    assert_eq!(left_to("4:memory:/docker/1234/inner\n", &shown), Some(399 << 10));
}

#[test]
fn this_machine_tells() {
    let now = Memory::now().expect("a kernel that tells");
    assert!(now.total_kib > 0 && now.available_kib <= now.total_kib);
}
