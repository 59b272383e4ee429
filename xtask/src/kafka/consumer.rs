//! Java's console consumer, the reader that is not ours: with it records are counted independently.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::jvm::Jvm;
use super::versions::{Tool, Version};

/// Which records a consumer sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isolation {
    /// Only records of committed transactions (and of none).
    ReadCommitted,
    /// All records.
    ReadUncommitted,
}

/// A run of the console consumer from the beginning of a topic; one line of output per record (its value, unless a property
/// says more).
#[derive(Debug, Clone)]
#[must_use]
pub struct ConsoleConsumer {
    topic: String,
    isolation: Isolation,
    partition: Option<i32>,
    max_messages: Option<u64>,
    idle: Duration,
    properties: Vec<(String, String)>,
}

impl ConsoleConsumer {
    /// A consumer of `topic` from its beginning, which ends when nothing came for 10 s.
    pub fn new(topic: impl Into<String>, isolation: Isolation) -> Self {
        Self {
            topic: topic.into(),
            isolation,
            partition: None,
            max_messages: None,
            idle: Duration::from_secs(10),
            properties: Vec::new(),
        }
    }

    /// Only this partition (default: all).
    pub fn partition(mut self, partition: i32) -> Self {
        self.partition = Some(partition);
        self
    }

    /// Ends after so many records. It still ends earlier if nothing comes for the idle time.
    pub fn max_messages(mut self, count: u64) -> Self {
        self.max_messages = Some(count);
        self
    }

    /// Ends when nothing came for so long (`--timeout-ms`; default 10 s). That is how it notices the end of a topic.
    pub fn idle(mut self, idle: Duration) -> Self {
        self.idle = idle;
        self
    }

    /// A property of the printer, such as `("print.key", "true")` or `("print.offset", "true")`.
    pub fn property(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.properties.push((key.into(), value.into()));
        self
    }

    /// Runs it and hands each line, without its end, to `each`. Returns how many there were.
    ///
    /// # Errors
    /// If it cannot be started, a line is not UTF-8, or it fails for another reason than having waited in vain.
    pub fn run(&self, jvm: &Jvm, bootstrap: &str, mut each: impl FnMut(&str)) -> Result<u64> {
        let mut command = self.command(jvm, bootstrap)?;
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .context("Java cannot be started")?;
        let output = child.stdout.take().context("the consumer has no output")?;
        let errors = drain_stderr(&mut child)?;
        let mut lines = BufReader::with_capacity(1 << 16, output);
        let mut line = String::new();
        let mut count = 0;
        while lines
            .read_line(&mut line)
            .context("the consumer's output cannot be read")?
            > 0
        {
            each(line.strip_suffix('\n').unwrap_or(&line));
            count += 1;
            line.clear();
        }
        self.conclude(&mut child, &errors.join().unwrap_or_default())?;
        Ok(count)
    }

    fn command(&self, jvm: &Jvm, bootstrap: &str) -> Result<Command> {
        let mut command = jvm.tool(jvm.version().main_class(Tool::ConsoleConsumer))?;
        command
            .args(self.arguments(jvm.version(), bootstrap))
            .stdin(Stdio::null());
        Ok(command)
    }

    fn arguments(&self, version: Version, bootstrap: &str) -> Vec<String> {
        let isolation = match self.isolation {
            Isolation::ReadCommitted => "read_committed",
            Isolation::ReadUncommitted => "read_uncommitted",
        };
        let mut list: Vec<String> = [
            "--bootstrap-server",
            bootstrap,
            "--topic",
            &self.topic,
            "--isolation-level",
            isolation,
        ]
        .map(str::to_owned)
        .to_vec();
        list.extend(["--timeout-ms".to_owned(), self.idle.as_millis().to_string()]);
        match self.partition {
            // With a partition the tool wants an offset in place of --from-beginning.
            Some(partition) => list
                .extend(["--partition", &partition.to_string(), "--offset", "earliest"].map(str::to_owned)),
            None => list.push("--from-beginning".to_owned()),
        }
        if let Some(count) = self.max_messages {
            list.extend(["--max-messages".to_owned(), count.to_string()]);
        }
        for (key, value) in &self.properties {
            list.extend([version.printer_option().to_owned(), format!("{key}={value}")]);
        }
        list
    }

    /// Having waited in vain is the tool's normal end here, although it reports it as an error and exit code 1.
    fn conclude(&self, child: &mut Child, errors: &str) -> Result<()> {
        let status = child.wait().context("waiting for the consumer failed")?;
        ensure!(
            status.success() || errors.contains("TimeoutException"),
            "Java's console consumer of {} failed ({status}):\n{errors}",
            self.topic
        );
        Ok(())
    }
}

/// Reads standard error beside the output, or a full pipe would stop the tool.
fn drain_stderr(child: &mut Child) -> Result<std::thread::JoinHandle<String>> {
    let mut pipe = child.stderr.take().context("the consumer has no error output")?;
    Ok(std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = std::io::Read::read_to_end(&mut pipe, &mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partition_takes_the_place_of_from_beginning() {
        let consumer = ConsoleConsumer::new("t", Isolation::ReadCommitted);
        let all = consumer.clone().arguments(Version::V4_4_0, "b:1").join(" ");
        assert!(
            all.contains("--from-beginning") && all.contains("--isolation-level read_committed"),
            "{all}"
        );
        let one = consumer
            .partition(2)
            .max_messages(7)
            .arguments(Version::V4_4_0, "b:1")
            .join(" ");
        assert!(
            one.contains("--partition 2 --offset earliest") && !one.contains("--from-beginning"),
            "{one}"
        );
        assert!(one.contains("--max-messages 7"), "{one}");
    }
}
