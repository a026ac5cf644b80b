//! Crypto engines outside the CPU: how to recognise their drivers by name, and how to prevent their
//! use.
//!
//! The kernel gives most of them a higher priority than its code for the CPU, although the latter
//! is nearly always faster for the short, synchronous requests of disk encryption. Names, flags,
//! modules and options are those of Linux 6.12 below drivers/crypto, and each row has its source
//! file; for removed drivers the last version that had them is given.
//!
//! Code that runs on the CPU is not listed even if it uses special instructions: AES-NI, ARMv8 CE,
//! VIA's PadLock, s390's CPACF.

use crate::Flags;

/// One family of engines.
#[derive(Debug)]
pub struct Engine {
    /// The common name: "CAAM".
    pub name: &'static str,
    /// The manufacturer.
    pub maker: &'static str,
    names: &'static [Name],
    /// The modules to blacklist.
    pub modules: &'static [&'static str],
    /// The kernel configuration option that builds it.
    pub config: &'static str,
    /// The flags of its sector ciphers, for when the kernel does not report them.
    pub flags: Flags,
    /// The source of this information.
    pub source: &'static str,
}

/// The naming scheme of its drivers.
#[derive(Debug)]
enum Name {
    Starts(&'static str),
    Ends(&'static str),
    Has(&'static str),
}

impl Engine {
    /// The engine to which this driver, or a part of it ("xts(ecb-aes-caam)"), belongs.
    pub fn of(driver: &str) -> Option<&'static Self> {
        let mut parts = driver.split(['(', ')', ',']);
        parts.find_map(|part| ENGINES.iter().find(|engine| engine.names.iter().any(|name| name.fits(part))))
    }
}

impl Name {
    fn fits(&self, part: &str) -> bool {
        match self {
            Self::Starts(start) => part.starts_with(start),
            Self::Ends(end) => part.ends_with(end),
            Self::Has(text) => part.contains(text),
        }
    }
}

const A: Flags = Flags::ASYNC;
const K: Flags = Flags::KERN_DRIVER_ONLY;
const M: Flags = Flags::ALLOCATES_MEMORY;
const F: Flags = Flags::NEED_FALLBACK;

macro_rules! engine {
    ($name:literal, $maker:literal, [$($how:ident $text:literal),+], [$($module:literal),+], $config:literal, $flags:expr, $source:literal) => {
        Engine {
            name: $name,
            maker: $maker,
            names: &[$(Name::$how($text)),+],
            modules: &[$($module),+],
            config: $config,
            flags: $flags,
            source: $source,
        }
    };
}

#[rustfmt::skip]
static ENGINES: &[Engine] = &[
    engine!("CAAM", "NXP", [Ends "-caam", Ends "-caam-qi"], ["caam_jr", "caam"], "CRYPTO_DEV_FSL_CAAM_CRYPTO_API", A.with(K).with(M), "drivers/crypto/caam/caamalg.c"),
    engine!("DPAA2 CAAM", "NXP", [Ends "-caam-qi2"], ["dpaa2_caam"], "CRYPTO_DEV_FSL_DPAA2_CAAM", A.with(K).with(M), "drivers/crypto/caam/caamalg_qi2.c"),
    engine!("Talitos (SEC)", "Freescale", [Ends "-talitos", Ends "-talitos-hsna"], ["talitos"], "CRYPTO_DEV_TALITOS", A.with(K).with(M), "drivers/crypto/talitos.c"),
    engine!("DCP", "NXP (i.MX23, 28, 6)", [Ends "-dcp"], ["mxs_dcp"], "CRYPTO_DEV_MXS_DCP", A.with(F), "drivers/crypto/mxs-dcp.c"),
    engine!("SAHARA", "NXP (i.MX27, 53)", [Starts "sahara-"], ["sahara"], "CRYPTO_DEV_SAHARA", A.with(F), "drivers/crypto/sahara.c"),
    engine!("QAT", "Intel QuickAssist", [Starts "qat_"], ["qat_4xxx", "qat_420xx", "qat_c62x", "qat_c62xvf", "qat_c3xxx", "qat_c3xxxvf", "qat_dh895xcc", "qat_dh895xccvf", "intel_qat"], "CRYPTO_DEV_QAT", A.with(M), "drivers/crypto/intel/qat/qat_common/qat_algs.c"),
    engine!("Keem Bay OCS", "Intel", [Ends "-keembay-ocs"], ["keembay_ocs_aes"], "CRYPTO_DEV_KEEMBAY_OCS_AES_SM4", A.with(K).with(F), "drivers/crypto/intel/keembay/keembay-ocs-aes-core.c"),
    engine!("IXP4xx NPE", "Intel", [Ends "-ixp4xx", Has "ixp4xx"], ["ixp4xx_crypto"], "CRYPTO_DEV_IXP4XX", A.with(K).with(M), "drivers/crypto/intel/ixp4xx/ixp4xx_crypto.c"),
    engine!("QCE", "Qualcomm", [Ends "-qce"], ["qcrypto"], "CRYPTO_DEV_QCE", A.with(K).with(M), "drivers/crypto/qce/skcipher.c"),
    engine!("STM32 CRYP", "STMicroelectronics", [Starts "stm32-"], ["stm32_cryp"], "CRYPTO_DEV_STM32_CRYP", A.with(K), "drivers/crypto/stm32/stm32-cryp.c"),
    engine!("Ux500 CRYP", "ST-Ericsson", [Ends "-ux500"], ["ux500_cryp"], "CRYPTO_DEV_UX500_CRYP", A, "drivers/crypto/ux500/cryp/cryp_core.c (to Linux 6.1)"),
    engine!("CESA", "Marvell", [Starts "mv-ecb-", Starts "mv-cbc-"], ["marvell_cesa"], "CRYPTO_DEV_MARVELL_CESA", A.with(K).with(M), "drivers/crypto/marvell/cesa/cipher.c"),
    engine!("OcteonTX CPT", "Marvell", [Starts "cpt_"], ["octeontx_cptvf", "rvu_cptvf"], "CRYPTO_DEV_OCTEONTX2_CPT", A, "drivers/crypto/marvell/octeontx2/otx2_cptvf_algs.c"),
    engine!("ThunderX CPT", "Cavium", [Starts "cavium-"], ["cptvf"], "CAVIUM_CPT", A.with(M), "drivers/crypto/cavium/cpt/cptvf_algs.c"),
    engine!("Nitrox", "Cavium", [Starts "n5_"], ["n5pf"], "CRYPTO_DEV_NITROX_CNN55XX", A.with(M), "drivers/crypto/cavium/nitrox/nitrox_skcipher.c"),
    engine!("Tegra SE", "NVIDIA", [Ends "-aes-tegra"], ["tegra_se"], "CRYPTO_DEV_TEGRA", A, "drivers/crypto/tegra/tegra-se-aes.c"),
    engine!("SA2UL", "Texas Instruments (K3)", [Ends "-sa2ul"], ["sa2ul"], "CRYPTO_DEV_SA2UL", A.with(K).with(F), "drivers/crypto/sa2ul.c"),
    engine!("OMAP AES", "Texas Instruments", [Ends "-omap"], ["omap_aes_driver", "omap_des"], "CRYPTO_DEV_OMAP_AES", A.with(K).with(F), "drivers/crypto/omap-aes.c"),
    engine!("CryptoCell", "Arm", [Ends "-ccree"], ["ccree"], "CRYPTO_DEV_CCREE", A.with(K), "drivers/crypto/ccree/cc_cipher.c"),
    engine!("MediaTek", "MediaTek", [Ends "-mtk"], ["mtk_crypto"], "CRYPTO_DEV_MEDIATEK", A.with(F), "drivers/crypto/mediatek/mtk-aes.c (to Linux 5.10)"),
    engine!("Rockchip crypto", "Rockchip", [Ends "-rk"], ["rk_crypto"], "CRYPTO_DEV_ROCKCHIP", A.with(F), "drivers/crypto/rockchip/rk3288_crypto_skcipher.c"),
    engine!("sun4i Security System", "Allwinner", [Ends "-sun4i-ss"], ["sun4i_ss"], "CRYPTO_DEV_SUN4I_SS", K.with(F), "drivers/crypto/allwinner/sun4i-ss/sun4i-ss-core.c"),
    engine!("sun8i Crypto Engine", "Allwinner", [Ends "-sun8i-ce"], ["sun8i_ce"], "CRYPTO_DEV_SUN8I_CE", A.with(F), "drivers/crypto/allwinner/sun8i-ce/sun8i-ce-core.c"),
    engine!("sun8i Security System", "Allwinner", [Ends "-sun8i-ss"], ["sun8i_ss"], "CRYPTO_DEV_SUN8I_SS", A.with(M).with(F), "drivers/crypto/allwinner/sun8i-ss/sun8i-ss-core.c"),
    engine!("SafeXcel", "Inside Secure", [Starts "safexcel-"], ["crypto_safexcel"], "CRYPTO_DEV_SAFEXCEL", A.with(K).with(M), "drivers/crypto/inside-secure/safexcel_cipher.c"),
    engine!("Atmel AES/TDES", "Microchip", [Starts "atmel-"], ["atmel_aes", "atmel_tdes"], "CRYPTO_DEV_ATMEL_AES", A.with(F), "drivers/crypto/atmel-aes.c"),
    engine!("CCP", "AMD", [Ends "-ccp"], ["ccp_crypto"], "CRYPTO_DEV_CCP_CRYPTO", A.with(K).with(M).with(F), "drivers/crypto/ccp/ccp-crypto-aes-xts.c"),
    engine!("Geode AES", "AMD", [Ends "-geode", Starts "geode-"], ["geode_aes"], "CRYPTO_DEV_GEODE", K.with(F), "drivers/crypto/geode-aes.c"),
    engine!("HiSilicon SEC", "HiSilicon", [Starts "hisi_sec_"], ["hisi_sec2", "hisi_sec"], "CRYPTO_DEV_HISI_SEC2", A.with(F), "drivers/crypto/hisilicon/sec2/sec_crypto.c"),
    engine!("StarFive crypto", "StarFive (JH7110)", [Starts "starfive-"], ["jh7110_crypto"], "CRYPTO_DEV_JH7110", A.with(F), "drivers/crypto/starfive/jh7110-aes.c"),
    engine!("ASPEED HACE", "ASPEED", [Starts "aspeed-"], ["aspeed_crypto"], "CRYPTO_DEV_ASPEED", A.with(K), "drivers/crypto/aspeed/aspeed-hace-crypto.c"),
    engine!("Amlogic GXL", "Amlogic", [Ends "-gxl"], ["amlogic_gxl_crypto"], "CRYPTO_DEV_AMLOGIC_GXL", A.with(M).with(F), "drivers/crypto/amlogic/amlogic-gxl-core.c"),
    engine!("ARTPEC-6", "Axis", [Starts "artpec6-"], ["artpec6_crypto"], "CRYPTO_DEV_ARTPEC6", A.with(M), "drivers/crypto/axis/artpec6_crypto.c"),
    engine!("virtio-crypto", "the virtual machine's host", [Starts "virtio_crypto_"], ["virtio_crypto"], "CRYPTO_DEV_VIRTIO", A.with(M), "drivers/crypto/virtio/virtio_crypto_skcipher_algs.c"),
    engine!("SPU", "Broadcom iProc", [Ends "-iproc"], ["bcm_crypto_spu"], "CRYPTO_DEV_BCM_SPU", A.with(K).with(M), "drivers/crypto/bcm/cipher.c"),
    engine!("T6", "Chelsio", [Ends "-chcr"], ["chcr"], "CRYPTO_DEV_CHELSIO", A.with(M).with(F), "drivers/crypto/chelsio/chcr_algo.c"),
    engine!("S5P SSS", "Samsung Exynos", [Ends "-s5p"], ["s5p_sss"], "CRYPTO_DEV_S5P", A.with(K), "drivers/crypto/s5p-sss.c"),
    engine!("SL3516", "Cortina Gemini", [Ends "-sl3516"], ["sl3516_ce"], "CRYPTO_DEV_SL3516", A.with(F), "drivers/crypto/gemini/sl3516-ce-core.c"),
    engine!("PPC4xx", "AMCC", [Ends "-ppc4xx"], ["crypto4xx"], "CRYPTO_DEV_PPC4XX", A.with(K).with(F), "drivers/crypto/amcc/crypto4xx_core.c"),
    engine!("HIFN 795x", "HIFN", [Has "-hifn"], ["hifn_795x"], "CRYPTO_DEV_HIFN_795X", A.with(K), "drivers/crypto/hifn_795x.c"),
    engine!("Niagara 2", "Sun", [Ends "-n2"], ["n2_crypto"], "CRYPTO_DEV_NIAGARA2", A.with(K).with(M), "drivers/crypto/n2_core.c"),
    engine!("NX", "IBM POWER", [Ends "-nx"], ["nx_crypto"], "CRYPTO_DEV_NX_ENCRYPT", F, "drivers/crypto/nx/nx-aes-cbc.c"),
    engine!("picoXcell SPAcc", "Picochip", [Ends "-picoxcell"], ["picoxcell_crypto"], "CRYPTO_DEV_PICOXCELL", A.with(K).with(M), "drivers/crypto/picoxcell_crypto.c (to Linux 5.11)"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn engines_by_the_names_that_people_measured() {
        // From the message of Linux's commit b41c1d8d07 and from the drivers' sources.
        for (driver, name) in [
            ("qat_aes_xts", "QAT"),
            ("xts-aes-qce", "QCE"),
            ("xts(ecb-aes-caam)", "CAAM"),
            ("essiv(cbc-aes-caam,sha256-lib)", "CAAM"),
            ("cbc-aes-caam-qi2", "DPAA2 CAAM"),
            ("xts(stm32-ecb-aes)", "STM32 CRYP"),
            ("essiv(stm32-cbc-aes,sha256-lib)", "STM32 CRYP"),
            ("n5_xts(aes)", "Nitrox"),
            ("hisi_sec_xts(aes)", "HiSilicon SEC"),
            ("ecb-aes-hifn0", "HIFN 795x"),
            ("cbc(aes)-ixp4xx", "IXP4xx NPE"),
            ("virtio_crypto_aes_cbc", "virtio-crypto"),
            ("xts-aes-tegra", "Tegra SE"),
        ] {
            assert_eq!(Engine::of(driver).map(|engine| engine.name), Some(name), "{driver}");
        }
    }

    #[test]
    fn code_for_the_cpu_is_no_engine() {
        let drivers = "xts-aes-vaes-avx512 xts-aes-aesni xts(ecb(aes-generic)) xts-aes-ce xts-aes-neonbs \
                       adiantum(xchacha12-arm,aes-arm,nhpoly1305-neon) essiv(cbc-aes-neonbs,sha256-lib) \
                       cbc-aes-padlock xts-aes-s390 cryptd(__xts-aes-aesni) ecb-serpent-avx2 p8_aes_xts (((";
        for driver in drivers.split(' ').chain([""]) {
            assert_eq!(Engine::of(driver).map(|engine| engine.name), None, "{driver}");
        }
    }

    #[test]
    fn every_row_is_complete() {
        let mut names = HashSet::new();
        for engine in ENGINES {
            assert!(names.insert(engine.name), "{} stands twice", engine.name);
            assert!(engine.source.starts_with("drivers/crypto/"), "{}", engine.name);
            // modprobe treats dashes and underscores alike; /proc/crypto shows underscores.
            assert!(engine.modules.iter().all(|module| !module.contains('-')), "{}", engine.name);
            assert!(engine.config.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_'));
        }
        assert!(names.len() > 40);
    }
}
