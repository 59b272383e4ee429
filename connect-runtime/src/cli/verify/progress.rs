//! The progress bar: on a terminal it is drawn to stderr, otherwise it is silent. Notes are shown either way.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::cli::say;

const TEMPLATE: &str = "{bar:40} {percent:>3}%  {human_pos}/{human_len} offsets  {per_sec}  {eta} left";

/// The bar of one run.
#[derive(Debug)]
pub(super) struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// A bar over `total` offsets.
    pub(super) fn new(total: u64) -> Self {
        let bar = ProgressBar::new(total);
        if let Ok(style) = ProgressStyle::with_template(TEMPLATE) {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(500));
        Self { bar }
    }

    /// So many offsets are read.
    pub(super) fn set(&self, done: u64) {
        self.bar.set_position(done);
    }

    /// A line on stderr that does not disturb the bar.
    pub(super) fn note(&self, text: &str) {
        self.bar.suspend(|| say::note(&text));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
