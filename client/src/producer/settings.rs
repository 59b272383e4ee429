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

        /// `buffer.memory` in bytes. Default 32 MiB.
        pub fn buffer_memory(mut self, bytes: usize) -> Self {
            self.config.buffer_memory = bytes;
            self
        }

        /// `max.block.ms`. Default 60 s.
        pub fn max_block(mut self, limit: Duration) -> Self {
            self.config.max_block = limit;
            self
        }

        /// `delivery.timeout.ms`. Default 120 s.
        pub fn delivery_timeout(mut self, timeout: Duration) -> Self {
            self.config.delivery_timeout = timeout;
            self
        }

        /// Where records go that do not name a partition. Default as Java.
        pub fn partitioning(mut self, partitioning: Partitioning) -> Self {
            self.config.partitioning = partitioning;
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
