// Maintains the condition Available of every APIService. It checks an APIService when the
// APIService, its service or the EndpointSlices change, and every 30 seconds, since a network may
// fail without a change of any object.

import { apiServices } from '#api/groups/apiregistration/v1/index.ts';
import {
  ExponentialRateLimiter,
  RateLimitingQueue,
  reconciled,
  type ReconcileResult,
  runWorkers,
} from '#client/workqueue/index.ts';
import { type Clock, DISCOVERY, setPoll, stir, type Timer } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import type { UpdateStatus } from '../../catalog/internal-client.ts';
import { type APIService, type ApiServices, isAvailable, isRemote } from '../api-services.ts';
import type { Backends } from '../proxy/backend.ts';
import type { ServiceStates } from '../service-states.ts';
import {
  type Availability,
  failedDiscovery,
  LOCAL,
  PASSED,
  serviceProblem,
  withAvailability,
} from './conditions.ts';
import type { AvailabilityMetrics } from './metrics.ts';
import { probe } from './probe.ts';

const WORKERS = 5;
const RESYNC_MS = 30_000;
const MAX_BACKOFF_MS = 30_000;

export interface AvailabilityConfig {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly apiServices: ApiServices;
  readonly services: Pick<ServiceStates, 'get' | 'synced'>;
  readonly backends: Backends;
  readonly updateStatus: UpdateStatus;
  readonly metrics: AvailabilityMetrics;
}

export class AvailabilityController {
  readonly #config: AvailabilityConfig;
  readonly #queue: RateLimitingQueue;
  #resync: Timer | undefined;

  constructor(config: AvailabilityConfig) {
    this.#config = config;
    const rateLimiter = new ExponentialRateLimiter<string>({ baseMs: 5, maxMs: MAX_BACKOFF_MS });
    this.#queue = new RateLimitingQueue({ clock: config.clock, rateLimiter });
    config.apiServices.onChange((name, now, before) => {
      if (now !== undefined && !isRemote(now) && isLocal(now)) {
        if (before !== undefined && isRemote(before)) this.#queue.add(name);
        else config.metrics.checked(name, true);
        return;
      }
      this.#queue.add(name);
    });
  }

  /** Queues the APIServices of the service. */
  serviceChanged(namespace: string, name: string): void {
    for (const { metadata, spec } of this.#config.apiServices.allRemote()) {
      if (spec.service.namespace === namespace && spec.service.name === name)
        this.#queue.add(metadata.name);
    }
  }

  /** Runs until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { logger } = this.#config;
    const { clock, apiServices } = this.#config;
    const isRemoteServed = (): boolean => !apiServices.allRemote()[Symbol.iterator]().next().done;
    const resync = (): void => {
      for (const { metadata } of apiServices.allRemote()) this.#queue.add(metadata.name);
      // Changes of the kinds that other servers have are only seen by asking them.
      if (isRemoteServed()) stir(clock, DISCOVERY);
    };
    this.#resync = setPoll(clock, RESYNC_MS, resync, { mustRun: isRemoteServed });
    try {
      await runWorkers(
        this.#queue,
        WORKERS,
        (name, aborted) => this.#reconcile(name, aborted),
        signal,
        {
          logger: logger.with({ controller: 'apiservice-availability' }),
        },
      );
    } finally {
      this.#resync?.cancel();
    }
  }

  async #reconcile(name: string, signal: AbortSignal): Promise<ReconcileResult> {
    const { apiServices: table, metrics } = this.#config;
    const service = table.get(name);
    if (service === undefined) {
      metrics.forget(name);
      return reconciled;
    }
    const availability = isRemote(service) ? await this.#check(name, signal) : LOCAL;
    if (availability === undefined) return reconciled;
    await this.#record(service, availability);
    // The condition records the failure. It is not logged, since it would repeat every 30 seconds.
    return availability.reason === 'FailedDiscoveryCheck' ? { next: 'requeue' } : reconciled;
  }

  async #check(name: string, signal: AbortSignal): Promise<Availability | undefined> {
    const { apiServices: table, services, backends, clock } = this.#config;
    const service = table.remote(name);
    if (service === undefined) return undefined;
    const { namespace = '', name: serviceName = '' } = service.spec.service;
    await services.synced(namespace, serviceName);
    const problem = serviceProblem(service.spec.service, services.get(namespace, serviceName));
    if (problem !== undefined) return problem;
    const failure = await probe({ clock, backends }, service, signal);
    return failure === undefined ? PASSED : failedDiscovery(failure);
  }

  async #record(service: APIService, availability: Availability): Promise<void> {
    const { metadata } = service;
    const { updateStatus, metrics, clock, logger } = this.#config;
    const available = availability.status === 'True';
    metrics.checked(metadata.name, available);
    const now = clock.now();
    if (withAvailability(service, availability, now) === service) return;
    const { group, resource } = apiServices;
    let wasAvailable = false;
    let changed = false;
    await updateStatus<Mutable>(group, resource, '', metadata.name, (current) => {
      // A new object of the same name is checked when its event arrives.
      changed = false;
      if (current.metadata.uid !== metadata.uid) return current;
      wasAvailable = isAvailable(current);
      const next = withAvailability(current, availability, now);
      changed = next !== current;
      return next as Mutable;
    });
    if (!changed || wasAvailable === available) return;
    logger.info('aggregator: availability of an APIService changed', {
      apiService: metadata.name,
      ...availability,
    });
    if (!available) metrics.becameUnavailable(metadata.name, availability.reason);
  }
}

type Mutable = APIService & { readonly kind: string; readonly apiVersion: string };

function isLocal({ status }: APIService): boolean {
  return (status?.conditions ?? []).some(
    ({ type, status: value, reason }) =>
      type === 'Available' && value === 'True' && reason === 'Local',
  );
}
