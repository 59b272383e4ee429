//! The request to stop, told once to everybody who runs something.

use tokio::sync::watch;

/// The side that asks. Dropping it asks too.
#[derive(Debug)]
pub struct StopSwitch {
    sender: watch::Sender<bool>,
}

/// The side that is asked. Clones see the same request.
#[derive(Debug, Clone)]
pub struct Stop {
    receiver: watch::Receiver<bool>,
}

impl StopSwitch {
    /// A switch that is not pressed.
    pub fn new() -> Self {
        Self {
            sender: watch::Sender::new(false),
        }
    }

    /// Who is to hear of it.
    pub fn listener(&self) -> Stop {
        Stop {
            receiver: self.sender.subscribe(),
        }
    }

    /// Asks to stop.
    pub fn press(&self) {
        self.sender.send_replace(true);
    }
}

impl Default for StopSwitch {
    fn default() -> Self {
        Self::new()
    }
}

impl Stop {
    /// Whether a stop was asked for.
    pub fn is_requested(&self) -> bool {
        *self.receiver.borrow() || self.receiver.has_changed().is_err()
    }

    /// Waits until a stop is asked for.
    ///
    /// # Cancel safety
    /// Cancel safe: a request stays.
    pub async fn requested(&mut self) {
        // An error means that the switch is gone, which counts as a request.
        let _ = self.receiver.wait_for(|pressed| *pressed).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn pressing_and_dropping_both_ask() {
        let switch = StopSwitch::new();
        let mut first = switch.listener();
        assert!(!first.is_requested());
        switch.press();
        first.requested().await;
        assert!(first.is_requested() && switch.listener().is_requested());
        let other = StopSwitch::new();
        let mut second = other.listener();
        drop(other);
        second.requested().await;
        assert!(second.is_requested());
    }
}
