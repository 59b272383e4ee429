//! `cargo xtask nemesis` on a machine that does not let it make network namespaces: it says so and exits with 3, which is neither good nor
//! bad.

use std::process::Command;

use anyhow::Result;

#[test]
fn what_the_machine_does_not_allow_is_said_and_is_no_success() -> Result<()> {
    let output = Command::new(env!("CARGO_BIN_EXE_xtask"))
        .args(["nemesis", "--minutes", "1"])
        // Without `unshare`, or as another user than root.
        .env("PATH", "")
        .output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(
        said.contains("unshare") || said.contains("run this as root"),
        "{said}"
    );
    Ok(())
}
