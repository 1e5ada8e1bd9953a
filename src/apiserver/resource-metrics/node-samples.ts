// The latest two samples of each node. A node is scraped when its metrics are requested and the last
// sample is older than a second. Nodes whose metrics are not requested cost nothing.
//
// CPU usage needs two measurements. If a kubelet has computed no usage yet, the first request waits a
// second, and scrapes it again.

import type { Clock } from '#machinery/clock.ts';
import { errorMessage } from '#machinery/error-message.ts';
import type { Logger } from '#machinery/log.ts';
import type { NodeTarget } from '../node-connector.ts';
import type { ScrapeNode } from './kubelet-scraper.ts';
import type { NodeSample } from './summary.ts';
import { MAX_WINDOW_MS, type Usage, usageOf } from './usage.ts';

export interface NodeUsages {
  /** Undefined: the node's usage is not known. */
  readonly node: Usage | undefined;
  /**
   * Returns the usage of a pod's containers by name; undefined unless the usage of all of them is
   * known.
   */
  pod(key: string): ReadonlyMap<string, Usage> | undefined;
}

export interface NodeSamplesConfig {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly scrape: ScrapeNode;
}

interface Entry {
  /** When it was last requested, in monotonic ms. */
  usedAt: number;
  latest: { readonly sample: NodeSample; readonly at: number } | undefined;
  previous: NodeSample | undefined;
  /** The node did not answer at this time. */
  failedAt: number;
  /** The scrape that is in progress. */
  pending: Promise<void> | undefined;
}

/** Samples up to this age are used again. */
const RESOLUTION_MS = 1000;
/** A kubelet that did not answer is not asked again for this time. */
const RETRY_MS = 10_000;
/** Nodes that are scraped at a time. */
const CONCURRENCY = 32;

export class NodeSamples {
  readonly #config: NodeSamplesConfig;
  readonly #entries = new Map<string, Entry>();
  #prunedAt = Number.NEGATIVE_INFINITY;

  constructor(config: NodeSamplesConfig) {
    this.#config = config;
  }

  /** The number of nodes with samples. */
  get size(): number {
    return this.#entries.size;
  }

  /** Returns the usages by node. Nodes that do not answer are left out. */
  async read(targets: readonly NodeTarget[]): Promise<ReadonlyMap<string, NodeUsages>> {
    const { clock } = this.#config;
    this.#prune();
    await this.#scrape(targets);
    const incomplete = targets.filter(({ name }) => this.#isIncomplete(name));
    if (incomplete.length > 0) {
      await clock.sleep(RESOLUTION_MS);
      await this.#scrape(incomplete);
    }
    const usages = new Map<string, NodeUsages>();
    for (const { name } of targets) {
      const usage = this.#usagesOf(name);
      if (usage !== undefined) usages.set(name, usage);
    }
    return usages;
  }

  async #scrape(targets: readonly NodeTarget[]): Promise<void> {
    const left = targets.values();
    const work = async (): Promise<void> => {
      for (const target of left) await this.#refresh(target);
    };
    await Promise.all(Array.from({ length: Math.min(CONCURRENCY, targets.length) }, work));
  }

  async #refresh(target: NodeTarget): Promise<void> {
    const now = this.#config.clock.monotonic();
    let entry = this.#entries.get(target.name);
    if (entry === undefined) {
      entry = {
        usedAt: now,
        latest: undefined,
        previous: undefined,
        failedAt: Number.NEGATIVE_INFINITY,
        pending: undefined,
      };
      this.#entries.set(target.name, entry);
    }
    entry.usedAt = now;
    if (entry.pending !== undefined) return entry.pending;
    if (now - entry.failedAt < RETRY_MS) return undefined;
    if (entry.latest !== undefined && now - entry.latest.at < RESOLUTION_MS) return undefined;
    entry.pending = this.#take(target, entry).finally(() => (entry.pending = undefined));
    return entry.pending;
  }

  async #take(target: NodeTarget, entry: Entry): Promise<void> {
    const { clock, logger, scrape } = this.#config;
    try {
      const sample = await scrape(target);
      entry.previous = entry.latest?.sample;
      entry.latest = { sample, at: clock.monotonic() };
      entry.failedAt = Number.NEGATIVE_INFINITY;
    } catch (error) {
      entry.latest = undefined;
      entry.previous = undefined;
      entry.failedAt = clock.monotonic();
      logger.debug('metrics: kubelet not scraped', {
        node: target.name,
        reason: errorMessage(error),
      });
    }
  }

  /** Reports whether another sample is needed for the usage of the node or a container. */
  #isIncomplete(name: string): boolean {
    const { latest, previous } = this.#entries.get(name) ?? {};
    if (latest === undefined) return false;
    const { node, pods } = latest.sample;
    if (node !== undefined && usageOf(node, previous?.node) === undefined) return true;
    for (const [key, containers] of pods) {
      const before = previous?.pods.get(key);
      for (const [container, point] of containers)
        if (point !== undefined && usageOf(point, before?.get(container)) === undefined)
          return true;
    }
    return false;
  }

  #usagesOf(name: string): NodeUsages | undefined {
    const { latest, previous } = this.#entries.get(name) ?? {};
    if (latest === undefined) return undefined;
    const { sample } = latest;
    return {
      node: usageOf(sample.node, previous?.node),
      pod: (key) => {
        const usages = new Map<string, Usage>();
        const before = previous?.pods.get(key);
        for (const [container, point] of sample.pods.get(key) ?? []) {
          const usage = usageOf(point, before?.get(container));
          if (usage === undefined) return undefined;
          usages.set(container, usage);
        }
        return usages.size === 0 ? undefined : usages;
      },
    };
  }

  /** Forgets nodes whose metrics are not requested any longer. */
  #prune(): void {
    const now = this.#config.clock.monotonic();
    if (now - this.#prunedAt < MAX_WINDOW_MS) return;
    this.#prunedAt = now;
    for (const [name, { usedAt, pending }] of this.#entries)
      if (pending === undefined && now - usedAt > MAX_WINDOW_MS) this.#entries.delete(name);
  }
}
