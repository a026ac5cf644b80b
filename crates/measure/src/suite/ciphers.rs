//! Ciphers: specification × key size × sector size × message × direction × threads.

use super::{Asked, DEFAULT, Listed, Named, Suite, Unknown, article, glob, or};
use crate::results::{Case, CipherCase, Direction, Outcome};
use crate::spec::Spec;
use keyway_crypto::spec::{Combination, space};
use keyway_crypto::{Error, SectorSize};

/// The length of a run of sectors in one call: the pieces a large request is divided into.
pub(crate) const RUN: u32 = 65_536;

/// A specification with one key size, as it was written.
struct Point {
    text: String,
    /// 0 if there is none: an impossible combination takes no key.
    key_bits: u32,
    spec: Result<Spec, Outcome>,
}

/// Every cipher case; none where only key derivation is asked for.
pub(super) fn list(asked: &Asked) -> Result<Vec<Listed>, Unknown> {
    let only_kdfs = asked.suite.is_none()
        && asked.ciphers.is_empty()
        && asked.key_bits.is_empty()
        && !(asked.kdfs.is_empty() && asked.hashes.is_empty());
    if only_kdfs {
        return Ok(Vec::new());
    }
    let mut points = vec![Point::new(DEFAULT.0, DEFAULT.1)];
    points.extend(points_of(asked)?);
    Ok(points.iter().flat_map(|point| point.cases(asked)).collect())
}

fn points_of(asked: &Asked) -> Result<Vec<Point>, Unknown> {
    let suite = match asked.suite {
        None if asked.ciphers.is_empty() => Suite::Default,
        None => return written(asked),
        Some(suite) => suite,
    };
    let points = match suite {
        Suite::Quick => QUICK.iter().map(|(text, bits)| Point::new(text, *bits)).collect(),
        Suite::Default => {
            QUICK.iter().chain(CRYPTSETUPS).map(|(text, bits)| Point::new(text, *bits)).collect()
        }
        Suite::Article => of_the_article(),
        Suite::VeraCrypt => Spec::veracrypts().map(|(text, bits)| Point::new(&text, bits)).collect(),
        Suite::All => space().flat_map(|it| Point::all_sizes(&it)).collect::<Vec<_>>(),
    };
    let wanted = |point: &Point| {
        let named = asked.ciphers.is_empty() || asked.ciphers.iter().any(|it| names(it, &point.text));
        named && (asked.key_bits.is_empty() || asked.key_bits.contains(&point.key_bits))
    };
    let chosen: Vec<Point> = points.into_iter().filter(wanted).collect();
    match asked.ciphers.iter().find(|it| !chosen.iter().any(|point| names(it, &point.text))) {
        Some(nothing) => Err(unknown(nothing)),
        None => Ok(chosen),
    }
}

/// Whether a pattern or a short name selects a specification.
fn names(asked: &str, text: &str) -> bool {
    let short = || Spec::named(asked).is_ok_and(|specs| specs.iter().any(|spec| spec.to_string() == text));
    glob::matches(asked, text) || (!glob::is_pattern(asked) && Spec::parse(asked).is_err() && short())
}

/// The combinations that `--cipher` selects.
fn written(asked: &Asked) -> Result<Vec<Point>, Unknown> {
    let mut points = Vec::new();
    for text in &asked.ciphers {
        let before = points.len();
        if glob::is_pattern(text) {
            // ESSIV with one hash stands for all, unless hashes are requested.
            let usual = |it: &Combination| {
                text.contains("essiv:") || !it.iv.starts_with("essiv:") || it.iv == "essiv:sha256"
            };
            let found = space().filter(|it| glob::matches(text, &it.text) && usual(it));
            let chains = Spec::chain_names().filter(|name| glob::matches(text, name));
            let found = found.map(|it| it.text).chain(chains);
            points.extend(found.flat_map(|text| Point::sizes(&text, &asked.key_bits)));
        } else if Spec::parse(text).is_err()
            && let Ok(specs) = Spec::named(text)
        {
            points.extend(specs.iter().flat_map(|spec| Point::sizes(&spec.to_string(), &asked.key_bits)));
        } else if !matches!(Spec::parse(text), Err(Error::Unknown { .. })) {
            points.extend(Point::sizes(text, &asked.key_bits));
        }
        if points.len() == before {
            return Err(unknown(text));
        }
    }
    Ok(points)
}

fn unknown(name: &str) -> Unknown {
    let known =
        space().filter(|it| it.outcome.is_ok()).map(|it| it.text).chain(Spec::chain_names()).collect();
    Unknown { what: Named::Cipher, name: name.to_owned(), known }
}

fn of_the_article() -> Vec<Point> {
    let point = |text: &str, typed: &str| match typed {
        "-" => Point::new(text, article::SIZE_UNTYPED),
        size => size.parse().map(|bits| Point::new(text, bits)).unwrap_or_else(|_| {
            let reason = format!("\"{size}\" is not a key size");
            Point { text: text.to_owned(), key_bits: 0, spec: Err(Outcome::impossible(reason)) }
        }),
    };
    article::TYPED.iter().flat_map(|(text, typed)| typed.split(' ').map(|size| point(text, size))).collect()
}

impl Point {
    fn new(text: &str, key_bits: u32) -> Self {
        let spec = Spec::parse(text).and_then(|spec| {
            spec.check_key_bits(key_bits as usize)?;
            Ok(spec)
        });
        Self { text: text.to_owned(), key_bits, spec: spec.map_err(|error| outcome(text, &error)) }
    }

    /// The sizes requested, or the usual ones.
    fn sizes(text: &str, asked: &[u32]) -> Vec<Self> {
        let sizes = match Spec::parse(text) {
            Err(_) => vec![asked.first().copied().unwrap_or(0)],
            Ok(_) if !asked.is_empty() => asked.to_vec(),
            Ok(spec) => usual(&spec.key_bits()),
        };
        sizes.into_iter().map(|bits| Self::new(text, bits)).collect()
    }

    fn all_sizes(it: &Combination) -> Vec<Self> {
        match &it.outcome {
            Ok(existing) => existing.key_bits.iter().map(|bits| Self::new(&it.text, *bits as u32)).collect(),
            Err(_) => vec![Self::new(&it.text, 0)],
        }
    }

    fn cases(&self, asked: &Asked) -> Vec<Listed> {
        let spec = match &self.spec {
            Ok(spec) => spec,
            Err(outcome) => return vec![self.without_figures(512, outcome.clone())],
        };
        let usual_sectors: &[u32] = match asked.suite {
            Some(Suite::All) => &[512, 1024, 2048, 4096],
            Some(Suite::VeraCrypt) => &[512],
            _ => &[512, 4096],
        };
        let mut cases = Vec::new();
        for sector in or(&asked.sector_sizes, usual_sectors) {
            let fits = SectorSize::new(sector).and_then(|size| spec.check_sector_size(size));
            match fits {
                Err(error) => cases.push(self.without_figures(sector, outcome(&self.text, &error))),
                Ok(()) => self.of_sector(asked, sector, &mut cases),
            }
        }
        cases
    }

    fn of_sector(&self, asked: &Asked, sector: u32, cases: &mut Vec<Listed>) {
        let runs = matches!(asked.suite, None | Some(Suite::Quick | Suite::Default | Suite::VeraCrypt));
        let usual: &[u32] = if runs { &[sector, RUN] } else { &[sector] };
        let messages = or(&asked.messages, usual);
        let mut threads = or(&asked.threads, &[1, asked.cpus.max(1)]);
        threads.dedup();
        for message in messages.into_iter().filter(|message| message.is_multiple_of(sector)) {
            for direction in or(&asked.directions, &[Direction::Encrypt, Direction::Decrypt]) {
                for &threads in &threads {
                    let case = CipherCase { message, direction, threads, ..self.case(sector) };
                    cases.push(Listed { case: Case::Cipher(case), outcome: None });
                }
            }
        }
    }

    fn without_figures(&self, sector: u32, outcome: Outcome) -> Listed {
        Listed { case: Case::Cipher(self.case(sector)), outcome: Some(outcome) }
    }

    fn case(&self, sector_size: u32) -> CipherCase {
        CipherCase::new(&self.text, self.key_bits, sector_size)
    }
}

/// The rule without the leading specification, which the row already contains.
fn outcome(text: &str, error: &Error) -> Outcome {
    let reason = error.to_string();
    let reason = reason.strip_prefix(&format!("{text}: ")).unwrap_or(&reason).to_owned();
    match error {
        Error::Unsupported(_) => Outcome::not_measured(reason),
        _ => Outcome::impossible(reason),
    }
}

/// Of many key sizes, the common ones, or the smallest and the largest.
fn usual(sizes: &[usize]) -> Vec<u32> {
    let common = |size: &&usize| sizes.len() <= 3 || [128, 192, 256, 384, 512].contains(*size);
    let mut usual: Vec<usize> = sizes.iter().filter(common).copied().collect();
    if usual.is_empty() {
        usual = sizes.first().into_iter().chain(sizes.last()).copied().collect();
    }
    usual.into_iter().map(|size| size as u32).collect()
}

/// The common choices.
const QUICK: &[(&str, u32)] = &[
    ("aes-xts-plain64", 256),
    ("aes-cbc-essiv:sha256", 256),
    ("xchacha12,aes-adiantum-plain64", 256),
    ("xchacha20,aes-adiantum-plain64", 256),
    ("serpent-xts-plain64", 512),
    ("twofish-xts-plain64", 512),
];

/// The other ciphers that `cryptsetup benchmark` lists, and others worth comparing.
const CRYPTSETUPS: &[(&str, u32)] = &[
    ("aes-cbc-plain64", 128),
    ("aes-cbc-plain64", 256),
    ("serpent-cbc-plain64", 128),
    ("serpent-cbc-plain64", 256),
    ("twofish-cbc-plain64", 128),
    ("twofish-cbc-plain64", 256),
    ("serpent-xts-plain64", 256),
    ("twofish-xts-plain64", 256),
    ("camellia-xts-plain64", 512),
    ("aes-hctr2-plain64", 256),
    ("aes-ctr-plain64", 256),
];
