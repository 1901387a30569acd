//! Each trap of the kernel, in a test named after it.

use super::*;
