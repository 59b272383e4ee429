//! What a verb prints: its result on stdout, notes on stderr. Nobody has to listen: a reader that has gone (`| head`) or a
//! log on a full disk ends no run.
//!
//! Input: text. Output: a [`Failure`] only where the result itself is lost without the reader's doing.

use std::fmt::Display;
use std::io::{self, ErrorKind, Write};

use super::{Exit, Failure};

/// Prints a verb's result.
///
/// # Errors
/// Stdout takes nothing, for example because a disk is full. A reader that has gone has seen enough, so that is no failure.
pub fn result(text: &dyn Display) -> Result<(), Failure> {
    write_result(&mut io::stdout().lock(), text)
}

/// A line for the user beside the result. If nobody can see it, nothing is lost that the exit code does not tell.
pub fn note(text: &dyn Display) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

fn write_result(output: &mut impl Write, text: &dyn Display) -> Result<(), Failure> {
    match writeln!(output, "{text}").and_then(|()| output.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(Failure::new(
            Exit::Environment,
            format!("the result cannot be written to standard output: {error}"),
        )),
        Ok(()) | Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Broken(ErrorKind);

    impl Write for Broken {
        fn write(&mut self, _bytes: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Err(self.0.into())
        }
    }

    #[test]
    fn a_reader_that_has_gone_is_no_failure_but_a_full_disk_is() {
        assert_eq!(write_result(&mut Broken(ErrorKind::BrokenPipe), &"7"), Ok(()));
        let full = write_result(&mut Broken(ErrorKind::StorageFull), &"7").unwrap_err();
        assert_eq!(full.exit(), Exit::Environment);
        let mut seen = Vec::new();
        write_result(&mut seen, &"7").unwrap();
        assert_eq!(seen, b"7\n");
    }
}
