//! The Kafka versions we know, and what differs between them for running them: artifacts, logging, Java class names.
//!
//! Pure data: adding a version means adding a variant and its answers here.

use std::fmt;
use std::str::FromStr;

/// A supported version of Apache Kafka.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    /// 3.3.2: the oldest we support; transactions in their first form (TV1).
    V3_3_2,
    /// 3.9.1: the last line before 4.0; TV1.
    V3_9_1,
    /// 4.0.0: the first with KIP-890 part 2 by default (TV2).
    V4_0_0,
    /// 4.3.1.
    V4_3_1,
    /// 4.4.0: the newest.
    V4_4_0,
}

/// Which logging library the brokers of a version log through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Logging {
    /// reload4j, configured by `log4j.configuration` (Kafka 3).
    Reload4j,
    /// log4j 2, configured by `log4j2.configurationFile` (Kafka 4).
    Log4j2,
}

/// Java's command-line tools, by what they do; the class that does it depends on the version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tool {
    /// `kafka-console-consumer.sh`
    ConsoleConsumer,
    /// `kafka-topics.sh`
    Topics,
    /// `kafka-get-offsets.sh`
    GetOffsets,
    /// `kafka-dump-log.sh`
    DumpLog,
    /// `kafka-transactions.sh`
    Transactions,
    /// `kafka-storage.sh`
    Storage,
}

impl Version {
    /// All of them, oldest first.
    pub const ALL: [Self; 5] = [
        Self::V3_3_2,
        Self::V3_9_1,
        Self::V4_0_0,
        Self::V4_3_1,
        Self::V4_4_0,
    ];

    /// The version as Kafka writes it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V3_3_2 => "3.3.2",
            Self::V3_9_1 => "3.9.1",
            Self::V4_0_0 => "4.0.0",
            Self::V4_3_1 => "4.3.1",
            Self::V4_4_0 => "4.4.0",
        }
    }

    /// Which logging library it uses.
    pub const fn logging(self) -> Logging {
        match self {
            Self::V3_3_2 | Self::V3_9_1 => Logging::Reload4j,
            Self::V4_0_0 | Self::V4_3_1 | Self::V4_4_0 => Logging::Log4j2,
        }
    }

    /// The Maven artifacts that make a broker with tools, as `group:artifact:version`. What they need comes with them.
    pub fn artifacts(self) -> Vec<String> {
        let mut list = vec![
            format!("org.apache.kafka:kafka_2.13:{self}"),
            format!("org.apache.kafka:kafka-tools:{self}"),
        ];
        // Kafka 3 brings its logging along; Kafka 4's published artifacts come without a binding for slf4j.
        let log4j = match self {
            Self::V3_3_2 | Self::V3_9_1 => return list,
            Self::V4_0_0 => "2.24.3",
            Self::V4_3_1 => "2.25.4",
            Self::V4_4_0 => "2.25.5",
        };
        for artifact in ["log4j-api", "log4j-core", "log4j-slf4j-impl"] {
            list.push(format!("org.apache.logging.log4j:{artifact}:{log4j}"));
        }
        list
    }

    /// The main class of a tool.
    pub const fn main_class(self, tool: Tool) -> &'static str {
        let old = matches!(self, Self::V3_3_2);
        match tool {
            Tool::ConsoleConsumer if old => "kafka.tools.ConsoleConsumer",
            Tool::ConsoleConsumer => "org.apache.kafka.tools.consumer.ConsoleConsumer",
            Tool::Topics if old => "kafka.admin.TopicCommand",
            Tool::Topics => "org.apache.kafka.tools.TopicCommand",
            Tool::GetOffsets if old => "kafka.tools.GetOffsetShell",
            Tool::GetOffsets => "org.apache.kafka.tools.GetOffsetShell",
            Tool::DumpLog => match self {
                Self::V3_3_2 | Self::V3_9_1 | Self::V4_0_0 => "kafka.tools.DumpLogSegments",
                Self::V4_3_1 | Self::V4_4_0 => "org.apache.kafka.tools.DumpLogSegments",
            },
            Tool::Transactions => "org.apache.kafka.tools.TransactionsCommand",
            Tool::Storage => "kafka.tools.StorageTool",
        }
    }

    /// The console consumer's option for a property of its printer. The old name still works on the newest versions, but
    /// they print a warning among the records (KIP-1147).
    pub const fn printer_option(self) -> &'static str {
        match self {
            Self::V3_3_2 | Self::V3_9_1 | Self::V4_0_0 => "--property",
            Self::V4_3_1 | Self::V4_4_0 => "--formatter-property",
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Version {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|version| version.as_str() == text)
            .ok_or_else(|| {
                let known = Self::ALL.map(Self::as_str).join(", ");
                format!("Kafka {text} is not supported here; supported: {known}")
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_version_parses_back() {
        for version in Version::ALL {
            assert_eq!(version.as_str().parse(), Ok(version));
        }
    }

    #[test]
    fn an_unknown_version_is_answered_with_the_list() {
        let error = "9.9.9".parse::<Version>().unwrap_err();
        assert!(
            error.contains("9.9.9") && error.contains("3.3.2") && error.contains("4.4.0"),
            "{error}"
        );
    }
}
