//! An Ethernet port: from devargs to started receive queues, its loss counters, its end.

use super::device::Device;
use super::eal::{Eal, EalConfig, reason, telling};
use super::kernel_socket::KernelSockets;
use super::pool::{Pool, mbuf_bytes};
use super::spread::{Rss, Spread};
use super::tally::{EthLossCounters, LossTally};
use crate::{SourceCounter, SourceError, SourceSetting, kernel_link};
use dpdk_sys::{NO_PORT, RTE_ETH_RX_OFFLOAD_SCATTER, shim_port_info};
use packet::RssSpec;
use std::ffi::{CString, c_int};
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The most frames that one poll may request.
pub(super) const MAX_BURST: u16 = 4096;
/// Room for data in an mbuf, as DPDK's own default.
const BUFFER_BYTES: u16 = 2048;
/// The usual jumbo MTU of cards, used if the driver scatters frames over several mbufs.
const JUMBO_MTU: u16 = 9000;
/// Ethernet's own MTU (IEEE 802.3).
const DEFAULT_MTU: u16 = 1500;
/// Mbufs that the pool keeps for an lcore.
const POOL_CACHE: u32 = 256;

/// The options with which ports are opened.
#[derive(Clone, Copy, Debug)]
pub struct PortOptions {
    /// The most frames of one poll, 1 to 4096.
    pub burst: u16,
    /// Receive descriptors of a queue; adjusted to the device's limits.
    pub descriptors: u16,
    /// Mbufs for each queue. net_pcap with `infinite_rx=1` needs more than its file has packets.
    pub mbufs: u32,
    /// Pools of mbufs, which a port's queues share; `None`: one for each queue.
    pub pools: Option<u16>,
    /// Receive queues of a port whose number can be configured; for other ports the devargs determine it.
    pub queues: u16,
    /// True if every frame is received, whatever its destination.
    pub promiscuous: bool,
    /// The hash that chooses a frame's queue; `None`: over addresses and ports by the symmetric key, as far as the driver takes it.
    pub rss: Option<RssSpec>,
}

impl Default for PortOptions {
    fn default() -> Self {
        Self {
            burst: 256,
            descriptors: 4096,
            mbufs: 16_383,
            queues: 1,
            promiscuous: true,
            rss: None,
            pools: None,
        }
    }
}

impl PortOptions {
    /// Room for data in an mbuf of this device's pool. net_af_packet does not scatter: a mbuf must hold the
    /// frame size that its `framesz=` sets.
    pub(super) fn buffer_bytes(&self, device: &Device, least: u32) -> u16 {
        let frame = device
            .argument("framesz")
            .filter(|_| device.is_virtual("net_af_packet"))
            .and_then(|text| text.parse::<u16>().ok())
            .unwrap_or(0);
        let least = u16::try_from(least).unwrap_or(0);
        BUFFER_BYTES.max(frame).max(least).min(u16::MAX - dpdk_sys::RTE_PKTMBUF_HEADROOM)
    }

    fn check(&self) -> Result<(), SourceError> {
        if !(1..=MAX_BURST).contains(&self.burst) {
            return Err(SourceError::Open(format!(
                "a burst of {} frames is not possible: set 1 to {MAX_BURST}",
                self.burst
            )));
        }
        Ok(())
    }
}

impl EalConfig {
    /// The configuration for opening these ports.
    pub fn for_ports(devices: &[String], options: &PortOptions, arguments: &[String]) -> Self {
        let bytes = |devargs: &String| match Device::parse(devargs) {
            Ok(device) => {
                let queues = u64::from(device.fixed_queues().unwrap_or(options.queues));
                queues * u64::from(options.mbufs) * mbuf_bytes(options.buffer_bytes(&device, 0))
            }
            Err(_) => 0,
        };
        Self {
            devices: devices.to_vec(),
            memory_bytes: devices.iter().map(bytes).sum(),
            arguments: arguments.to_vec(),
        }
    }
}

/// A port, started or not yet. Stopped and closed on drop, when no mbuf of it may be held.
#[derive(Debug)]
pub(super) struct Port {
    id: u16,
    device: Device,
    /// The kernel interface that a virtual device reads, or 0.
    interface: u32,
    /// The requested MTU, if it is more than the usual one.
    wanted_mtu: u16,
    /// Transmit queues; mostly 0 or 1.
    tx_queues: u16,
    tally: Mutex<LossTally>,
    /// The kernel sockets that the port's driver opened before it is started, where it uses any.
    sockets: Option<KernelSockets>,
    eal: Arc<Eal>,
    /// The receive queues that are set up.
    rx_queues: u16,
    /// The pools of mbufs. They are dropped after the port is closed: `Drop` runs before the fields are dropped.
    pools: Vec<Arc<Pool>>,
    /// The pool of mbufs that are sent, which the driver holds until they have left: dropped after the port is closed, too.
    sent_from: Option<Pool>,
}

impl Port {
    /// Makes every port of a device, not started (a virtual device has one; some cards have several on one address).
    ///
    /// # Errors
    /// Returns `Open` with the driver's reason.
    pub(super) fn made(eal: &Arc<Eal>, devargs: &str) -> Result<Vec<Self>, SourceError> {
        let device = Device::parse(devargs).map_err(SourceError::Open)?;
        let family = KernelSockets::family_of(&device);
        let sockets = family.map(KernelSockets::open_now).unwrap_or_default();
        let log = if device.pci { String::new() } else { probe(eal, &device)? };
        let ids = ports_of(&device.name);
        if ids.is_empty() {
            return Err(SourceError::Open(match device.pci {
                true if !device.is_on_the_bus() => format!(
                    "port {}: this machine has no device at the PCI address {}; 'edison ports' lists those that it has",
                    device.devargs, device.name
                ),
                true => format!(
                    "port {}: no DPDK driver has taken this device: bind it to vfio-pci (dpdk-devbind.py --bind=vfio-pci {}), see 'edison ports'",
                    device.devargs, device.name
                ),
                false => format!(
                    "port {}: the driver made no port: {}",
                    device.devargs,
                    reason(&log, libc::ENODEV)
                ),
            }));
        }
        // Each is owned before the first is started, so that a failure closes all.
        let sockets = family.map(|family| KernelSockets::opened_since(family, &sockets));
        Ok(ids.into_iter().map(|id| Self::owning(eal, id, device.clone(), sockets.clone())).collect())
    }

    /// Opens a device for sending frames whose IP packets are of at most `mtu` bytes: the first of its ports. Mbufs that are sent
    /// come from the pool that `pool` makes for the port.
    ///
    /// # Errors
    /// Returns `Open` with the driver's reason, or when the device cannot send.
    pub(super) fn open_for_sending(
        eal: &Arc<Eal>,
        devargs: &str,
        options: &PortOptions,
        mtu: u16,
        pool: impl FnOnce(&Self) -> Result<Pool, SourceError>,
        warnings: &mut Vec<String>,
    ) -> Result<Self, SourceError> {
        let mut ports = Self::made(eal, devargs)?;
        ports.truncate(1);
        let Some(mut port) = ports.pop() else {
            return Err(SourceError::Open(format!("port {devargs}: the driver made no port")));
        };
        port.wanted_mtu = if mtu > DEFAULT_MTU { mtu } else { 0 };

        let queues = port.device.fixed_queues().unwrap_or(options.queues);
        port.start(queues, options, warnings)?;
        if port.tx_queues == 0 {
            return Err(SourceError::Open(format!(
                "port {devargs}: it has no transmit queue: give the driver something to send to"
            )));
        }
        port.sent_from = Some(pool(&port)?);
        Ok(port)
    }

    /// A port that another part of DPDK has made, not started.
    pub(super) fn from_id(eal: &Arc<Eal>, id: u16, name: &str) -> Self {
        Self::owning(eal, id, Device { devargs: name.into(), name: name.into(), pci: false }, None)
    }

    fn owning(eal: &Arc<Eal>, id: u16, device: Device, sockets: Option<KernelSockets>) -> Self {
        Self {
            id,
            device,
            interface: 0,
            wanted_mtu: 0,
            tx_queues: 0,
            tally: Mutex::new(LossTally::since(EthLossCounters::default())),
            sockets,
            eal: eal.clone(),
            rx_queues: 0,
            pools: Vec::new(),
            sent_from: None,
        }
    }

    /// Returns the numbers of receive queues that the port can be started with.
    pub(super) fn possible_queues(&self) -> Result<RangeInclusive<u16>, SourceError> {
        let most = self.info()?.max_rx_queues.max(1);
        // Frames reach every queue of a ring's port, whether it is polled or not.
        let fixed = self.device.fixed_queues().or(self.device.is_virtual("net_ring").then_some(most));
        Ok(match fixed {
            Some(queues) => queues..=queues,
            None => 1..=most,
        })
    }

    /// Returns the number of receive queues of a started port.
    pub(super) fn receive_queues(&self) -> u16 {
        self.rx_queues
    }

    /// Starts the port with this many receive queues. Returns how frames are spread over them.
    ///
    /// # Errors
    /// Returns `Open` with the driver's reason.
    pub(super) fn start(
        &mut self,
        queues: u16,
        options: &PortOptions,
        warnings: &mut Vec<String>,
    ) -> Result<Spread, SourceError> {
        options.check()?;
        let sockets_before = self.sockets.as_ref().map(KernelSockets::list_open).unwrap_or_default();
        let info = self.info()?;
        if !self.device.pci {
            self.interface = info.if_index;
        }
        // net_af_xdp requires equal numbers of transmit and receive queues; a file or a ring may have none.
        let wanted_tx = if self.device.is_virtual("net_af_xdp") { queues } else { 1 };
        self.tx_queues = info.max_tx_queues.min(wanted_tx);
        let mut rss = Rss::new(queues, &info, options.rss.as_ref()).map_err(|why| self.refused_hash(&why))?;
        self.configure(queues, &info, &mut rss)?;
        let rings = self.ring_sizes(options)?;
        self.set_up_queues(queues, rings, options, &info)?;
        let id = self.id;
        // SAFETY: as in `configure`.
        self.step("start", || unsafe { dpdk_sys::rte_eth_dev_start(id) })?;
        if options.promiscuous {
            warnings.extend(self.make_promiscuous());
        }
        // SAFETY: as in `configure`. A driver that never reports removal is checked by `vanished`.
        unsafe { dpdk_sys::shim_port_watch_removal(id) };
        let mut tally = LossTally::since(self.read_losses().unwrap_or_default());
        if let Some(mut sockets) = self.sockets.take() {
            // net_af_packet opens its sockets when it is probed, net_af_xdp when its queues are set up.
            sockets.add_since(&sockets_before);
            tally.count_in_kernel(sockets);
        }
        self.tally = Mutex::new(tally);
        let (in_force, log) = self.eal.logged(|| rss.in_force(id, queues));
        in_force.map_err(|code| {
            let why = if code == 0 { "it has another hash in force".to_owned() } else { reason(&log, code) };
            self.refused_hash(&format!("its driver does not take the hash: {why}"))
        })
    }

    /// The hash that was requested is not possible.
    fn refused_hash(&self, why: &str) -> SourceError {
        SourceError::Refused(SourceSetting::Rss, format!("port {}: {why}", self.device.devargs))
    }

    /// Configures the numbers of queues, the MTU, and the spread of frames.
    fn configure(&self, queues: u16, info: &shim_port_info, rss: &mut Rss) -> Result<(), SourceError> {
        let (id, tx_queues) = (self.id, self.tx_queues);
        // A virtual driver uses the MTU of its kernel interface; only a card is configured for more than the
        // usual MTU.
        let scatter = info.rx_offload_capa & RTE_ETH_RX_OFFLOAD_SCATTER;
        let jumbo = self.device.pci && scatter != 0;
        let mtu = if jumbo { u32::from(info.max_mtu.min(JUMBO_MTU)) } else { 0 };
        let (rss_types, rss_key, rss_key_bytes) = rss.configuration();
        // SAFETY: the port exists, was not started, and belongs to `self`; here and in the other steps, pointers are to live
        // locals or null where DPDK takes null for its default.
        let configure = |mtu: u32| unsafe {
            dpdk_sys::shim_port_configure(
                id,
                queues,
                tx_queues,
                scatter,
                mtu,
                rss_types,
                rss_key,
                rss_key_bytes,
            )
        };
        let wanted_mtu = mtu.max(u32::from(self.wanted_mtu.min(info.max_mtu)));
        // A driver may accept less than it reports: longer frames are then skipped when sending.
        if wanted_mtu == mtu || self.step("configure", || configure(wanted_mtu)).is_err() {
            self.step("configure", || configure(mtu))?;
        }
        Ok(())
    }

    /// Returns the descriptors of a receive queue and of a transmit queue, within the limits of the device.
    fn ring_sizes(&self, options: &PortOptions) -> Result<(u16, u16), SourceError> {
        let (mut rx, mut tx) = (options.descriptors, 512);
        // SAFETY: as in `configure`.
        self.step("set the ring size of", || unsafe {
            dpdk_sys::rte_eth_dev_adjust_nb_rx_tx_desc(self.id, &mut rx, &mut tx)
        })?;
        let least = u32::from(rx) + u32::from(options.burst) + POOL_CACHE;
        if options.mbufs < least {
            let text = format!(
                "port {}: {} mbufs are too few for a ring of {rx}: set at least {least}",
                self.device.devargs, options.mbufs
            );
            return Err(SourceError::Refused(SourceSetting::Mbufs, text));
        }
        Ok((rx, tx))
    }

    /// Sets up the receive queues, with their pools, and the transmit queues.
    fn set_up_queues(
        &mut self,
        queues: u16,
        (rx, tx): (u16, u16),
        options: &PortOptions,
        info: &shim_port_info,
    ) -> Result<(), SourceError> {
        let id = self.id;
        let data = options.buffer_bytes(&self.device, info.min_rx_bufsize);
        let cache = POOL_CACHE.min(options.mbufs / 4);
        let socket = info.socket_id as u32;
        let all = usize::from(queues);
        let pools = options.pools.map_or(all, usize::from);
        let (count, place) = (options.mbufs, (data, info.socket_id));
        if pools > all {
            let text = format!("port {}: {pools} pools for {all} receive queue(s)", self.device.devargs);
            return Err(SourceError::Refused(SourceSetting::Pools, text));
        }
        self.pools = Pool::for_queues(&self.eal, all, pools, count, cache, place)
            .map_err(|error| error.blame(SourceSetting::Mbufs))?;
        for (queue, pool) in (0..queues).zip(self.pools.iter().cycle()) {
            let raw = pool.as_ptr();
            // SAFETY: as in `configure`, and the pool lives until the port is closed.
            self.step("set up a receive queue of", || unsafe {
                dpdk_sys::rte_eth_rx_queue_setup(id, queue, rx, socket, std::ptr::null(), raw)
            })?;
        }
        self.rx_queues = queues;
        for queue in 0..self.tx_queues {
            // SAFETY: as in `configure`.
            self.step("set up a transmit queue of", || unsafe {
                dpdk_sys::rte_eth_tx_queue_setup(id, queue, tx, socket, std::ptr::null())
            })?;
        }
        Ok(())
    }

    /// Makes a started port receive every frame. Returns a warning if it does not.
    fn make_promiscuous(&self) -> Option<String> {
        // SAFETY: the port exists and belongs to `self`. Drivers without a filter for addresses have no such switch.
        let (result, log) = self.eal.logged(|| unsafe { dpdk_sys::rte_eth_promiscuous_enable(self.id) });
        (result != 0 && (self.device.pci || result != -libc::ENOTSUP)).then(|| {
            format!(
                "port {}: not promiscuous, so frames for others may not be seen: {}",
                self.device.devargs,
                reason(&log, result)
            )
        })
    }

    /// Runs one step of starting the port; a failure becomes an `Open` error with the driver's reason.
    fn step(&self, what: &str, call: impl FnOnce() -> c_int) -> Result<(), SourceError> {
        let (result, log) = self.eal.logged(call);
        if result == 0 {
            return Ok(());
        }
        Err(SourceError::Open(format!(
            "port {}: cannot {what} it: {}{}",
            self.device.devargs,
            reason(&log, result),
            rights_hint()
        )))
    }

    fn info(&self) -> Result<shim_port_info, SourceError> {
        let mut info = shim_port_info {
            rx_offload_capa: 0,
            min_rx_bufsize: 0,
            if_index: 0,
            socket_id: -1,
            max_mtu: 0,
            max_rx_queues: 0,
            max_tx_queues: 0,
            hash_key_size: 0,
            rss_types: 0,
        };
        // SAFETY: the port exists and `info` is writable.
        self.step("ask", || unsafe { dpdk_sys::shim_port_info(self.id, &mut info) })?;
        Ok(info)
    }

    /// Frames sent, and frames that the driver accepted and could not send, since the port was started;
    /// `None` for a port that is gone.
    pub(super) fn transmitted(&self) -> Option<(u64, u64)> {
        // Drivers need not support reading counters from several threads at a time.
        let _one_at_a_time = self.tally();
        let (mut sent, mut failed) = (0, 0);
        // SAFETY: two writable numbers.
        let result = unsafe { dpdk_sys::shim_port_sent(self.id, &mut sent, &mut failed) };
        (result == 0).then_some((sent, failed))
    }

    pub(super) fn id(&self) -> u16 {
        self.id
    }

    /// Returns the pool of mbufs that are sent; null where the port was not opened for sending.
    pub(super) fn sending_pool(&self) -> *mut dpdk_sys::rte_mempool {
        self.sent_from.as_ref().map_or(std::ptr::null_mut(), Pool::as_ptr)
    }

    /// Returns the speed of the port's link in bits per second, if it is known.
    pub(super) fn link_speed(&self) -> Option<u64> {
        // SAFETY: takes any number.
        let mbps = || unsafe { dpdk_sys::shim_port_link_mbps(self.id) };
        // The drivers over kernel interfaces report a speed of their own.
        kernel_link::speed(self.interface)
            .or_else(|| Some(u64::from(mbps()) * 1_000_000).filter(|&bits| bits > 0))
    }

    /// The MTU of the port, and not more than that of the kernel interface under it.
    pub(super) fn mtu(&self) -> u16 {
        let mut mtu = DEFAULT_MTU;
        // SAFETY: a writable number; a port that is gone leaves it.
        unsafe { dpdk_sys::rte_eth_dev_get_mtu(self.id, &mut mtu) };
        match kernel_mtu(self.interface) {
            Some(kernel) => mtu.min(kernel),
            None => mtu,
        }
    }

    /// Returns the NUMA node of the port's device.
    pub(super) fn socket_id(&self) -> i32 {
        self.info().map_or(-1, |info| info.socket_id)
    }

    /// True for a card that was pulled out and for an interface that has vanished under a virtual device.
    pub(super) fn vanished(&self) -> bool {
        // Drivers need not support reading counters from several threads at a time.
        let _one_at_a_time = self.tally();
        // SAFETY: takes any number.
        if unsafe { dpdk_sys::shim_port_removed(self.id) } == 1 || self.read_losses().is_none() {
            return true;
        }
        let mut name = [0; libc::IF_NAMESIZE];
        // SAFETY: the buffer has the size that the call demands.
        self.interface != 0 && unsafe { libc::if_indextoname(self.interface, name.as_mut_ptr()) }.is_null()
    }

    /// True if there is a link that can go down.
    pub(super) fn has_link(&self) -> bool {
        self.interface != 0 || self.device.pci
    }

    /// Returns true if the port's link is up; `None` if it has none or cannot know.
    pub(super) fn link_is_up(&self) -> Option<bool> {
        if self.interface != 0 {
            // The drivers over kernel interfaces report the state at their start.
            return kernel_link::is_up(self.interface);
        }
        // A driver need not support this from several threads at a time either: a port can be in a source and in a sink.
        let _one_at_a_time = self.tally();
        // SAFETY: takes any number.
        let is_up = if self.device.pci { unsafe { dpdk_sys::shim_port_link_is_up(self.id) } } else { -1 };
        (is_up >= 0).then_some(is_up == 1)
    }

    /// Adds to `sums` what was lost since the last query; false if the loss is unknown.
    pub(super) fn take_losses(&self, sums: &mut Vec<SourceCounter>) -> bool {
        let mut tally = self.tally();
        tally.take(self.read_losses(), sums)
    }

    fn tally(&self) -> MutexGuard<'_, LossTally> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read_losses(&self) -> Option<EthLossCounters> {
        let mut losses = EthLossCounters::default();
        // SAFETY: three writable numbers.
        let result = unsafe {
            dpdk_sys::shim_port_losses(
                self.id,
                &mut losses.imissed,
                &mut losses.ierrors,
                &mut losses.rx_nombuf,
            )
        };
        (result == 0).then_some(losses)
    }

    pub(super) fn device(&self) -> &Device {
        &self.device
    }
}

impl Drop for Port {
    fn drop(&mut self) {
        // A driver's messages about a port that was never started or is gone are of no use.
        let _ = self.eal.logged(|| {
            // SAFETY: the port belongs to `self`, its owner has given all mbufs back, and no thread polls it.
            unsafe {
                dpdk_sys::shim_port_unwatch_removal(self.id);
                dpdk_sys::rte_eth_dev_stop(self.id);
                dpdk_sys::shim_port_close(self.id);
            }
        });
    }
}

/// Adds a virtual device. Returns what the driver logged.
fn probe(eal: &Eal, device: &Device) -> Result<String, SourceError> {
    let devargs = CString::new(device.devargs.as_str())
        .map_err(|_| SourceError::Open(format!("port {}: holds a NUL byte", device.name)))?;
    if !ports_of(&device.name).is_empty() {
        return Err(SourceError::Open(format!(
            "port {}: '{}' is open already: give each port a name of its own, such as the driver's with another number",
            device.devargs, device.name
        )));
    }
    // SAFETY: EAL runs (`eal`), and DPDK copies the string.
    let (result, log) = eal.logged(|| unsafe { dpdk_sys::rte_dev_probe(devargs.as_ptr()) });
    if result == 0 {
        return Ok(log);
    }
    let missing = ["iface", "rx_iface"]
        .iter()
        .filter_map(|key| device.argument(key))
        .find(|name| !interface_exists(name));
    let is_silent = telling(&log).next().is_none();
    let hint = match missing {
        Some(name) => format!("; there is no interface '{name}': 'ip link' lists them"),
        None if log.contains("failed to parse device") => {
            "; no installed DPDK driver has this name: see 'edison ports'".into()
        }
        None if is_silent => {
            format!("; the driver refused it: check its arguments in DPDK's guide{}", rights_hint())
        }
        None => rights_hint().to_owned(),
    };
    let error =
        SourceError::Open(format!("port {}: cannot open it: {}{hint}", device.devargs, reason(&log, result)));
    Err(if missing.is_none() && is_silent { error.blame(SourceSetting::EalLog) } else { error })
}

/// A hint for errors in which a driver reports only a failure.
fn rights_hint() -> &'static str {
    // SAFETY: always succeeds.
    if unsafe { libc::geteuid() } == 0 {
        ""
    } else {
        "; DPDK ports need rights that root has: see 'edison ports'"
    }
}

/// The MTU of the kernel interface of this number; `None` for 0 and for one that cannot be queried.
fn kernel_mtu(interface: u32) -> Option<u16> {
    let answer = kernel_link::ask(interface, libc::SIOCGIFMTU)?;
    // SAFETY: this is the member that the request fills.
    Some(u16::try_from(unsafe { answer.ifr_ifru.ifru_mtu }).unwrap_or(u16::MAX))
}

fn interface_exists(name: &str) -> bool {
    // SAFETY: a C string; the call only reads it.
    CString::new(name).is_ok_and(|name| unsafe { libc::if_nametoindex(name.as_ptr()) } != 0)
}

fn ports_of(name: &str) -> Vec<u16> {
    let Ok(name) = CString::new(name) else { return Vec::new() };
    // SAFETY: the name is a C string; the call takes any first number.
    let next = |first| unsafe { dpdk_sys::shim_port_of_device(name.as_ptr(), first) };
    std::iter::successors(Some(next(0)), |&id| id.checked_add(1).map(next))
        .take_while(|&id| id != NO_PORT)
        .collect()
}
