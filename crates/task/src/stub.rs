use packet::{Key, Seed};
use summary::sketch::*;
macro_rules! stub {
    ($n:ident<$k:ident>) => {
        #[derive(Clone, Debug)]
        pub struct $n<$k: Key>(ExactConfig<$k>);
        impl<$k: Key> Summary for $n<$k> {
            type Configuration = ExactConfig<$k>;
            fn new(c: &ExactConfig<$k>) -> Result<Self, SketchError> {
                Ok(Self(c.clone()))
            }
            fn configuration(&self) -> &ExactConfig<$k> {
                &self.0
            }
            fn reset(&mut self) {}
            fn bytes(&self) -> usize {
                0
            }
        }
        impl<$k: Key> UpdateBurst<$k> for $n<$k> {
            fn update_burst(&mut self, _: &[Update<$k>]) {}
        }
        impl<$k: Key> Merge for $n<$k> {
            fn merge(&mut self, _: &Self) -> Result<(), Unmergeable> {
                Ok(())
            }
        }
    };
}
stub!(SpreadSketch<K>);
stub!(EntropySample<K>);
impl<K: Key> ContactBurst<K> for SpreadSketch<K> {
    fn contact_burst(&mut self, _: &[Contact<K>]) {}
}
impl<K: Key> Spreaders<K> for SpreadSketch<K> {
    fn contacts(&self, _: &K) -> Estimate {
        Estimate::exact(0.0)
    }
    fn spreaders(&self, _: u64) -> HeavyKeys<K> {
        HeavyKeys::new(vec![], true)
    }
}
impl<K: Key> EntropySample<K> {
    pub fn entropy(&self) -> Option<Estimate> {
        None
    }
    pub fn merge_disjoint(&mut self, _: &Self) -> Result<(), Unmergeable> {
        Ok(())
    }
}
#[derive(Clone, Debug)]
pub struct ValueReservoir(ExactConfig<packet::KeyV4>);
impl Summary for ValueReservoir {
    type Configuration = ExactConfig<packet::KeyV4>;
    fn new(c: &ExactConfig<packet::KeyV4>) -> Result<Self, SketchError> {
        Ok(Self(c.clone()))
    }
    fn configuration(&self) -> &ExactConfig<packet::KeyV4> {
        &self.0
    }
    fn reset(&mut self) {}
    fn bytes(&self) -> usize {
        0
    }
}
impl<K> UpdateBurst<K> for ValueReservoir {
    fn update_burst(&mut self, _: &[Update<K>]) {}
}
impl Merge for ValueReservoir {
    fn merge(&mut self, _: &Self) -> Result<(), Unmergeable> {
        Ok(())
    }
}
impl Quantiles for ValueReservoir {
    fn quantile(&self, _: f64) -> Option<Estimate> {
        None
    }
}
pub fn _s(_: &Seed) {}
