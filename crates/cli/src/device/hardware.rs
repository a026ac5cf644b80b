//! Disks by what they are and where they are plugged in (`/dev/disk/by-id/…`, `/dev/disk/by-path/…`) where no udev makes
//! these links: by what sysfs tells. What sysfs does not tell is refused at once, instead of waited for.
//!
//! ```text
//! virtio-SERIAL   nvme-MODEL_SERIAL  nvme-eui.…   mmc-NAME_0xSERIAL   wwn-0x…
//! pci-ADDRESS  virtio-pci-ADDRESS  pci-ADDRESS-nvme-NAMESPACE   platform-NAME     each with -partN
//! ```
//! md-uuid-… and md-name-… are linked by "keyway unlock" when it assembles the array. /dev/block/MAJOR:MINOR, too, is one of udev's links. (systemd's rules 60-persistent-storage.rules and its builtin path_id.)

use keyway::devices::{self, BlockDevice};
use std::fs;
use std::path::{Path, PathBuf};

/// The device that udev would link under that path.
pub(super) fn find(path: &Path) -> Option<PathBuf> {
    if let Some(number) = path.to_str().and_then(|text| text.strip_prefix("/dev/block/")) {
        return by_number(number);
    }
    let name = name(path).filter(|name| is_told(name))?;
    let all = devices::all();
    let found = all.iter().find(|device| names(device).iter().any(|own| own == name));
    found.map(|device| device.node().to_owned())
}

/// MAJOR:MINOR, as udev links below /dev/block.
fn by_number(number: &str) -> Option<PathBuf> {
    if !number.bytes().all(|b| b.is_ascii_digit() || b == b':') {
        return None;
    }
    let told = fs::read_to_string(Path::new("/sys/dev/block").join(number).join("uevent")).ok()?;
    let name = told.lines().find_map(|line| line.strip_prefix("DEVNAME="))?;
    Some(Path::new("/dev").join(name)).filter(|node| node.exists())
}

/// Why no device will appear under that path: only udev knows the name, and none runs.
pub(super) fn refusal(path: &Path) -> Option<String> {
    let unknown = name(path).filter(|name| !is_told(name))?;
    let has_udev = Path::new("/run/udev/control").exists();
    (!has_udev && !path.exists() && !unknown.is_empty()).then(|| {
        format!(
            "{}: only udev knows that name, and none runs here; write UUID=, PARTUUID= or LABEL= instead",
            path.display()
        )
    })
}

/// The tag to write instead of a link that only udev makes.
pub(crate) fn better_name(path: &Path) -> Option<String> {
    let device = fs::canonicalize(path).ok().filter(|_| name(path).is_some_and(|name| !is_told(name)))?;
    let found = devices::all().into_iter().find(|other| other.node() == device)?;
    let uuid = found.identity().map(|identity| identity.uuid).filter(|uuid| !uuid.is_empty());
    let tag = uuid.map(|uuid| format!("UUID={uuid}"));
    tag.or_else(|| found.partition_uuid().map(|uuid| format!("PARTUUID={uuid}")))
}

/// The name of the link, by-id or by-path.
fn name(path: &Path) -> Option<&str> {
    let text = path.to_str()?;
    ["/dev/disk/by-id/", "/dev/disk/by-path/"].iter().find_map(|start| text.strip_prefix(start))
}

/// Whether sysfs tells names of that kind.
fn is_told(name: &str) -> bool {
    let (is_bus, below) = match name.strip_prefix("virtio-").unwrap_or(name).split_once('-') {
        Some(("pci" | "platform", address)) => (true, address),
        _ => (false, ""),
    };
    match is_bus {
        true => !["-usb-", "-ata-", "-scsi-", "-sas-", "-fc-"].iter().any(|bus| below.contains(bus)),
        false => ["virtio-", "nvme-", "mmc-", "wwn-", "md-uuid-", "md-name-"]
            .iter()
            .any(|start| name.starts_with(start)),
    }
}

fn names(device: &BlockDevice) -> Vec<String> {
    let (sys, partition) = device.in_sysfs();
    let told = |file: &str| fs::read_to_string(sys.join(file)).ok().map(|text| text.trim().to_owned());
    let place = fs::canonicalize(sys.join("device")).unwrap_or_default();
    let disk = sys.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let mut names = by_id(&disk, &told);
    names.extend(by_path(&disk, &place.to_string_lossy(), told("nsid").as_deref()));
    match partition {
        Some(number) => names.into_iter().map(|name| format!("{name}-part{number}")).collect(),
        None => names,
    }
}

fn by_id(disk: &str, told: &dyn Fn(&str) -> Option<String>) -> Vec<String> {
    let joined = |text: String| text.split_whitespace().collect::<Vec<_>>().join("_");
    let two = |one: &str, other: &str| Some((joined(told(one)?), joined(told(other)?)));
    let mut names = Vec::new();
    if disk.starts_with("vd") {
        names.extend(
            told("serial").filter(|serial| !serial.is_empty()).map(|serial| format!("virtio-{serial}")),
        );
    } else if disk.starts_with("nvme") {
        names.extend(told("wwid").map(|id| format!("nvme-{id}")));
        if let Some((model, serial)) = two("device/model", "device/serial") {
            let namespace = told("nsid").unwrap_or_else(|| "1".to_owned());
            names.push(format!("nvme-{model}_{serial}"));
            names.push(format!("nvme-{model}_{serial}_{namespace}"));
        }
    } else if disk.starts_with("mmcblk") {
        names
            .extend(two("device/name", "device/serial").map(|(name, serial)| format!("mmc-{name}_{serial}")));
    } else if let Some(id) = told("device/wwid") {
        names.extend(id.strip_prefix("naa.").map(|id| format!("wwn-0x{id}")));
    }
    names
}

fn by_path(disk: &str, place: &str, namespace: Option<&str>) -> Vec<String> {
    let parts: Vec<&str> = place.split('/').collect();
    let is_pci = |part: &&&str| part.len() == 12 && part.matches(':').count() == 2 && part.contains('.');
    match parts.iter().rev().find(is_pci) {
        Some(address) if disk.starts_with("vd") => {
            vec![format!("pci-{address}"), format!("virtio-pci-{address}")]
        }
        Some(address) if disk.starts_with("nvme") => {
            vec![format!("pci-{address}-nvme-{}", namespace.unwrap_or("1"))]
        }
        Some(address) if disk.starts_with("mmcblk") => vec![format!("pci-{address}")],
        None if disk.starts_with("mmcblk") => {
            let host = parts.iter().position(|part| *part == "mmc_host").filter(|at| *at > 0);
            host.map(|at| format!("platform-{}", parts[at - 1])).into_iter().collect()
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Those of this machine that have a node here.
    #[test]
    fn a_number_is_a_device() {
        for device in devices::all().iter().filter(|device| device.node().exists()) {
            let name = device.node().file_name().unwrap().to_string_lossy().into_owned();
            let Ok(number) = fs::read_to_string(Path::new("/sys/class/block").join(name).join("dev")) else {
                continue;
            };
            let link = Path::new("/dev/block").join(number.trim());
            assert_eq!(find(&link).as_deref(), Some(device.node()), "{}", link.display());
        }
        for number in ["", "0:0", "../../class/block/vda", "4095:1"] {
            assert_eq!(find(&Path::new("/dev/block").join(number)), None, "{number}");
        }
    }

    #[test]
    fn what_sysfs_tells_of_a_disk() {
        let told = |facts: &'static [(&'static str, &'static str)]| {
            move |file: &str| facts.iter().find(|(name, _)| *name == file).map(|(_, text)| (*text).to_owned())
        };
        let nvme = told(&[
            ("device/model", "Samsung SSD 980"),
            ("device/serial", "S64"),
            ("wwid", "eui.0025"),
            ("nsid", "1"),
        ]);
        assert_eq!(
            by_id("nvme0n1", &nvme),
            ["nvme-eui.0025", "nvme-Samsung_SSD_980_S64", "nvme-Samsung_SSD_980_S64_1"]
        );
        assert_eq!(by_id("vda", &told(&[("serial", "root")])), ["virtio-root"]);
        assert!(by_id("vda", &told(&[("serial", "")])).is_empty());
        assert_eq!(
            by_id("mmcblk0", &told(&[("device/name", "SC32G"), ("device/serial", "0x1d")])),
            ["mmc-SC32G_0x1d"]
        );
        assert_eq!(by_id("sda", &told(&[("device/wwid", "naa.5000c500")])), ["wwn-0x5000c500"]);
    }

    #[test]
    fn where_a_disk_is_plugged_in() {
        let pci = "/sys/devices/pci0000:00/0000:00:04.0/virtio1";
        assert_eq!(by_path("vda", pci, None), ["pci-0000:00:04.0", "virtio-pci-0000:00:04.0"]);
        let nvme = "/sys/devices/pci0000:00/0000:00:1d.0/0000:01:00.0/nvme/nvme0";
        assert_eq!(by_path("nvme0n1", nvme, Some("2")), ["pci-0000:01:00.0-nvme-2"]);
        let board = "/sys/devices/platform/soc/fe340000.mmc/mmc_host/mmc0/mmc0:aaaa";
        assert_eq!(by_path("mmcblk0", board, None), ["platform-fe340000.mmc"]);
        assert!(by_path("sda", "/sys/devices/pci0000:00/0000:00:1f.2/ata1/host0", None).is_empty());
    }

    #[test]
    fn what_only_udev_knows() {
        for told in [
            "virtio-x",
            "nvme-eui.1-part2",
            "mmc-A_0x1",
            "wwn-0x5",
            "pci-0000:01:00.0-nvme-1-part2",
            "platform-fe34.mmc",
        ] {
            assert!(is_told(told), "{told}");
        }
        for only in [
            "ata-WDC_X",
            "usb-Y-0:0",
            "dm-name-root",
            "pci-0000:00:14.0-usb-0:1:1.0-scsi-0:0:0:0",
            "pci-0000:00:1f.2-ata-1",
        ] {
            assert!(!is_told(only), "{only}");
        }
    }
}
