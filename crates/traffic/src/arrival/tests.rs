use super::*;
use proptest::prelude::*;

fn schedule(arrivals: &str, rate: &str, wire_lens: &[u32]) -> Schedule {
    Schedule::new(arrivals.parse().unwrap(), rate.parse().unwrap(), wire_lens.iter().copied(), 1)
}

fn times(schedule: &Schedule, frames: u32, laps: u64) -> Vec<u64> {
    (0..laps).flat_map(|lap| (0..frames).map(move |frame| schedule.time_ns(lap, frame))).collect()
}

#[test]
fn a_rate_in_packets_is_n_times_the_interval() {
    let even = schedule("constant", "25Mpps", &[60, 1000, 60]);
    assert_eq!(times(&even, 3, 2), [0, 40, 80, 120, 160, 200]);
    let third = schedule("constant", "3pps", &[60]);
    assert_eq!(third.time_ns(2, 0), 666_666_666);
    assert_eq!(third.time_ns(3_000_000, 0) / 10, 100_000_000_000_000, "after 11 days");
    let bursts = schedule("bursts:4", "25Mpps", &[60, 1000, 60]);
    assert_eq!(times(&bursts, 3, 3), [0, 0, 0, 0, 160, 160, 160, 160, 320]);
}

/// RFC 2544's frame sizes and the rates of RFC 5180, section 5.2 (and, for 10 Gbit/s, its appendix A).
#[test]
fn a_rate_in_bits_is_that_of_the_line() {
    for (size, rate, packets) in [
        (64, "10Gbps", 14_880_952),
        (128, "10Gbps", 8_445_945),
        (1518, "10Gbps", 812_743),
        (64, "100Gbps", 148_809_523),
        (64, "1Gbps", 1_488_095),
        (1518, "1Gbps", 81_274),
    ] {
        let line = schedule("constant", rate, &[size - 4]);
        let mut hint = 0;
        // Those that begin in the first second.
        assert_eq!(line.arrived(999_999_999, &mut hint), packets + 1, "{size} {rate}");
    }
    // Each frame waits for those before it: 84, 1538 and again 84 bytes at 8 ns.
    let mixed = schedule("constant", "1Gbps", &[60, 1514, 40]);
    assert_eq!(times(&mixed, 3, 2), [0, 672, 12_976, 13_648, 14_320, 26_624]);
    // The mean frame of the three takes 4549.33 ns.
    let bursts = schedule("bursts:2", "1Gbps", &[60, 1514, 40]);
    assert_eq!(times(&bursts, 3, 2), [0, 0, 9098, 9098, 18_197, 18_197]);
}

#[test]
fn random_arrivals_keep_the_mean_rate() {
    let poisson = schedule("poisson", "25Mpps", &[60, 1000, 60]);
    let mut hint = 0;
    let arrived = poisson.arrived(1_000_000_000, &mut hint);
    // Exact over each round of the table; the last round's standard deviation is at most 256.
    assert!(arrived.abs_diff(25_000_000) < 1500, "{arrived}");
    assert_eq!(poisson.time_ns((1 << 18) * 5, 0), (1 << 18) * 5 * 3 * 40);
    let again = schedule("poisson", "25Mpps", &[60]);
    assert_eq!(again.time_ns(77_777, 0), poisson.time_ns(77_777 / 3, 77_777 % 3), "by its number alone");
    let other = Schedule::new(ArrivalProcess::Poisson, Rate::Packets(25_000_000), [60].into_iter(), 2);
    assert_ne!(again.time_ns(77_777, 0), other.time_ns(77_777, 0));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testbed::cases(256)))]

    /// Counting is the inverse of the times, by whatever path of hints.
    #[test]
    fn counted_are_those_whose_time_has_come(
        arrivals in prop_oneof![
            Just("constant".to_owned()),
            Just("poisson".to_owned()),
            (1..40u32).prop_map(|count| format!("bursts:{count}"))
        ],
        rate in prop_oneof![(1..2_000_000_000u64).prop_map(|rate| format!("{}pps", rate.min(1_000_000_000))),
            (1_000_000..1_000_000_000_000u64).prop_map(|rate| format!("{rate}bps"))],
        lens in proptest::collection::vec(0..2000u32, 1..20),
        asked in proptest::collection::vec(0..2000usize, 1..20),
    ) {
        let schedule = schedule(&arrivals, &rate, &lens);
        let times = times(&schedule, lens.len() as u32, 2000 / lens.len() as u64 + 1);
        prop_assert!(times.is_sorted() && times[0] == 0);
        let mut hint = 0;
        let last = *times.last().unwrap();
        for at in asked {
            for ns in [times[at].saturating_sub(1), times[at], times[at] + 1] {
                if ns < last {
                    let naive = times.iter().filter(|&&time| time <= ns).count() as u64;
                    prop_assert_eq!(schedule.arrived(ns, &mut hint), naive, "{}", ns);
                }
            }
        }
    }
}

#[test]
fn text_and_back() {
    for text in ["constant", "poisson", "bursts:32"] {
        assert_eq!(text.parse::<ArrivalProcess>().unwrap().to_string(), text);
    }
    let rate = |text: &str| Schedule::check(text.parse().expect(text)).expect_err(text).to_string();
    assert!(rate("2Gpps").contains("to 1000Mpps"));
    assert!(rate("1kbps").contains("from 1Mbps"));
    let arrivals = |text: &str| text.parse::<ArrivalProcess>().expect_err(text).to_string();
    assert!(arrivals("poison").contains("did you mean \"poisson\""));
    assert!(arrivals("bursts").contains("bursts:32"));
    assert!(arrivals("bursts:0").contains("from 1"));
    assert!(arrivals("").contains("constant, poisson, bursts:N"));
}

#[test]
fn counts_fit_to_the_end() {
    let mut hint = 0;
    for (arrivals, rate) in [("constant", "1000Mpps"), ("poisson", "1000Mpps"), ("bursts:9", "1000Mpps")] {
        let packets = schedule(arrivals, rate, &[60]).arrived(Schedule::MOST_NS, &mut hint);
        assert!(packets.abs_diff(Schedule::MOST_NS) < 2000, "{arrivals}: {packets}");
    }
    let packets = schedule("constant", "1000Gbps", &[60, 1514]).arrived(Schedule::MOST_NS, &mut hint);
    let expected = u128::from(Schedule::MOST_NS) * 1000 / 8 * 2 / (84 + 1538);
    assert!(u128::from(packets).abs_diff(expected) < 4, "{packets}");
}
