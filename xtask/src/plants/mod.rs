//! `cargo xtask plants`: breaks the client on purpose, one way after the other, and shows that a check turns red each time.
//!
//! In: the patches below `plants/`. Out: a table of plants and checks; failure if a plant goes unseen, or does not apply or compile.

mod field;
mod plant;
mod table;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::leash::Leashed;
use crate::workspace;
use field::Field;
use plant::{Check, Plant};
use table::{Row, Seen, Table};

/// A check that takes longer than this hangs, which is neither red nor green.
const LIMIT: Duration = Duration::from_secs(15 * 60);

/// Which plants and checks.
#[derive(Debug, Clone)]
pub struct Plants {
    /// Only plants whose name holds this.
    pub filter: Option<String>,
    /// Also the checks on real brokers.
    pub with_brokers: bool,
}

/// Plants each fault and runs the checks that must see it; says whether all were seen by each of them.
///
/// # Errors
/// If there is no plant to try, one cannot be read, a check is red without any, or git or cargo cannot be started.
pub fn run(plants: &Plants) -> Result<bool> {
    let root = workspace::root()?;
    let chosen = chosen(&root.join("plants"), plants.filter.as_deref())?;
    let field = Field::new(&root)?;
    let checks: &[Check] = if plants.with_brokers {
        &Check::ALL
    } else {
        &[Check::Simulator]
    };
    prove_green(&field, &chosen, checks)?;
    let mut table = Table::default();
    for (file, plant) in &chosen {
        println!("── {}: {}", plant.name, plant.what);
        let planted = field.plant(file).inspect_err(|error| println!("   {error:#}"));
        let mut row = Row::new(plant);
        for (check, filter) in plant.checks.iter().filter(|(check, _)| checks.contains(check)) {
            let begun = Instant::now();
            let seen = match &planted {
                Ok(()) => test(&field, *check, filter).unwrap_or_else(|error| {
                    println!("   {error:#}");
                    Seen::Unfit
                }),
                Err(_) => Seen::Unfit,
            };
            println!(
                "   {}: {seen} after {:.0} s",
                check.name(),
                begun.elapsed().as_secs_f32()
            );
            row.add(*check, seen);
        }
        table.add(row);
    }
    print!("{table}");
    Ok(table.is_good())
}

fn chosen(dir: &Path, filter: Option<&str>) -> Result<Vec<(PathBuf, Plant)>> {
    let entries = std::fs::read_dir(dir).with_context(|| format!("{} cannot be read", dir.display()))?;
    let mut chosen = Vec::new();
    for entry in entries {
        let file = entry.context("a directory entry cannot be read")?.path();
        let name = file
            .file_stem()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default();
        if file.extension().is_none_or(|ending| ending != "patch")
            || filter.is_some_and(|filter| !name.contains(filter))
        {
            continue;
        }
        let text =
            std::fs::read_to_string(&file).with_context(|| format!("{} cannot be read", file.display()))?;
        chosen.push((file, Plant::parse(&name, &text)?));
    }
    ensure!(!chosen.is_empty(), "no plant in {} has this name", dir.display());
    chosen.sort_by(|(_, one), (_, other)| one.name.cmp(&other.name));
    Ok(chosen)
}

/// A check that is red without a plant shows nothing.
fn prove_green(field: &Field, chosen: &[(PathBuf, Plant)], checks: &[Check]) -> Result<()> {
    let mut filters: Vec<(Check, String)> = chosen
        .iter()
        .flat_map(|(_, plant)| plant.checks.iter().cloned())
        .filter(|(check, _)| checks.contains(check))
        .collect();
    filters.sort();
    filters.dedup();
    println!("── without a plant");
    for (check, filter) in filters {
        let seen = test(field, check, &filter)?;
        ensure!(
            seen == Seen::No,
            "{} `{filter}` is red without any plant: mend that first",
            check.name()
        );
        println!("   {} {filter}: green", check.name());
    }
    Ok(())
}

/// Builds, which must succeed, and runs the tests that match `filter`.
fn test(field: &Field, check: Check, filter: &str) -> Result<Seen> {
    let built = field
        .cargo()
        .args(["test", "--quiet", "--locked", "--no-run"])
        .args(check.target())
        .output()
        .context("cargo cannot be started")?;
    ensure!(
        built.status.success(),
        "it does not compile:\n{}",
        String::from_utf8_lossy(&built.stderr)
    );
    let log = field.log();
    let output = File::create(&log).with_context(|| format!("{} cannot be written", log.display()))?;
    let mut command = field.cargo();
    command
        .args(["test", "--quiet", "--locked"])
        .args(check.target())
        .arg("--")
        .args(filter.split_whitespace())
        .stdout(output)
        .stderr(Stdio::null());
    let status = Leashed::spawn(&mut command, "--locked")?
        .wait_for(LIMIT)?
        .with_context(|| format!("{} `{filter}` did not end within {LIMIT:?}", check.name()))?;
    let output =
        std::fs::read_to_string(&log).with_context(|| format!("{} cannot be read", log.display()))?;
    ensure!(
        output
            .lines()
            .any(|line| line.starts_with("test result: ") && !line.contains(" 0 passed; 0 failed")),
        "no test matches `{filter}`:\n{output}"
    );
    Ok(if status.success() { Seen::No } else { Seen::Yes })
}
