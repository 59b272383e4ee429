//! The task: opens the file at the committed position and follows it as it grows.
//!
//! Input: the file, the committed position. Output: batches of records; an error that names the file and the place when
//! it is missing, shrank, was replaced by another file, has a line that is too long, or is not UTF-8.

use std::io::SeekFrom;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use tokio::fs::File;
use tokio::io::{AsyncReadExt, AsyncSeekExt};

use super::config::{FileConfig, InvalidUtf8};
use super::identity::Identity;
use super::lines::{Line, LineSplitter};
use crate::api::{
    ConnectError, FlatMap, FlatValue, SchemaAndValue, Settings, SourceOffset, SourcePartition, SourceRecord,
    SourceTask, SourceTaskContext, Text, TransactionContext,
};

const FILENAME: &str = "filename";
const POSITION: &str = "position";

/// Bytes per read. Small lines fill several polls from one read.
const CHUNK: usize = 256 * 1024;

/// How long a poll waits at the end of the file before it looks again.
const WAIT_FOR_GROWTH: Duration = Duration::from_millis(100);

/// The file source task.
#[derive(Default)]
pub(super) struct FileStreamSourceTask {
    context: Option<SourceTaskContext>,
    open: Option<OpenFile>,
}

struct OpenFile {
    config: FileConfig,
    file: File,
    identity: Identity,
    lines: LineSplitter,
    partition: SourcePartition,
    /// The say on transactions, with `transaction.boundary=connector` only.
    transactions: Option<TransactionContext>,
    /// Lines since the last end of a transaction.
    in_transaction: usize,
    /// An error that waits until the records before it were returned.
    failed: Option<ConnectError>,
}

#[async_trait]
impl SourceTask for FileStreamSourceTask {
    fn initialize(&mut self, context: SourceTaskContext) {
        self.context = Some(context);
    }

    async fn start(&mut self, settings: &Settings) -> Result<(), ConnectError> {
        let config = FileConfig::from_settings(settings).map_err(|errors| {
            let all: Vec<_> = errors.iter().map(ToString::to_string).collect();
            ConnectError::config(all.join("; "))
        })?;
        let partition = partition_of(&config.name);
        let committed = self
            .context
            .as_ref()
            .and_then(|context| context.offset(&partition));
        let position = position_of(&config.name, committed.as_ref())?;
        let mut open = OpenFile::at(config, partition, position).await?;
        open.transactions = self
            .context
            .as_ref()
            .and_then(|context| context.transactions().cloned());
        self.open = Some(open);
        Ok(())
    }

    async fn poll(&mut self) -> Result<Option<Vec<SourceRecord>>, ConnectError> {
        match &mut self.open {
            Some(open) => open.poll().await,
            None => Err(ConnectError::permanent("poll before start")),
        }
    }

    async fn stop(&mut self) {
        self.open = None;
    }
}

impl OpenFile {
    async fn at(config: FileConfig, partition: SourcePartition, position: u64) -> Result<Self, ConnectError> {
        let failed = |what: &str, e: std::io::Error| {
            ConnectError::permanent(format!("cannot {what} file {}", config.name)).with_source(e)
        };
        let metadata = tokio::fs::metadata(&config.path).await.map_err(|e| match e.kind() {
            std::io::ErrorKind::NotFound => ConnectError::permanent(format!(
                "file {} does not exist; create it, or set file to the right path, and start the connector again",
                config.name
            )),
            _ => failed("look at", e),
        })?;
        if !metadata.is_file() {
            return Err(ConnectError::permanent(format!(
                "file {} is not a regular file (a directory, pipe or device), so it cannot be read again from a position",
                config.name
            )));
        }
        let mut file = File::open(&config.path).await.map_err(|e| failed("open", e))?;
        let opened = file.metadata().await.map_err(|e| failed("look at", e))?;
        let (identity, size) = (Identity::of(&opened), opened.len());
        if size < position {
            return Err(shrunk(&config.name, position, size));
        }
        let at_line = go_to_line(&mut file, position).await;
        if !at_line.map_err(|e| failed("read", e))? {
            return Err(not_a_line(&config.name, position));
        }
        let lines = LineSplitter::new(position, config.max_line_bytes);
        Ok(Self {
            config,
            file,
            identity,
            lines,
            partition,
            transactions: None,
            in_transaction: 0,
            failed: None,
        })
    }

    async fn poll(&mut self) -> Result<Option<Vec<SourceRecord>>, ConnectError> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        loop {
            let mut lines = Vec::new();
            self.lines
                .take_lines(self.config.batch_size, &mut lines)
                .map_err(|e| self.too_long(e.start))?;
            if !lines.is_empty() {
                let all_read = lines.len() < self.config.batch_size;
                let mut records = self.records(lines)?;
                self.end_transactions(&mut records, all_read || self.failed.is_some())?;
                return Ok(Some(records));
            }
            if self.read_chunk().await? == 0 {
                self.check_size().await?;
                self.check_identity().await?;
                tokio::time::sleep(WAIT_FOR_GROWTH).await;
                return Ok(None);
            }
        }
    }

    /// The records up to the first line that cannot be sent; its error comes alone, with the next poll.
    fn records(&mut self, lines: Vec<Line>) -> Result<Vec<SourceRecord>, ConnectError> {
        let mut records = Vec::with_capacity(lines.len());
        for line in lines {
            match self.record(line) {
                Ok(record) => records.push(record),
                Err(error) if records.is_empty() => return Err(error),
                Err(error) => {
                    self.failed = Some(error);
                    break;
                }
            }
        }
        Ok(records)
    }

    /// With `transaction.boundary=connector`: a transaction ends after `transaction.lines` lines, and with the last line
    /// that was read, so that none stays open while the file does not grow.
    fn end_transactions(&mut self, records: &mut [SourceRecord], all_read: bool) -> Result<(), ConnectError> {
        let Some(transactions) = &self.transactions else {
            return Ok(());
        };
        let last = records.len().saturating_sub(1);
        for (index, record) in records.iter_mut().enumerate() {
            self.in_transaction += 1;
            if self.in_transaction >= self.config.transaction_lines || (all_read && index == last) {
                transactions.commit_transaction_after(record)?;
                self.in_transaction = 0;
            }
        }
        Ok(())
    }

    async fn read_chunk(&mut self) -> Result<usize, ConnectError> {
        let buffer = self.lines.buffer();
        buffer.reserve(CHUNK);
        let name = &self.config.name;
        let read = self.file.read_buf(buffer).await;
        read.map_err(|e| ConnectError::permanent(format!("cannot read file {name}")).with_source(e))
    }

    async fn check_size(&self) -> Result<(), ConnectError> {
        let name = &self.config.name;
        let metadata = self.file.metadata().await;
        let size = metadata
            .map_err(|e| ConnectError::permanent(format!("cannot look at file {name}")).with_source(e))?
            .len();
        let position = self.lines.read_position();
        if size < position {
            Err(shrunk(name, position, size))
        } else {
            Ok(())
        }
    }

    /// At the end of the file: a file that was moved away grows no more, and what stands in its place would never be seen.
    async fn check_identity(&self) -> Result<(), ConnectError> {
        match tokio::fs::metadata(&self.config.path).await {
            Ok(metadata) if !self.identity.may_be(&metadata) => {
                Err(replaced(&self.config.name, self.lines.read_position()))
            }
            // A file that is only moved away is followed until another one takes its place; what else is wrong with the
            // path shows at the next start.
            Ok(_) | Err(_) => Ok(()),
        }
    }

    fn record(&self, line: Line) -> Result<SourceRecord, ConnectError> {
        let text = self.text(line.bytes, line.end)?;
        let position = FlatValue::Int(i64::try_from(line.end).unwrap_or(i64::MAX));
        Ok(SourceRecord::new(
            self.partition.clone(),
            FlatMap::new().with(POSITION, position).into(),
            self.config.topic.clone(),
            SchemaAndValue::string(text),
        ))
    }

    fn text(&self, bytes: Bytes, end: u64) -> Result<Text, ConnectError> {
        match (Text::from_utf8(bytes.clone()), self.config.invalid_utf8) {
            (Ok(text), _) => Ok(text),
            (Err(_), InvalidUtf8::Replace) => Ok(String::from_utf8_lossy(&bytes).into_owned().into()),
            (Err(error), InvalidUtf8::Fail) => Err(ConnectError::permanent(format!(
                "file {}: the line that ends at byte {end} is not UTF-8 (its byte {} is the first that does not fit); \
                 mend the file, or set invalid.utf8=replace to send it with replacement characters",
                self.config.name,
                error.valid_up_to(),
            ))),
        }
    }

    fn too_long(&self, start: u64) -> ConnectError {
        ConnectError::permanent(format!(
            "file {}: the line that starts at byte {start} is longer than max.line.bytes={}; raise max.line.bytes (and \
             the topic's max.message.bytes and the producer's max.request.size with it), or mend the file",
            self.config.name, self.config.max_line_bytes
        ))
    }
}

fn partition_of(name: &str) -> SourcePartition {
    FlatMap::new()
        .with(FILENAME, FlatValue::String(name.into()))
        .into()
}

/// The position of a committed offset, 0 if there is none.
fn position_of(name: &str, committed: Option<&SourceOffset>) -> Result<u64, ConnectError> {
    let Some(offset) = committed else { return Ok(0) };
    let position = offset
        .value(POSITION)
        .and_then(FlatValue::as_int)
        .and_then(|n| u64::try_from(n).ok());
    position.ok_or_else(|| {
        ConnectError::permanent(format!(
            "the committed offset of file {name} has no position that is an integer from 0 on; reset the offset"
        ))
    })
}

/// Places the file where the next line begins. False: no line begins there.
async fn go_to_line(file: &mut File, position: u64) -> std::io::Result<bool> {
    let Some(before) = position.checked_sub(1) else {
        return Ok(true);
    };
    file.seek(SeekFrom::Start(before)).await?;
    Ok(matches!(file.read_u8().await?, b'\n' | b'\r'))
}

fn not_a_line(name: &str, position: u64) -> ConnectError {
    ConnectError::permanent(format!(
        "file {name} is not the one that was read: the committed position {position} is behind a line, but no line ends \
         there now, so what to read next cannot be known; restore the file, or give the new content another name, or reset \
         the connector's offset to read the file from its start"
    ))
}

fn replaced(name: &str, position: u64) -> ConnectError {
    ConnectError::permanent(format!(
        "file {name} was replaced by another file; the old one was read to its end at byte {position}, so what to read next \
         cannot be known; give the new file another name, or reset the connector's offset to read it from its start, or, if \
         it begins with what was read, start the connector again to go on behind that"
    ))
}

fn shrunk(name: &str, position: u64, size: u64) -> ConnectError {
    ConnectError::permanent(format!(
        "file {name} shrank: it was read up to byte {position} but has only {size} bytes now, so what to read next \
         cannot be known; restore the file, or give the new content another name, or reset the connector's offset to \
         read the file from its start"
    ))
}
