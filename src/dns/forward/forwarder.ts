// Forwards questions to upstream servers, and caches their answers for as long as their TTLs allow.

import type { Clock } from '#machinery/clock.ts';
import { LruCache } from '#machinery/collections/lru.ts';
import { errorMessage } from '#machinery/error-message.ts';
import type { Logger } from '#machinery/log.ts';
import type { Random } from '#machinery/random.ts';
import type { DnsMetrics } from '../metrics.ts';
import type { DnsSockets, SocketAddress } from '../system/sockets.ts';
import { FLAG, RCODE, TYPE } from '../wire/types.ts';
import type { Skimmed } from './skim.ts';
import { type Ask, Upstream, type UpstreamAnswer } from './upstream.ts';

export interface ForwarderConfig {
  readonly servers: readonly SocketAddress[];
  readonly sockets: DnsSockets;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: DnsMetrics;
}

/** An answer without the OPT record of the upstream server. */
export interface Forwarded {
  readonly rcode: number;
  /** The flags RA, AD and TC of the upstream server. */
  readonly flags: number;
  /** The records, encoded for a message whose question ends where the query's question ends. */
  readonly bytes: Buffer;
  readonly counts: readonly [number, number, number];
  readonly cached: boolean;
}

interface CacheEntry extends Omit<Forwarded, 'cached'> {
  /** Offsets of TTLs in `bytes`. */
  readonly ttlOffsets: readonly number[];
  /** The time of storage, in monotonic milliseconds. */
  readonly storedAt: number;
  readonly expiresAt: number;
}

/** The maximum TTL in seconds, as kubeadm's `cache 30`. */
const MAX_TTL = 30;
/** How long the failure of a server is cached, in seconds. */
const FAILURE_TTL = 5;
/**
 * How long it is cached that no server answers, in seconds: short, since the network may have
 * failed.
 */
const SILENCE_TTL = 1;
const CACHE_ENTRIES = 5000;
/** Larger answers are not cached, so that the cache has at most 10 MB. */
const MAX_CACHED_BYTES = 2048;
/** The number of questions in flight. Each has its own socket. */
const MAX_CONCURRENT = 512;
/** The time limit over all servers, as in CoreDNS. */
const DEADLINE_MS = 5000;
const MAX_TRIES = 3;

const failure = (rcode: number): Forwarded => ({
  rcode,
  flags: FLAG.RA,
  bytes: Buffer.alloc(0),
  counts: [0, 0, 0],
  cached: false,
});

export class Forwarder {
  readonly #config: ForwarderConfig;
  readonly #upstreams: readonly Upstream[];
  readonly #positive = new LruCache<string, CacheEntry>({ capacity: CACHE_ENTRIES });
  readonly #negative = new LruCache<string, CacheEntry>({ capacity: CACHE_ENTRIES });
  /**
   * Identical questions of several clients are asked once. This also denies a forger several
   * chances for one name.
   */
  readonly #asking = new Map<string, Promise<Forwarded>>();
  /** The names of this forwarder's loop probes. */
  readonly #loopProbes = new Map<string, Upstream>();

  constructor(config: ForwarderConfig) {
    this.#config = config;
    this.#upstreams = config.servers.map((server) => new Upstream({ ...config, server }));
  }

  get upstreams(): readonly Upstream[] {
    return this.#upstreams;
  }

  get cacheSizes(): { readonly success: number; readonly denial: number } {
    return { success: this.#positive.size, denial: this.#negative.size };
  }

  close(): void {
    for (const upstream of this.#upstreams) upstream.close();
  }

  /** Returns a cached answer; undefined if there is none. */
  cached(ask: Ask): Forwarded | undefined {
    const key = keyOf(ask);
    const now = this.#config.clock.monotonic();
    for (const [cache, type] of [
      [this.#positive, 'success'],
      [this.#negative, 'denial'],
    ] as const) {
      const entry = cache.get(key);
      if (entry === undefined || now >= entry.expiresAt) continue;
      this.#config.metrics.cacheHit(type);
      return aged(entry, Math.floor((now - entry.storedAt) / 1000));
    }
    this.#config.metrics.cacheMiss();
    return undefined;
  }

  /** Returns an answer. Never rejects: a question that no server answers in time gets SERVFAIL. */
  resolve(ask: Ask): Promise<Forwarded> {
    const key = keyOf(ask);
    const id = ask.complete ? `${key}+` : key;
    const present = this.#asking.get(id);
    if (present !== undefined) return present;
    if (this.#asking.size >= MAX_CONCURRENT) {
      this.#config.metrics.forwardRejected();
      return Promise.resolve(failure(RCODE.REFUSED));
    }
    const asking = this.#resolve(ask, key).finally(() => this.#asking.delete(id));
    this.#asking.set(id, asking);
    return asking;
  }

  async #resolve(ask: Ask, key: string): Promise<Forwarded> {
    const { clock, logger } = this.#config;
    const until = clock.monotonic() + DEADLINE_MS;
    let last: unknown;
    for (const upstream of this.#order().slice(0, MAX_TRIES)) {
      if (clock.monotonic() >= until) break;
      try {
        return this.#keep(key, await upstream.ask(ask));
      } catch (error) {
        last = error;
      }
    }
    if (last !== undefined)
      logger.debug('no upstream DNS server has answered', { reason: errorMessage(last) });
    const entry = { ...failure(RCODE.SERVFAIL), ttlOffsets: [] };
    return this.#remember(key, entry, SILENCE_TTL);
  }

  /**
   * Returns the healthy servers, beginning at a random one. If none is healthy, returns all, since
   * the health checks may be wrong.
   */
  #order(): readonly Upstream[] {
    const usable = this.#upstreams.filter(({ loops }) => !loops);
    const healthy = usable.filter((upstream) => upstream.healthy);
    if (healthy.length === 0 && usable.length > 0) this.#config.metrics.allUnhealthy();
    const candidates = healthy.length > 0 ? healthy : usable;
    if (candidates.length < 2) return candidates;
    const first = this.#config.random.int(candidates.length);
    return [...candidates.slice(first), ...candidates.slice(0, first)];
  }

  #keep(key: string, { message, skimmed }: UpstreamAnswer): Forwarded {
    const { questionEnd, recordsEnd, counts, ttlOffsets, rcode, flags } = skimmed;
    const entry = {
      rcode,
      flags: flags & (FLAG.RA | FLAG.AD | FLAG.TC),
      // Copied, because the packet may be part of a large pool.
      bytes: Buffer.from(message.subarray(questionEnd, recordsEnd)),
      counts,
      ttlOffsets: ttlOffsets.map((offset) => offset - questionEnd),
    };
    return this.#remember(key, entry, keepSeconds(skimmed));
  }

  #remember(
    key: string,
    entry: Omit<CacheEntry, 'storedAt' | 'expiresAt' | 'cached'>,
    seconds: number,
  ): Forwarded {
    const { rcode, flags, bytes, counts, ttlOffsets } = entry;
    const truncated = (flags & FLAG.TC) !== 0;
    if (seconds > 0 && !truncated && bytes.length <= MAX_CACHED_BYTES) {
      const storedAt = this.#config.clock.monotonic();
      const positive = rcode === RCODE.NOERROR && counts[0] > 0;
      const [cache, other] = positive
        ? [this.#positive, this.#negative]
        : [this.#negative, this.#positive];
      const kept: CacheEntry = {
        rcode,
        flags,
        bytes,
        counts,
        ttlOffsets,
        storedAt,
        expiresAt: storedAt + seconds * 1000,
      };
      cache.set(key, kept);
      // The other cache must not keep an older answer for longer.
      if (other.peek(key) !== undefined) other.set(key, { ...kept, expiresAt: 0 });
    }
    return { rcode, flags, bytes: capped(bytes, ttlOffsets), counts, cached: false };
  }

  /**
   * Asks each server for a name that only this process uses. If the question arrives here, the
   * server loops back to this process.
   */
  async detectLoops(): Promise<void> {
    const { random } = this.#config;
    await Promise.all(
      this.#upstreams.map(async (upstream) => {
        const label = Buffer.from(random.bytes(16)).toString('hex');
        this.#loopProbes.set(label, upstream);
        const question = Buffer.from([label.length, ...Buffer.from(label), 0, 0, TYPE.HINFO, 0, 1]);
        await upstream
          .ask({ question, dnssecOk: false, checkingDisabled: false, complete: false })
          .catch(() => undefined);
        this.#loopProbes.delete(label);
      }),
    );
  }

  /**
   * Reports whether the question is a returned probe of this forwarder; its server is then not used
   * any more.
   */
  noticeLoop(labels: readonly string[], type: number): boolean {
    if (type !== TYPE.HINFO || labels.length !== 1 || this.#loopProbes.size === 0) return false;
    const upstream = this.#loopProbes.get(labels[0]!);
    if (upstream === undefined) return false;
    if (!upstream.loops) {
      upstream.setLoops();
      this.#config.logger.error('upstream DNS server forwards to this server, ignoring it', {
        server: upstream.name,
      });
    }
    return true;
  }
}

function keepSeconds({ rcode, ttl }: Skimmed): number {
  if (rcode === RCODE.SERVFAIL) return FAILURE_TTL;
  if (rcode !== RCODE.NOERROR && rcode !== RCODE.NXDOMAIN) return 0;
  return Math.min(ttl, MAX_TTL);
}

/**
 * Returns the cache key of a question: its name in lower case. Type and class stay as they are,
 * since their bytes may look like letters. Lengths of labels cannot.
 */
function keyOf({ question, dnssecOk, checkingDisabled }: Ask): string {
  const nameEnd = question.length - 4;
  const name = question
    .toString('latin1', 0, nameEnd)
    .replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
  const variant = (dnssecOk ? 1 : 0) | (checkingDisabled ? 2 : 0);
  return name + question.toString('latin1', nameEnd) + String(variant);
}

/** Returns the entry with the remaining TTLs. */
function aged(entry: CacheEntry, seconds: number): Forwarded {
  const bytes = Buffer.from(entry.bytes);
  for (const offset of entry.ttlOffsets) {
    const ttl = Math.min(bytes.readUInt32BE(offset), MAX_TTL);
    bytes.writeUInt32BE(Math.max(0, ttl - seconds), offset);
  }
  return { rcode: entry.rcode, flags: entry.flags, bytes, counts: entry.counts, cached: true };
}

/**
 * Returns a copy with limited TTLs, as CoreDNS' cache does: clients do not cache an answer for
 * longer than this server.
 */
function capped(bytes: Buffer, ttlOffsets: readonly number[]): Buffer {
  const copy = Buffer.from(bytes);
  for (const offset of ttlOffsets)
    copy.writeUInt32BE(Math.min(copy.readUInt32BE(offset), MAX_TTL), offset);
  return copy;
}
