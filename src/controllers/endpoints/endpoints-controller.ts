// Keeps the Endpoints object of every service that selects pods, for clients that do not read endpoint slices.

import { endpoints } from '#api/groups/core/v1/index.ts';
import type { Endpoints, Pod, Service } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { EventRecorder } from '#client/events/index.ts';
import { objectKey, splitKey } from '#client/informers/index.ts';
import type { SharedInformer } from '#client/informers/index.ts';
import { formatTime } from '#client/time.ts';
import { RateLimitingQueue, reconciled, requeue, requeueAfter, runWorkers } from '#client/workqueue/index.ts';
import type { ReconcileResult } from '#client/workqueue/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { semanticEqual } from '#machinery/deep.ts';
import type { Controller, ControllerConfig } from '../controller.ts';
import { isHeadless, lastChangeMs } from '../endpointslice/pod-endpoints.ts';
import { changesEndpoints, hasSelector, ServicePods } from '../endpointslice/selection.ts';
import { HEADLESS, LAST_CHANGE } from '../endpointslice/slice-metadata.ts';
import { OwnWrites } from '../own-writes.ts';
import { isNamespaceTerminating, messageOf } from '../pod-control.ts';
import { subsetsOf, truncate } from './subsets.ts';

type ReadEndpoints = Immutable<Endpoints>;

const OVER_CAPACITY = 'endpoints.kubernetes.io/over-capacity';
const MANAGED_BY = 'endpoints.kubernetes.io/managed-by';
const MANAGER = 'endpoint-controller';

/** A reconcile looks at all pods of a service: the more it has, the longer changes are collected before. */
const COLLECT_MS_PER_POD = 0.1;
const COLLECT_MAX_MS = 200;
const COLLECT_MIN_MS = 1;

export interface EndpointsControllerConfig extends ControllerConfig {
  /** Services that are reconciled at once. Default: 5. */
  readonly workers?: number;
}

export class EndpointsController implements Controller {
  readonly name = 'endpoints-controller';
  readonly #config: EndpointsControllerConfig;
  readonly #servicePods: ServicePods;
  readonly #endpoints: SharedInformer<ReadEndpoints>;
  readonly #queue: RateLimitingQueue;
  readonly #recorder: EventRecorder;
  readonly #own: OwnWrites;
  /** Keys of services that were deleted: their endpoints go with them, also those that somebody else wrote. */
  readonly #deletedServices = new Set<string>();
  /** By key: how many pods the service had when it was last reconciled. */
  readonly #podCounts = new Map<string, number>();

  constructor(config: EndpointsControllerConfig) {
    const { client, clock, random, informers, logger } = config;
    this.#config = config;
    this.#queue = new RateLimitingQueue({ clock, metrics: config.queueMetrics?.('endpoint') });
    this.#own = new OwnWrites({ clock });
    this.#recorder = new EventRecorder({ client, clock, random, logger, component: 'endpoint-controller' });
    this.#servicePods = new ServicePods(informers);
    this.#endpoints = informers.informerFor(endpoints);
    const add = (object: Immutable<Service>): void => this.#queue.add(objectKey(object));
    this.#servicePods.services.addEventHandler({
      onAdd: add,
      onUpdate: (_, service) => add(service),
      onDelete: (service) => {
        this.#deletedServices.add(objectKey(service));
        add(service);
      },
    });
    this.#servicePods.pods.addEventHandler({
      onAdd: (pod) => this.#wake(pod),
      onUpdate: (before, pod) => {
        if (!changesEndpoints(before, pod)) return;
        this.#wake(before);
        this.#wake(pod);
      },
      onDelete: (pod) => this.#wake(pod),
    });
    this.#endpoints.addEventHandler({
      onAdd: (object) => this.#seen(object),
      onUpdate: (before, object) => {
        if (before.metadata.uid !== object.metadata.uid) this.#own.gone(objectKey(before), before);
        this.#seen(object);
      },
      onDelete: (object) => {
        this.#own.gone(objectKey(object), object);
        this.#queue.add(objectKey(object));
      },
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    const { workers = 5, logger } = this.#config;
    const { services, pods } = this.#servicePods;
    await Promise.all([services, pods, this.#endpoints].map((informer) => informer.waitForSync(signal)));
    await runWorkers(this.#queue, workers, (key, stop) => this.#reconcile(key, stop), signal, { logger });
    this.#recorder.stop();
  }

  #seen(object: ReadEndpoints): void {
    this.#own.seen(objectKey(object), object);
    this.#queue.add(objectKey(object));
  }

  #wake(pod: Immutable<Pod>): void {
    for (const service of this.#servicePods.servicesOf(pod)) {
      const key = objectKey(service);
      const collectMs = Math.min((this.#podCounts.get(key) ?? 0) * COLLECT_MS_PER_POD, COLLECT_MAX_MS);
      this.#queue.addAfter(key, collectMs < COLLECT_MIN_MS ? 0 : collectMs);
    }
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult> {
    const waitMs = this.#own.remainingMs(key);
    if (waitMs > 0) return requeueAfter(waitMs);
    const service = this.#servicePods.services.lister.getByKey(key);
    const present = this.#endpoints.lister.getByKey(key);
    try {
      if (service === undefined) {
        this.#podCounts.delete(key);
        // Endpoints that somebody made without a service are none of this controller's.
        const goes = this.#deletedServices.has(key) || present?.metadata.labels?.[MANAGED_BY] === MANAGER;
        if (present !== undefined && goes) await this.#delete(present, signal);
        this.#deletedServices.delete(key);
        return reconciled;
      }
      this.#deletedServices.delete(key);
      if (hasSelector(service)) await this.#write(key, service, present, signal);
      return reconciled;
    } catch (err) {
      // Decided on what has changed meanwhile; or nothing can be created in a namespace that goes away.
      if (isNamespaceTerminating(err)) return reconciled;
      if (apierrors.isConflict(err) || apierrors.isNotFound(err) || apierrors.isAlreadyExists(err)) return requeue;
      throw err;
    }
  }

  async #delete({ metadata }: ReadEndpoints, signal: AbortSignal): Promise<void> {
    const { namespace = '', name, uid } = metadata;
    try {
      await this.#config.client.resource(endpoints).namespace(namespace).delete(name, { preconditions: { uid }, signal });
    } catch (err) {
      if (!apierrors.isNotFound(err)) throw err;
    }
  }

  async #write(key: string, service: Immutable<Service>, present: ReadEndpoints | undefined, signal: AbortSignal): Promise<void> {
    const pods = this.#servicePods.podsOf(service);
    this.#podCounts.set(key, pods.length);
    const all = subsetsOf(service, pods);
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
    const changed = lastChangeMs(service, pods);
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
    metadata: { readonly labels: Record<string, string>; readonly annotations: Record<string, string> },
    subsets: ReadEndpoints['subsets'],
    signal: AbortSignal,
  ): Promise<void> {
    const { namespace, name } = splitKey(key);
    const inNamespace = this.#config.client.resource(endpoints).namespace(namespace);
    try {
      const written =
        present === undefined
          ? await inNamespace.create({ metadata: { name, ...metadata }, subsets }, { signal })
          : await inNamespace.update({ ...present, metadata: { ...present.metadata, ...metadata }, subsets }, { signal });
      this.#own.wrote(key, written, this.#endpoints.lister.getByKey(key));
    } catch (err) {
      if (!isNamespaceTerminating(err) && !apierrors.isConflict(err) && !apierrors.isAlreadyExists(err)) {
        const [reason, message] =
          present === undefined
            ? ['FailedToCreateEndpoint', `Failed to create endpoint for service ${namespace}/${name}`]
            : ['FailedToUpdateEndpoint', `Failed to update endpoint ${namespace}/${name}`];
        const subject = present ?? { apiVersion: 'v1', kind: 'Endpoints', name, namespace };
        this.#recorder.event(subject, 'Warning', reason, `${message}: ${messageOf(err)}`);
      }
      throw err;
    }
  }
}

function labelsOf(service: Immutable<Service>): Record<string, string> {
  const { [HEADLESS]: _, ...own } = service.metadata.labels ?? {};
  return { ...own, [MANAGED_BY]: MANAGER, ...(isHeadless(service) && { [HEADLESS]: '' }) };
}
