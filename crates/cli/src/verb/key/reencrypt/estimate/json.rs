//! The estimate as JSON. Sizes are in bytes, times in seconds, rates in bytes a second.

use super::{Estimate, NewFile, text};
use crate::output::document;
use crate::output::failure::Result;
use keyway_format::interval::Interval;
use keyway_format::json::{Object, Value};
use keyway_format::luks2::reencryption::Resilience;

pub(super) fn print(estimate: &Estimate) -> Result<()> {
    let (plan, amounts, rates) =
        (&estimate.measured.plan, &estimate.measured.amounts, &estimate.measured.rates);
    let what = plan.what();
    let (done, len) = plan.progress();
    let (_, largest) = plan.zones();
    let written = Object::new()
        .with("data", number(amounts.written))
        .with("protection", number(amounts.protection))
        .with("headers", number(amounts.headers));
    let zone = Object::new()
        .with("likely", number(estimate.measured.zone))
        .with("largest", number(largest))
        .with("count", number(amounts.zones));
    let loses = match what.resilience {
        Resilience::None => number(plan.hot_zone().map_or(largest, |lost| lost.end - lost.start)),
        _ => number(0),
    };
    let block = what.resilience.checksum().map_or(Value::Null, |checksum| number(checksum.block.into()));
    let crash = Object::new()
        .with("loses_at_most", loses)
        .with("assumes_whole_blocks_of", block)
        .with("in_words", text::crash(estimate));
    let of = |rate: &Option<(String, Interval)>| match rate {
        Some((name, rate)) => {
            Object::new().with("name", name.as_str()).with("rate_a_core", decimal(rate.likely)).into()
        }
        None => Value::Null,
    };
    let measured = Object::new()
        .with("sampled", number(rates.sampled))
        .with("read", decimal(rates.read.likely))
        .with("read_interval", range(rates.read))
        .with("write_assumed", decimal(rates.write.likely))
        .with("write_assumed_interval", range(rates.write))
        .with("old_cipher", of(&rates.old))
        .with("new_cipher", of(&rates.new))
        .with("hash", of(&rates.hash))
        .with("cores", number(rates.cores as u64));
    let object = document::document()
        .with("device", estimate.device.as_str())
        .with("mode", what.mode.name())
        .with("direction", what.direction.name())
        .with("resilience", what.resilience.name())
        .with("under_way", Value::Bool(estimate.is_under_way))
        .with("length", number(len))
        .with("done", number(done))
        .with("left", number(amounts.left))
        .with("given_up", number(estimate.given_up.map_or(0, |(_, rest)| rest)))
        .with("seconds", decimal(estimate.measured.seconds.likely))
        .with("seconds_interval", range(estimate.measured.seconds))
        .with("limit_rate", estimate.limit.map_or(Value::Null, number))
        .with("read", number(amounts.read))
        .with("written", written)
        .with("hot_zone", zone)
        .with("crash", crash)
        .with("measured", measured);
    let backup = || estimate.backup.as_ref().map_or(Value::Null, |it| file(it).into());
    document::print(match &estimate.header {
        Some(header) => object.with("header_file", file(header)),
        None => object.with("header_backup", backup()),
    })
}

fn file(file: &NewFile) -> Object {
    Object::new()
        .with("file", file.path.display().to_string())
        .with("bytes", number(file.bytes))
        .with("free", file.free.map_or(Value::Null, number))
        .with("exists", Value::Bool(file.exists))
        .with("fits", Value::Bool(file.fits()))
}

fn range(interval: Interval) -> Value {
    Value::Array(vec![decimal(interval.low), decimal(interval.high)])
}

fn number(number: u64) -> Value {
    Value::Number(number.to_string())
}

fn decimal(number: f64) -> Value {
    Value::Number(format!("{number:.3}"))
}
