//! The request to `passport`.

use super::facts::Passport;
use super::options::{APPLY, HTML};
use super::question::Question;
use super::{apply, json, page, text};
use crate::args::{self, Args, shared};
use crate::device::{self, Versions, kind_hint};
use crate::output::failure::Result;
use crate::output::paint::Paint;
use crate::output::stdio;
use crate::unlock::KeyOptions;
use keyway::Access;
use std::path::{Path, PathBuf};

/// `keyway passport`.
pub(super) struct Request {
    volume: device::Target,
    versions: Versions,
    question: Question,
    key: KeyOptions,
    answer: Answer,
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
            versions: Versions::from_args(args)?,
            question,
            key: KeyOptions::from_args(args)?,
            answer,
        })
    }

    fn run(self) -> Result<()> {
        let access = if matches!(self.answer, Answer::Apply) { Access::Write } else { Access::Probe };
        let luks = self.volume.load(access, self.versions);
        let luks = luks.map_err(|failure| kind_hint::say_what_it_is(failure, self.volume.header_path()))?;
        let passport = Passport::gather(&self.volume, &luks, &self.question, &self.key, None)?;
        match self.answer {
            Answer::Apply => {
                let backup = self.question.backup_name(&passport.device);
                let volume = apply::Volume { target: &self.volume, versions: self.versions };
                let Some(done) = apply::run(&volume, &luks, &passport, &self.key, &backup)? else {
                    return Ok(());
                };
                let luks = self.volume.load(Access::Probe, self.versions)?;
                let rates = Some(&passport.target_rates);
                let now = Passport::gather(&self.volume, &luks, &self.question, &self.key, rates)?;
                stdio::print(&format!("  {}\n", done.kept(&now)))
            }
            Answer::Show { json: as_json, page: path } => {
                if let Some(path) = path {
                    page::write(&passport, &path)?;
                }
                match as_json {
                    true => stdio::print(&format!("{}\n", json::show(&passport))),
                    false => stdio::print(&text::show(&passport, Paint::for_stdout())),
                }
            }
        }
    }
}
