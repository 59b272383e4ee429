//! `sealwax standalone` as a process: exit codes and words for configurations and surroundings that cannot work.

use std::io::Result;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

struct Files {
    directory: tempfile::TempDir,
}

impl Files {
    fn new() -> Result<Self> {
        Ok(Self {
            directory: tempfile::tempdir()?,
        })
    }

    fn write(&self, name: &str, content: &str) -> Result<PathBuf> {
        let path = self.directory.path().join(name);
        std::fs::write(&path, content)?;
        Ok(path)
    }
}

/// Exit code and what was said on stderr.
fn standalone(worker: &Path, connector: &Path) -> Result<(Option<i32>, String)> {
    let Output { status, stderr, .. } = Command::new(env!("CARGO_BIN_EXE_sealwax"))
        .arg("standalone")
        .arg(worker)
        .arg(connector)
        .output()?;
    Ok((status.code(), String::from_utf8_lossy(&stderr).into_owned()))
}

const CONNECTOR: &str = "name=c\nconnector.class=FileStreamSource\nfile=f\ntopic=t\n";

#[test]
fn a_missing_worker_file_is_named_with_exit_code_2() -> Result<()> {
    let files = Files::new()?;
    let connector = files.write("c.properties", CONNECTOR)?;
    let (code, text) = standalone(&files.directory.path().join("none.properties"), &connector)?;
    assert_eq!(code, Some(2), "{text}");
    assert!(
        text.contains("none.properties") && text.contains("cannot be read"),
        "{text}"
    );
    Ok(())
}

#[test]
fn wrong_types_name_key_value_and_what_is_allowed() -> Result<()> {
    let files = Files::new()?;
    let worker = files.write(
        "w.properties",
        "bootstrap.servers=127.0.0.1:1\noffset.flush.interval.ms=often\n",
    )?;
    let connector = files.write(
        "c.json",
        r#"{"name":"c","config":{"connector.class":"FileStreamSource"}}"#,
    )?;
    let (code, text) = standalone(&worker, &connector)?;
    assert_eq!(code, Some(2), "{text}");
    assert!(
        text.contains("Invalid value often for configuration offset.flush.interval.ms: Not a number"),
        "{text}"
    );
    let worker = files.write("w.properties", "bootstrap.servers=127.0.0.1:1\n")?;
    let connector = files.write(
        "c.json",
        r#"{"name":"c","config":{"connector.class":"F","tasks.max":"x"}}"#,
    )?;
    let (code, text) = standalone(&worker, &connector)?;
    assert_eq!(code, Some(2), "{text}");
    assert!(
        text.contains("Invalid value x for configuration tasks.max: Not a number of type INT"),
        "{text}"
    );
    Ok(())
}

#[cfg(target_os = "linux")]
#[test]
fn an_error_that_nobody_can_read_changes_no_exit_code() -> Result<()> {
    let files = Files::new()?;
    let worker = files.write("w.properties", "bootstrap.servers=127.0.0.1:1\n")?;
    let (reader, writer) = std::io::pipe()?;
    drop(reader);
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full")?;
    let nobodies: [std::process::Stdio; 2] = [writer.into(), full.into()];
    for nobody in nobodies {
        let status = Command::new(env!("CARGO_BIN_EXE_sealwax"))
            .arg("standalone")
            .arg(&worker)
            .arg(files.directory.path().join("none.properties"))
            .stderr(nobody)
            .status()?;
        assert_eq!(status.code(), Some(2), "{status}");
    }
    Ok(())
}

#[test]
fn no_broker_at_the_address_is_exit_code_3_and_unknown_keys_are_warned_about() -> Result<()> {
    let files = Files::new()?;
    let worker = files.write(
        "w.properties",
        "bootstrap.servers=127.0.0.1:1\nbootstrap.server=x\napi.secret=s3cr3t\n",
    )?;
    let connector = files.write("c.properties", CONNECTOR)?;
    let (code, text) = standalone(&worker, &connector)?;
    assert_eq!(code, Some(3), "{text}");
    assert!(text.contains("bootstrap.servers=127.0.0.1:1"), "{text}");
    assert!(text.contains("unknown key bootstrap.server "), "{text}");
    assert!(!text.contains("s3cr3t"), "{text}");
    Ok(())
}
