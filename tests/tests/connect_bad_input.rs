//! Bad input: each case ends in an error that says what is wrong, and never takes an innocent connector with it.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::ExitStatus;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use sealwax_tests::process::Process;
use sealwax_tests::worker::FileSource;
use sealwax_tests::{clusters, numbers, progress, readers, wait};
use xtask::kafka::{Cluster, Isolation, Version};

/// Runs a worker that must end by itself, and gives its exit code and output.
fn ends(source: &FileSource) -> Result<(ExitStatus, String)> {
    let mut worker = source.start()?;
    let status = worker.await_end(Duration::from_secs(60))?;
    Ok((status, worker.output()?))
}

fn says(output: &str, words: &[&str]) -> Result<()> {
    for word in words {
        ensure!(output.contains(word), "{word:?} is missing in: {output}");
    }
    ensure!(!output.contains("panicked"), "{output}");
    Ok(())
}

fn await_word(worker: &Process, word: &str) -> Result<()> {
    wait::until(word, Duration::from_secs(30), || {
        Ok(worker.output()?.contains(word).then_some(()))
    })
    .with_context(|| worker.output().unwrap_or_default())
}

#[test]
fn a_missing_file_fails_its_connector_and_no_other() -> Result<()> {
    let cluster = clusters::shared(Version::V4_4_0)?;
    let bootstrap = cluster.bootstrap();
    let source = FileSource::numbers(&bootstrap, 1_000, &[])?;
    let missing: PathBuf = source.scratch().file(
        "missing.properties",
        "name=missing\nconnector.class=FileStreamSource\nfile=/nowhere/to/be/found.txt\ntopic=missing\n",
    )?;
    let worker = source.start_with(&[missing])?;
    await_word(&worker, "/nowhere/to/be/found.txt")?;
    progress::await_whole_file(&bootstrap, &source, &worker, Duration::from_secs(30))?;
    // The worker is still up after both: lines that come later arrive, too.
    let mut file = std::fs::OpenOptions::new().append(true).open(&source.input)?;
    file.write_all(b"1001\n")?;
    progress::await_whole_file(&bootstrap, &source, &worker, Duration::from_secs(30))?;
    let output = worker.output()?;
    worker.kill()?;
    says(&output, &["missing", "/nowhere/to/be/found.txt"])?;
    let seen = readers::java(&cluster, &source.topic, Isolation::ReadCommitted)?;
    ensure!(
        numbers::difference(&seen, 1_001).is_none(),
        "{:?}",
        numbers::difference(&seen, 1_001)
    );
    Ok(())
}

#[test]
fn a_missing_topic_without_auto_creation_is_named() -> Result<()> {
    let cluster = Cluster::builder(Version::V4_4_0)
        .config("auto.create.topics.enable", "false")
        .start()?;
    let source = FileSource::numbers(&cluster.bootstrap(), 10, &["producer.override.max.block.ms=2000"])?;
    let (status, output) = ends(&source)?;
    ensure!(status.code() == Some(1), "{status}");
    says(&output, &[&source.topic])
}

/// A server that gives every connection to `serve`, until the test process ends.
fn server(serve: impl Fn(TcpStream) + Send + 'static) -> Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?.to_string();
    thread::spawn(move || {
        // A connection that cannot be taken is the client's to notice.
        listener.incoming().flatten().for_each(serve);
    });
    Ok(address)
}

#[test]
fn an_http_server_is_recognised() -> Result<()> {
    let address = server(|mut stream| {
        let mut request = [0; 64];
        if stream.read(&mut request).is_ok() {
            // The client may hang up at any time.
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
        }
    })?;
    let (status, output) = ends(&FileSource::numbers(&address, 10, &[])?)?;
    ensure!(status.code() == Some(3), "{status}: {output}");
    says(&output, &[&address, "HTTP"])
}

#[test]
fn a_tls_port_is_recognised() -> Result<()> {
    let address = server(|mut stream| {
        let mut request = [0; 64];
        if stream.read(&mut request).is_ok() {
            // A fatal alert "unexpected message", as a TLS server answers what is no handshake.
            let _ = stream.write_all(&[0x15, 0x03, 0x03, 0x00, 0x02, 0x02, 0x0A]);
        }
    })?;
    let (status, output) = ends(&FileSource::numbers(&address, 10, &[])?)?;
    ensure!(status.code() == Some(3), "{status}: {output}");
    says(&output, &[&address, "TLS"])
}

#[test]
fn a_silent_port_is_given_up() -> Result<()> {
    let address = server(|stream| {
        // Kept open and never answered.
        std::mem::forget(stream);
    })?;
    let source = FileSource::numbers(&address, 10, &[])?;
    let (status, output) = ends(&source)?;
    ensure!(status.code() == Some(3), "{status}: {output}");
    says(&output, &[&address, "ApiVersions"])
}

#[test]
fn a_closed_port_is_named() -> Result<()> {
    let (status, output) = ends(&FileSource::numbers("127.0.0.1:1", 10, &[])?)?;
    ensure!(status.code() == Some(3), "{status}: {output}");
    says(&output, &["127.0.0.1:1"])
}

#[test]
fn an_unknown_key_is_warned_of_and_changes_nothing() -> Result<()> {
    let cluster = clusters::shared(Version::V4_4_0)?;
    let source = FileSource::numbers(&cluster.bootstrap(), 10, &["no.such.key=1"])?;
    let worker = source.start()?;
    progress::await_whole_file(&cluster.bootstrap(), &source, &worker, Duration::from_secs(30))?;
    says(&worker.output()?, &["WARN", "no.such.key"])
}

#[test]
fn a_wrong_type_names_key_value_and_what_is_allowed() -> Result<()> {
    let cluster = clusters::shared(Version::V4_4_0)?;
    let source = FileSource::numbers(&cluster.bootstrap(), 10, &["batch.size=many"])?;
    let (status, output) = ends(&source)?;
    ensure!(status.code() == Some(2), "{status}: {output}");
    says(&output, &["batch.size", "many", "number"])?;

    let source = FileSource::numbers(&cluster.bootstrap(), 10, &["transaction.boundary=sometimes"])?;
    let (status, output) = ends(&source)?;
    ensure!(status.code() == Some(2), "{status}: {output}");
    says(
        &output,
        &[
            "transaction.boundary",
            "sometimes",
            "poll",
            "interval",
            "connector",
        ],
    )
}

#[test]
fn a_line_of_200_mb_is_an_error_that_names_the_limit() -> Result<()> {
    let cluster = clusters::shared(Version::V4_4_0)?;
    let mut content = b"first\n".to_vec();
    content.resize(200_000_000, b'x');
    let (status, output) = ends(&FileSource::content(&cluster.bootstrap(), content, &[])?)?;
    ensure!(status.code() == Some(1), "{status}: {output}");
    says(&output, &["max.line.bytes"])
}

#[test]
fn invalid_utf8_is_an_error_or_replaced_as_asked() -> Result<()> {
    let cluster = clusters::shared(Version::V4_4_0)?;
    let bootstrap = cluster.bootstrap();
    let source = FileSource::content(&bootstrap, b"good\nbad \xFF\xFE line\n", &[])?;
    let (status, output) = ends(&source)?;
    ensure!(status.code() == Some(1), "{status}: {output}");
    says(&output, &["UTF-8", "invalid.utf8"])?;

    source.set_connector(&["invalid.utf8=replace"])?;
    let worker = source.start()?;
    progress::await_whole_file(&bootstrap, &source, &worker, Duration::from_secs(30))?;
    let seen = readers::java(&cluster, &source.topic, Isolation::ReadCommitted)?;
    ensure!(seen == ["good", "bad \u{FFFD}\u{FFFD} line"], "{seen:?}");
    Ok(())
}

#[test]
fn a_file_that_shrinks_is_an_error_that_says_so() -> Result<()> {
    let cluster = clusters::shared(Version::V4_4_0)?;
    let bootstrap = cluster.bootstrap();
    let source = FileSource::content(&bootstrap, "one\ntwo\nthree\n", &[])?;
    let worker = source.start()?;
    progress::await_whole_file(&bootstrap, &source, &worker, Duration::from_secs(30))?;
    worker.kill()?;
    std::fs::write(&source.input, "one\n")?;
    let (status, output) = ends(&source)?;
    ensure!(status.code() == Some(1), "{status}: {output}");
    says(&output, &["14", "4", "input.txt"])
}
