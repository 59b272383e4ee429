//! What the README says is so: its code is the example that is run here, its session runs, its commands exist.

use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use sealwax_tests::scratch::Scratch;
use sealwax_tests::{clusters, wait};
use xtask::kafka::Version;
use xtask::leash::Leashed;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

fn read(path: &str) -> Result<String> {
    std::fs::read_to_string(format!("{ROOT}/{path}")).with_context(|| format!("{path} cannot be read"))
}

/// The text between two markers.
fn between<'a>(text: &'a str, begin: &str, end: &str) -> Result<&'a str> {
    let (_, rest) = text
        .split_once(begin)
        .with_context(|| format!("{begin:?} is missing"))?;
    let (inner, _) = rest
        .split_once(end)
        .with_context(|| format!("{end:?} is missing"))?;
    Ok(inner)
}

/// Where lines are broken is rustfmt's affair.
fn without_spaces(text: &str) -> String {
    text.chars().filter(|char| !char.is_whitespace()).collect()
}

#[test]
fn the_code_of_the_readme_is_the_example() -> Result<()> {
    let readme = read("README.md")?;
    let example = read("client/examples/first_transaction.rs")?;
    let shown = between(&readme, "```rust\n", "```")?;
    let (_, run) = example.split_once("\n\n").context("the example has no head")?;
    ensure!(
        without_spaces(shown) == without_spaces(run),
        "README:\n{shown}\nexample:\n{run}"
    );
    Ok(())
}

/// The console blocks from the broker on, run as they stand: only the address, which is fixed in the text, is the test's own.
#[test]
fn the_session_of_the_readme_runs() -> Result<()> {
    let cluster = clusters::shared(Version::V4_4_0)?;
    let scratch = Scratch::new()?;
    let readme = read("README.md")?.replace("localhost:9092", &cluster.bootstrap());
    let files = between(&readme, "something to read:\n\n```console\n", "```")?.replace("$ ", "");
    let status = Command::new("sh")
        .args(["-ec", &files])
        .current_dir(scratch.path())
        .status()?;
    ensure!(status.success(), "{files}");

    let sealwax = sealwax_tests::binary::sealwax()?;
    let lines: Vec<Vec<&str>> = readme
        .lines()
        .filter_map(|line| line.strip_prefix("$ sealwax "))
        .map(|line| line.split_whitespace().collect())
        .collect();
    let [worker, counting @ ..] = lines.as_slice() else {
        anyhow::bail!("the README runs nothing")
    };
    let mut worker = Leashed::spawn(
        Command::new(&sealwax).args(worker).current_dir(scratch.path()),
        "sealwax",
    )?;
    for command in counting {
        wait::until(&command.join(" "), Duration::from_secs(90), || {
            let output = Command::new(&sealwax)
                .args(command)
                .current_dir(scratch.path())
                .output()?;
            Ok(output.status.success().then_some(()))
        })?;
    }
    worker.kill()?;
    Ok(())
}

/// The README's dependencies and code, as a package of its own: what a reader makes of them.
#[test]
fn the_code_of_the_readme_runs() -> Result<()> {
    let cluster = clusters::shared(Version::V4_4_0)?;
    let scratch = Scratch::new()?;
    let readme = read("README.md")?;
    let dependencies = between(&readme, "```toml\n", "```")?.replace(
        "git = \"https://github.com/sealwax/sealwax\"",
        &format!("path = \"{ROOT}/client\""),
    );
    let manifest =
        format!("[package]\nname = \"reader\"\nedition = \"2024\"\n\n[workspace]\n\n{dependencies}");
    scratch.file("Cargo.toml", manifest)?;
    std::fs::copy(format!("{ROOT}/Cargo.lock"), scratch.path().join("Cargo.lock"))?;
    std::fs::create_dir(scratch.path().join("src"))?;
    let code = between(&readme, "```rust\n", "```")?.replace("localhost:9092", &cluster.bootstrap());
    scratch.file("src/main.rs", code)?;
    let output = Command::new(env!("CARGO"))
        .args(["run", "--quiet", "--target-dir"])
        .arg(xtask::workspace::target_dir()?)
        .current_dir(scratch.path())
        .output()?;
    ensure!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8_lossy(&output.stdout);
    ensure!(text == "42 crates\n7 barrels\n", "{text:?}");
    Ok(())
}

/// Every `cargo xtask …` and `sealwax …` line in a console block names a verb that exists.
#[test]
fn the_commands_of_the_readme_exist() -> Result<()> {
    let readme = read("README.md")?;
    let mut checked = 0;
    for line in readme.lines().filter_map(|line| line.strip_prefix("$ ")) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let mut command = match words.as_slice() {
            ["cargo", "xtask", verb @ ..] => {
                let mut command = Command::new(env!("CARGO"));
                command
                    .args(["run", "--quiet", "--package", "xtask", "--"])
                    .args(verbs(verb));
                command
            }
            ["sealwax", verb @ ..] => {
                let mut command = Command::new(sealwax_tests::binary::sealwax()?);
                command.args(verbs(verb));
                command
            }
            _ => continue,
        };
        let output = command.arg("--help").current_dir(ROOT).output()?;
        ensure!(
            output.status.success(),
            "{line}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        let help = String::from_utf8_lossy(&output.stdout);
        for flag in words.iter().filter(|word| word.starts_with("--")) {
            ensure!(help.contains(flag), "{line}: {flag} is not in its help");
        }
        checked += 1;
    }
    ensure!(checked >= 5, "only {checked} commands were found");
    Ok(())
}

/// The words of a command line up to its first flag or file.
fn verbs<'a>(words: &[&'a str]) -> Vec<&'a str> {
    words
        .iter()
        .copied()
        .take_while(|word| !word.starts_with('-') && !word.contains('.'))
        .collect()
}
