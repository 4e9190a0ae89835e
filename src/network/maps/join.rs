//! Sums of maps, maps side by side.

use super::super::builder::{BLANK, Tensor, promote};
use super::super::layers::Layers;
use super::super::{Backward, Dtype, Kind, Op};
use super::{Map, like};

impl Layers<'_> {
    /// `a += b`: in place where the formats agree.
    pub(crate) fn add_in_place(&mut self, a: Map, b: Map) -> Map {
        let op = Op { backward: Backward::Pass, ..BLANK };
        let out = Some((a.t.rows, a.t.cols, a.t.dtype, Kind::Activation, true));
        let t = self.b.push(&[a.t, b.t], out, op).unwrap_or(a.t);
        like(a, t)
    }

    /// Enlarged to the nearest, in the format it is given.
    pub(crate) fn enlarge(&mut self, x: Map, times: u64) -> Map {
        let t = self.sample(x.t, x.t.rows * times * times);
        Map { t, height: x.height * times, width: x.width * times, ..x }
    }

    /// `a + b`.
    pub(crate) fn add_maps(&mut self, a: Map, b: Map) -> Map {
        let t = self.b.add(a.t, b.t);
        like(a, t)
    }

    /// `cat` along the channels. An operator here has four inputs at most: further parts are put into the same result.
    pub(crate) fn cat_maps(&mut self, parts: &[Map]) -> Map {
        let tensors: Vec<Tensor> = parts.iter().map(|m| m.t).collect();
        let Some(&first) = parts.first() else {
            return Map { t: self.b.cat(&[]), channels: 0, height: 0, width: 0, depth: 1 };
        };
        let (one, rest) = tensors.split_at(tensors.len().min(4));
        if rest.is_empty() {
            return like(first, self.b.cat(&tensors));
        }
        let dtype = tensors.iter().map(|t| t.dtype).reduce(promote).unwrap_or(Dtype::F32);
        let cols = tensors.iter().map(|t| t.cols).sum();
        let op = Op { backward: Backward::Views, ..BLANK };
        let t = self.b.emit(one, first.t.rows, cols, dtype, op);
        rest.iter().fold(like(first, t), |store, &t| self.fill(store, Map { t, ..first }))
    }

    /// `cat` along the rows of any number of parts; what is past an operator's four inputs is put into the same result.
    pub(crate) fn join_all(&mut self, parts: &[Tensor]) -> Tensor {
        let (one, rest) = parts.split_at(parts.len().min(4));
        if rest.is_empty() {
            return self.b.join(parts);
        }
        let dtype = parts.iter().map(|t| t.dtype).reduce(promote).unwrap_or(Dtype::F32);
        let rows = parts.iter().map(|t| t.rows).sum();
        let cols = parts.first().map_or(0, |t| t.cols);
        let op = Op { backward: Backward::Views, ..BLANK };
        let mut store = self.b.emit(one, rows, cols, dtype, op);
        for &part in rest {
            let out = Some((rows, cols, dtype, Kind::Activation, true));
            store = self.b.push(&[store, part], out, op).unwrap_or(store);
        }
        store
    }

    /// A store of more channels that begins with these maps.
    pub(crate) fn widen(&mut self, x: Map, channels: u64) -> Map {
        let op = Op { backward: Backward::Views, ..BLANK };
        let t = self.b.emit(&[x.t], x.t.rows, channels, x.t.dtype, op);
        like(x, t)
    }

    /// A copy of the first channels of a store.
    pub(crate) fn narrow_copy(&mut self, x: Map, channels: u64) -> Map {
        let op = Op { backward: Backward::Views, ..BLANK };
        let t = self.b.emit(&[x.t], x.t.rows, channels, x.t.dtype, op);
        like(x, t)
    }

    /// Puts new channels into a store.
    pub(crate) fn fill(&mut self, store: Map, new: Map) -> Map {
        let op = Op { backward: Backward::Views, ..BLANK };
        let out = Some((store.t.rows, store.t.cols, store.t.dtype, Kind::Activation, true));
        let t = self.b.push(&[store.t, new.t], out, op).unwrap_or(store.t);
        like(store, t)
    }
}
