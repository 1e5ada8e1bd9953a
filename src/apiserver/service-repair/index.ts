// The repair loops for the addresses and ports of services, which run as long as the server does.

import { services } from '#api/groups/core/v1/index.ts';
import type * as core from '#api/groups/core/v1/index.ts';
import { serviceCIDRs } from '#api/groups/networking/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { Client } from '#client/client.ts';
import { EventRecorder } from '#client/events/index.ts';
import { objectKey, SharedInformerFactory } from '#client/informers/index.ts';
import { RateLimitingQueue, reconciled, runWorkers } from '#client/workqueue/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { Awaitable } from '#machinery/awaitable.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import type { Random } from '#machinery/random.ts';
import type { NodePorts } from '../kinds/core/service/node-ports.ts';
import { ClusterIpRepair } from './cluster-ip-repair.ts';
import { DEFAULT_SERVICE_CIDR, DefaultServiceCidr } from './default-service-cidr.ts';
import { NodePortRepair } from './node-port-repair.ts';

export interface ServiceRepairConfig {
  /** The server's own client. */
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** The range in the server's configuration: one, or one of each family. */
  readonly cidrs: readonly string[];
  readonly ports: NodePorts;
  listServices(): Awaitable<readonly Immutable<core.Service>[]>;
  /** Creates the Service by which pods reach the API server, if it does not exist. */
  keepKubernetesService(): Promise<void>;
}

const KUBERNETES_SERVICE = 'default/kubernetes';
/** The number of attempts of the first check if other servers write the same objects. */
const ATTEMPTS = 10;

export class ServiceRepair {
  readonly #config: ServiceRepairConfig;
  readonly #recorders: readonly EventRecorder[];
  readonly #informers: SharedInformerFactory;
  readonly #defaultRange: DefaultServiceCidr;
  readonly #clusterIPs: ClusterIpRepair;
  readonly #nodePorts: NodePortRepair;

  constructor(config: ServiceRepairConfig) {
    this.#config = config;
    const { client, clock, random, logger, cidrs, ports, listServices } = config;
    const recorderOf = (component: string): EventRecorder =>
      new EventRecorder({ client, clock, random, logger, component });
    const [forRange, forAddresses, forPorts] = [
      recorderOf('kubernetes-service-cidr-controller'),
      recorderOf('ipallocator-repair-controller'),
      recorderOf('portallocator-repair-controller'),
    ] as const;
    this.#recorders = [forRange, forAddresses, forPorts];
    this.#informers = new SharedInformerFactory({ client, clock, random, logger });
    this.#defaultRange = new DefaultServiceCidr({
      client,
      clock,
      logger,
      recorder: forRange,
      cidrs,
    });
    this.#clusterIPs = new ClusterIpRepair({
      client,
      informers: this.#informers,
      clock,
      logger,
      recorder: forAddresses,
    });
    this.#nodePorts = new NodePortRepair({
      ports,
      clock,
      logger,
      recorder: forPorts,
      listServices,
    });
  }

  /**
   * Completes the steps that are needed before services get addresses: the default range exists,
   * and the allocations are consistent.
   */
  async begin(): Promise<void> {
    await patiently(() => this.#defaultRange.sync());
    await patiently(() => this.#clusterIPs.checkAll());
    await this.#nodePorts.check();
  }

  /** Runs the loops until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#config;
    // The default range is created again when it is deleted, and its condition is checked whenever
    // it changes.
    const queue = new RateLimitingQueue({ clock });
    const consider = ({ metadata }: { readonly metadata: { readonly name: string } }): void => {
      if (metadata.name === DEFAULT_SERVICE_CIDR) queue.add(DEFAULT_SERVICE_CIDR);
    };
    this.#informers.informerFor(serviceCIDRs).addEventHandler({
      onAdd: consider,
      onUpdate: (_, range) => consider(range),
      onDelete: consider,
    });
    // The Service is created again, too. It may also be missing after a start.
    queue.add(KUBERNETES_SERVICE);
    this.#informers.informerFor(services).addEventHandler({
      onDelete: (service) => {
        if (objectKey(service) === KUBERNETES_SERVICE) queue.add(KUBERNETES_SERVICE);
      },
    });
    const keep = async (what: string) => {
      await (what === KUBERNETES_SERVICE
        ? this.#config.keepKubernetesService()
        : this.#defaultRange.sync());
      return reconciled;
    };
    this.#informers.start(signal);
    const results = await Promise.allSettled([
      runWorkers(queue, 1, keep, signal, { logger }),
      this.#clusterIPs.run(signal),
      this.#nodePorts.run(signal),
      this.#informers.stopped(),
    ]);
    for (const recorder of this.#recorders) recorder.stop();
    const failure = results.find((result) => result.status === 'rejected');
    if (failure !== undefined && !signal.aborted) throw failure.reason;
  }
}

/**
 * Repeats a step that conflicts with other servers, which may start at the same time and repair the
 * same.
 */
async function patiently(step: () => Promise<void>): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await step();
    } catch (error) {
      const isRace =
        apierrors.isConflict(error) ||
        apierrors.isAlreadyExists(error) ||
        apierrors.isNotFound(error);
      if (!isRace || attempt === ATTEMPTS) throw error;
    }
  }
}
