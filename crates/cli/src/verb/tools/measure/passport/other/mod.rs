//! Volumes without a LUKS header: what is known of each before its key is. `costs` has what a way into one takes, `openers`
//! which programs open it, `verdict` whether this one does, `weak` what is weak in it; `text`, `json` and `page` show.

mod costs;
mod json;
mod openers;
mod page;
mod text;
mod verdict;
mod weak;

pub(super) use json::show as json;
pub(super) use page::passport_page;
pub(super) use text::show as text;

use super::question::Question;
use crate::device::{self, explain};
use crate::output::failure::{Exit, Failure, Result};
use crate::unlock::KeyOptions;
use crate::volume::kinds::{Asked, Described, Given};
use costs::{Machines, Seconds};
use keyway::Access;
use keyway::parts::{Known, Takes, Way, WayCost};
use keyway_boot::attack::{self, Cost};
use keyway_boot::unlock_time::Work;
use keyway_format::plain::PassphraseHash;
use openers::Opener;
use verdict::Verdict;

/// A volume without a LUKS header, from the point of view of its owner and of an attacker.
pub(super) struct Other {
    device: String,
    /// As `--type` names it.
    kind: &'static str,
    target: String,
    rates: String,
    memory_kib: Option<u64>,
    interference: f64,
    entropy: f64,
    hardware: &'static str,
    price: f64,
    /// How many ciphers and chains its data may be encrypted with.
    ciphers: Vec<String>,
    /// In the order in which they are tried.
    ways: Vec<Costed>,
    /// A wrong passphrase: all of them, one after the other.
    whole: Option<Seconds>,
    /// The target opens no such volume.
    is_refused: bool,
    openers: Vec<Opener>,
    /// What is weak, and the commands that mend it.
    weak: Vec<weak::Weakness>,
}

/// A way into it, with its costs.
struct Costed {
    way: Way,
    work: Option<Work>,
    seconds: Seconds,
    search: Search,
}

/// What it costs to guess what opens it.
enum Search {
    Costs(Cost),
    /// A guess takes not even a hash: it costs this at most.
    AtMost(Cost),
    /// Nobody has published how fast the hardware is at it: at what.
    Unpublished(String),
    /// Nobody guesses it, for this reason.
    Hopeless(&'static str),
    /// There is nothing to guess.
    Open,
}

/// What is known of the volume.
pub(super) fn gather(
    volume: &device::Target,
    described: &dyn Described,
    question: &Question,
    key: &KeyOptions,
    given: &Given,
) -> Result<Other> {
    let (device, row) = (&volume.device, described.row().of);
    check_hash(row.name, described)?;
    let storage = device::storage(device, Access::Probe)?;
    let header = volume.header.as_deref();
    let kind = described.kind(&Asked { key, device, header, stdin_holds_data: false })?;
    let known = kind.known(&*storage).map_err(|why| explain::of_kind(row.title, device, why.into()))?;
    let Known { mut ways, ciphers } = known;
    let has_key_file = key.passphrase.key_file.is_some();
    // Nothing on the device tells which of the two it is.
    if row.name == "plain" {
        ways.retain(|way| (way.takes == Takes::KeyFile) == has_key_file);
    }
    let machines = Machines::of(&ways, question);
    let cost = |way: Way| Costed {
        work: costs::work(&way.cost),
        seconds: machines.seconds(std::slice::from_ref(&way)),
        search: search(&way, question, has_key_file),
        way,
    };
    let whole = (row.name == "tcrypt").then(|| machines.seconds(&ways));
    let interference = machines.interference();
    let ways: Vec<Costed> = ways.into_iter().map(cost).collect();
    let takes: Vec<Takes> = ways.iter().map(|it| it.way.takes).collect();
    let verdict = Verdict::of(&*kind, device, &storage);
    let opened = openers::Subject { kind: row.name, ciphers: &ciphers, takes: &takes, verdict: &verdict };
    let (shown, its_header) = (device.display().to_string(), header.map(|it| it.display().to_string()));
    let subject = weak::Subject {
        kind: row.name,
        device: &shown,
        ciphers: &ciphers,
        header: its_header.as_deref(),
        given,
        hardware: question.hardware,
    };
    Ok(Other {
        device: device.display().to_string(),
        kind: row.name,
        target: question.target.title.clone(),
        rates: question.target.rates.clone(),
        memory_kib: question.target.memory_kib,
        interference,
        entropy: question.entropy,
        hardware: question.hardware.title,
        price: question.price,
        is_refused: question.target.is_grub() && row.name != "plain",
        openers: openers::openers(&opened),
        weak: weak::weaknesses(&subject, &ways),
        ciphers,
        ways,
        whole,
    })
}

/// A key file needs none, and so a hash of a plain volume's is looked up where a passphrase is asked for.
fn check_hash(kind: &str, described: &dyn Described) -> Result<()> {
    match described.hash().filter(|name| kind == "plain" && PassphraseHash::parse(name).is_err()) {
        Some(name) => Err(Failure::new(Exit::Parameters, format!("Hash algorithm {name} not supported."))),
        None => Ok(()),
    }
}

/// What it costs to guess what opens a volume in this way.
fn search(way: &Way, question: &Question, has_key_file: bool) -> Search {
    let (hardware, entropy, price) = (question.hardware, question.entropy, question.price);
    match (way.takes, &way.cost) {
        (Takes::Nothing, _) => Search::Open,
        (Takes::Hardware(_), _) => Search::Hopeless("only the machine with that hardware opens it"),
        (Takes::Unknown, _) => Search::Hopeless("what opens it is not known"),
        (Takes::RecoveryPassword, _) => Search::Hopeless("128 random bits"),
        (Takes::KeyFile, _) => {
            Search::Hopeless("whoever has the file opens it, and nobody guesses random bytes")
        }
        (Takes::Passphrase, _) if has_key_file => {
            Search::Hopeless("the key file goes into it, and nobody guesses random bytes")
        }
        (Takes::Passphrase, WayCost::Hash { digests: 0, .. }) => {
            Search::AtMost(attack::most_without_hash(hardware, entropy, price))
        }
        (Takes::Passphrase, WayCost::Hash { name, digests }) => {
            match attack::cost_of_hash(name, *digests, hardware, entropy, price) {
                Some(cost) => Search::Costs(cost),
                None => Search::Unpublished(name.clone()),
            }
        }
        (Takes::Passphrase, cost) => {
            let work = costs::telling(cost);
            match work.as_ref().and_then(|work| attack::cost(work, hardware, entropy, price)) {
                Some(cost) => Search::Costs(cost),
                None => Search::Unpublished(costs::function(cost)),
            }
        }
    }
}
