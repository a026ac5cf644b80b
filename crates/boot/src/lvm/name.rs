//! Names of logical volumes: `/dev/VG/LV`, and `/dev/mapper/VG-LV`, in which a hyphen of either name is doubled (lvm(8)).

/// A logical volume by its group's name and its own.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Named {
    /// The volume group.
    pub group: String,
    /// The logical volume.
    pub volume: String,
}

impl Named {
    /// The volume that a path names, if it may be one.
    pub fn of_path(path: &str) -> Option<Self> {
        if let Some(mapped) = path.strip_prefix("/dev/mapper/") {
            return Self::of_mapping(mapped);
        }
        let (group, volume) = path.strip_prefix("/dev/")?.split_once('/')?;
        (!OTHERS.contains(&group)).then(|| Self::new(group, volume)).flatten()
    }

    /// `VG/LV`, as programs of LVM's take it.
    pub fn parse(text: &str) -> Option<Self> {
        let (group, volume) = text.strip_prefix("/dev/").unwrap_or(text).split_once('/')?;
        Self::new(group, volume)
    }

    /// The name of the mapping.
    pub fn mapped(&self) -> String {
        format!("{}-{}", self.group.replace('-', "--"), self.volume.replace('-', "--"))
    }

    fn new(group: &str, volume: &str) -> Option<Self> {
        let both = is_name(group) && is_name(volume);
        both.then(|| Self { group: group.to_owned(), volume: volume.to_owned() })
    }

    /// Two names with one hyphen between them.
    fn of_mapping(mapped: &str) -> Option<Self> {
        let (mut names, mut name) = (Vec::new(), String::new());
        let mut letters = mapped.chars().peekable();
        while let Some(letter) = letters.next() {
            match letter {
                '-' if letters.next_if_eq(&'-').is_none() => names.push(std::mem::take(&mut name)),
                letter => name.push(letter),
            }
        }
        names.push(name);
        match &names[..] {
            [group, volume] => Self::new(group, volume),
            _ => None,
        }
    }
}

/// Whether a volume or a group can have this name (lvm(8), "Valid names").
pub fn is_name(text: &str) -> bool {
    let letters = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+_.-".contains(&byte));
    letters && !text.starts_with('-') && !["", ".", ".."].contains(&text) && text.len() < LONGEST
}

/// Directories of /dev that are no groups.
const OTHERS: &[&str] =
    &["disk", "block", "mapper", "char", "fd", "pts", "shm", "input", "bus", "cpu", "md", "dri"];
const LONGEST: usize = 128;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_paths_and_mappings() {
        for (path, named) in [
            ("/dev/mapper/vg-root", Some(("vg", "root"))),
            ("/dev/mapper/my--vg-data--1", Some(("my-vg", "data-1"))),
            ("/dev/mapper/a---b", Some(("a-", "b"))),
            ("/dev/my-vg/data-1", Some(("my-vg", "data-1"))),
            ("/dev/mapper/root", None),
            ("/dev/mapper/vg-root-real", None),
            ("/dev/mapper/vg-", None),
            ("/dev/disk/by-uuid", None),
            ("/dev/vg/../sda", None),
            ("/dev/vg/a/b", None),
            ("/dev/sda", None),
            ("vg/root", None),
        ] {
            let found = Named::of_path(path);
            let found = found.as_ref().map(|named| (&*named.group, &*named.volume));
            assert_eq!(found, named, "{path}");
        }
        let named = Named::parse("my-vg/data-1").unwrap();
        assert_eq!(named.mapped(), "my--vg-data--1");
        assert_eq!(Named::of_path("/dev/mapper/my--vg-data--1"), Some(named));
    }
}
