// Maintains the EndpointSlices of every service that selects pods: addresses, ports, conditions,
// and hints for which zones or nodes each endpoint should serve.

import {
  type Node,
  nodes,
  type Pod,
  pods,
  type Service,
  services,
} from '#api/groups/core/v1/index.ts';
import type { Endpoint, EndpointSlice } from '#api/groups/discovery/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { EventRecorder } from '#client/events/index.ts';
import { objectKey, type SharedInformer } from '#client/informers/index.ts';
import { formatTime } from '#machinery/text/time.ts';
import {
  reconciled,
  type ReconcileResult,
  requeue,
  requeueAfter,
} from '#client/workqueue/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { deepEqual } from '#machinery/deep.ts';
import { errorMessage } from '#machinery/error-message.ts';
import { Instruments } from '#machinery/metrics/instruments.ts';
import { ControllerBuilder } from '../builder.ts';
import type { Controller, ControllerConfig } from '../controller.ts';
import { newControllerRef } from '../controller-ref.ts';
import { PodBatching } from '../pod-batching.ts';
import {
  cpuByZone,
  nearbyHints,
  sharedHints,
  sharesByZone,
  trafficDistributionOf,
} from './hints.ts';
import { ServiceSliceMetrics } from './metrics.ts';
import { endpointKey, planSlices, type PortGroup, portsKey, type SliceTotals } from './plan.ts';
import {
  type AddressType,
  addressTypesOf,
  belongsToEndpoints,
  endpointOf,
  lastChangeMs,
  portsOn,
} from './pod-endpoints.ts';
import { changesEndpoints, hasSelector, ServicePods } from './selection.ts';
import { LAST_CHANGE, sliceLabels, sliceNamePrefix } from './slice-metadata.ts';
import { SliceWriter } from './slice-writer.ts';

type ReadPod = Immutable<Pod>;
type ReadService = Immutable<Service>;
type ReadSlice = Immutable<EndpointSlice>;

export const MANAGER = 'endpointslice-controller.k8s.io';

export interface EndpointSliceControllerConfig extends ControllerConfig {
  /** The number of services that are reconciled at once. Default: 5. */
  readonly workers?: number;
  /** The maximum number of endpoints per slice. Default: 100. */
  readonly maxEndpointsPerSlice?: number;
}

export class EndpointSliceController implements Controller {
  readonly name = 'endpointslice-controller';
  readonly run: Controller['run'];
  readonly #config: EndpointSliceControllerConfig;
  readonly #servicePods: ServicePods;
  readonly #nodes: SharedInformer<Immutable<Node>>;
  readonly #writer: SliceWriter;
  readonly #recorder: EventRecorder;
  readonly #metrics: ServiceSliceMetrics;
  /** Keys of services that wait for a node that is missing in the cache. */
  readonly #waiting = new Set<string>();
  /**
   * Keys of services with topology hints, which depend on all nodes; by address family, whether
   * hints are set.
   */
  readonly #sharing = new Map<string, Map<AddressType, boolean>>();
  readonly #batching = new PodBatching();

  constructor(config: EndpointSliceControllerConfig) {
    const { client, clock, workers = 5 } = config;
    this.#config = config;
    this.#metrics = new ServiceSliceMetrics(config.instruments ?? new Instruments());
    const builder = new ControllerBuilder(config, {
      queue: 'endpoint_slice',
      workers,
      reconcile: (key, signal) => this.#reconcile(key, signal),
    });
    this.#recorder = builder.recorder('endpoint-slice-controller');
    this.#servicePods = new ServicePods(builder);
    this.#writer = new SliceWriter({
      client,
      clock,
      informers: builder,
      managedBy: MANAGER,
      onChange: (key) => builder.queue.add(key),
      metrics: this.#metrics,
    });
    builder.for(services);
    builder.watches(pods, (pod) => this.#servicePods.servicesOf(pod).map(objectKey), {
      predicate: { update: changesEndpoints },
      maps: 'both',
      enqueue: (key) => builder.queue.addAfter(key, this.#batching.delayMs(key)),
    });
    this.#nodes = builder.watches(nodes, () => [...this.#sharing.keys()], {
      predicate: { update: (before, node) => !deepEqual(hintInputsOf(before), hintInputsOf(node)) },
    });
    builder.watches(nodes, () => [...this.#waiting], {
      predicate: { update: false, delete: false },
    });
    this.run = builder.complete();
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult> {
    const service = this.#servicePods.services.lister.getByKey(key);
    if (service === undefined || !hasSelector(service)) {
      // Slices of a deleted service are garbage-collected; slices of a service without a selector
      // belong to another controller.
      this.#waiting.delete(key);
      this.#sharing.delete(key);
      this.#batching.forget(key);
      this.#metrics.forget(key);
      this.#metrics.synced('success');
      if (service === undefined) this.#writer.forget(key);
      return reconciled;
    }
    const waitMs = this.#writer.remainingMs(key);
    if (waitMs > 0) {
      this.#metrics.synced('stale');
      return requeueAfter(waitMs);
    }
    const selected = this.#servicePods.podsOf(service);
    this.#batching.record(key, selected.length);
    // Added before the cache is read, so that a node that arrives meanwhile is not missed.
    this.#waiting.add(key);
    try {
      const missing = await this.#writeSlices(key, service, selected, signal);
      if (missing === undefined) this.#waiting.delete(key);
      else this.#failed(service, missing);
      this.#metrics.synced(missing === undefined ? 'success' : 'error');
      return reconciled;
    } catch (error) {
      this.#metrics.synced('error');
      // The decision was based on stale objects.
      if (apierrors.isConflict(error) || apierrors.isNotFound(error)) return requeue;
      this.#failed(service, errorMessage(error));
      throw error;
    }
  }

  #failed(service: ReadService, why: string): void {
    const { name, namespace = '' } = service.metadata;
    const message = `Error updating Endpoint Slices for Service ${namespace}/${name}: ${why}`;
    this.#recorder.event(service, 'Warning', 'FailedToUpdateEndpointSlices', message);
  }

  /** Writes the slices. Returns undefined on success, otherwise what could not be included. */
  async #writeSlices(
    key: string,
    service: ReadService,
    pods: readonly ReadPod[],
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const types = addressTypesOf(service);
    const existing = this.#writer.slicesOf(key);
    const isOwn = ({ metadata }: ReadSlice): boolean =>
      metadata.ownerReferences?.some(({ uid }) => uid === service.metadata.uid) === true;
    const isOfType = ({ addressType }: ReadSlice): boolean =>
      types.some((type) => type === addressType);
    const labels = sliceLabels(service, MANAGER);
    const changed = lastChangeMs(service, pods);
    const annotations: Record<string, string> =
      changed === undefined ? {} : { [LAST_CHANGE]: formatTime(changed) };
    const frame = {
      key,
      generateName: sliceNamePrefix(service.metadata.name),
      labels,
      annotations,
      ownerReferences: [newControllerRef(service.metadata, { apiVersion: 'v1', kind: 'Service' })],
    };
    let missing: string | undefined;
    let changes = 0;
    const totals: SliceTotals[] = [];
    for (const addressType of types) {
      const own = existing.filter((slice) => slice.addressType === addressType && isOwn(slice));
      const desired = this.#desired(service, pods, addressType);
      missing ??= desired.missing;
      const plan = planSlices({
        groups: this.#withHints(key, service, addressType, desired.groups, own),
        existing: own,
        maxEndpoints: this.#config.maxEndpointsPerSlice ?? 100,
        isOutdated: ({ metadata }) => !deepEqual(metadata.labels, labels),
      });
      // The empty slice of a service without endpoints counts as its fewest slices.
      totals.push({ ...plan.totals, fewestSlices: Math.max(plan.totals.fewestSlices, 1) });
      await this.#writer.carryOut(plan, { ...frame, addressType }, signal);
      changes += plan.create.length + plan.update.length + plan.remove.length;
    }
    this.#metrics.looked(key, totals);
    this.#metrics.changed(key, changes, sharesByZone(service), trafficDistributionOf(service));
    for (const slice of existing)
      if (!isOwn(slice) || !isOfType(slice)) await this.#writer.remove(slice, signal);
    return missing;
  }

  /** Returns endpoints by their ports. A pod waits until its node is in the cache. */
  #desired(
    service: ReadService,
    pods: readonly ReadPod[],
    addressType: AddressType,
  ): { readonly groups: readonly PortGroup[]; readonly missing: string | undefined } {
    const groups = new Map<string, { ports: PortGroup['ports']; endpoints: Endpoint[] }>();
    let missing: string | undefined;
    for (const pod of pods) {
      if (!belongsToEndpoints(pod, true)) continue;
      const { nodeName = '' } = pod.spec;
      const node = this.#nodes.lister.getByKey(nodeName);
      if (node === undefined && service.spec.publishNotReadyAddresses !== true) {
        const { namespace = '', name } = service.metadata;
        missing ??= `skipping Pod ${pod.metadata.name} for Service ${namespace}/${name}: Node ${nodeName} Not Found`;
        continue;
      }
      const endpoint = endpointOf(pod, node, service, addressType);
      if (endpoint.addresses.length === 0) continue;
      const ports = portsOn(pod, service);
      const key = portsKey(ports);
      const group = groups.get(key) ?? { ports, endpoints: [] };
      groups.set(key, group);
      group.endpoints.push(endpoint);
    }
    return { groups: [...groups.values()], missing };
  }

  #withHints(
    key: string,
    service: ReadService,
    addressType: AddressType,
    groups: readonly PortGroup[],
    existing: readonly ReadSlice[],
  ): readonly PortGroup[] {
    const all = groups.flatMap(({ endpoints }) => endpoints);
    const hinted = this.#hinted(key, service, addressType, all, existing);
    let at = 0;
    return groups.map(({ ports, endpoints }) => {
      at += endpoints.length;
      return { ports, endpoints: hinted.slice(at - endpoints.length, at) };
    });
  }

  #hinted(
    key: string,
    service: ReadService,
    addressType: AddressType,
    endpoints: readonly Endpoint[],
    existing: readonly ReadSlice[],
  ): readonly Endpoint[] {
    const given = this.#sharing.get(key)?.get(addressType) === true;
    const tell = (type: 'Normal' | 'Warning', reason: string, message: string): void =>
      this.#recorder.event(service, type, reason, `${message}, addressType: ${addressType}`);
    if (!sharesByZone(service)) {
      if (given)
        tell('Warning', 'TopologyAwareHintsDisabled', 'Topology Aware Hints has been disabled');
      this.#sharing.delete(key);
      return nearbyHints(service, endpoints);
    }
    const before = new Map<string, string | undefined>();
    for (const slice of existing) {
      for (const endpoint of slice.endpoints ?? [])
        before.set(endpointKey(endpoint), endpoint.hints?.forZones?.[0]?.name);
    }
    const shares = cpuByZone(this.#nodes.lister.list());
    const shared = sharedHints(endpoints, shares, (endpoint) => before.get(endpointKey(endpoint)));
    if (shared.problem !== undefined) tell('Warning', 'TopologyAwareHintsDisabled', shared.problem);
    else if (!given)
      tell('Normal', 'TopologyAwareHintsEnabled', 'Topology Aware Hints has been enabled');
    const families = this.#sharing.get(key) ?? new Map<AddressType, boolean>();
    this.#sharing.set(key, families.set(addressType, shared.problem === undefined));
    return shared.endpoints;
  }
}

/** Returns the fields of a node that topology hints depend on. */
function hintInputsOf({ metadata, status }: Immutable<Node>): unknown {
  const ready = status.conditions?.find(({ type }) => type === 'Ready')?.status;
  return [metadata.labels, ready, status.allocatable?.['cpu']];
}
