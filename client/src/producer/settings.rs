//! The settings that builders of both kinds of producer offer.

macro_rules! producer_settings {
    () => {
        /// `batch.size` in bytes. Default 16 KiB.
        pub fn batch_size(mut self, bytes: usize) -> Self {
            self.config.batch_size = bytes;
            self
        }

        /// `linger.ms`. Default 5 ms.
        pub fn linger(mut self, linger: Duration) -> Self {
            self.config.linger = linger;
            self
        }

        /// `delivery.timeout.ms`. Default 120 s.
        pub fn delivery_timeout(mut self, timeout: Duration) -> Self {
            self.config.delivery_timeout = timeout;
            self
        }

        /// Replaces all settings at once.
        pub fn config(mut self, config: ProducerConfig) -> Self {
            self.config = config;
            self
        }
    };
}

pub(super) use producer_settings;
