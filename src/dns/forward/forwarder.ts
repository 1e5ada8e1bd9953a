// Forwards questions to upstream servers, and caches their answers for as long as their TTLs allow.

import type { Clock } from '#machinery/clock.ts';
import { errorMessage } from '#machinery/error-message.ts';
import type { Logger } from '#machinery/log.ts';
import type { Random } from '#machinery/random.ts';
import type { ForwardSource } from '../configuration.ts';
import type { DnsMetrics } from '../metrics.ts';
import type { DnsSockets, SocketAddress } from '../system/sockets.ts';
import { formatName, readLabels } from '../wire/names.ts';
import { FLAG, RCODE, TYPE } from '../wire/types.ts';
import { AnswerCache, type UpstreamRecords } from './answer-cache.ts';
import { type Ask, Upstream, type UpstreamAnswer } from './upstream.ts';

export interface ForwarderConfig {
  readonly servers: readonly SocketAddress[];
  readonly settings: Omit<ForwardSource, 'servers' | 'kind' | 'from' | 'except'>;
  readonly sockets: DnsSockets;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: DnsMetrics;
}

/** An answer, and whether it comes from the cache. */
export interface Forwarded extends Omit<UpstreamRecords, 'ttlOffsets'> {
  readonly cached: boolean;
}

/**
 * How long it is cached that no server answers, in seconds: short, since the network may have
 * failed.
 */
const SILENCE_TTL = 1;
/** The time limit over all servers, as in CoreDNS. */
const DEADLINE_MS = 5000;
const MAX_TRIES = 3;

const failure = (rcode: number): UpstreamRecords => ({
  rcode,
  flags: FLAG.RA,
  bytes: Buffer.alloc(0),
  counts: [0, 0, 0],
  ttlOffsets: [],
});

export class Forwarder {
  readonly #config: ForwarderConfig;
  readonly #upstreams: readonly Upstream[];
  readonly #cache: AnswerCache | undefined;
  /** The number of the next server, for the policy round_robin. */
  #turn = 0;
  /**
   * Identical questions of several clients are asked once. This also denies a forger several
   * chances for one name.
   */
  readonly #asking = new Map<string, Promise<Forwarded>>();
  /** The names of this forwarder's loop probes. */
  readonly #loopProbes = new Map<string, Upstream>();

  constructor(config: ForwarderConfig) {
    this.#config = config;
    const { cache } = config.settings;
    this.#cache = cache === undefined ? undefined : new AnswerCache(cache, config.clock);
    this.#upstreams = config.servers.map((server) => new Upstream({ ...config, server }));
  }

  get upstreams(): readonly Upstream[] {
    return this.#upstreams;
  }

  get cacheSizes(): { readonly success: number; readonly denial: number } {
    return this.#cache?.sizes ?? { success: 0, denial: 0 };
  }

  close(): void {
    for (const upstream of this.#upstreams) upstream.close();
  }

  /** Returns a cached answer; undefined if there is none. */
  cached(ask: Ask): Forwarded | undefined {
    if (this.#cache === undefined) return undefined;
    const found = this.#cache.get(keyOf(ask));
    if (found === undefined) this.#config.metrics.cacheMiss();
    else this.#config.metrics.cacheHit(found.kind);
    return found && { ...found.answer, cached: true };
  }

  /** Returns an answer. Never rejects: a question that no server answers in time gets SERVFAIL. */
  resolve(ask: Ask): Promise<Forwarded> {
    const key = keyOf(ask);
    const id = ask.complete ? `${key}+` : key;
    const present = this.#asking.get(id);
    if (present !== undefined) return present;
    const { settings, metrics } = this.#config;
    if (this.#asking.size >= settings.maxConcurrent) {
      metrics.forwardRejected();
      return Promise.resolve({ ...failure(RCODE.REFUSED), cached: false });
    }
    const asking = this.#resolve(ask, key).finally(() => this.#asking.delete(id));
    this.#asking.set(id, asking);
    return asking;
  }

  async #resolve(ask: Ask, key: string): Promise<Forwarded> {
    const { clock, logger, settings } = this.#config;
    const until = clock.monotonic() + DEADLINE_MS;
    let last: unknown;
    for (const upstream of this.#order().slice(0, MAX_TRIES)) {
      if (clock.monotonic() >= until) break;
      try {
        return { ...this.#keep(key, ask, await upstream.ask(ask)), cached: false };
      } catch (error) {
        last = error;
      }
    }
    if (last !== undefined)
      logger[settings.logsFailures ? 'error' : 'debug']('no upstream DNS server has answered', {
        name: formatName(readLabels(ask.question, 0)),
        reason: errorMessage(last),
      });
    const silence = failure(RCODE.SERVFAIL);
    this.#cache?.keepSilence(key, ask.question, silence, SILENCE_TTL);
    return { ...silence, cached: false };
  }

  /**
   * Returns the healthy servers, in the order of the policy. If none is healthy, returns all, since
   * the health checks may be wrong.
   */
  #order(): readonly Upstream[] {
    const usable = this.#upstreams.filter(({ loops }) => !loops);
    const healthy = usable.filter((upstream) => upstream.healthy);
    if (healthy.length === 0 && usable.length > 0) this.#config.metrics.allUnhealthy();
    const candidates = healthy.length > 0 ? healthy : usable;
    if (candidates.length < 2) return candidates;
    const first = this.#first(candidates.length);
    return [...candidates.slice(first), ...candidates.slice(0, first)];
  }

  #first(count: number): number {
    const { settings, random } = this.#config;
    switch (settings.policy) {
      case 'random':
        return random.int(count);
      case 'round_robin':
        return this.#turn++ % count;
      case 'sequential':
        return 0;
    }
  }

  #keep(key: string, { question }: Ask, { message, skimmed }: UpstreamAnswer): UpstreamRecords {
    const { questionEnd, recordsEnd, counts, ttlOffsets, rcode, flags, ttl } = skimmed;
    const answer: UpstreamRecords = {
      rcode,
      flags: flags & (FLAG.RA | FLAG.AD | FLAG.TC),
      // Copied, because the packet may be part of a large pool.
      bytes: Buffer.from(message.subarray(questionEnd, recordsEnd)),
      counts,
      ttlOffsets: ttlOffsets.map((offset) => offset - questionEnd),
    };
    return this.#cache?.keep(key, question, answer, ttl) ?? answer;
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
