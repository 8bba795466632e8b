/* DPDK's inline functions and large structures behind plain C functions, and a check of every field of an
 * mbuf that Rust reads: src/lib.rs declares the same offsets. */
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rte_dev.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_hash.h>
#include <rte_lcore.h>
#include <rte_log.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <rte_ring.h>

#define FIELD(name, offset, type)                                                                              \
	static_assert(offsetof(struct rte_mbuf, name) == (offset) &&                                           \
			      sizeof(((struct rte_mbuf *)0)->name) == sizeof(type),                            \
		      "rte_mbuf." #name " lies elsewhere in this DPDK: adapt crates/dpdk-sys/src/lib.rs")

FIELD(buf_addr, 0, void *);
FIELD(data_off, 16, uint16_t);
FIELD(refcnt, 18, uint16_t);
FIELD(nb_segs, 20, uint16_t);
FIELD(port, 22, uint16_t);
FIELD(ol_flags, 24, uint64_t);
FIELD(pkt_len, 36, uint32_t);
FIELD(data_len, 40, uint16_t);
FIELD(vlan_tci, 42, uint16_t);
FIELD(hash.rss, 44, uint32_t);
FIELD(buf_len, 54, uint16_t);
FIELD(pool, 56, struct rte_mempool *);
FIELD(next, 64, struct rte_mbuf *);
static_assert(sizeof(struct rte_mbuf) == 128, "rte_mbuf has another size in this DPDK");
static_assert(RTE_MBUF_F_RX_RSS_HASH == (1ULL << 1), "RTE_MBUF_F_RX_RSS_HASH has another value");
static_assert(RTE_MBUF_F_RX_VLAN_STRIPPED == (1ULL << 6), "RTE_MBUF_F_RX_VLAN_STRIPPED has another value");
static_assert((RTE_MBUF_F_INDIRECT | RTE_MBUF_F_EXTERNAL) == (1ULL << 62 | 1ULL << 61),
	      "RTE_MBUF_F_INDIRECT or RTE_MBUF_F_EXTERNAL has another value");
static_assert(RTE_ETH_RX_OFFLOAD_SCATTER == (1ULL << 13), "RTE_ETH_RX_OFFLOAD_SCATTER has another value");
static_assert(RTE_ETH_RSS_IP == 0xa38c && RTE_ETH_RSS_UDP == 0x20820 && RTE_ETH_RSS_TCP == 0x10410 &&
		      RTE_ETH_RSS_SCTP == 0x1040 && RTE_ETH_RSS_L3_SRC_ONLY == (1ULL << 63) &&
		      RTE_ETH_RSS_L3_DST_ONLY == (1ULL << 62) && RTE_ETH_RSS_L4_SRC_ONLY == (1ULL << 61) &&
		      RTE_ETH_RSS_L4_DST_ONLY == (1ULL << 60),
	      "RTE_ETH_RSS_… have other values");
static_assert(RTE_HASH_EXTRA_FLAGS_EXT_TABLE == 0x08, "RTE_HASH_EXTRA_FLAGS_EXT_TABLE has another value");
static_assert(RTE_HASH_LOOKUP_BULK_MAX == 64, "RTE_HASH_LOOKUP_BULK_MAX has another value");
static_assert(RTE_PKTMBUF_HEADROOM == 128, "RTE_PKTMBUF_HEADROOM has another value");

/* --- log --- */

/* What EAL and the drivers say goes to standard error, or, between begin and end of a capture, into a buffer:
 * so that the reason of a failure becomes part of the one line that the user gets. */
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static char log_text[4096];
static size_t log_length;
static int log_capturing;

static ssize_t log_write(void *cookie, const char *text, size_t length)
{
	(void)cookie;
	pthread_mutex_lock(&log_lock);
	if (log_capturing) {
		size_t room = sizeof(log_text) - log_length;
		size_t kept = length < room ? length : room;
		memcpy(log_text + log_length, text, kept);
		log_length += kept;
	} else {
		fwrite(text, 1, length, stderr);
	}
	pthread_mutex_unlock(&log_lock);
	return (ssize_t)length;
}

void shim_log_capture_begin(void)
{
	pthread_mutex_lock(&log_lock);
	log_capturing = 1;
	log_length = 0;
	pthread_mutex_unlock(&log_lock);
}

size_t shim_log_capture_end(char *text, size_t size)
{
	pthread_mutex_lock(&log_lock);
	size_t length = log_length < size ? log_length : size;
	memcpy(text, log_text, length);
	log_capturing = 0;
	pthread_mutex_unlock(&log_lock);
	return length;
}

/* --- EAL --- */

int shim_errno(void)
{
	return rte_errno;
}

int shim_eal_init(int argc, char **argv)
{
	static const cookie_io_functions_t functions = {.write = log_write};
	FILE *stream = fopencookie(NULL, "w", functions);
	if (stream != NULL)
		rte_openlog_stream(stream);

	/* A wrong argument makes EAL print its usage to standard output, which belongs to the answers. */
	fflush(stdout);
	int kept = dup(STDOUT_FILENO);
	if (kept >= 0)
		dup2(STDERR_FILENO, STDOUT_FILENO);
	int result = rte_eal_init(argc, argv);
	int reason = rte_errno;
	fflush(stdout);
	if (kept >= 0) {
		dup2(kept, STDOUT_FILENO);
		close(kept);
	}
	rte_errno = reason;
	return result;
}

int shim_thread_register(void)
{
	if (rte_lcore_id() != LCORE_ID_ANY)
		return 0;
	return rte_thread_register() == 0 ? 1 : -1;
}

/* --- ports --- */

struct shim_port_info {
	uint64_t rx_offload_capa;
	uint32_t min_rx_bufsize;
	uint32_t if_index;
	int32_t socket_id;
	uint16_t max_mtu;
	uint16_t max_rx_queues;
	uint16_t max_tx_queues;
	uint16_t hash_key_size;
	uint64_t rss_types;
};

int shim_port_info(uint16_t port, struct shim_port_info *out)
{
	struct rte_eth_dev_info info;
	int result = rte_eth_dev_info_get(port, &info);
	if (result != 0)
		return result;
	out->rx_offload_capa = info.rx_offload_capa;
	out->min_rx_bufsize = info.min_rx_bufsize;
	out->if_index = info.if_index;
	out->socket_id = rte_eth_dev_socket_id(port);
	out->max_mtu = info.max_mtu;
	out->max_rx_queues = info.max_rx_queues;
	out->max_tx_queues = info.max_tx_queues;
	out->hash_key_size = info.hash_key_size;
	out->rss_types = info.flow_type_rss_offloads;
	return 0;
}

uint16_t shim_port_of_device(const char *device, uint16_t first)
{
	uint16_t port;
	for (port = rte_eth_find_next(first); port < RTE_MAX_ETHPORTS; port = rte_eth_find_next(port + 1)) {
		struct rte_eth_dev_info info;
		if (rte_eth_dev_info_get(port, &info) == 0 && info.device != NULL &&
		    strcmp(rte_dev_name(info.device), device) == 0)
			return port;
	}
	return UINT16_MAX;
}

int shim_port_configure(uint16_t port, uint16_t rx_queues, uint16_t tx_queues, uint64_t rx_offloads, uint32_t mtu,
			uint64_t rss_types, uint8_t *rss_key, uint8_t rss_key_size)
{
	struct rte_eth_conf conf;
	memset(&conf, 0, sizeof(conf));
	conf.rxmode.offloads = rx_offloads;
	conf.rxmode.mtu = mtu;
	if (rss_types != 0) {
		conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
		conf.rx_adv_conf.rss_conf.rss_hf = rss_types;
		conf.rx_adv_conf.rss_conf.rss_key = rss_key;
		conf.rx_adv_conf.rss_conf.rss_key_len = rss_key_size;
	}
	return rte_eth_dev_configure(port, rx_queues, tx_queues, &conf);
}

int shim_port_rss(uint16_t port, uint64_t *rss_types, uint8_t *rss_key, uint8_t rss_key_size)
{
	struct rte_eth_rss_conf conf = {.rss_key = rss_key, .rss_key_len = rss_key_size};
	int result = rte_eth_dev_rss_hash_conf_get(port, &conf);
	if (result == 0)
		*rss_types = conf.rss_hf;
	return result;
}

int shim_port_set_rss(uint16_t port, uint64_t rss_types, uint8_t *rss_key, uint8_t rss_key_size)
{
	struct rte_eth_rss_conf conf = {.rss_key = rss_key, .rss_key_len = rss_key_size, .rss_hf = rss_types};
	return rte_eth_dev_rss_hash_update(port, &conf);
}

int shim_port_link_is_up(uint16_t port)
{
	struct rte_eth_link link;
	int result = rte_eth_link_get_nowait(port, &link);
	return result != 0 ? result : link.link_status == RTE_ETH_LINK_UP;
}

uint32_t shim_port_link_mbps(uint16_t port)
{
	struct rte_eth_link link;
	if (rte_eth_link_get_nowait(port, &link) != 0 || link.link_speed == RTE_ETH_SPEED_NUM_UNKNOWN)
		return 0;
	return link.link_speed;
}

/* Closes the port and takes its device from the bus, so that the same device can be opened again. */
int shim_port_close(uint16_t port)
{
	struct rte_eth_dev_info info;
	struct rte_device *device = rte_eth_dev_info_get(port, &info) == 0 ? info.device : NULL;
	int result = rte_eth_dev_close(port);
	return device == NULL || result != 0 ? result : rte_dev_remove(device);
}

int shim_port_losses(uint16_t port, uint64_t *imissed, uint64_t *ierrors, uint64_t *rx_nombuf)
{
	struct rte_eth_stats stats;
	int result = rte_eth_stats_get(port, &stats);
	if (result != 0)
		return result;
	*imissed = stats.imissed;
	*ierrors = stats.ierrors;
	*rx_nombuf = stats.rx_nombuf;
	return 0;
}

static atomic_bool removed[RTE_MAX_ETHPORTS];

static int on_removal(uint16_t port, enum rte_eth_event_type event, void *argument, void *result)
{
	(void)event;
	(void)argument;
	(void)result;
	if (port < RTE_MAX_ETHPORTS)
		atomic_store(&removed[port], true);
	return 0;
}

int shim_port_watch_removal(uint16_t port)
{
	if (port >= RTE_MAX_ETHPORTS)
		return -EINVAL;
	atomic_store(&removed[port], false);
	return rte_eth_dev_callback_register(port, RTE_ETH_EVENT_INTR_RMV, on_removal, NULL);
}

int shim_port_unwatch_removal(uint16_t port)
{
	return rte_eth_dev_callback_unregister(port, RTE_ETH_EVENT_INTR_RMV, on_removal, NULL);
}

int shim_port_removed(uint16_t port)
{
	return port >= RTE_MAX_ETHPORTS || atomic_load(&removed[port]) || rte_eth_dev_is_removed(port) == 1;
}

uint16_t shim_rx_burst(uint16_t port, uint16_t queue, struct rte_mbuf **mbufs, uint16_t count)
{
	return rte_eth_rx_burst(port, queue, mbufs, count);
}

uint16_t shim_tx_burst(uint16_t port, uint16_t queue, struct rte_mbuf **mbufs, uint16_t count)
{
	return rte_eth_tx_burst(port, queue, mbufs, count);
}

int shim_port_sent(uint16_t port, uint64_t *opackets, uint64_t *oerrors)
{
	struct rte_eth_stats stats;
	int result = rte_eth_stats_get(port, &stats);
	if (result != 0)
		return result;
	*opackets = stats.opackets;
	*oerrors = stats.oerrors;
	return 0;
}

/* --- mbufs --- */

/* Gives a burst back. `rte_pktmbuf_free_bulk` reads `next` in the second cache line of every mbuf; a received
 * frame of one segment has none (ethdev's contract), so the first line, which is in the cache, decides. */
void shim_mbuf_free_burst(struct rte_mbuf **mbufs, uint32_t count)
{
	uint32_t first = 0;
	while (first < count) {
		struct rte_mempool *pool = mbufs[first]->pool;
		uint32_t end = first;
		while (end < count && mbufs[end]->pool == pool && mbufs[end]->nb_segs == 1 &&
		       RTE_MBUF_DIRECT(mbufs[end]) && rte_mbuf_refcnt_read(mbufs[end]) == 1)
			end++;
		if (end > first) {
			rte_mempool_generic_put(pool, (void *const *)&mbufs[first], end - first,
						rte_mempool_default_cache(pool, rte_lcore_id()));
			first = end;
		} else {
			rte_pktmbuf_free(mbufs[first]);
			first++;
		}
	}
}

void shim_mempool_put_bulk(struct rte_mempool *pool, void *const *objects, uint32_t count)
{
	rte_mempool_put_bulk(pool, objects, count);
}

/* With a cache of the caller's own: a thread that is no lcore has none. */
void shim_mempool_put_bulk_cached(struct rte_mempool *pool, void *const *objects, uint32_t count,
				  struct rte_mempool_cache *cache)
{
	rte_mempool_generic_put(pool, objects, count, cache);
}

int shim_mempool_get_bulk_cached(struct rte_mempool *pool, void **objects, uint32_t count,
				 struct rte_mempool_cache *cache)
{
	return rte_mempool_generic_get(pool, objects, count, cache);
}

void shim_mempool_cache_flush(struct rte_mempool_cache *cache, struct rte_mempool *pool)
{
	rte_mempool_cache_flush(cache, pool);
}

int shim_mbuf_alloc_bulk(struct rte_mempool *pool, struct rte_mbuf **mbufs, uint32_t count)
{
	return rte_pktmbuf_alloc_bulk(pool, mbufs, count);
}

int shim_mempool_get_bulk(struct rte_mempool *pool, void **objects, uint32_t count)
{
	return rte_mempool_get_bulk(pool, objects, count);
}

/* --- rings --- */

uint32_t shim_ring_enqueue_bulk(struct rte_ring *ring, void *const *objects, uint32_t count)
{
	return rte_ring_enqueue_bulk(ring, objects, count, NULL);
}

uint32_t shim_ring_dequeue_burst(struct rte_ring *ring, void **objects, uint32_t count)
{
	return rte_ring_dequeue_burst(ring, objects, count, NULL);
}

/* --- rte_hash --- */

/* The hash function is DPDK's own choice for this processor. */
struct rte_hash *shim_hash_create(const char *name, uint32_t entries, uint32_t key_len, uint32_t seed,
				  int socket_id, uint8_t extra_flag)
{
	struct rte_hash_parameters parameters = {
		.name = name,
		.entries = entries,
		.key_len = key_len,
		.hash_func_init_val = seed,
		.socket_id = socket_id,
		.extra_flag = extra_flag,
	};
	return rte_hash_create(&parameters);
}
