//! Finds filter programs that read bytes which were on the wire and not captured: libpcap ends them there, as if the frame did not match.

use crate::libpcap::Instruction;

/// Words of memory that a program has.
const MEMORY: usize = 16;
/// The most steps of a program: more than any takes that passes over headers in a loop (`protochain`), each of which is 8 bytes long at least.
const MOST_STEPS: usize = 1 << 16;

/// The parts of an instruction's code, as in `pcap/bpf.h`.
mod code {
    pub(super) const LD: u16 = 0x00;
    pub(super) const LDX: u16 = 0x01;
    pub(super) const ST: u16 = 0x02;
    pub(super) const STX: u16 = 0x03;
    pub(super) const ALU: u16 = 0x04;
    pub(super) const JMP: u16 = 0x05;
    pub(super) const MISC: u16 = 0x07;
    pub(super) const H: u16 = 0x08;
    pub(super) const B: u16 = 0x10;
    pub(super) const IMM: u16 = 0x00;
    pub(super) const ABS: u16 = 0x20;
    pub(super) const IND: u16 = 0x40;
    pub(super) const MEM: u16 = 0x60;
    pub(super) const LEN: u16 = 0x80;
    pub(super) const MSH: u16 = 0xa0;
    pub(super) const X: u16 = 0x08;
    pub(super) const TXA: u16 = 0x80;
}

/// Returns whether the program reads what the frame of `wire_len` bytes has behind `data`. Without that it gives what it gives for the whole
/// frame.
pub(super) fn reads_cut_bytes(program: &[Instruction], data: &[u8], wire_len: usize) -> bool {
    let (mut a, mut x, mut memory) = (0_u32, 0_u32, [0_u32; MEMORY]);
    let mut at = 0_usize;
    for _ in 0..MOST_STEPS {
        let Some(&Instruction { code, jt, jf, k }) = program.get(at) else { return false };
        at += 1;
        let load = |from: u64, bytes: usize| {
            let (begin, end) = (from as usize, (from as usize).saturating_add(bytes));
            let number = |bytes: &[u8]| bytes.iter().fold(0, |number, byte| number << 8 | u32::from(*byte));
            data.get(begin..end).map(number).ok_or(end <= wire_len)
        };
        let size = match code & 0x18 {
            code::H => 2,
            code::B => 1,
            _ => 4,
        };
        let operand = if code & code::X != 0 { x } else { k };
        let place = k as usize % MEMORY;
        let loaded = match (code & 7, code & 0xe0) {
            (code::LD, code::ABS) => load(k.into(), size).map(|value| a = value),
            (code::LD, code::IND) => load(u64::from(x) + u64::from(k), size).map(|value| a = value),
            (code::LDX, code::MSH) => load(k.into(), 1).map(|value| x = (value & 0xf) * 4),
            (code::LD | code::LDX, mode) => {
                let value = match mode {
                    code::IMM => k,
                    code::MEM => memory[place],
                    code::LEN => wire_len as u32,
                    _ => return false,
                };
                *(if code & 7 == code::LD { &mut a } else { &mut x }) = value;
                Ok(())
            }
            (code::ST, _) => {
                memory[place] = a;
                Ok(())
            }
            (code::STX, _) => {
                memory[place] = x;
                Ok(())
            }
            (code::ALU, _) => match computed(code & 0xf0, a, operand) {
                Some(value) => {
                    a = value;
                    Ok(())
                }
                None => return false,
            },
            (code::JMP, _) => {
                let far = match code & 0xf0 {
                    0x00 => k,
                    0x10 => if a == operand { jt } else { jf }.into(),
                    0x20 => if a > operand { jt } else { jf }.into(),
                    0x30 => if a >= operand { jt } else { jf }.into(),
                    _ => if a & operand != 0 { jt } else { jf }.into(),
                };
                // Loops jump back.
                at = at.wrapping_add_signed(far as i32 as isize);
                Ok(())
            }
            (code::MISC, _) => {
                if code & code::TXA != 0 {
                    a = x;
                } else {
                    x = a;
                }
                Ok(())
            }
            // The program has decided.
            _ => return false,
        };
        if let Err(was_cut) = loaded {
            return was_cut;
        }
    }
    true
}

/// Returns the result of an operation; `None` for a division by 0, at which a program stops.
fn computed(operation: u16, a: u32, operand: u32) -> Option<u32> {
    Some(match operation {
        0x00 => a.wrapping_add(operand),
        0x10 => a.wrapping_sub(operand),
        0x20 => a.wrapping_mul(operand),
        0x30 => a.checked_div(operand)?,
        0x40 => a | operand,
        0x50 => a & operand,
        0x60 => a.checked_shl(operand).unwrap_or(0),
        0x70 => a.checked_shr(operand).unwrap_or(0),
        0x80 => a.wrapping_neg(),
        0x90 => a.checked_rem(operand)?,
        _ => a ^ operand,
    })
}
