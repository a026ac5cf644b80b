//! The request to `passport`.

use super::facts::Passport;
use super::options::{APPLY, HTML};
use super::question::Question;
use super::{apply, json, other, page, text};
use crate::args::{self, Args, Opt, shared};
use crate::device::{self, Versions, kind_hint};
use crate::output::failure::Result;
use crate::output::paint::Paint;
use crate::output::stdio;
use crate::unlock::KeyOptions;
use crate::volume::kinds::plain::given::GivenPlain;
use crate::volume::kinds::tcrypt::given::GivenTcrypt;
use crate::volume::kinds::{self, Described, Given};
use keyway::Access;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// `keyway passport`.
pub(super) struct Request {
    volume: device::Target,
    kind: Kind,
    question: Question,
    key: KeyOptions,
    answer: Answer,
}

/// What kind of volume it is, by `--type`.
enum Kind {
    Luks(Versions),
    /// As the options describe it, and these.
    Other(Arc<dyn Described>, Box<Given>),
}

impl Kind {
    fn from_args(args: &Args) -> Result<Self> {
        let Some(row) = args.device_type().and_then(kinds::named) else {
            return Versions::from_args(args).map(Self::Luks);
        };
        let (plain, tcrypt) = (GivenPlain::from_args(args), GivenTcrypt::from_args(args));
        // It opens nothing: what a volume of Windows Vista takes, it says.
        let given = Given { plain, tcrypt, allows_vista: false };
        let described = row.describe(&given, |option: &Opt| args.given(option))?;
        Ok(Self::Other(described, Box::new(given)))
    }
}

/// What to do with the passport.
enum Answer {
    /// Show it, and optionally write it as a page too.
    Show { json: bool, page: Option<PathBuf> },
    /// Carry out its advice.
    Apply,
}

impl args::Request for Request {
    fn from_args(args: &Args) -> Result<Self> {
        let question = Question::from_args(args)?;
        let json = args.given(&shared::JSON);
        let answer = match args.given(&APPLY) {
            true => Answer::Apply,
            false => Answer::Show { json, page: args.path(&HTML).map(Path::to_owned) },
        };
        Ok(Self {
            volume: device::Target::from_args(args, 0)?,
            kind: Kind::from_args(args)?,
            question,
            key: KeyOptions::from_args(args)?,
            answer,
        })
    }

    fn run(self) -> Result<()> {
        match &self.kind {
            Kind::Luks(versions) => self.tell_of_luks(*versions),
            Kind::Other(described, given) => self.tell_of_another(&**described, given),
        }
    }
}

impl Request {
    /// What is known of a volume without a LUKS header.
    fn tell_of_another(&self, described: &dyn Described, given: &Given) -> Result<()> {
        let other = other::gather(&self.volume, described, &self.question, &self.key, given)?;
        let Answer::Show { json, page } = &self.answer else { return Ok(()) };
        if let Some(path) = page {
            page::write(&other::passport_page(&other), path)?;
        }
        match json {
            true => stdio::print(&format!("{}\n", other::json(&other))),
            false => stdio::print(&other::text(&other, Paint::for_stdout())),
        }
    }

    fn tell_of_luks(&self, versions: Versions) -> Result<()> {
        let access = if matches!(self.answer, Answer::Apply) { Access::Write } else { Access::Probe };
        let luks = self.volume.load(access, versions);
        let luks = luks.map_err(|failure| kind_hint::say_what_it_is(failure, self.volume.header_path()))?;
        let passport = Passport::gather(&self.volume, &luks, &self.question, &self.key, None)?;
        match &self.answer {
            Answer::Apply => {
                let backup = self.question.backup_name(&passport.device);
                let volume = apply::Volume { target: &self.volume, versions };
                let Some(done) = apply::run(&volume, &luks, &passport, &self.key, &backup)? else {
                    return Ok(());
                };
                let luks = self.volume.load(Access::Probe, versions)?;
                let rates = Some(&passport.target_rates);
                let now = Passport::gather(&self.volume, &luks, &self.question, &self.key, rates)?;
                stdio::print(&format!("  {}\n", done.kept(&now)))
            }
            Answer::Show { json: as_json, page: path } => {
                if let Some(path) = path {
                    page::write(&page::passport_page(&passport), path)?;
                }
                match as_json {
                    true => stdio::print(&format!("{}\n", json::show(&passport))),
                    false => stdio::print(&text::show(&passport, Paint::for_stdout())),
                }
            }
        }
    }
}
