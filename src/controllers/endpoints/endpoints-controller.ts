// Maintains the Endpoints object of every service that selects pods, for clients that do not read
// EndpointSlices.

import {
  endpoints,
  type Endpoints,
  pods,
  type Service,
  services,
} from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { EventRecorder } from '#client/events/index.ts';
import { objectKey, type SharedInformer, splitKey } from '#client/informers/index.ts';
import { formatTime } from '#machinery/text/time.ts';
import {
  reconciled,
  type ReconcileResult,
  requeue,
  requeueAfter,
} from '#client/workqueue/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { semanticEqual } from '#machinery/deep.ts';
import { errorMessage } from '#machinery/error-message.ts';
import { ControllerBuilder } from '../builder.ts';
import type { Controller, ControllerConfig } from '../controller.ts';
import { isHeadless, lastChangeMs } from '../endpointslice/pod-endpoints.ts';
import { changesEndpoints, hasSelector, ServicePods } from '../endpointslice/selection.ts';
import { HEADLESS, LAST_CHANGE } from '../endpointslice/slice-metadata.ts';
import { OwnWrites } from '../own-writes.ts';
import { PodBatching } from '../pod-batching.ts';
import { isNamespaceTerminating } from '../pod-control.ts';
import { subsetsOf, truncate } from './subsets.ts';

type ReadEndpoints = Immutable<Endpoints>;

const OVER_CAPACITY = 'endpoints.kubernetes.io/over-capacity';
const MANAGED_BY = 'endpoints.kubernetes.io/managed-by';
const MANAGER = 'endpoint-controller';

export interface EndpointsControllerConfig extends ControllerConfig {
  /** The number of services that are reconciled at once. Default: 5. */
  readonly workers?: number;
}

export class EndpointsController implements Controller {
  readonly name = 'endpoints-controller';
  readonly run: Controller['run'];
  readonly #config: EndpointsControllerConfig;
  readonly #servicePods: ServicePods;
  readonly #endpoints: SharedInformer<ReadEndpoints>;
  readonly #recorder: EventRecorder;
  readonly #own: OwnWrites;
  /**
   * Keys of deleted services: their endpoints are deleted with them, even if another client wrote
   * the endpoints.
   */
  readonly #deletedServices = new Set<string>();
  readonly #batching = new PodBatching();

  constructor(config: EndpointsControllerConfig) {
    const { clock, workers = 5 } = config;
    this.#config = config;
    this.#own = new OwnWrites({ clock });
    const builder = new ControllerBuilder(config, {
      queue: 'endpoint',
      workers,
      reconcile: (key, signal) => this.#reconcile(key, signal),
    });
    this.#recorder = builder.recorder('endpoint-controller');
    this.#servicePods = new ServicePods(builder);
    builder.for(services, {
      onGone: (service) => void this.#deletedServices.add(objectKey(service)),
    });
    builder.watches(pods, (pod) => this.#servicePods.servicesOf(pod).map(objectKey), {
      predicate: { update: changesEndpoints },
      maps: 'both',
      enqueue: (key) => builder.queue.addAfter(key, this.#batching.delayMs(key)),
    });
    this.#endpoints = builder.watches(endpoints, objectKey, {
      onSeen: (object) => this.#own.seen(objectKey(object), object),
      onGone: (object) => this.#own.gone(objectKey(object), object),
    });
    this.run = builder.complete();
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult> {
    const waitMs = this.#own.remainingMs(key);
    if (waitMs > 0) return requeueAfter(waitMs);
    const service = this.#servicePods.services.lister.getByKey(key);
    const present = this.#endpoints.lister.getByKey(key);
    try {
      if (service === undefined) {
        this.#batching.forget(key);
        // Endpoints without a service were created by users. This controller leaves them alone.
        const goes =
          this.#deletedServices.has(key) || present?.metadata.labels?.[MANAGED_BY] === MANAGER;
        if (present !== undefined && goes) await this.#delete(present, signal);
        this.#deletedServices.delete(key);
        return reconciled;
      }
      this.#deletedServices.delete(key);
      if (hasSelector(service)) await this.#write(key, service, present, signal);
      return reconciled;
    } catch (error) {
      // The decision was based on stale objects; or the namespace is terminating, so nothing can be
      // created.
      if (isNamespaceTerminating(error)) return reconciled;
      if (
        apierrors.isConflict(error) ||
        apierrors.isNotFound(error) ||
        apierrors.isAlreadyExists(error)
      )
        return requeue;
      throw error;
    }
  }

  async #delete({ metadata }: ReadEndpoints, signal: AbortSignal): Promise<void> {
    const { namespace = '', name, uid } = metadata;
    try {
      await this.#config.client
        .resource(endpoints)
        .namespace(namespace)
        .delete(name, { preconditions: { uid }, signal });
    } catch (error) {
      if (!apierrors.isNotFound(error)) throw error;
    }
  }

  async #write(
    key: string,
    service: Immutable<Service>,
    present: ReadEndpoints | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const selected = this.#servicePods.podsOf(service);
    this.#batching.record(key, selected.length);
    const all = subsetsOf(service, selected);
    const truncated = truncate(all);
    const subsets = truncated ?? all;
    const labels = labelsOf(service);
    const { [OVER_CAPACITY]: before, ...others } = present?.metadata.annotations ?? {};
    const over = truncated === undefined ? undefined : 'truncated';
    const same =
      present !== undefined &&
      semanticEqual(present.subsets ?? [], subsets) &&
      semanticEqual(present.metadata.labels, labels) &&
      before === over;
    if (same) return;
    const changed = lastChangeMs(service, selected);
    const annotations = {
      ...others,
      ...(changed !== undefined && { [LAST_CHANGE]: formatTime(changed) }),
      ...(over !== undefined && { [OVER_CAPACITY]: over }),
    };
    await this.#send(key, service, present, { labels, annotations }, subsets, signal);
  }

  async #send(
    key: string,
    service: Immutable<Service>,
    present: ReadEndpoints | undefined,
    metadata: {
      readonly labels: Record<string, string>;
      readonly annotations: Record<string, string>;
    },
    subsets: ReadEndpoints['subsets'],
    signal: AbortSignal,
  ): Promise<void> {
    const { namespace, name } = splitKey(key);
    const inNamespace = this.#config.client.resource(endpoints).namespace(namespace);
    try {
      const written =
        present === undefined
          ? await inNamespace.create({ metadata: { name, ...metadata }, subsets }, { signal })
          : await inNamespace.update(
              { ...present, metadata: { ...present.metadata, ...metadata }, subsets },
              { signal },
            );
      this.#own.wrote(key, written, this.#endpoints.lister.getByKey(key));
    } catch (error) {
      if (
        !isNamespaceTerminating(error) &&
        !apierrors.isConflict(error) &&
        !apierrors.isAlreadyExists(error)
      ) {
        const [reason, message] =
          present === undefined
            ? [
                'FailedToCreateEndpoint',
                `Failed to create endpoint for service ${namespace}/${name}`,
              ]
            : ['FailedToUpdateEndpoint', `Failed to update endpoint ${namespace}/${name}`];
        const subject = present ?? { apiVersion: 'v1', kind: 'Endpoints', name, namespace };
        this.#recorder.event(subject, 'Warning', reason, `${message}: ${errorMessage(error)}`);
      }
      throw error;
    }
  }
}

function labelsOf(service: Immutable<Service>): Record<string, string> {
  const { [HEADLESS]: _, ...own } = service.metadata.labels ?? {};
  return { ...own, [MANAGED_BY]: MANAGER, ...(isHeadless(service) && { [HEADLESS]: '' }) };
}
