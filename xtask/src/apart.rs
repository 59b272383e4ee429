//! Takes this process out of the machine's own network: into a network namespace and a mount namespace that end with it.
//!
//! Everything that is made in there (namespaces of nodes, a bridge, rules) is unknown outside, and the kernel removes it when the last
//! process inside has ended, however it ends.

use std::convert::Infallible;
use std::ffi::OsString;
use std::fmt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

/// `ip netns` keeps its names below /run, which is therefore a private one.
const ENTER: &str = r#"mount -t tmpfs none /run && mkdir /run/netns && ip link set lo up && exec "$@""#;
/// What will be needed inside, tried once.
const TRIAL: &str = "ip netns add trial && ip link add trial type veth peer name eth0 netns trial \
                     && nsenter --net=/run/netns/trial -- nft list ruleset";

/// Names the network namespace that was left, for the process that begins anew.
const OUTSIDE: &str = "SEALWAX_OUTSIDE";

/// The machine does not allow it. Says why and what would help.
#[derive(Debug)]
pub struct Refused(String);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

/// Whether this process is in another network namespace than the one from which [`run_again`] took it.
pub fn is_apart() -> bool {
    match (std::env::var_os(OUTSIDE), network()) {
        (Some(outside), Ok(own)) => outside != own,
        (None, _) | (_, Err(_)) => false,
    }
}

/// The name of this process' network namespace.
fn network() -> std::io::Result<OsString> {
    std::fs::read_link("/proc/self/ns/net").map(PathBuf::into_os_string)
}

/// Tries whether this machine lets us.
///
/// # Errors
/// [`Refused`] if it does not.
pub fn try_out() -> Result<()> {
    if !rustix::process::geteuid().is_root() {
        return Err(
            Refused("network namespaces can be made by root only: run this as root".to_owned()).into(),
        );
    }
    for (program, package) in [
        ("unshare", "util-linux"),
        ("nsenter", "util-linux"),
        ("ip", "iproute2"),
        ("nft", "nftables"),
    ] {
        if !has(program) {
            let text = format!("`{program}` is not here: install the Debian package `{package}`");
            return Err(Refused(text).into());
        }
    }
    let trial = entering(&["sh".into(), "-c".into(), TRIAL.into()])
        .output()
        .context("`unshare` cannot be started")?;
    if trial.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&trial.stderr);
    let text = format!(
        "this machine does not let us make network namespaces: {}",
        said.trim()
    );
    Err(Refused(text).into())
}

/// Runs this very command again, apart, in place of this process; `variables` are added to its environment.
///
/// # Errors
/// If that cannot be done; else it does not return.
pub fn run_again(variables: &[(&str, &OsString)]) -> Result<Infallible> {
    let program = std::env::current_exe().context("this program's own path is unknown")?;
    let mut command = vec![program.into_os_string()];
    command.extend(std::env::args_os().skip(1));
    let outside = network().context("this process' own network namespace is unknown")?;
    let error = entering(&command)
        .env(OUTSIDE, outside)
        .envs(variables.iter().copied())
        .exec();
    Err(error).context("`unshare` cannot be started")
}

fn entering(command: &[OsString]) -> Command {
    let mut entering = Command::new("unshare");
    entering
        .args(["--net", "--mount", "--", "sh", "-c", ENTER, "apart"])
        .args(command);
    entering
}

/// Whether a program is on the `PATH`.
pub fn has(program: &str) -> bool {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&paths).any(|dir| dir.join(program).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_runs_in_the_machines_network() {
        assert!(!is_apart());
        assert!(has("sh") && !has("no such program"));
    }
}
