//! What the README says is so: its code is the example that is run here, its commands exist.

use std::process::Command;

use anyhow::{Context, Result, ensure};
use sealwax_tests::clusters;
use xtask::kafka::Version;

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
    let shown = between(&readme, "```rust\n", "```")?.replace("[\"localhost:9092\"]", "[broker]");
    let run = between(&example, "// readme: begin\n", "// readme: end")?;
    ensure!(
        without_spaces(&shown) == without_spaces(run),
        "README:\n{shown}\nexample:\n{run}"
    );
    Ok(())
}

#[test]
fn the_example_does_what_it_says() -> Result<()> {
    let cluster = clusters::shared(Version::V4_4_0)?;
    let output = Command::new(env!("CARGO"))
        .args([
            "run",
            "--quiet",
            "--package",
            "sealwax",
            "--example",
            "first_transaction",
            "--",
            &cluster.bootstrap(),
        ])
        .current_dir(ROOT)
        .output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    ensure!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
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
