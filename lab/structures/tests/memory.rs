//! The memory that structures report is what the allocator gave them.

use packet::{KeyV4, Seed};
use sketch::{Configuration, Update, UpdateBurst};
use structures::{
    AddressModulo, CheckedHashTable, CompressedCounting, GreenwaldKhanna, Iblt, MankuRajagopalanLindsay,
};
use testbed::allocation::{self, CountingAllocator};
use traffic::{KeyStream, TrafficSpec};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

fn takes_what_it_says<S: UpdateBurst<KeyV4>>() {
    takes_what_it_says_in::<S>(&[64 << 10, 1 << 20, 3 << 20]);
}

fn takes_what_it_says_in<S: UpdateBurst<KeyV4>>(sizes: &[usize]) {
    let seed = Seed::new(1);
    let spec: TrafficSpec = "packets=20k,flows=5k,zipf=1,seed=1".parse().expect("a specification");
    let packets: Vec<_> =
        KeyStream::ipv4(&spec).keys().iter().map(|key| Update::new(*key, 1, &seed)).collect();
    for &bytes in sizes {
        let configuration = S::Configuration::with_bytes(bytes, seed).expect("enough memory");
        let name = std::any::type_name::<S>();
        let make = || {
            let mut summary = S::new(&configuration).expect("memory");
            packets.chunks(64).for_each(|burst| summary.update_burst(burst));
            summary
        };
        assert_eq!(allocation::check_memory(name, bytes, make, S::bytes), configuration.bytes(), "{name}");
    }
}

#[test]
fn structures_take_what_they_say() {
    takes_what_it_says::<AddressModulo>();
    takes_what_it_says::<CheckedHashTable<KeyV4>>();
    takes_what_it_says_in::<CompressedCounting>(&[4 << 10]);
    takes_what_it_says::<GreenwaldKhanna>();
    takes_what_it_says::<Iblt<KeyV4>>();
    takes_what_it_says::<MankuRajagopalanLindsay>();
}
