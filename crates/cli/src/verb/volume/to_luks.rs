//! `toLuks`: a TrueCrypt, VeraCrypt or BitLocker volume becomes LUKS2 where it is, with its header in a file.

use crate::args::risk::{Effect, Proof, risk};
use crate::args::rule::Rule;
use crate::args::{self, Args, Command, Example, Group, Offers, Operand, Opt, Request, groups, shared};
use crate::device::{self, explain};
use crate::make::header::HeaderParams;
use crate::output::failure::{Exit, Failure, Result};
use crate::output::progress::Progress;
use crate::output::{question, shell, stdio};
use crate::unlock;
use crate::verb::key::reencrypt::{Estimating, Steps, to_end};
use crate::volume::Opening;
use keyway::{Create, Device, Key, Reencrypt, Reencryption, Version};
use std::path::{Path, PathBuf};

/// `keyway toLuks`.
pub(crate) static COMMAND: Command = Command {
    name: "toLuks",
    aliases: &[],
    group: Group::Containers,
    operands: &[
        shared::operands::DEVICE,
        Operand {
            name: "HEADER",
            required: true,
            help: "A new file for its LUKS2 header.",
            offers: Offers::Files,
        },
    ],
    about: "Turn a VeraCrypt or BitLocker volume into LUKS2, in place.",
    man: "Every sector is reencrypted under a new volume key: no second disk is needed, and the content of \
          the volume stays. --type tcrypt or --type bitlk says what it is. LUKS2's header has no room before \
          the data, so it goes to a file of its own, without which the data is lost: keep it with the disk. \
          When the conversion is complete, luksHeaderBackup makes a copy; an earlier one destroys data if it \
          is restored. From then on, every command that opens the volume needs the file as --header.\n\nIt \
          may be stopped at any moment, by Ctrl-C or by a power failure: \"reencrypt --resume-only --header \
          HEADER DEVICE\" resumes it, and \"open --header HEADER DEVICE NAME\" opens the volume meanwhile. \
          HEADER keeps a copy of the part being written: everything is written twice. Until HEADER exists, \
          the volume stays as it was.\n\nThe data of TrueCrypt and VeraCrypt moves to the device's start, and \
          the volume is 256 KiB longer in the end. The old headers are overwritten with noise before anything \
          moves, so that nobody opens a half-converted volume with them; a volume hidden in it is lost. \
          cryptsetup opens it when the conversion is complete; until then the header has a requirement that \
          cryptsetup does not know. LUKS2 cannot describe chains of ciphers, hidden volumes and encrypted \
          systems, so they are refused: \"keyway copy\" takes them.\n\nThe first sectors of a BitLocker \
          volume, which it keeps elsewhere, go to their place, and its metadata become zeros: Windows does \
          not know it as BitLocker's any more. At any point of the conversion, cryptsetup can open a volume in \
          XTS and resume it (after \"cryptsetup repair\", if it was interrupted). Sectors of 4096 bytes and \
          volumes that are encrypted in part are refused. One whose protection is suspended needs \
          --new-keyfile, as no old passphrase is asked for.\n\nThe old passphrase is asked for, then the new \
          one, which --new-keyfile names a file for; without a terminal they are two lines of standard input. \
          Options about cipher, hash and sizes describe the new volume. Sectors have 512 bytes unless \
          --sector-size says otherwise: an existing file system may have blocks of that size.\n\n--estimate \
          changes nothing, makes no file and asks for no passphrase: it says how long it would take, what \
          would be read and written, and whether the header fits where it is to go. Samples of the device are \
          read, and the ciphers run on this CPU; for VeraCrypt, whose cipher only the passphrase reveals, the \
          likeliest one is assumed.",
    options: &[
        &[
            &shared::NEW_KEYFILE,
            &shared::HOTZONE_SIZE,
            &shared::LIMIT_RATE,
            &shared::INIT_ONLY,
            &shared::ESTIMATE,
            &shared::JSON,
            &shared::WEAK_CIPHER,
            &shared::TRIES,
        ],
        groups::KEY_INPUT,
        groups::NEW_KEY_INPUT,
        groups::LIMITS,
        groups::TCRYPT,
        groups::KDF,
        groups::KEYSLOT,
        groups::NEW_VOLUME,
        groups::PROGRESS,
    ],
    rules: &[
        Rule::line(
            |args| {
                args.device_type().is_none_or(|kind| !TYPES.iter().any(|it| kind.eq_ignore_ascii_case(it)))
            },
            "toLuks needs --type tcrypt or --type bitlk. \"keyway copy\" moves other kinds of volumes to LUKS.",
        ),
        Rule::line(
            |args| PLACES.iter().any(|option| args.given(option)),
            "The data starts where its device does: toLuks takes neither --offset nor --align-payload.",
        ),
        Rule::excludes(&shared::ESTIMATE, &[&shared::INIT_ONLY, &shared::VERACRYPT_QUERY_PIM]),
    ],
    examples: &[
        Example {
            line: "keyway toLuks --type tcrypt disk.hc disk.header",
            does: "Asks for YES, the old passphrase and a new one.",
        },
        Example {
            line: "keyway toLuks --estimate --type tcrypt disk.hc disk.header",
            does: shared::examples::ESTIMATES,
        },
    ],
    risks: &[risk(
        "DEVICE",
        Effect::Overwrites,
        Proof::Claim,
        "toLuks -q --type tcrypt --password-command true --new-keyfile KEY TARGET NEW",
    )],
    run: args::run::<ToLuks>,
};

/// What becomes LUKS2 in place.
const TYPES: [&str; 2] = ["tcrypt", "bitlk"];

/// What says where the data of other new volumes goes.
static PLACES: &[&Opt] = &[&shared::OFFSET, &shared::ALIGN_PAYLOAD];

struct ToLuks {
    opening: Opening,
    is_bitlk: bool,
    header: PathBuf,
    new: HeaderParams,
    new_key_file: Option<PathBuf>,
    how: Reencrypt,
    only_begins: bool,
    limit_rate: Option<u64>,
    estimating: Option<Estimating>,
    progress: Progress,
}

impl Request for ToLuks {
    fn from_args(args: &Args) -> Result<Self> {
        let Some(header) = args.operand(1) else { return Err(Failure::silent(Exit::Parameters)) };
        Ok(Self {
            opening: Opening::from_args(args, 0)?,
            is_bitlk: args.device_type().is_some_and(|kind| kind.eq_ignore_ascii_case(TYPES[1])),
            header: header.to_owned(),
            new: HeaderParams::from_args(args, Version::Luks2)?,
            new_key_file: args.path(&shared::NEW_KEYFILE).map(Path::to_owned),
            how: args.number(&shared::HOTZONE_SIZE).into_iter().fold(Reencrypt::new(), Reencrypt::hot_zone),
            only_begins: args.given(&shared::INIT_ONLY),
            limit_rate: args.number(&shared::LIMIT_RATE),
            estimating: Estimating::from_args(args)?,
            progress: args.progress(),
        })
    }

    fn run(self) -> Result<()> {
        self.new.agree()?;
        self.check_header()?;
        if let Some(estimating) = &self.estimating {
            return self.estimate(estimating);
        }
        device::refuse_if_opened(&self.opening.target.device)?;
        let (admitted, found) = self.opening.admitted_to_write()?;
        if self.new_key_file.is_none() && admitted.try_without_key()?.is_some() {
            return Err(unasked());
        }
        admitted.check_conversion(&found, &self.how).map_err(|e| self.failed(e))?;
        self.confirm()?;
        let prompt = unlock::prompt_for_new(&self.header);
        let new = self.opening.key.passphrase.replacement(prompt, self.new_key_file.as_deref(), NEW_KEYFILE);
        let (new, create) = (Key::Passphrase(new.read()?), self.create()?);
        let begun = admitted.begin_conversion(found, &create, &new, &self.how);
        let begun = begun.map_err(|e| self.not_begun(e))?;
        self.go_on(begun)
    }
}

impl ToLuks {
    /// What it would take, without a key.
    fn estimate(&self, estimating: &Estimating) -> Result<()> {
        let measured = self.opening.estimate_conversion(&self.create()?, &self.how, self.limit_rate)?;
        estimating.of_conversion(&self.opening.target.device, &self.header, measured, self.limit_rate)
    }

    /// The header's file is a new one.
    fn check_header(&self) -> Result<()> {
        let header = &self.header;
        if !device::exists(header) {
            return Ok(());
        }
        let message = format!("{} already exists: name a new file for the header.", header.display());
        let failure = Failure::new(Exit::Busy, message);
        let luks = Device::options().header(header.clone()).open(self.opening.target.device.clone());
        let is_under_way = luks.and_then(|device| device.header()).and_then(|it| it.is_in_reencryption());
        Err(match is_under_way {
            Ok(true) => {
                failure.hinting(format!("If it belongs to this volume, resume with \"{}\".", self.again()))
            }
            _ => failure,
        })
    }

    fn confirm(&self) -> Result<()> {
        let (device, header) = (self.opening.target.device.display(), self.header.display());
        let lost = match self.is_bitlk {
            true => "Windows, which must not use it meanwhile, cannot open it any more.",
            false => {
                "TrueCrypt and VeraCrypt, which must not have it open, cannot open it any more, and a volume that is hidden in \
                 it is lost."
            }
        };
        let warning = format!(
            "This will reencrypt the volume on {device} in place, with the header in {header}. {lost}"
        );
        question::confirm(self.opening.target.manner, &warning, "Operation aborted.", Exit::Parameters)
    }

    fn create(&self) -> Result<Create> {
        Ok(self.new.create()?.header(self.header.clone()))
    }

    /// The line that goes on.
    fn again(&self) -> String {
        let word = |path: &Path| shell::word(&path.to_string_lossy());
        let (header, device) = (word(&self.header), word(&self.opening.target.device));
        format!("keyway reencrypt --resume-only --header {header} {device}")
    }

    fn go_on(&self, job: Reencryption) -> Result<()> {
        let device = &self.opening.target.device;
        if self.only_begins {
            let message = format!("The conversion of {} is prepared.", device.display());
            return stdio::verbose(self.opening.target.manner, &message);
        }
        let again = self.again();
        match to_end(Converting(job, self), self.progress, device, self.limit_rate) {
            Ok(true) => self.say_what_is_needed(),
            Ok(false) => Err(Failure::new(Exit::Parameters, "Conversion interrupted.")
                .hinting(format!("The data is intact. Resume with \"{again}\"."))),
            Err(failure) => Err(failure.hinting(format!("Nothing is lost. Resume with \"{again}\"."))),
        }
    }

    fn say_what_is_needed(&self) -> Result<()> {
        let (manner, header) = (self.opening.target.manner, self.header.display());
        match manner.batch_mode {
            true => Ok(()),
            false => stdio::print(&format!(
                "The volume is LUKS2 now. Without {header} its data is lost: \"keyway luksHeaderBackup\" makes a copy.\n"
            )),
        }
    }

    /// Once its file has appeared, the header is the only one.
    fn not_begun(&self, error: keyway::Error) -> Failure {
        let failure = self.failed(error);
        match device::exists(&self.header) {
            true => failure.hinting(format!(
                "Keep {}: the conversion has begun, and without it the volume may be lost. Resume with \
                 \"{}\".",
                self.header.display(),
                self.again()
            )),
            false => failure,
        }
    }

    fn failed(&self, error: keyway::Error) -> Failure {
        explain::opening(&self.opening.target.device, &self.header, error)
    }
}

/// A conversion under way, with the command whose words its errors get.
struct Converting<'a>(Reencryption, &'a ToLuks);

impl Steps for Converting<'_> {
    fn step(&mut self) -> Result<bool> {
        self.0.step().map_err(|error| self.1.failed(error))
    }

    fn progress(&self) -> (u64, u64) {
        self.0.progress()
    }
}

/// Two lines of standard input would be taken for a new passphrase and nothing.
fn unasked() -> Failure {
    let message = "The volume's protection is suspended: a key in the clear opens it, and no old passphrase is asked for.";
    Failure::new(Exit::Parameters, message)
        .hinting("Give the new passphrase in a file with --new-keyfile FILE.")
}

/// How the new passphrase is given where nobody can be asked.
const NEW_KEYFILE: &str =
    "Give the new passphrase in a file with --new-keyfile FILE, or on standard input, after the old one.";
