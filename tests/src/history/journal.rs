//! Where events are written down while they happen: in memory, and in a file if one is wanted. Thread-safe.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use anyhow::{Context, Result};

use super::event::{Event, Op, Phase};
use super::json::to_line;

/// A history that is being written. Cheap to clone; all clones write the same one.
#[derive(Debug, Clone)]
pub struct Journal {
    start: Instant,
    pages: Arc<Mutex<Pages>>,
}

#[derive(Debug, Default)]
struct Pages {
    events: Vec<Event>,
    file: Option<File>,
    /// The file could not be written any more.
    failure: Option<std::io::Error>,
}

impl Journal {
    /// A history in memory.
    #[must_use]
    pub fn new() -> Self {
        Self {
            start: Instant::now(),
            pages: Arc::default(),
        }
    }

    /// A history in memory and in a new file, one line of JSON for each event, written before the caller goes on.
    ///
    /// # Errors
    /// If the file cannot be made.
    pub fn in_file(path: &Path) -> Result<Self> {
        let file = File::create(path).with_context(|| format!("{} cannot be made", path.display()))?;
        let journal = Self::new();
        journal.pages().file = Some(file);
        Ok(journal)
    }

    /// One who writes in it.
    #[must_use]
    pub fn scribe(&self, process: impl Into<String>, instance: u32) -> Scribe {
        Scribe {
            journal: self.clone(),
            process: process.into(),
            instance,
            transaction: None,
        }
    }

    /// All events so far, oldest first.
    ///
    /// # Errors
    /// If some of them could not be written to the file.
    pub fn events(&self) -> Result<Vec<Event>> {
        let mut pages = self.pages();
        match pages.failure.take() {
            Some(error) => Err(error).context("the history's file is incomplete"),
            None => Ok(pages.events.clone()),
        }
    }

    fn pages(&self) -> std::sync::MutexGuard<'_, Pages> {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, scribe: &Scribe, phase: Phase, op: Op) {
        let mut pages = self.pages();
        let at = u64::try_from(self.start.elapsed().as_micros()).unwrap_or(u64::MAX);
        let event = Event {
            at,
            process: scribe.process.clone(),
            instance: scribe.instance,
            transaction: scribe.transaction,
            phase,
            op,
        };
        let line = pages.file.is_some().then(|| to_line(&event) + "\n");
        if let (Some(line), Some(file)) = (line, &mut pages.file)
            && let Err(error) = file.write_all(line.as_bytes())
        {
            pages.failure = Some(error);
        }
        pages.events.push(event);
    }
}

impl Default for Journal {
    fn default() -> Self {
        Self::new()
    }
}

/// Writes what one instance of one process does. A clone writes as the same instance, in another transaction if told so.
#[derive(Debug, Clone)]
pub struct Scribe {
    journal: Journal,
    process: String,
    instance: u32,
    transaction: Option<u64>,
}

impl Scribe {
    /// The same instance in a transaction of this number.
    #[must_use]
    pub fn within(&self, transaction: u64) -> Self {
        Self {
            transaction: Some(transaction),
            ..self.clone()
        }
    }

    /// It is about to be done.
    pub fn invoke(&self, op: Op) {
        self.journal.write(self, Phase::Invoke, op);
    }

    /// It was done.
    pub fn ok(&self, op: Op) {
        self.journal.write(self, Phase::Ok, op);
    }

    /// It was certainly not done.
    pub fn fail(&self, op: Op, why: impl ToString) {
        self.journal.write(self, Phase::Fail(why.to_string()), op);
    }

    /// It may have been done.
    pub fn unknown(&self, op: Op, why: impl ToString) {
        self.journal.write(self, Phase::Unknown(why.to_string()), op);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::read;
    use crate::scratch::Scratch;

    #[test]
    fn the_file_holds_what_memory_holds() -> Result<()> {
        let scratch = Scratch::new()?;
        let path = scratch.path().join("history.jsonl");
        let journal = Journal::in_file(&path)?;
        let scribe = journal.scribe("p", 1);
        scribe.invoke(Op::Begin);
        scribe.within(4).unknown(Op::Commit, "no answer");
        let events = journal.events()?;
        assert_eq!(events[1].transaction, Some(4));
        assert_eq!(read(std::fs::read(&path)?.as_slice())?, events);
        Ok(())
    }
}
