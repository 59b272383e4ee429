//! What a client waits for on one connection, in the order in which it asked: brokers answer in that order, and so must forged answers.

use std::collections::VecDeque;
use std::net::TcpStream;

use anyhow::Result;

use super::Request;
use super::frame::write_frame;

/// One thing that the client waits for.
#[derive(Debug)]
pub(super) enum Due {
    /// The broker will answer.
    Answer(Request),
    /// The proxy has answered; the client gets it when everything before it was answered.
    Forged(Vec<u8>),
}

/// All of them, oldest first.
#[derive(Debug, Default)]
pub(super) struct Dues {
    open: VecDeque<Due>,
}

impl Dues {
    pub(super) fn push(&mut self, due: Due) {
        self.open.push_back(due);
    }

    /// The request that the broker's next answer is for. It stays until it is [`Self::answered`], so that no forged answer overtakes it.
    pub(super) fn next(&self) -> Option<Request> {
        match self.open.front() {
            Some(Due::Answer(request)) => Some(request.clone()),
            Some(Due::Forged(_)) | None => None,
        }
    }

    pub(super) fn answered(&mut self) {
        self.open.pop_front();
    }

    /// Gives the client the forged answers whose turn it is.
    pub(super) fn hand_out(&mut self, mut client: &TcpStream) -> Result<()> {
        while let Some(Due::Forged(frame)) = self.open.front() {
            write_frame(&mut client, frame)?;
            self.open.pop_front();
        }
        Ok(())
    }
}
