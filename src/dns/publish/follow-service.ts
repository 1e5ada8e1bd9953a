// Follows the Service of the cluster's DNS: while it selects pods, these are the DNS, and a server
// that is no pod must not be.

import { services } from '#api/groups/core/v1/index.ts';
import { onAbort } from '#client/abort.ts';
import type { Client } from '#client/client.ts';
import { SharedInformer } from '#client/informers/index.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import type { Random } from '#machinery/random.ts';
import { DNS_SERVICE } from '../serving/dns-server.ts';

export interface FollowServiceConfig {
  /** Needs list and watch rights for Services. */
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

export interface DnsServiceFollower {
  /** Runs until the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
  waitForSync(signal: AbortSignal): Promise<void>;
  /** Whether the Service selects pods. A Service that does not exist selects none. */
  readonly selectsPods: boolean;
  /** Resolves when `selectsPods` is so, or the signal aborts. */
  until(selectsPods: boolean, signal: AbortSignal): Promise<void>;
}

export function followDnsService(config: FollowServiceConfig): DnsServiceFollower {
  const { client, clock, random, logger } = config;
  const { namespace, name } = DNS_SERVICE;
  let selectsPods = false;
  const waiting = new Set<() => void>();
  const informer = new SharedInformer({
    name: 'dns service',
    source: client.resource(services).namespace(namespace),
    fieldSelector: `metadata.name=${name}`,
    clock,
    random,
    logger,
  });
  const set = (next: boolean): void => {
    if (next === selectsPods) return;
    selectsPods = next;
    for (const resolve of waiting) resolve();
  };
  const selects = (selector: Readonly<Record<string, string>> = {}): boolean =>
    Object.keys(selector).length > 0;
  informer.addEventHandler({
    onAdd: ({ spec }) => set(selects(spec.selector)),
    onUpdate: (_previous, { spec }) => set(selects(spec.selector)),
    onDelete: () => set(false),
  });
  return {
    run: (signal) => informer.run(signal),
    waitForSync: (signal) => informer.waitForSync(signal),
    get selectsPods() {
      return selectsPods;
    },
    until: (wanted, signal) =>
      new Promise((resolve) => {
        if (selectsPods === wanted || signal.aborted) return resolve();
        const done = (): void => {
          waiting.delete(done);
          stopListening();
          resolve();
        };
        const stopListening = onAbort(signal, done);
        waiting.add(done);
      }),
  };
}
