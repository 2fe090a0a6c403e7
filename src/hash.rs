//! Hashing for small keys of ours that are looked up for every row: numbers of files, components and blocks, which nobody
//! chooses to collide.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

pub type QuickMap<K, V> = HashMap<K, V, BuildHasherDefault<Quick>>;

#[derive(Default)]
pub struct Quick(u64);

impl Hasher for Quick {
    fn finish(&self) -> u64 {
        // The map looks at the lowest bits and the highest.
        self.0.rotate_left(26)
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(byte.into()));
    }

    fn write_u32(&mut self, n: u32) {
        self.write_u64(n.into());
    }

    fn write_u64(&mut self, n: u64) {
        self.0 = (self.0 ^ n).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(5);
    }

    fn write_usize(&mut self, n: usize) {
        self.write_u64(n as u64);
    }
}
