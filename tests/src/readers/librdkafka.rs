//! librdkafka's consumer and administrator, through its Python binding.

use std::io::Write;
use std::process::{Command, Output, Stdio};

use anyhow::{Context, Result, ensure};
use xtask::kafka::Isolation;

use super::Place;

/// Prints partition, offset and value of every record, separated by tabs, up to the end of every partition.
const READ: &str = include_str!("read.py");
/// Reads group ids, one per line, and prints each with its committed offset of one partition, or -1.
const GROUP_OFFSETS: &str = include_str!("group_offsets.py");

/// All records of a topic as librdkafka reads them from the beginning to the end that it finds.
///
/// # Errors
/// If librdkafka cannot be had, or fails.
pub fn librdkafka_places(bootstrap: &str, topic: &str, isolation: Isolation) -> Result<Vec<Place>> {
    let isolation = match isolation {
        Isolation::ReadCommitted => "read_committed",
        Isolation::ReadUncommitted => "read_uncommitted",
    };
    let printed = python(READ, &[bootstrap, topic, isolation], "")?;
    printed
        .lines()
        .map(|line| place(line).with_context(|| format!("librdkafka's reader printed {line:?}")))
        .collect()
}

/// The committed offsets of groups for one partition, in the groups' order.
///
/// # Errors
/// If librdkafka cannot be had, or fails.
pub fn group_offsets(
    bootstrap: &str,
    topic: &str,
    partition: i32,
    groups: &[String],
) -> Result<Vec<Option<i64>>> {
    let printed = python(
        GROUP_OFFSETS,
        &[bootstrap, topic, &partition.to_string()],
        &groups.join("\n"),
    )?;
    let offsets: Vec<Option<i64>> = printed
        .lines()
        .map(|line| {
            let offset: i64 = line.parse()?;
            Ok((offset >= 0).then_some(offset))
        })
        .collect::<Result<_>>()?;
    ensure!(
        offsets.len() == groups.len(),
        "{} offsets of {} groups",
        offsets.len(),
        groups.len()
    );
    Ok(offsets)
}

fn place(line: &str) -> Option<Place> {
    let mut parts = line.splitn(3, '\t');
    Some(Place {
        partition: parts.next()?.parse().ok()?,
        offset: parts.next()?.parse().ok()?,
        value: parts.next()?.to_owned(),
    })
}

fn python(program: &str, arguments: &[&str], input: &str) -> Result<String> {
    let mut child = Command::new(xtask::librdkafka::python()?)
        .args(["-c", program])
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .context("Python cannot be started")?;
    let mut pipe = child.stdin.take().context("Python has no input")?;
    let input = input.to_owned();
    // Beside the reading of its output, or both could wait for each other.
    let writing = std::thread::spawn(move || pipe.write_all(input.as_bytes()));
    let Output {
        status,
        stdout,
        stderr,
    } = child.wait_with_output()?;
    ensure!(
        status.success(),
        "librdkafka failed ({status}):\n{}",
        String::from_utf8_lossy(&stderr)
    );
    writing.join().ok().context("the input was not taken")??;
    Ok(String::from_utf8(stdout)?)
}
