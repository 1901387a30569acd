//! What `system boot` prints.
