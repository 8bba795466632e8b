//! TCP of the background: every flow's sequence numbers follow its own bytes, and acknowledge what the other
//! direction has sent. Optionally in whole connections, each with a handshake and an end.

use crate::flow::FlowProfile;
use crate::spec::TcpStyle;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};

pub(crate) const FIN: u8 = 0x01;
pub(crate) const SYN: u8 = 0x02;
pub(crate) const PSH: u8 = 0x08;
pub(crate) const ACK: u8 = 0x10;

/// Data segments of one direction that are acknowledged together at the latest (RFC 9293, section 3.8.6.3).
const ACKED_TOGETHER: u8 = 2;
/// The distance between the initial sequence numbers of two connections on the same ports, beyond what the
/// first one sent.
const NEXT_CONNECTION: u32 = 250_007;

/// The next packet of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ConversationTurn {
    /// The flow that sends: the one that was drawn, or its other direction.
    pub(crate) rank: u32,
    pub(crate) tcp_flags: u8,
    /// True if the packet carries payload.
    pub(crate) is_data: bool,
}

/// State of all TCP flows of the background: 4 bytes a flow, 3 more where there are handshakes.
#[derive(Clone, Debug)]
pub(crate) struct TcpStreams {
    /// Sequence numbers used, by rank; the two directions of a conversation are neighbours.
    used: Vec<u32>,
    /// The connections, by conversation; empty without handshakes.
    connections: Vec<BackgroundConnection>,
    /// Data segments of a connection: 1 to this many, drawn uniformly.
    most_segments: u64,
    random: Xoshiro256PlusPlus,
}

#[derive(Clone, Copy, Debug, Default)]
struct BackgroundConnection {
    phase: TcpPhase,
    /// Data segments by direction that were not acknowledged yet.
    unacknowledged: [u8; 2],
    /// Remaining data segments.
    left: u16,
}

const _: () = assert!(size_of::<BackgroundConnection>() == 6);

/// The next event. The client, which opens and closes, has the even rank.
#[derive(Clone, Copy, Debug, Default)]
#[repr(u8)]
enum TcpPhase {
    #[default]
    Syn,
    SynAck,
    Ack,
    Open,
    Fin,
    FinAck,
    LastAck,
}

impl TcpStreams {
    pub(crate) fn new(flows: u32, style: TcpStyle, seed: u64) -> Self {
        let conversations = (flows as usize).div_ceil(2);
        let (connections, most_segments) = match style {
            TcpStyle::Streams => (Vec::new(), 0),
            TcpStyle::Handshake { segments } => {
                (vec![BackgroundConnection::default(); conversations], 2 * u64::from(segments) - 1)
            }
        };
        Self {
            used: vec![0; 2 * conversations],
            connections,
            most_segments,
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
        }
    }

    /// Reads what the next packets will: the cache misses of many flows then overlap.
    pub(crate) fn fetch(&self, ranks: &[u32]) {
        std::hint::black_box(ranks.iter().fold(0, |all, &rank| all | self.used[rank as usize]));
        if !self.connections.is_empty() {
            let left = |rank: u32| self.connections[(rank >> 1) as usize].left;
            std::hint::black_box(ranks.iter().fold(0, |all, &rank| all | left(rank)));
        }
    }

    /// The next packet of the conversation of which `rank` was drawn.
    #[inline]
    pub(crate) fn turn(&mut self, rank: u32) -> ConversationTurn {
        if self.connections.is_empty() {
            return ConversationTurn { rank, tcp_flags: PSH | ACK, is_data: true };
        }
        self.connection_turn(rank)
    }

    fn connection_turn(&mut self, rank: u32) -> ConversationTurn {
        let (client, server) = (rank & !1, rank | 1);
        let connection = &mut self.connections[(rank >> 1) as usize];
        let control = |rank, tcp_flags| ConversationTurn { rank, tcp_flags, is_data: false };
        let (turn, next) = match connection.phase {
            TcpPhase::Syn => {
                // The first connection begins at the flow's own initial number.
                if self.used[client as usize] != 0 {
                    for used in &mut self.used[client as usize..=server as usize] {
                        *used = used.wrapping_add(NEXT_CONNECTION);
                    }
                }
                let drawn = (u128::from(self.random.next_u64()) * u128::from(self.most_segments)) >> 64;
                connection.left = drawn as u16 + 1;
                connection.unacknowledged = [0; 2];
                (control(client, SYN), TcpPhase::SynAck)
            }
            TcpPhase::SynAck => (control(server, SYN | ACK), TcpPhase::Ack),
            TcpPhase::Ack => (control(client, ACK), TcpPhase::Open),
            TcpPhase::Open => return connection.open_turn(rank),
            TcpPhase::Fin => (control(client, FIN | ACK), TcpPhase::FinAck),
            TcpPhase::FinAck => (control(server, FIN | ACK), TcpPhase::LastAck),
            TcpPhase::LastAck => (control(client, ACK), TcpPhase::Syn),
        };
        connection.phase = next;
        turn
    }

    /// Sequence and acknowledgement number of a packet of `flow` (the one of `rank`) with this many bytes of payload.
    #[inline]
    pub(crate) fn numbers(&mut self, flow: &FlowProfile, turn: ConversationTurn, payload: u32) -> (u32, u32) {
        let own = turn.rank as usize;
        let seq = flow.initial_seq.wrapping_add(self.used[own]);
        // SYN and FIN take one number each (RFC 9293, section 3.4).
        let taken = payload + u32::from(turn.tcp_flags & (SYN | FIN) != 0);
        self.used[own] = self.used[own].wrapping_add(taken);
        let other = flow.initial_seq_of_other().wrapping_add(self.used[own ^ 1]);
        (seq, if turn.tcp_flags & ACK == 0 { 0 } else { other })
    }
}

impl BackgroundConnection {
    /// Data of the flow that was drawn, or an acknowledgement that is due.
    fn open_turn(&mut self, rank: u32) -> ConversationTurn {
        if let Some(due) = self.unacknowledged.iter().position(|&segments| segments == ACKED_TOGETHER) {
            self.unacknowledged[due] = 0;
            let receiver = (rank & !1) | (due as u32 ^ 1);
            return ConversationTurn { rank: receiver, tcp_flags: ACK, is_data: false };
        }
        let own = (rank & 1) as usize;
        self.unacknowledged[own] += 1;
        self.unacknowledged[own ^ 1] = 0;
        self.left -= 1;
        if self.left == 0 {
            self.phase = TcpPhase::Fin;
        }
        ConversationTurn { rank, tcp_flags: PSH | ACK, is_data: true }
    }
}
