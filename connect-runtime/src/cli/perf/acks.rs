//! Awaits deliveries in the order of sending, beside the sender, and times each from its send to its acknowledgement.
//!
//! Input: the deliveries, handed over in chunks so that a record costs no channel operation of its own. Output: the counts.
//! Memory: at most [`MAX_PENDING`] deliveries wait; then the sender waits.

use std::pin::pin;
use std::time::Instant;

use sealwax::Delivery;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::meter::Meter;
use crate::cli::say;

const CHUNK: usize = 64;

/// How many deliveries wait at most. The producer's `buffer.memory` is the tighter bound unless records are tiny.
const MAX_PENDING: usize = 1 << 20;

/// A record that was handed to the producer.
#[derive(Debug)]
struct Sent {
    at: Instant,
    bytes: u64,
    delivery: Delivery,
}

/// The sender's side.
#[derive(Debug)]
pub(super) struct Acks {
    chunk: Vec<Sent>,
    to: mpsc::Sender<Vec<Sent>>,
    task: JoinHandle<Acknowledged>,
}

/// What became of the records.
#[derive(Debug)]
pub(super) struct Acknowledged {
    /// The records that were acknowledged.
    pub(super) meter: Meter,
    /// How many were not.
    pub(super) failed: u64,
    /// The first reason.
    pub(super) first_failure: Option<sealwax::Error>,
    /// When the last answer came.
    pub(super) last: Instant,
}

impl Acks {
    /// Starts to await.
    pub(super) fn start(start: Instant) -> Self {
        let (to, from) = mpsc::channel(MAX_PENDING / CHUNK);
        Self {
            chunk: Vec::with_capacity(CHUNK),
            to,
            task: tokio::spawn(acknowledge(from, start)),
        }
    }

    /// Takes over a delivery.
    pub(super) async fn push(&mut self, at: Instant, bytes: u64, delivery: Delivery) {
        self.chunk.push(Sent { at, bytes, delivery });
        if self.chunk.len() == CHUNK {
            self.flush().await;
        }
    }

    /// Hands over what was taken. To be called before every wait of the sender, or what waits here is timed too long.
    pub(super) async fn flush(&mut self) {
        if !self.chunk.is_empty() {
            let chunk = std::mem::replace(&mut self.chunk, Vec::with_capacity(CHUNK));
            // The task ends only when this sender is gone, or by a panic that `finish` reports.
            let _ = self.to.send(chunk).await;
        }
    }

    /// Awaits a call of the sender, and hands over what was taken if the call has to wait.
    pub(super) async fn beside<T>(&mut self, call: impl Future<Output = T>) -> T {
        let mut call = pin!(call);
        tokio::select! {
            biased;
            result = &mut call => return result,
            () = std::future::ready(()) => {}
        }
        self.flush().await;
        call.await
    }

    /// Waits for the last acknowledgement.
    ///
    /// # Errors
    /// If the awaiting task broke.
    pub(super) async fn finish(mut self) -> Result<Acknowledged, tokio::task::JoinError> {
        self.flush().await;
        drop(self.to);
        self.task.await
    }
}

async fn acknowledge(mut from: mpsc::Receiver<Vec<Sent>>, start: Instant) -> Acknowledged {
    let mut result = Acknowledged {
        meter: Meter::new("sent", start),
        failed: 0,
        first_failure: None,
        last: start,
    };
    while let Some(chunk) = from.recv().await {
        for sent in chunk {
            let outcome = sent.delivery.wait().await;
            result.last = Instant::now();
            match outcome {
                Ok(_metadata) => {
                    let latency = result.last.saturating_duration_since(sent.at);
                    if let Some(line) = result.meter.add(1, sent.bytes, Some(latency), result.last) {
                        say::note(&line);
                    }
                }
                Err(error) => {
                    result.failed += 1;
                    result.first_failure.get_or_insert(error);
                }
            }
        }
    }
    result
}
