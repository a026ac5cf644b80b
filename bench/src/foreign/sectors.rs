//! What dm-crypt does around a library's mode: an IV for each sector.

use super::{Keyed, Library, Order, Work};
use keyway_crypto::Hash;

/// A library's mode with plain64 or ESSIV in front.
pub(super) fn work(library: &'static impl Library, order: Order<'_>) -> Option<Work> {
    let mut cipher = library.keyed(order.cipher, order.mode, order.key, order.encrypt)?;
    let mut essiv = match order.iv.split_once(':') {
        None => None,
        Some((_, hash)) => Some(essiv(library, order, hash)?),
    };
    let iv_len = if matches!(order.cipher, "cast5" | "blowfish" | "des" | "des3_ede") { 8 } else { 16 };
    let (sector, mut ivs) = (order.sector, Vec::new());
    Some(Box::new(move |first, data| {
        ivs.clear();
        let numbers = (first..).step_by(sector / 512).take(data.len() / sector);
        ivs.extend(numbers.flat_map(|number| u128::from(number).to_le_bytes()));
        if let Some(essiv) = &mut essiv {
            essiv.run(&[], &mut ivs);
        }
        for (iv, sector) in ivs.chunks(16).zip(data.chunks_mut(sector)) {
            cipher.run(&iv[..iv_len], sector);
        }
    }))
}

/// ESSIV's cipher: the same one under the digest of the key, on all IVs of a run at once.
fn essiv(library: &'static impl Library, order: Order<'_>, hash: &str) -> Option<Box<dyn Keyed>> {
    let digest = Hash::parse(hash).ok()?.digest(&[order.key]);
    library.keyed(order.cipher, "ecb", &digest, true)
}
