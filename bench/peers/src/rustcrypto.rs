//! Sector ciphers of RustCrypto's block ciphers, of the crate
//! `xts-mode`, and of the crates for wide modes.

use crate::{Order, Work};
use aes::{Aes128, Aes192, Aes256};
use chacha20::{XChaCha12, XChaCha20};
use cipher::array::Array;
use cipher::typenum::U16;
use cipher::{
    BlockCipherDecrypt, BlockCipherEncrypt, BlockModeDecrypt, BlockModeEncrypt, BlockSizeUser, InOutBuf,
    InnerIvInit, KeyInit,
};
use sha2::{Digest, Sha256};
use xts_mode::Xts128;

/// The cipher of an order, when these crates have it.
pub(crate) fn work(order: Order<'_>) -> Option<Work> {
    match order.mode {
        "adiantum" => adiantum(order),
        "hctr2" => hctr2(order),
        "xts" => match (order.cipher, order.key.len()) {
            ("aes", 32) => xts::<Aes128>(order),
            ("aes", 64) => xts::<Aes256>(order),
            ("aria", 64) => xts::<aria::Aria256>(order),
            ("camellia", 64) => xts::<camellia::Camellia256>(order),
            ("cast6", 64) => xts::<cast6::Cast6>(order),
            ("kuznyechik", 64) => xts::<kuznyechik::Kuznyechik>(order),
            ("serpent", 64) => xts::<serpent::Serpent>(order),
            ("sm4", 32) => xts::<sm4::Sm4>(order),
            ("twofish", 64) => xts::<twofish::Twofish>(order),
            _ => None,
        },
        "cbc" => match (order.cipher, order.key.len()) {
            ("aes", 16) => cbc::<Aes128>(order),
            ("aes", 24) => cbc::<Aes192>(order),
            ("aes", 32) => cbc::<Aes256>(order),
            ("aria", 32) => cbc::<aria::Aria256>(order),
            ("blowfish", _) => cbc::<blowfish::Blowfish>(order),
            ("camellia", 32) => cbc::<camellia::Camellia256>(order),
            ("cast5", 16) => cbc::<cast5::Cast5>(order),
            ("cast6", 32) => cbc::<cast6::Cast6>(order),
            ("des", 8) => cbc::<des::Des>(order),
            ("des3_ede", 24) => cbc::<des::TdesEde3>(order),
            ("serpent", 32) => cbc::<serpent::Serpent>(order),
            ("sm4", 16) => cbc::<sm4::Sm4>(order),
            ("twofish", 32) => cbc::<twofish::Twofish>(order),
            ("xtea", 16) => cbc::<xtea::Xtea>(order),
            _ => None,
        },
        _ => None,
    }
}

/// XTS through the crate `xts-mode`: the first half of the key for data, the second for tweaks.
fn xts<C>(order: Order<'_>) -> Option<Work>
where
    C: KeyInit + BlockCipherEncrypt + BlockCipherDecrypt + BlockSizeUser<BlockSize = U16> + 'static,
{
    let (data, tweak) = order.key.split_at(order.key.len() / 2);
    let xts = Xts128::new(C::new_from_slice(data).ok()?, C::new_from_slice(tweak).ok()?);
    let (sector, encrypt) = (order.sector, order.encrypt);
    Some(Box::new(move |first, data| {
        let units = (sector / 512) as u128;
        let tweak = |index: u128| Array::from((u128::from(first) + index * units).to_le_bytes());
        if encrypt {
            xts.encrypt_area(data, sector, 0, tweak);
        } else {
            xts.decrypt_area(data, sector, 0, tweak);
        }
    }))
}

/// CBC through the crate `cbc`; IVs are little-endian sector numbers,
/// or ESSIV over AES-256 and SHA-256.
fn cbc<C>(order: Order<'_>) -> Option<Work>
where
    C: KeyInit + BlockCipherEncrypt + BlockCipherDecrypt + 'static,
{
    let cipher = C::new_from_slice(order.key).ok()?;
    let essiv = match order.iv {
        "plain64" => None,
        "essiv:sha256" => Some(Aes256::new(&Sha256::digest(order.key).0.into())),
        _ => return None,
    };
    let (sector, encrypt) = (order.sector, order.encrypt);
    Some(Box::new(move |first, data| {
        for (number, sector) in (first..).step_by(sector / 512).zip(data.chunks_mut(sector)) {
            let mut full = Array::from(u128::from(number).to_le_bytes());
            if let Some(essiv) = &essiv {
                essiv.encrypt_block(&mut full);
            }
            let iv = Array::from_fn(|byte| full[byte]);
            let (blocks, _) = InOutBuf::from(sector).into_chunks();
            if encrypt {
                cbc::Encryptor::<&C>::inner_iv_init(&cipher, &iv).encrypt_blocks_inout(blocks);
            } else {
                cbc::Decryptor::<&C>::inner_iv_init(&cipher, &iv).decrypt_blocks_inout(blocks);
            }
        }
    }))
}

/// The crate `adiantum` over RustCrypto's XChaCha and AES-256.
fn adiantum(order: Order<'_>) -> Option<Work> {
    macro_rules! with {
        ($stream:ty) => {{
            let cipher = adiantum::Cipher::<$stream, Aes256>::new_from_slice(order.key).ok()?;
            wide(
                order,
                move |tweak, sector, encrypt| {
                    if encrypt { cipher.encrypt(sector, tweak) } else { cipher.decrypt(sector, tweak) }
                },
            )
        }};
    }
    match order.cipher {
        "xchacha12,aes" => with!(XChaCha12),
        "xchacha20,aes" => with!(XChaCha20),
        _ => None,
    }
}

/// The crate `hctr2-rs` over AES. It writes to another buffer than it reads.
fn hctr2(order: Order<'_>) -> Option<Work> {
    macro_rules! with {
        ($cipher:ty) => {{
            let cipher = <$cipher>::new(order.key);
            let mut input = vec![0; order.sector];
            wide(order, move |tweak, sector, encrypt| {
                input.copy_from_slice(sector);
                let done = if encrypt {
                    cipher.encrypt(&input, tweak, sector)
                } else {
                    cipher.decrypt(&input, tweak, sector)
                };
                done.expect("a whole sector");
            })
        }};
    }
    match (order.cipher, order.key.len()) {
        ("aes", 16) => with!(hctr2_rs::Hctr2_128),
        ("aes", 32) => with!(hctr2_rs::Hctr2_256),
        _ => None,
    }
}

/// A mode over whole sectors: dm-crypt hands it 32 bytes of IV, the sector number first.
fn wide(order: Order<'_>, mut run: impl FnMut(&[u8; 32], &mut [u8], bool) + 'static) -> Option<Work> {
    let (sector, encrypt) = (order.sector, order.encrypt);
    Some(Box::new(move |first, data| {
        for (number, sector) in (first..).step_by(sector / 512).zip(data.chunks_mut(sector)) {
            let mut tweak = [0; 32];
            tweak[..8].copy_from_slice(&number.to_le_bytes());
            run(&tweak, sector, encrypt);
        }
    }))
}
