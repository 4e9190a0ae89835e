//! A map of a few entries: a sorted list. The standard library's maps are made for many, and cost the page as many
//! kilobytes of code for each pair of types.

/// Values by key, in the order of the keys.
#[derive(Clone, Debug, PartialEq)]
pub struct Few<K, V>(Vec<(K, V)>);

impl<K: Copy + Ord, V> Few<K, V> {
    /// Without an entry.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    fn place(&self, key: K) -> Result<usize, usize> {
        self.0.binary_search_by(|(own, _)| own.cmp(&key))
    }

    /// The value of a key.
    pub fn get(&self, key: &K) -> Option<&V> {
        let at = self.place(*key).ok()?;
        self.0.get(at).map(|(_, value)| value)
    }

    /// Whether a key has a value.
    pub fn contains_key(&self, key: &K) -> bool {
        self.place(*key).is_ok()
    }

    /// Gives a key a value, in place of the one that it had.
    pub fn insert(&mut self, key: K, value: V) {
        self.remove(&key);
        let at = self.place(key).unwrap_or_else(|free| free);
        self.0.insert(at, (key, value));
    }

    /// Takes a key's value out.
    pub fn remove(&mut self, key: &K) -> Option<V> {
        let at = self.place(*key).ok()?;
        Some(self.0.remove(at).1)
    }

    /// Keeps the entries for which `keep` says so.
    pub fn retain(&mut self, mut keep: impl FnMut(&K, &V) -> bool) {
        self.0.retain(|(key, value)| keep(key, value));
    }

    /// All entries.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.0.iter().map(|(key, value)| (key, value))
    }

    /// All keys.
    pub fn keys(&self) -> impl Iterator<Item = &K> {
        self.iter().map(|(key, _)| key)
    }

    /// How many entries there are.
    pub const fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no entry.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<K: Copy + Ord, V> Default for Few<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: Copy + Ord, V> FromIterator<(K, V)> for Few<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut few = Self::new();
        for (key, value) in entries {
            few.insert(key, value);
        }
        few
    }
}

#[cfg(test)]
mod tests {
    use super::Few;

    #[test]
    fn the_last_value_of_a_key_counts_and_keys_are_in_order() {
        let mut few: Few<u8, &str> = [(3, "c"), (1, "a"), (3, "d"), (2, "b")].into_iter().collect();
        assert_eq!(few.iter().collect::<Vec<_>>(), [(&1, &"a"), (&2, &"b"), (&3, &"d")]);
        assert_eq!((few.get(&3), few.get(&4), few.len()), (Some(&"d"), None, 3));
        assert_eq!((few.remove(&1), few.remove(&1), few.contains_key(&1)), (Some("a"), None, false));
        few.retain(|key, _| *key == 2);
        assert_eq!(few.keys().collect::<Vec<_>>(), [&2]);
        few.remove(&2);
        assert!(few.is_empty() && few == Few::default());
    }
}
