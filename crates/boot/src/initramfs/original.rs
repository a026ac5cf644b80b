//! An image's own /init: the kernel runs the one that is unpacked last.
//!
//! If the end of a compressed part can be determined, only the data before /init and before the
//! first program is decompressed. The tools that make images sort names, so /init comes before the
//! modules; none of them puts a second archive with another /init into the same compressed part.

use super::cpio::Entry;
use super::writer::Node;
use super::{Contained, Error, Wanted, layout, walk_parts};
use std::io::{self, Read};

/// What has to be known about an image in order to add to it.
#[derive(Debug, Clone)]
pub struct Original {
    /// The file or link that the kernel would run; `None` if the image has none, or one of another
    /// type. For an image to which Keyway was already added, this is the original one.
    pub init: Option<Node>,
    /// The image's architecture, according to the programs and modules seen during the search.
    pub contained: Contained,
}

impl Original {
    /// Examines an image.
    pub fn of(image: &[u8]) -> Result<Self, Error> {
        let (init, contained) = search(image)?;
        Ok(Self { init, contained })
    }
}

fn search(image: &[u8]) -> Result<(Option<Node>, Contained), Error> {
    let mut search = Search::default();
    walk_parts(image, &mut |part, entry, content| search.look(part, entry, content))?;
    if let Some(shared) = search.shared.take() {
        // The content is stored with another of the file's links, before this one.
        let mut of_same = |_, entry: &Entry, content: &mut dyn Read| {
            if entry.identity == shared.identity && entry.is_file() && entry.size > 0 {
                search.init = Some(Node::file(entry.mode, read(content)?));
            }
            Ok(Wanted::More)
        };
        walk_parts(image, &mut of_same)?;
    }
    Ok((search.kept.or(search.init), search.contained))
}

#[derive(Default)]
struct Search {
    init: Option<Node>,
    /// The original /init, put aside by Keyway.
    kept: Option<Node>,
    /// A hard link whose content has not been seen yet.
    shared: Option<Entry>,
    /// The programs and modules seen so far.
    contained: Contained,
    /// The part in which everything was found except a program.
    waits_in: Option<usize>,
}

impl Search {
    fn look(&mut self, part: usize, entry: &Entry, content: &mut dyn Read) -> io::Result<Wanted> {
        let head = self.contained.look(entry, content)?;
        match self.init_of(entry, &mut head.chain(content))? {
            Wanted::NothingMore if self.contained.is_empty() => self.waits_in = Some(part),
            Wanted::More if self.waits_in != Some(part) || self.contained.is_empty() => {}
            _ => return Ok(Wanted::NothingMore),
        }
        Ok(Wanted::More)
    }

    fn init_of(&mut self, entry: &Entry, content: &mut dyn Read) -> io::Result<Wanted> {
        let same = |shared: &Entry| shared.identity == entry.identity && entry.size > 0;
        if entry.is_file() && self.shared.as_ref().is_some_and(same) {
            self.shared = None;
            self.init = Some(Node::file(entry.mode, read(content)?));
            return Ok(Wanted::NothingMore);
        }
        let place = match &entry.name[..] {
            layout::INIT => &mut self.init,
            layout::ORIGINAL_INIT => &mut self.kept,
            _ => return Ok(Wanted::More),
        };
        self.shared = None;
        *place = match () {
            () if entry.is_link() => Some(Node { content: read(content)?, ..Node::link("") }),
            () if entry.is_file() && entry.links > 1 && entry.size == 0 => {
                self.shared = Some(entry.clone());
                return Ok(Wanted::More);
            }
            () if entry.is_file() => Some(Node::file(entry.mode, read(content)?)),
            () => None,
        };
        // In an archive made by Keyway, the original one follows.
        let is_ours =
            self.init.as_ref().is_some_and(|init| init.content.ends_with(layout::PROGRAM.as_bytes()));
        Ok(if is_ours { Wanted::More } else { Wanted::NothingMore })
    }
}

fn read(content: &mut dyn Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    content.take(LARGEST + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > LARGEST {
        true => Err(io::Error::other("its first program is larger than 128 MiB")),
        false => Ok(bytes),
    }
}

/// The maximum size of /init; large Go programs have tens of megabytes.
const LARGEST: u64 = 128 << 20;

#[cfg(test)]
mod tests {
    use super::super::tests::{archive, gzip};
    use super::super::writer::Tree;
    use super::*;

    fn original_init(image: &[u8]) -> Result<Option<Node>, Error> {
        Original::of(image).map(|original| original.init)
    }

    fn linked(target: &str) -> Vec<u8> {
        let mut tree = Tree::default();
        tree.add("init", Node::link(target));
        tree.archive().unwrap()
    }

    fn zstd(bytes: &[u8]) -> Vec<u8> {
        ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
    }

    #[test]
    fn the_last_one_counts() {
        let mut image = archive(&[("init", b"first"), ("z", b"")]);
        image.extend(zstd(&archive(&[("etc/init", b"not this"), ("init", b"second"), ("lib", &[3; 9000])])));
        assert_eq!(original_init(&image).unwrap(), Some(Node::file(0o644, *b"second")));
        image.extend([0; 4]);
        image.extend(gzip(&linked("usr/lib/systemd/systemd")));
        assert_eq!(original_init(&image).unwrap(), Some(Node::link("usr/lib/systemd/systemd")));
        assert_eq!(original_init(&archive(&[("sbin/init", b"")])).unwrap(), None);
        assert!(original_init(b"nothing").is_err());
    }

    #[test]
    fn hard_links_have_their_content_with_another_name() {
        // As GNU cpio writes them (content with the last link), and the other way round.
        for content_comes_last in [true, false] {
            let mut image = Vec::new();
            for (name, has) in [("init", !content_comes_last), ("sbin/init", content_comes_last)] {
                let mut part = archive(&[(name, if has { b"busy" } else { b"" })]);
                // Inode 7, two links.
                part[6..14].copy_from_slice(b"00000007");
                part[38..46].copy_from_slice(b"00000002");
                image.extend(part);
            }
            for image in [image.clone(), gzip(&image), zstd(&image)] {
                assert_eq!(original_init(&image).unwrap(), Some(Node::file(0o644, *b"busy")));
            }
        }
        // The link with the content comes before /init.
        let mut image = Vec::new();
        for (name, content) in [("bin/busybox", &b"busy"[..]), ("init", b"")] {
            let mut part = archive(&[(name, content)]);
            part[6..14].copy_from_slice(b"00000007");
            part[38..46].copy_from_slice(b"00000002");
            image.extend(part);
        }
        assert_eq!(original_init(&image).unwrap(), Some(Node::file(0o644, *b"busy")));
    }

    #[test]
    fn what_keyway_put_aside_is_the_original() {
        let contents = layout::Contents { program: b"program".to_vec(), ..Default::default() };
        let mut image = archive(&[("init", b"#!/bin/sh")]);
        let original = original_init(&image).unwrap();
        image.extend(contents.tree(original.clone()).archive().unwrap());
        assert_eq!(original_init(&image).unwrap(), original);
        image.extend(gzip(&contents.tree(original.clone()).archive().unwrap()));
        assert_eq!(original_init(&image).unwrap(), original);
    }
}
