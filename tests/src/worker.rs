//! A standalone worker with one file source: its files, and processes that run it.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::Result;

use crate::process::Process;
use crate::scratch::{Scratch, unique};

/// A file source: where it reads, where it writes, and the property files that say so.
#[derive(Debug)]
pub struct FileSource {
    scratch: Scratch,
    runs: AtomicU32,
    /// The connector's name.
    pub name: String,
    /// The worker's `group.id`.
    pub group: String,
    /// The file that is read.
    pub input: PathBuf,
    /// The topic that is written.
    pub topic: String,
}

impl FileSource {
    /// A source that reads the numbers `1` to `count` and sends them through `bootstrap`; `settings` are further connector
    /// settings, a line each.
    ///
    /// # Errors
    /// If the files cannot be written.
    pub fn numbers(bootstrap: &str, count: u64, settings: &[&str]) -> Result<Self> {
        let scratch = Scratch::new()?;
        let input = scratch.path().join("numbers.txt");
        crate::numbers::write(&input, count)?;
        Self::new(scratch, input, bootstrap, settings)
    }

    /// A source that reads this content.
    ///
    /// # Errors
    /// If the files cannot be written.
    pub fn content(bootstrap: &str, content: impl AsRef<[u8]>, settings: &[&str]) -> Result<Self> {
        let scratch = Scratch::new()?;
        let input = scratch.file("input.txt", content)?;
        Self::new(scratch, input, bootstrap, settings)
    }

    fn new(scratch: Scratch, input: PathBuf, bootstrap: &str, settings: &[&str]) -> Result<Self> {
        let source = Self {
            name: unique("source"),
            group: unique("group"),
            topic: unique("topic"),
            input,
            scratch,
            runs: AtomicU32::new(0),
        };
        source.set_bootstrap(bootstrap)?;
        source.set_connector(settings)?;
        Ok(source)
    }

    /// Writes the worker's file anew, for another bootstrap list.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn set_bootstrap(&self, bootstrap: &str) -> Result<()> {
        let worker = format!(
            "bootstrap.servers={bootstrap}\ngroup.id={}\nkey.converter=org.apache.kafka.connect.storage.StringConverter\n\
             value.converter=org.apache.kafka.connect.storage.StringConverter\n",
            self.group
        );
        self.scratch.file("worker.properties", worker)?;
        Ok(())
    }

    /// Writes the connector's file anew, with further settings.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn set_connector(&self, settings: &[&str]) -> Result<()> {
        let connector = format!(
            "name={}\nconnector.class=FileStreamSource\ntasks.max=1\nfile={}\ntopic={}\n{}\n",
            self.name,
            self.input.display(),
            self.topic,
            settings.join("\n")
        );
        self.scratch.file("connector.properties", connector)?;
        Ok(())
    }

    /// The connector's offsets topic.
    #[must_use]
    pub fn offsets_topic(&self) -> String {
        format!("{}-{}-offsets", self.group, self.name)
    }

    /// The transactional id of its task.
    #[must_use]
    pub fn transactional_id(&self) -> String {
        format!("{}-{}-0", self.group, self.name)
    }

    /// The directory of its files.
    #[must_use]
    pub fn scratch(&self) -> &Scratch {
        &self.scratch
    }

    /// Starts a worker process with it.
    ///
    /// # Errors
    /// If the process cannot be started.
    pub fn start(&self) -> Result<Process> {
        self.start_with(&[])
    }

    /// Starts a worker process with it and with further connectors' files.
    ///
    /// # Errors
    /// If the process cannot be started.
    pub fn start_with(&self, connectors: &[PathBuf]) -> Result<Process> {
        let run = self.runs.fetch_add(1, Ordering::Relaxed);
        let mut arguments = vec![
            PathBuf::from("standalone"),
            self.scratch.path().join("worker.properties"),
            self.scratch.path().join("connector.properties"),
        ];
        arguments.extend_from_slice(connectors);
        Process::sealwax(&arguments, &self.scratch.path().join(format!("worker-{run}.log")))
    }
}
