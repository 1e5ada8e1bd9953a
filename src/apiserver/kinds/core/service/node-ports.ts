// Allocates node ports. The allocated ports are in one object of the store (a RangeAllocation, at
// Kubernetes' key). A server changes it only if it is unchanged since it was read, so two servers
// never allocate the same port.
//
// Concurrent writes of services share one write of that object.

import type { RangeAllocation } from '#api/groups/core/v1/index.ts';
import { decodeFromStorage, encodeForStorage } from '#api/machinery/codec/index.ts';
import type { Logger } from '#machinery/log.ts';
import type { KeyValue, Storage, UpdateDecision } from '#storage/interface.ts';
import { storageToStatus } from '#apiserver/registry/storage-errors.ts';
import { formatPortRange, PortBits, type PortRange } from './port-bits.ts';

export const NODE_PORTS_KEY = '/registry/ranges/servicenodeports';

/**
 * A change of the allocated ports. It may be run again on another state, so it must have no other
 * effects.
 */
type PortPlan<T> = (ports: PortBits) => T;

export interface NodePortsConfig {
  readonly storage: Storage;
  readonly logger: Logger;
  readonly range: PortRange;
}

interface Waiting {
  readonly plan: PortPlan<unknown>;
  readonly resolve: (answer: unknown) => void;
  readonly reject: (reason: unknown) => void;
}

type Outcome = { readonly answer: unknown } | { readonly error: unknown };

export class NodePorts {
  readonly #config: NodePortsConfig;
  #waiting: Waiting[] = [];
  #working = false;
  /** The object as it was last read or written: the first guess. */
  #last: KeyValue | undefined;

  constructor(config: NodePortsConfig) {
    this.#config = config;
  }

  get range(): PortRange {
    return this.#config.range;
  }

  /**
   * Runs the plan and returns its result. If it throws, nothing is changed. Rejects with a
   * StatusError if the store fails.
   */
  change<T>(plan: PortPlan<T>): Promise<T> {
    const planned = new Promise<T>((resolve, reject) => {
      this.#waiting.push({ plan, resolve: resolve as (answer: unknown) => void, reject });
    });
    if (!this.#working) void this.#serveWaiting();
    return planned;
  }

  /** Returns the result of the plan without changing anything. */
  async try<T>(plan: PortPlan<T>): Promise<T> {
    const { ports } = await this.read();
    return plan(ports);
  }

  /** Releases ports. Failures are left to the repair loop. */
  async release(ports: readonly number[]): Promise<void> {
    if (ports.length === 0) return;
    try {
      await this.change((taken) => ports.forEach((port) => taken.release(port)));
    } catch (error) {
      this.#config.logger.warn('releasing node ports failed', {
        ports: ports.join(','),
        err: error,
      });
    }
  }

  /**
   * Returns the allocated ports, and the revision of that state (0: nothing was ever allocated).
   */
  async read(): Promise<{
    readonly ports: PortBits;
    readonly revision: number;
    readonly stored: boolean;
  }> {
    try {
      const kv = await this.#config.storage.get(NODE_PORTS_KEY);
      return { ports: this.#portsOf(kv), revision: kv?.modRevision ?? 0, stored: kv !== undefined };
    } catch (error) {
      throw storageToStatus(error);
    }
  }

  /**
   * Replaces the state at `revision`. Returns false, without a change, if it is not the current
   * one.
   */
  async replace(revision: number, ports: PortBits): Promise<boolean> {
    let same = false;
    try {
      await this.#config.storage.guaranteedUpdate(NODE_PORTS_KEY, (current) => {
        same = (current?.modRevision ?? 0) === revision;
        return same ? this.#decision(current, ports) : { action: 'keep' };
      });
      return same;
    } catch (error) {
      throw storageToStatus(error);
    }
  }

  async #serveWaiting(): Promise<void> {
    this.#working = true;
    // Plans of the same turn join this write.
    await Promise.resolve();
    while (this.#waiting.length > 0) await this.#serve(this.#waiting.splice(0));
    this.#working = false;
  }

  async #serve(batch: readonly Waiting[]): Promise<void> {
    let outcomes: readonly Outcome[] = [];
    try {
      const result = await this.#config.storage.guaranteedUpdate(
        NODE_PORTS_KEY,
        (current) => {
          let ports = this.#portsOf(current);
          outcomes = batch.map(({ plan }): Outcome => {
            const draft = ports.copy();
            try {
              const planResult = plan(draft);
              ports = draft;
              return { answer: planResult };
            } catch (error) {
              return { error };
            }
          });
          return this.#decision(current, ports);
        },
        { guess: this.#last },
      );
      this.#last = result.kv;
    } catch (error_) {
      this.#last = undefined;
      const error = storageToStatus(error_);
      outcomes = batch.map(() => ({ error }));
    }
    batch.forEach(({ resolve, reject }, index) => {
      const outcome = outcomes[index]!;
      if ('error' in outcome) reject(outcome.error);
      else resolve(outcome.answer);
    });
  }

  /**
   * Returns the allocated ports. Ports outside of the current range, from an earlier configuration,
   * are ignored.
   */
  #portsOf(kv: KeyValue | undefined): PortBits {
    const { range } = this.#config;
    if (kv === undefined) return new PortBits(range);
    const stored = decodeFromStorage<RangeAllocation>(kv.value, kv.modRevision);
    const ports = PortBits.decode(stored.range, stored.data ?? '');
    if (stored.range === formatPortRange(range)) return ports;
    return new PortBits(
      range,
      [...ports.taken].filter((port) => port >= range.first && port <= range.last),
    );
  }

  #decision(current: KeyValue | undefined, ports: PortBits): UpdateDecision {
    const object = {
      kind: 'RangeAllocation',
      apiVersion: 'v1',
      metadata: { creationTimestamp: null },
      ...ports.encode(),
    };
    const value = encodeForStorage(object);
    if (current !== undefined && Buffer.compare(value, current.value) === 0)
      return { action: 'keep' };
    return { action: 'put', value };
  }
}
