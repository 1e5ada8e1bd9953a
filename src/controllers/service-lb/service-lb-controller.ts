// A load balancer for clusters without a cloud provider: a service of type LoadBalancer gets
// addresses of nodes, at which the service proxy of each node serves it. Services with a
// loadBalancerClass belong to other controllers.

import { type Node, nodes, type Service, services } from '#api/groups/core/v1/index.ts';
import { type EndpointSlice, endpointSlices } from '#api/groups/discovery/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { EventRecorder } from '#client/events/index.ts';
import { objectKey, type SharedInformer } from '#client/informers/index.ts';
import { reconciled, type ReconcileResult, requeue } from '#client/workqueue/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { semanticEqual } from '#machinery/deep.ts';
import { errorMessage } from '#machinery/error-message.ts';
import { ControllerBuilder, only } from '../builder.ts';
import type { Controller, ControllerConfig } from '../controller.ts';
import { SERVICE_NAME } from '../endpointslice/slice-metadata.ts';
import { assign, type Wish } from './assignment.ts';

type ReadNode = Immutable<Node>;
type ReadService = Immutable<Service>;
type ReadSlice = Immutable<EndpointSlice>;

export interface ServiceLbConfig extends ControllerConfig {
  /**
   * The maximum number of addresses per service: clients keep working as long as one of these nodes
   * does. Default: 8.
   */
  readonly maxAddresses?: number;
}

const EXCLUDED = 'node.kubernetes.io/exclude-from-external-load-balancers';
/** The only key on the queue: services share addresses, so they are all reconciled together. */
const ALL = 'services';
/** Changes within this time are reconciled together. */
const COLLECT_MS = 50;
const BY_SERVICE = 'service-name';

export class ServiceLbController implements Controller {
  readonly name = 'service-lb-controller';
  readonly run: Controller['run'];
  readonly #config: ServiceLbConfig;
  readonly #services: SharedInformer<ReadService>;
  readonly #nodes: SharedInformer<ReadNode>;
  readonly #slices: SharedInformer<ReadSlice>;
  readonly #recorder: EventRecorder;
  /** By key: the reason why a service has no address, as it was recorded last. */
  readonly #recordedReasons = new Map<string, string>();

  constructor(config: ServiceLbConfig) {
    this.#config = config;
    const builder = new ControllerBuilder(config, {
      queue: 'service',
      workers: 1,
      reconcile: (_, signal) => this.#reconcile(signal),
    });
    this.#recorder = builder.recorder('service-controller');
    const enqueue = (key: string): void => builder.queue.addAfter(key, COLLECT_MS);
    this.#services = builder.watches(services, () => ALL, {
      predicate: {
        ...only(isBalanced),
        update: (before, service) => isBalanced(before) || isBalanced(service),
      },
      enqueue,
    });
    this.#nodes = builder.watches(nodes, () => ALL, {
      predicate: {
        update: (before, node) =>
          !semanticEqual(
            [isEligible(before), addressesOf(before)],
            [isEligible(node), addressesOf(node)],
          ),
      },
      enqueue,
    });
    this.#slices = builder.watches(endpointSlices, () => ALL, {
      indexers: {
        [BY_SERVICE]: ({ metadata }) => [
          `${metadata.namespace ?? ''}/${metadata.labels?.[SERVICE_NAME] ?? ''}`,
        ],
      },
      predicate: only(({ metadata }) => {
        const service = this.#services.lister.get(
          metadata.namespace ?? '',
          metadata.labels?.[SERVICE_NAME] ?? '',
        );
        // The endpoints of the API server's service name ports that services cannot have.
        return service !== undefined && (isLocal(service) || isApiServer(service));
      }),
      enqueue,
    });
    this.run = builder.complete();
  }

  async #reconcile(signal: AbortSignal): Promise<ReconcileResult> {
    const balanced = this.#services.lister.list().filter(isBalanced).sort(byAge);
    // Most clusters have no such service; the addresses of all nodes are read for nothing then.
    if (balanced.length === 0) {
      this.#recordedReasons.clear();
      return reconciled;
    }
    const wishes = balanced.map((service) => ({ service, wish: this.#wishOf(service) }));
    const given = assign(
      wishes.map(({ wish }) => wish),
      this.#reserved(),
      this.#config.maxAddresses ?? 8,
    );
    const known = new Set(wishes.map(({ wish }) => wish.key));
    for (const key of this.#recordedReasons.keys())
      if (!known.has(key)) this.#recordedReasons.delete(key);
    let failure: unknown;
    let conflict = false;
    for (const { service, wish } of wishes) {
      try {
        await this.#write(service, given.get(wish.key) ?? [], wish, signal);
      } catch (error) {
        if (apierrors.isNotFound(error)) continue;
        if (apierrors.isConflict(error)) conflict = true;
        else failure ??= error;
      }
    }
    if (failure !== undefined) throw failure;
    return conflict ? requeue : reconciled;
  }

  #wishOf(service: ReadService): Wish {
    const { ports = [], ipFamilies = [], loadBalancerIP = '' } = service.spec;
    const fits = (address: string): boolean =>
      ipFamilies.length === 0 || ipFamilies.includes(address.includes(':') ? 'IPv6' : 'IPv4');
    const eligible = this.#nodesFor(service)
      .flatMap(addressesOf)
      .filter((address) => fits(address) && (loadBalancerIP === '' || address === loadBalancerIP));
    return {
      key: objectKey(service),
      ports: ports.map(({ protocol = 'TCP', port }) => `${protocol}/${port}`),
      eligible: [...new Set(eligible)],
      held: heldBy(service),
    };
  }

  #nodesFor(service: ReadService): readonly ReadNode[] {
    const eligible = this.#nodes.lister.list().filter(isEligible);
    eligible.sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
    if (!isLocal(service)) return eligible;
    const slices = this.#slices.lister.byIndex(BY_SERVICE, objectKey(service));
    const ready = slices.flatMap(({ endpoints }) =>
      (endpoints ?? []).filter(({ conditions }) => conditions.ready !== false),
    );
    const serving = new Set(ready.map(({ nodeName }) => nodeName));
    return eligible.filter(({ metadata }) => serving.has(metadata.name));
  }

  /** Returns the addresses and ports of the API server and the kubelets. */
  #reserved(): ReadonlySet<string> {
    const reserved = new Set<string>();
    for (const { endpoints, ports } of this.#slices.lister.byIndex(
      BY_SERVICE,
      'default/kubernetes',
    )) {
      for (const address of (endpoints ?? []).flatMap(({ addresses }) => addresses)) {
        for (const { protocol = 'TCP', port } of ports ?? [])
          reserved.add(`${address} ${protocol}/${port}`);
      }
    }
    for (const node of this.#nodes.lister.list()) {
      const port = node.status.daemonEndpoints?.kubeletEndpoint?.Port ?? 0;
      if (port !== 0)
        for (const address of addressesOf(node)) reserved.add(`${address} TCP/${port}`);
    }
    return reserved;
  }

  async #write(
    service: ReadService,
    addresses: readonly string[],
    wish: Wish,
    signal: AbortSignal,
  ): Promise<void> {
    const before = service.status.loadBalancer.ingress ?? [];
    const ingress = addresses.map((ip) => ({ ip, ipMode: 'VIP' as const }));
    if (addresses.length === 0) this.#tellWhy(service, wish);
    else this.#recordedReasons.delete(wish.key);
    if (semanticEqual(before, ingress)) return;
    const first = before.length === 0 && ingress.length > 0;
    if (first)
      this.#recorder.event(service, 'Normal', 'EnsuringLoadBalancer', 'Ensuring load balancer');
    const { namespace = '' } = service.metadata;
    const status = { ...service.status, loadBalancer: ingress.length === 0 ? {} : { ingress } };
    try {
      await this.#config.client
        .resource(services)
        .namespace(namespace)
        .updateStatus({ ...service, status }, { signal });
    } catch (error) {
      if (!apierrors.isConflict(error) && !apierrors.isNotFound(error))
        this.#failed(service, errorMessage(error));
      throw error;
    }
    if (first)
      this.#recorder.event(service, 'Normal', 'EnsuredLoadBalancer', 'Ensured load balancer');
    else if (ingress.length > 0)
      this.#recorder.event(
        service,
        'Normal',
        'UpdatedLoadBalancer',
        'Updated load balancer with new hosts',
      );
  }

  #tellWhy(service: ReadService, wish: Wish): void {
    const { loadBalancerIP = '' } = service.spec;
    const why =
      wish.eligible.length > 0
        ? `port ${wish.ports.join(', ')} is in use at every address`
        : loadBalancerIP === ''
          ? 'there are no available nodes'
          : `no available node has the address ${loadBalancerIP}`;
    if (this.#recordedReasons.get(wish.key) === why) return;
    this.#recordedReasons.set(wish.key, why);
    if (wish.eligible.length === 0 && loadBalancerIP === '') {
      this.#recorder.event(
        service,
        'Warning',
        'UnAvailableLoadBalancer',
        'There are no available nodes for LoadBalancer',
      );
    } else this.#failed(service, why);
  }

  #failed(service: ReadService, why: string): void {
    const message = `Error syncing load balancer: failed to ensure load balancer: ${why}`;
    this.#recorder.event(service, 'Warning', 'SyncLoadBalancerFailed', message);
  }
}

function isBalanced({ metadata, spec }: ReadService): boolean {
  return (
    spec.type === 'LoadBalancer' &&
    spec.loadBalancerClass === undefined &&
    metadata.deletionTimestamp === undefined
  );
}

/** Reports whether only nodes with a local endpoint serve the service. */
function isLocal({ spec }: ReadService): boolean {
  return spec.type === 'LoadBalancer' && spec.externalTrafficPolicy === 'Local';
}

function isApiServer({ metadata }: ReadService): boolean {
  return metadata.namespace === 'default' && metadata.name === 'kubernetes';
}

function heldBy({ status }: ReadService): readonly string[] {
  return (status.loadBalancer.ingress ?? []).flatMap(({ ip = '' }) => (ip === '' ? [] : [ip]));
}

function isEligible({ metadata, status }: ReadNode): boolean {
  if (metadata.deletionTimestamp !== undefined || Object.hasOwn(metadata.labels ?? {}, EXCLUDED))
    return false;
  return status.conditions?.find(({ type }) => type === 'Ready')?.status === 'True';
}

/** Returns the external addresses of a node; without one, its internal addresses. */
function addressesOf({ status }: ReadNode): readonly string[] {
  const of = (wanted: string): string[] =>
    (status.addresses ?? []).flatMap(({ type, address }) => (type === wanted ? [address] : []));
  const external = of('ExternalIP');
  return external.length > 0 ? external : of('InternalIP');
}

function byAge(a: ReadService, b: ReadService): number {
  const [of, to] = [a, b].map(
    ({ metadata }) => `${metadata.creationTimestamp} ${metadata.namespace ?? ''}/${metadata.name}`,
  );
  return (of ?? '') < (to ?? '') ? -1 : 1;
}
