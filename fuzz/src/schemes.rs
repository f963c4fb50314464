//! Schemes, as text and as TOML.

use crate::Target;
use daos_schemes::{Scheme, language};

/// Memory chosen: a thousand times what an input has. TOML keeps several copies of a key.
pub const TARGET: Target = Target { name: "schemes", memory: 16 << 20, run };

fn run(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    for name in ["fuzz.scheme", "fuzz.toml"] {
        match language::parse(&text, name) {
            Ok(schemes) => keeps(&schemes),
            Err(error) => drop(error.to_string()),
        }
    }
}

/// What is written of schemes is read as the same schemes.
fn keeps(schemes: &[Scheme]) {
    for scheme in schemes {
        let kept = language::format(scheme);
        let read = language::parse(&kept, "kept");
        assert_eq!(read.as_deref(), Ok(std::slice::from_ref(scheme)), "{kept}");
    }
    let kept = language::toml::format(schemes);
    assert_eq!(language::toml::parse(&kept, "kept").as_deref(), Ok(schemes), "{kept}");
}
