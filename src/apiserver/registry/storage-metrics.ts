// Metrics of stored objects, and of events from the storage, for each resource. The names are
// upstream's.

import type { Logger } from '#machinery/log.ts';
import {
  Counter,
  counterText,
  Family,
  gaugeText,
  type Sample,
} from '#machinery/metrics/instruments.ts';
import type { Storage } from '#storage/interface.ts';

interface StoredResource {
  readonly group: string;
  readonly resource: string;
}

/** The metrics of one resource, until they are unregistered. */
export interface ResourceMetrics {
  readonly events: Counter;
  /** Stops counting the resource's objects. Idempotent. */
  unregister(): void;
}

/** Upstream's label of its first storage cluster; there is only one here. */
const CLUSTER_ID = 'etcd-0';

export class StorageMetrics {
  readonly #storage: Storage;
  readonly #logger: Logger;
  /** Resources by prefix. */
  readonly #resources = new Map<string, StoredResource>();
  readonly #events = new Family(
    {
      name: 'apiserver_storage_events_received_total',
      help: 'Events received from the storage. A resource that is not watched receives none.',
      labels: ['group', 'resource'],
    },
    () => new Counter(),
  );

  constructor(config: { readonly storage: Storage; readonly logger: Logger }) {
    this.#storage = config.storage;
    this.#logger = config.logger;
  }

  /** Registers the resource with this prefix, and replaces an earlier one. */
  register(group: string, resource: string, prefix: string): ResourceMetrics {
    const registered = { group, resource };
    this.#resources.set(prefix, registered);
    return {
      events: this.#events.with(group, resource),
      unregister: () => {
        if (this.#resources.get(prefix) === registered) this.#resources.delete(prefix);
      },
    };
  }

  /**
   * Returns the metrics in Prometheus' text format. Values that the storage cannot provide are left
   * out, and logged.
   */
  async text(): Promise<string> {
    const texts = await Promise.all(
      [this.#objectCounts(), this.#size()].map((part) =>
        part.catch((error: unknown) => this.#failed(error)),
      ),
    );
    return texts.join('') + counterText(this.#events);
  }

  async #objectCounts(): Promise<string> {
    const counted = await Promise.all(
      [...this.#resources].map(async ([prefix, { group, resource }]) => ({
        group,
        resource,
        count: await this.#storage.count(prefix),
      })),
    );
    const named = counted.map(({ group, resource, count }): Sample => [
      [group === '' ? resource : `${resource}.${group}`],
      count,
    ]);
    const grouped = counted.map(({ group, resource, count }): Sample => [[group, resource], count]);
    return (
      gaugeText(
        {
          name: 'apiserver_storage_objects',
          help: 'Objects in the storage.',
          labels: ['resource'],
        },
        named,
      ) +
      gaugeText(
        {
          name: 'apiserver_resource_objects',
          help: 'Objects in the storage.',
          labels: ['group', 'resource'],
        },
        grouped,
      )
    );
  }

  async #size(): Promise<string> {
    const bytes = await this.#storage.sizeBytes?.();
    if (bytes === undefined) return '';
    const help = "Bytes of the storage's database.";
    return gaugeText(
      { name: 'apiserver_storage_size_bytes', help, labels: ['storage_cluster_id'] },
      [[[CLUSTER_ID], bytes]],
    );
  }

  #failed(err: unknown): string {
    this.#logger.warn('metrics: reading the size of the storage failed', { err });
    return '';
  }
}
