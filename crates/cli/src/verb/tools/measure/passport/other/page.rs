//! A volume without a LUKS header, as a page.

use super::super::page::name;
use super::super::words::{ON_TARGET, dollars, entropy, large, years};
use super::costs::derivation;
use super::openers::Opens;
use super::text::{REFUSED, capital};
use super::{Costed, Other, Search};
use crate::output::figures::{busy, span};
use keyway_format::interval::Interval;
use keyway_measure::report::{PassportPage, PassportSlot};

/// Of such a volume.
pub(in crate::verb::tools::measure::passport) fn passport_page(other: &Other) -> PassportPage {
    let facts = [
        ("Volume", other.device.clone()),
        ("Format", other.title().to_owned()),
        ("Target", other.target.clone()),
        ("Its CPU", other.rates.clone()),
        ("Passphrase", entropy(other.entropy)),
        ("Attacker", other.hardware.to_owned()),
        ("Price", format!("{} an hour", dollars(other.price))),
    ];
    let openers = other.openers.iter().map(|it| {
        let no = if it.opens == Opens::No { "no: " } else { "" };
        (format!("Opened by {}", it.name), format!("{no}{}", it.how))
    });
    let commands: Vec<String> = other.weak.iter().flat_map(|it| it.commands.iter().cloned()).collect();
    let whole = other.whole.and_then(|whole| whole.here).map(|time| {
        format!("A wrong passphrase, or the last of all that is tried, takes {} here.", span(time))
    });
    let weak = other.weak.iter().map(|it| it.says.clone());
    PassportPage {
        title: format!("Ways into {}", name(&other.device)),
        each: "Way".to_owned(),
        facts: facts.into_iter().map(|(name, value)| (name.to_owned(), value)).chain(openers).collect(),
        places: ["here".to_owned(), ON_TARGET.to_owned()],
        slots: other.ways.iter().map(way).collect(),
        warnings: other
            .is_refused
            .then(|| REFUSED.to_owned())
            .into_iter()
            .chain(whole)
            .chain(weak)
            .chain(busy(other.interference))
            .collect(),
        advice: (!commands.is_empty()).then(|| (Vec::new(), commands)),
    }
}

fn way(it: &Costed) -> PassportSlot {
    let words =
        |time: Option<Interval>| (time.map(|it| it.likely), time.map_or("not known".to_owned(), span));
    let (search, about) = match &it.search {
        Search::Costs(cost) => {
            let dollars = dollars(cost.dollars);
            let about = format!("{dollars} to find its passphrase");
            ([large(cost.guesses_per_second), years(cost.years), dollars], about)
        }
        Search::AtMost(cost) => {
            let dollars = dollars(cost.dollars);
            let about = format!("at most {dollars} to find its passphrase: cheaper than any hash");
            ([large(cost.guesses_per_second), years(cost.years), dollars], about)
        }
        Search::Unpublished(_) => {
            (std::array::from_fn(|_| "not published".to_owned()), "nobody has published its price".to_owned())
        }
        Search::Hopeless(why) => (std::array::from_fn(|_| "no search".to_owned()), (*why).to_owned()),
        Search::Open => (std::array::from_fn(|_| "open".to_owned()), "it opens by itself".to_owned()),
    };
    PassportSlot {
        name: capital(&it.way.name),
        derivation: format!("{}, {}", it.way.takes, derivation(&it.way.cost)),
        seconds: [words(it.seconds.here), words(it.seconds.on_target)],
        problem: None,
        search,
        about,
        weakest: false,
    }
}
