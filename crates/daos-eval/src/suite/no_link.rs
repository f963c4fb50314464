//! Files that root opens where another user may have put a link.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;

/// Options that follow no link.
pub(super) fn no_link() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed());
    options
}
