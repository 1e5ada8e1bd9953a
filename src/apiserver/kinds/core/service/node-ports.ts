// Node ports. Which are taken is in one object of the store (a RangeAllocation, where Kubernetes keeps its own), which every
// server changes only from the state that it has read: so no two of them give out the same port.
//
// Services that come together are served together, with one write for all of them.

import type { RangeAllocation } from '#api/groups/core/v1/index.ts';
import { decodeFromStorage, encodeForStorage } from '#api/machinery/codec/index.ts';
import type { Logger } from '#machinery/log.ts';
import type { KeyValue, Storage, UpdateDecision } from '#storage/interface.ts';
import { storageToStatus } from '#apiserver/registry/storage-errors.ts';
import { formatPortRange, PortBits, type PortRange } from './port-bits.ts';

export const NODE_PORTS_KEY = '/registry/ranges/servicenodeports';

/** A change of what is taken. May be run again, on another state: it has no effects but on the ports that it is given. */
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
  /** As last read or written: a first guess. */
  #last: KeyValue | undefined;

  constructor(config: NodePortsConfig) {
    this.#config = config;
  }

  get range(): PortRange {
    return this.#config.range;
  }

  /** Carries out the plan and answers what it does; nothing is changed if it throws. Rejects with a StatusError if the store does. */
  change<T>(plan: PortPlan<T>): Promise<T> {
    const answer = new Promise<T>((resolve, reject) => {
      this.#waiting.push({ plan, resolve: resolve as (answer: unknown) => void, reject });
    });
    if (!this.#working) void this.#work();
    return answer;
  }

  /** What the plan would answer. Nothing is changed. */
  async try<T>(plan: PortPlan<T>): Promise<T> {
    const { ports } = await this.read();
    return plan(ports);
  }

  /** Gives ports back. What fails is left to the repair. */
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

  /** What is taken, and the revision at which that was so (0: nothing has ever been). */
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

  /** Puts another state in the place of the one at `revision`; false, and nothing changed, if it is not that one any more. */
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

  async #work(): Promise<void> {
    this.#working = true;
    // Whoever else comes in this turn comes along.
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
              const answer = plan(draft);
              ports = draft;
              return { answer };
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

  /** Ports that were taken when the range was another one count as far as they are in this one. */
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
