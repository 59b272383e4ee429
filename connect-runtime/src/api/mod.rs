//! What connector authors implement, and the values that pass between a connector and the runtime.
//!
//! Nothing of the runtime is imported here, so a connector depends on this room only. The semantics are those of
//! Java's `org.apache.kafka.connect.source` and `.data`; the names are kept where Rust allows it.

mod config_def;
mod connector;
mod context;
mod error;
mod flat;
mod record;
mod schema;
mod settings;
mod source;
mod text;

pub use config_def::{ConfigDef, ConfigError, ConfigKey, ConfigType, ConfigValue, ParsedConfig, Validator};
pub use connector::{BoundarySupport, ExactlyOnceSupport, SourceConnector};
pub use context::{BatchRequest, OffsetReader, SourceTaskContext, TransactionContext};
pub use error::{ConnectError, ConnectErrorKind};
pub use flat::{FlatMap, FlatValue, SourceOffset, SourcePartition};
pub use record::{Header, RecordBoundary, RecordMetadata, SourceRecord};
pub use schema::{Field, Parameters, Schema, SchemaAndValue, SchemaKind, Struct, Value};
pub use settings::{Settings, is_secret_key};
pub use source::SourceTask;
pub use text::Text;
