//! `sealwax txns` as a process: exit codes and words for arguments and surroundings that cannot work.

use std::io::Result;
use std::process::{Command, Output, Stdio};

/// Exit code, stdout and stderr.
fn txns(arguments: &str) -> Result<(Option<i32>, String, String)> {
    let Output {
        status,
        stdout,
        stderr,
    } = Command::new(env!("CARGO_BIN_EXE_sealwax"))
        .arg("txns")
        .args(arguments.split_whitespace())
        .stdin(Stdio::null())
        .output()?;
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ok((status.code(), text(stdout), text(stderr)))
}

#[test]
fn arguments_that_make_no_sense_are_exit_code_2_and_say_why() -> Result<()> {
    for (arguments, said) in [
        ("", "Usage"),
        ("list", "--bootstrap-server"),
        ("list --bootstrap-server b:1 --state open", "PrepareEpochFence"),
        ("list --bootstrap-server b:1 --older-than 15", "15m"),
        ("describe --bootstrap-server b:1", "ID"),
        ("describe --bootstrap-server b:1 --partition orders", "TOPIC:N"),
        (
            "describe --bootstrap-server b:1 orders-1 --partition orders:0",
            "cannot be used with",
        ),
        ("hanging --bootstrap-server b:1 --partition 0", "--topic"),
        ("abort --bootstrap-server b:1 --yes", "--transactional-id"),
        (
            "abort --bootstrap-server b:1 --yes --topic t --partition 0",
            "--start-offset",
        ),
        ("abort --bootstrap-server b:1 --transactional-id a", "--yes"),
    ] {
        let (code, stdout, stderr) = txns(arguments)?;
        assert_eq!(code, Some(2), "{arguments}: {stderr}");
        assert!(stderr.contains(said), "{arguments}: {said} is not in {stderr}");
        assert!(stdout.is_empty(), "{arguments}: {stdout}");
    }
    Ok(())
}

#[test]
fn no_broker_at_the_address_is_exit_code_3() -> Result<()> {
    for subcommand in [
        "list --json",
        "describe a",
        "hanging",
        "abort --yes --transactional-id a",
    ] {
        let (code, stdout, stderr) = txns(&format!("{subcommand} --bootstrap-server 127.0.0.1:1"))?;
        assert_eq!(code, Some(3), "{subcommand}: {stderr}");
        assert!(stderr.contains("127.0.0.1:1"), "{subcommand}: {stderr}");
        assert!(stdout.is_empty(), "{subcommand}: {stdout}");
    }
    Ok(())
}
