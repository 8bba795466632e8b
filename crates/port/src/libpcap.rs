//! The part of libpcap that Edison uses, declared by hand after `pcap/pcap.h` of libpcap 1.10.

use std::ffi::{CStr, c_char, c_int, c_uint};
use std::marker::{PhantomData, PhantomPinned};

pub(crate) const PCAP_ERRBUF_SIZE: usize = 256;
pub(crate) const PCAP_ERROR_NO_SUCH_DEVICE: c_int = -5;
pub(crate) const PCAP_ERROR_PERM_DENIED: c_int = -8;
pub(crate) const PCAP_ERROR_IFACE_NOT_UP: c_int = -9;
pub(crate) const PCAP_ERROR_PROMISC_PERM_DENIED: c_int = -11;
pub(crate) const PCAP_TSTAMP_PRECISION_NANO: c_int = 1;
pub(crate) const PCAP_NETMASK_UNKNOWN: u32 = 0xffff_ffff;
pub(crate) const PCAP_IF_LOOPBACK: u32 = 1;
pub(crate) const PCAP_IF_UP: u32 = 2;

/// `pcap_t`, a capture handle.
#[repr(C)]
pub(crate) struct Pcap {
    opaque: [u8; 0],
    not_send_not_unpin: PhantomData<(*mut u8, PhantomPinned)>,
}

/// `struct pcap_pkthdr`.
#[repr(C)]
pub(crate) struct PacketHeader {
    /// The time of the frame. With the precision of nanoseconds, `tv_usec` holds nanoseconds.
    pub(crate) ts: libc::timeval,
    pub(crate) caplen: u32,
    pub(crate) len: u32,
}

/// `struct pcap_stat`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(crate) struct Statistics {
    pub(crate) ps_recv: c_uint,
    pub(crate) ps_drop: c_uint,
    pub(crate) ps_ifdrop: c_uint,
}

/// `struct bpf_program`; the instructions belong to libpcap.
#[repr(C)]
pub(crate) struct BpfProgram {
    pub(crate) length: c_uint,
    pub(crate) instructions: *mut Instruction,
}

/// `struct bpf_insn`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Instruction {
    pub(crate) code: u16,
    pub(crate) jt: u8,
    pub(crate) jf: u8,
    pub(crate) k: u32,
}

/// `struct pcap_if`.
#[repr(C)]
pub(crate) struct PcapInterface {
    pub(crate) next: *mut PcapInterface,
    pub(crate) name: *const c_char,
    pub(crate) description: *const c_char,
    pub(crate) addresses: *const PcapAddress,
    pub(crate) flags: u32,
}

/// `struct pcap_addr`.
#[repr(C)]
pub(crate) struct PcapAddress {
    pub(crate) next: *const PcapAddress,
    pub(crate) addr: *const libc::sockaddr,
    pub(crate) netmask: *const libc::sockaddr,
    pub(crate) broadaddr: *const libc::sockaddr,
    pub(crate) dstaddr: *const libc::sockaddr,
}

/// `pcap_handler`.
pub(crate) type Handler = unsafe extern "C" fn(*mut u8, *const PacketHeader, *const u8);

unsafe extern "C" {
    pub(crate) fn pcap_create(source: *const c_char, errbuf: *mut c_char) -> *mut Pcap;
    pub(crate) fn pcap_set_snaplen(p: *mut Pcap, snaplen: c_int) -> c_int;
    pub(crate) fn pcap_set_promisc(p: *mut Pcap, promisc: c_int) -> c_int;
    pub(crate) fn pcap_set_timeout(p: *mut Pcap, to_ms: c_int) -> c_int;
    pub(crate) fn pcap_set_buffer_size(p: *mut Pcap, buffer_size: c_int) -> c_int;
    pub(crate) fn pcap_set_tstamp_precision(p: *mut Pcap, precision: c_int) -> c_int;
    pub(crate) fn pcap_get_tstamp_precision(p: *mut Pcap) -> c_int;
    pub(crate) fn pcap_activate(p: *mut Pcap) -> c_int;
    pub(crate) fn pcap_setnonblock(p: *mut Pcap, nonblock: c_int, errbuf: *mut c_char) -> c_int;
    pub(crate) fn pcap_get_selectable_fd(p: *mut Pcap) -> c_int;
    pub(crate) fn pcap_datalink(p: *mut Pcap) -> c_int;
    pub(crate) fn pcap_dispatch(p: *mut Pcap, count: c_int, callback: Handler, user: *mut u8) -> c_int;
    pub(crate) fn pcap_stats(p: *mut Pcap, statistics: *mut Statistics) -> c_int;
    pub(crate) fn pcap_setfilter(p: *mut Pcap, program: *mut BpfProgram) -> c_int;
    pub(crate) fn pcap_geterr(p: *mut Pcap) -> *const c_char;
    pub(crate) fn pcap_statustostr(error: c_int) -> *const c_char;
    pub(crate) fn pcap_close(p: *mut Pcap);
    pub(crate) fn pcap_open_dead(linktype: c_int, snaplen: c_int) -> *mut Pcap;
    pub(crate) fn pcap_compile(
        p: *mut Pcap,
        program: *mut BpfProgram,
        expression: *const c_char,
        optimize: c_int,
        netmask: u32,
    ) -> c_int;
    pub(crate) fn pcap_freecode(program: *mut BpfProgram);
    pub(crate) fn pcap_offline_filter(
        program: *const BpfProgram,
        header: *const PacketHeader,
        packet: *const u8,
    ) -> c_int;
    pub(crate) fn pcap_findalldevs(interfaces: *mut *mut PcapInterface, errbuf: *mut c_char) -> c_int;
    pub(crate) fn pcap_freealldevs(interfaces: *mut PcapInterface);
}

/// An open capture handle.
pub(crate) struct Handle(*mut Pcap);

// SAFETY: a handle may be used by any thread as long as it is one at a time, which `&mut` and ownership ensure.
unsafe impl Send for Handle {}

impl Handle {
    /// Takes over what `pcap_create` or `pcap_open_dead` returned; `None` for null.
    ///
    /// # Safety
    /// The handle is closed nowhere else.
    pub(crate) unsafe fn new(pointer: *mut Pcap) -> Option<Self> {
        (!pointer.is_null()).then_some(Self(pointer))
    }

    /// Returns the handle's pointer for calls; valid for as long as `self` lives.
    pub(crate) fn as_ptr(&self) -> *mut Pcap {
        self.0
    }

    /// libpcap's message about the last failed call.
    pub(crate) fn error(&self) -> String {
        // SAFETY: the handle is open, and its message is a C string until the next call.
        unsafe { text(pcap_geterr(self.0)) }
    }

    /// Compiles `expression` for the handle's link type and snap length.
    pub(crate) fn compile(&self, expression: &CStr) -> Result<CompiledProgram, String> {
        let mut program = BpfProgram { length: 0, instructions: std::ptr::null_mut() };
        // SAFETY: the handle is open, `program` is writable, the expression a C string.
        let status =
            unsafe { pcap_compile(self.0, &mut program, expression.as_ptr(), 1, PCAP_NETMASK_UNKNOWN) };
        if status == 0 { Ok(CompiledProgram(program)) } else { Err(self.error()) }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: the handle is open and closed here only.
        unsafe { pcap_close(self.0) }
    }
}

/// A filter program that libpcap compiled.
pub(crate) struct CompiledProgram(BpfProgram);

// SAFETY: the instructions are only read between `pcap_compile` and `pcap_freecode`.
unsafe impl Send for CompiledProgram {}
// SAFETY: as above.
unsafe impl Sync for CompiledProgram {}

impl CompiledProgram {
    /// Runs the program over a frame of which `data` was captured.
    #[inline]
    pub(crate) fn matches(&self, data: &[u8], wire_len: u32) -> bool {
        let ts = libc::timeval { tv_sec: 0, tv_usec: 0 };
        let header = PacketHeader { ts, caplen: data.len() as u32, len: wire_len };
        // SAFETY: the program was compiled, and the header states how many bytes may be read at `data`.
        unsafe { pcap_offline_filter(&self.0, &header, data.as_ptr()) != 0 }
    }

    /// Returns the instructions of the program.
    pub(crate) fn instructions(&self) -> &[Instruction] {
        let BpfProgram { length, instructions } = self.0;
        if instructions.is_null() {
            return &[];
        }
        // SAFETY: libpcap compiled this many instructions, and they stay as they are until `self` is dropped.
        unsafe { std::slice::from_raw_parts(instructions, length as usize) }
    }

    /// Lets the kernel run the program for `handle`.
    pub(crate) fn install(&mut self, handle: &Handle) -> Result<(), String> {
        // SAFETY: both are valid; libpcap copies the program.
        let status = unsafe { pcap_setfilter(handle.as_ptr(), &mut self.0) };
        if status == 0 { Ok(()) } else { Err(handle.error()) }
    }
}

impl Drop for CompiledProgram {
    fn drop(&mut self) {
        // SAFETY: the program was compiled and is freed here only.
        unsafe { pcap_freecode(&mut self.0) }
    }
}

/// Copies a C string; empty for null.
///
/// # Safety
/// `pointer` is null or leads to a C string.
pub(crate) unsafe fn text(pointer: *const c_char) -> String {
    if pointer.is_null() {
        return String::new();
    }
    // SAFETY: the caller guarantees it.
    unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned()
}
