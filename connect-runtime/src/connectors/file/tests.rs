//! The file source on real files: resume, growth, and each kind of bad input with the words of its error.

use std::io::Write;
use std::sync::Arc;

use super::*;
use crate::api::{
    FlatMap, FlatValue, OffsetReader, SourceOffset, SourcePartition, SourceRecord, SourceTaskContext, Value,
};

/// Committed offsets for the test: one position, or none.
struct At(Option<i64>);

impl OffsetReader for At {
    fn offset(&self, partition: &SourcePartition) -> Option<SourceOffset> {
        assert_eq!(partition.len(), 1);
        assert!(partition.value("filename").is_some());
        self.0
            .map(|position| FlatMap::new().with("position", FlatValue::Int(position)).into())
    }
}

struct Fixture {
    _directory: tempfile::TempDir,
    path: std::path::PathBuf,
    settings: Settings,
}

impl Fixture {
    fn new(content: &[u8]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("in.txt");
        std::fs::write(&path, content).unwrap();
        let settings = [("file", path.to_str().unwrap()), ("topic", "lines")]
            .into_iter()
            .collect();
        Self {
            _directory: directory,
            path,
            settings,
        }
    }

    fn with(mut self, key: &str, value: &str) -> Self {
        self.settings.set(key, value);
        self
    }

    fn append(&self, content: &[u8]) {
        let mut file = std::fs::OpenOptions::new().append(true).open(&self.path).unwrap();
        file.write_all(content).unwrap();
    }

    async fn start(&self, position: Option<i64>) -> Result<Box<dyn SourceTask>, ConnectError> {
        let mut task = FileStreamSourceConnector::default().task();
        task.initialize(SourceTaskContext::new(
            self.settings.clone(),
            Arc::new(At(position)),
            None,
        ));
        task.start(&self.settings).await.map(|()| task)
    }
}

fn seen(records: Option<Vec<SourceRecord>>) -> Vec<(String, i64)> {
    let one = |record: SourceRecord| {
        let Value::String(text) = &record.value.value else {
            panic!("{record:?}")
        };
        assert_eq!(&*record.topic, "lines");
        (
            text.to_string(),
            record
                .source_offset
                .value("position")
                .and_then(FlatValue::as_int)
                .unwrap(),
        )
    };
    records.unwrap_or_default().into_iter().map(one).collect()
}

#[tokio::test]
async fn it_reads_in_batches_waits_and_follows_the_file() {
    let fixture = Fixture::new("ä\nb\nc\nunfin".as_bytes()).with("batch.size", "2");
    let mut task = fixture.start(None).await.unwrap();
    assert_eq!(
        seen(task.poll().await.unwrap()),
        [("ä".to_owned(), 3), ("b".to_owned(), 5)]
    );
    assert_eq!(seen(task.poll().await.unwrap()), [("c".to_owned(), 7)]);
    assert_eq!(task.poll().await.unwrap(), None);
    fixture.append(b"ished\n");
    assert_eq!(seen(task.poll().await.unwrap()), [("unfinished".to_owned(), 18)]);
}

#[tokio::test]
async fn it_goes_on_at_the_committed_position() {
    let fixture = Fixture::new("ä\nb\nc\n".as_bytes());
    let mut task = fixture.start(Some(3)).await.unwrap();
    assert_eq!(
        seen(task.poll().await.unwrap()),
        [("b".to_owned(), 5), ("c".to_owned(), 7)]
    );
}

#[tokio::test]
async fn a_missing_file_is_an_error_that_names_it() {
    let fixture = Fixture::new(b"");
    std::fs::remove_file(&fixture.path).unwrap();
    let error = fixture.start(None).await.err().unwrap().to_string();
    assert!(
        error.contains(fixture.path.to_str().unwrap()) && error.contains("does not exist"),
        "{error}"
    );
    std::fs::create_dir(&fixture.path).unwrap();
    let error = fixture.start(None).await.err().unwrap().to_string();
    assert!(error.contains("is not a regular file"), "{error}");
}

#[tokio::test]
async fn a_file_that_shrank_is_an_error_at_start_and_while_reading() {
    let fixture = Fixture::new(b"one\ntwo\n");
    let error = fixture.start(Some(9)).await.err().unwrap().to_string();
    assert!(error.contains("up to byte 9 but has only 8 bytes"), "{error}");
    let mut task = fixture.start(None).await.unwrap();
    task.poll().await.unwrap().unwrap();
    std::fs::write(&fixture.path, b"x").unwrap();
    let error = task.poll().await.unwrap_err().to_string();
    assert!(error.contains("up to byte 8 but has only 1 bytes"), "{error}");
}

#[tokio::test]
async fn a_position_inside_of_a_line_is_another_files() {
    for content in ["one\ntwo\n", "one\rtwo\n"] {
        let fixture = Fixture::new(content.as_bytes());
        let error = fixture.start(Some(5)).await.err().unwrap().to_string();
        assert!(
            error.contains("position 5") && error.contains("not the one that was read"),
            "{error}"
        );
        let mut task = fixture.start(Some(4)).await.unwrap();
        assert_eq!(seen(task.poll().await.unwrap()), [("two".to_owned(), 8)]);
        fixture.start(Some(8)).await.map(drop).unwrap();
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_file_that_was_replaced_is_read_to_its_end_and_then_an_error() {
    let fixture = Fixture::new(b"one\n");
    let mut task = fixture.start(None).await.unwrap();
    task.poll().await.unwrap().unwrap();
    let old = fixture.path.with_extension("old");
    std::fs::rename(&fixture.path, &old).unwrap();
    // Nothing has taken its place: whoever has it open may still write to it.
    assert_eq!(task.poll().await.unwrap(), None);
    std::fs::write(&old, b"one\ntwo\n").unwrap();
    std::fs::write(&fixture.path, b"1\n2\n3\n4\n5\n6\n").unwrap();
    assert_eq!(seen(task.poll().await.unwrap()), [("two".to_owned(), 8)]);
    let error = task.poll().await.unwrap_err().to_string();
    assert!(
        error.contains("was replaced by another file") && error.contains("at byte 8"),
        "{error}"
    );
}

#[tokio::test]
async fn a_line_that_is_too_long_fails_with_the_limits_name_after_the_lines_before_it() {
    let long = [b"ok\n".to_vec(), vec![b'x'; 3_000_000]].concat();
    let fixture = Fixture::new(&long);
    let mut task = fixture.start(None).await.unwrap();
    assert_eq!(seen(task.poll().await.unwrap()), [("ok".to_owned(), 3)]);
    let error = task.poll().await.unwrap_err().to_string();
    assert!(
        error.contains("starts at byte 3") && error.contains("max.line.bytes=1000000"),
        "{error}"
    );
}

#[tokio::test]
async fn bytes_that_are_not_utf8_fail_or_are_replaced() {
    let fixture = Fixture::new(b"ok\nab\xffcd\n");
    let mut task = fixture.start(None).await.unwrap();
    assert_eq!(seen(task.poll().await.unwrap()), [("ok".to_owned(), 3)]);
    let error = task.poll().await.unwrap_err().to_string();
    assert!(
        error.contains("ends at byte 9") && error.contains("invalid.utf8=replace"),
        "{error}"
    );
    let mut task = fixture.with("invalid.utf8", "Replace").start(None).await.unwrap();
    assert_eq!(
        seen(task.poll().await.unwrap()),
        [("ok".to_owned(), 3), ("ab\u{fffd}cd".to_owned(), 9)]
    );
}

#[tokio::test]
async fn a_stored_offset_of_another_shape_is_refused() {
    let fixture = Fixture::new(b"a\n");
    let error = fixture.start(Some(-1)).await.err().unwrap().to_string();
    assert!(error.contains("reset the offset"), "{error}");
}

#[test]
fn the_configuration_is_checked_and_standard_input_explained() {
    let connector = FileStreamSourceConnector::default();
    let errors = |settings: &[(&str, &str)]| -> Vec<String> {
        let settings: Settings = settings.iter().copied().collect();
        connector
            .validate(&settings)
            .iter()
            .map(ToString::to_string)
            .collect()
    };
    assert_eq!(errors(&[("file", "f"), ("topic", "t")]), Vec::<String>::new());
    assert!(errors(&[("topic", "t")]).concat().contains("standard input"));
    assert_eq!(
        errors(&[("file", "f"), ("batch.size", "x")]),
        [
            "Missing required configuration \"topic\" which has no default value.",
            "Invalid value x for configuration batch.size: Not a number of type INT (-2147483648 to 2147483647)",
        ]
    );
    let file: Settings = [("file", "f")].into_iter().collect();
    assert_eq!(
        connector.exactly_once_support(&file),
        ExactlyOnceSupport::Supported
    );
    assert_eq!(
        connector.exactly_once_support(&Settings::new()),
        ExactlyOnceSupport::Unsupported
    );
}

#[tokio::test]
async fn there_is_one_task() {
    let mut connector = FileStreamSourceConnector::default();
    let settings: Settings = [("file", "f"), ("topic", "t")].into_iter().collect();
    connector.start(&settings).await.unwrap();
    assert_eq!(connector.task_configs(8).unwrap(), [settings]);
}

#[tokio::test]
async fn with_boundary_connector_transactions_end_after_their_lines_and_at_the_end_of_the_file() {
    let fixture = Fixture::new(b"1\n2\n3\n4\n5\n").with("transaction.lines", "2");
    let mut task = FileStreamSourceConnector::default().task();
    task.initialize(SourceTaskContext::new(
        fixture.settings.clone(),
        Arc::new(At(None)),
        Some(crate::api::TransactionContext::default()),
    ));
    task.start(&fixture.settings).await.unwrap();
    let records = task.poll().await.unwrap().unwrap();
    let ends: Vec<bool> = records
        .iter()
        .map(|record| record.boundary() == Some(crate::api::RecordBoundary::Commit))
        .collect();
    assert_eq!(ends, [false, true, false, true, true]);
}

#[tokio::test]
async fn with_another_boundary_no_record_is_marked() {
    let fixture = Fixture::new(b"1\n2\n3\n").with("transaction.lines", "2");
    let mut task = fixture.start(None).await.unwrap();
    let records = task.poll().await.unwrap().unwrap();
    assert!(records.iter().all(|record| record.boundary().is_none()));
}
