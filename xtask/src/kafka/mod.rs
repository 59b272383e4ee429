//! Real Apache Kafka on this machine: jars, format, boot, faults, and Java's own tools.
//!
//! [`Cluster`] is the face for tests, [`up()`] and [`down()`] the one for the command line. The flow of a boot:
//! `versions` → `jars`/`java` → `jvm` → `layout` + `ports` + `properties` → `format` → `node` → `ready`.

mod acls;
mod builder;
mod cluster;
mod consumer;
mod down;
mod format;
mod jars;
mod java;
mod jvm;
mod layout;
mod log_end;
mod logging;
mod node;
mod ports;
mod properties;
mod ready;
mod tool;
mod topics;
mod up;
mod versions;
mod wire;

pub use acls::{AUTHORIZER, AclOperation, AclResource, allow, restrict};
pub use builder::ClusterBuilder;
pub use cluster::{Cluster, Node};
pub use consumer::{ConsoleConsumer, Isolation};
pub use down::{Data, down};
pub use java::Missing;
pub use jvm::Jvm;
pub use log_end::last_committed_value;
pub use tool::run_java_tool;
pub use topics::{create_topic, end_offset, partition_count};
pub use up::{default_dir, up};
pub use versions::{Logging, Tool, Version};
