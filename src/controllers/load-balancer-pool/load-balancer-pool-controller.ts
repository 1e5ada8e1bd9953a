// Allocates addresses of a pool to services of type LoadBalancer: one for each address family of
// the service, which no other service shares. The service's status is the source of truth; an
// IPAddress object keeps the address from other services (claims.ts). The nodes announce the
// addresses that they read in the status; this controller does not choose the node.
//
// Services with a loadBalancerClass are left to other controllers. spec.loadBalancerIP requests one
// address of the pool.

import {
  type LoadBalancerIngress,
  type Node,
  nodes,
  type Service,
  services,
} from '#api/groups/core/v1/index.ts';
import { type IPAddress, ipAddresses } from '#api/groups/networking/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { EventRecorder } from '#client/events/index.ts';
import { objectKey, type SharedInformer, splitKey } from '#client/informers/index.ts';
import { reconciled, type ReconcileResult, requeue } from '#client/workqueue/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { semanticEqual } from '#machinery/deep.ts';
import { errorMessage } from '#machinery/error-message.ts';
import { formatIp, type IpFamily, parseIp } from '#machinery/net/ip.ts';
import type { IpPool } from '#machinery/net/ip-pool.ts';
import { ControllerBuilder } from '../builder.ts';
import type { Controller, ControllerConfig } from '../controller.ts';
import { claim, claimant, release } from './claims.ts';

type ReadService = Immutable<Service>;
type ReadAddress = Immutable<IPAddress>;
type Ingress = Immutable<LoadBalancerIngress>;

export interface LoadBalancerPoolConfig extends ControllerConfig {
  readonly pool: IpPool;
}

const BY_ADDRESS = 'address';
const BY_CLAIMANT = 'claimant';
/**
 * The maximum number of claims that fail because an address is taken, though the caches show it as
 * free. Then the next reconcile continues.
 */
const ATTEMPTS = 16;

/** The result for a service in one family: an address, or why there is none. */
type Outcome = { readonly address: string } | { readonly problem: string };

export class LoadBalancerPoolController implements Controller {
  readonly name = 'load-balancer-pool-controller';
  readonly run: Controller['run'];
  readonly #config: LoadBalancerPoolConfig;
  readonly #services: SharedInformer<ReadService>;
  readonly #nodes: SharedInformer<Immutable<Node>>;
  readonly #claims: SharedInformer<ReadAddress>;
  readonly #recorder: EventRecorder;
  /** Services with missing addresses → the problem that was last recorded. */
  readonly #problems = new Map<string, string>();

  constructor(config: LoadBalancerPoolConfig) {
    this.#config = config;
    const builder = new ControllerBuilder(config, {
      queue: 'service',
      // Two reconciles at the same time would try the same free address.
      workers: 1,
      reconcile: (key, signal) => this.#reconcile(key, signal),
    });
    this.#recorder = builder.recorder('service-controller');
    this.#services = builder.for(services, {
      indexers: { [BY_ADDRESS]: addressesOf },
      predicate: { update: (before, service) => isBalanced(before) || isBalanced(service) },
    });
    this.#claims = builder.watches(ipAddresses, (object) => claimant(object), {
      indexers: { [BY_CLAIMANT]: (object) => [claimant(object) ?? ''] },
      predicate: { update: false },
      // An address has become free: waiting services may get it.
      onGone: () => {
        for (const key of this.#problems.keys()) builder.queue.add(key);
      },
    });
    this.#nodes = builder.informerFor(nodes);
    this.run = builder.complete();
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult> {
    try {
      await this.#settle(key, signal);
      return reconciled;
    } catch (error) {
      if (apierrors.isConflict(error)) return requeue;
      throw error;
    }
  }

  async #settle(key: string, signal: AbortSignal): Promise<void> {
    const service = this.#services.lister.getByKey(key);
    if (service === undefined || !isBalanced(service)) {
      this.#problems.delete(key);
      await this.#release(key, [], signal);
      return;
    }
    const outcomes: Outcome[] = [];
    for (const family of familiesOf(service))
      outcomes.push(await this.#addressFor(service, family, signal));
    const addresses = outcomes.flatMap((outcome) =>
      'address' in outcome ? [outcome.address] : [],
    );
    const problem = outcomes
      .map((outcome) => ('problem' in outcome ? outcome.problem : ''))
      .find((text) => text !== '');
    this.#note(service, problem);
    try {
      await this.#write(service, addresses, signal);
    } catch (error) {
      if (apierrors.isNotFound(error)) return;
      if (!apierrors.isConflict(error)) this.#failed(service, errorMessage(error));
      throw error;
    }
    await this.#release(key, addresses, signal);
  }

  /** Returns an address that is claimed for the service. A valid present address is kept. */
  async #addressFor(service: ReadService, family: IpFamily, signal: AbortSignal): Promise<Outcome> {
    const { client, pool } = this.#config;
    const key = objectKey(service);
    const requested = requestedAddress(service, family);
    if (requested !== undefined) {
      if (!pool.has(requested))
        return { problem: `the address ${requested} is not in the pool ${String(pool)}` };
      if (this.#isTaken(requested, service) || !(await claim(client, requested, key, signal))) {
        return { problem: `the address ${requested} is in use` };
      }
      return { address: requested };
    }
    if (!pool.hasFamily(family))
      return { problem: `the pool ${String(pool)} has no ${family} addresses` };
    const own = this.#claims.lister.byIndex(BY_CLAIMANT, key).map(({ metadata }) => metadata.name);
    const held = [...addressesOf(service), ...own].filter(
      (address) => familyOf(address) === family && pool.has(address),
    );
    const failed = new Set<string>();
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const isTaken = (address: string): boolean =>
        failed.has(address) || this.#isTaken(address, service);
      const address = held.find((each) => !isTaken(each)) ?? pool.firstFree(family, isTaken);
      if (address === undefined)
        return { problem: `the pool ${String(pool)} has no free ${family} address` };
      if (await claim(client, address, key, signal)) return { address };
      failed.add(address);
    }
    throw new Error(`${ATTEMPTS} addresses of the pool turned out to be taken`);
  }

  /** Reports whether the caches show that another object has the address. */
  #isTaken(address: string, service: ReadService): boolean {
    const key = objectKey(service);
    const object = this.#claims.lister.get('', address);
    if (object !== undefined) return claimant(object) !== key;
    // Addresses in use without a claim: of an earlier controller, of nodes, and external IPs of
    // services.
    if (
      this.#services.lister.byIndex(BY_ADDRESS, address).some((other) => objectKey(other) !== key)
    )
      return true;
    return this.#nodes.lister
      .list()
      .some(({ status }) =>
        (status.addresses ?? []).some((each) => canonical(each.address) === address),
      );
  }

  async #write(
    service: ReadService,
    addresses: readonly string[],
    signal: AbortSignal,
  ): Promise<void> {
    const before = service.status.loadBalancer.ingress ?? [];
    const ports = (service.spec.ports ?? []).map(({ port, protocol = 'TCP' }) => ({
      port,
      protocol,
    }));
    const ingress: Ingress[] = addresses.map((ip) => ({ ip, ipMode: 'VIP', ports }));
    if (semanticEqual(before, ingress)) return;
    const isFirst = before.length === 0;
    if (isFirst)
      this.#recorder.event(service, 'Normal', 'EnsuringLoadBalancer', 'Ensuring load balancer');
    const status = { ...service.status, loadBalancer: ingress.length === 0 ? {} : { ingress } };
    await this.#config.client
      .resource(services)
      .namespace(service.metadata.namespace ?? '')
      .updateStatus({ ...service, status }, { signal });
    if (ingress.length === 0) return;
    if (isFirst)
      this.#recorder.event(service, 'Normal', 'EnsuredLoadBalancer', 'Ensured load balancer');
    else
      this.#recorder.event(
        service,
        'Normal',
        'UpdatedLoadBalancer',
        'Updated load balancer with new hosts',
      );
  }

  /**
   * Releases the service's claims that it does not use. Reads the service live: the cache may lack
   * its newest address.
   */
  async #release(key: string, used: readonly string[], signal: AbortSignal): Promise<void> {
    const unused = this.#claims.lister
      .byIndex(BY_CLAIMANT, key)
      .filter(({ metadata }) => !used.includes(metadata.name));
    if (unused.length === 0) return;
    const current = await this.#live(key, signal);
    for (const object of unused) {
      const address = object.metadata.name;
      const isUsed =
        current !== undefined && isBalanced(current) && addressesOf(current).includes(address);
      if (!isUsed) await release(this.#config.client, object, signal);
    }
  }

  async #live(key: string, signal: AbortSignal): Promise<ReadService | undefined> {
    const { namespace, name } = splitKey(key);
    return apierrors.unlessMissing(
      this.#config.client.resource(services).namespace(namespace).get(name, { signal }),
    );
  }

  /** Records a problem as an event, once. */
  #note(service: ReadService, problem: string | undefined): void {
    const key = objectKey(service);
    if (problem === undefined) this.#problems.delete(key);
    else if (this.#problems.get(key) !== problem) {
      this.#problems.set(key, problem);
      this.#failed(service, problem);
    }
  }

  #failed(service: ReadService, why: string): void {
    const message = `Error syncing load balancer: failed to ensure load balancer: ${why}`;
    this.#recorder.event(service, 'Warning', 'SyncLoadBalancerFailed', message);
  }
}

function isBalanced({ spec, metadata }: ReadService): boolean {
  return (
    spec.type === 'LoadBalancer' &&
    spec.loadBalancerClass === undefined &&
    metadata.deletionTimestamp === undefined
  );
}

/**
 * Returns the addresses at which a service is reached from outside the cluster, in canonical form.
 */
const addressesOf = ({ spec, status }: ReadService): string[] =>
  [
    ...(status.loadBalancer.ingress ?? []).map(({ ip = '' }) => ip),
    ...(spec.externalIPs ?? []),
  ].flatMap((text) => canonical(text) ?? []);

function familiesOf({ spec }: ReadService): readonly IpFamily[] {
  const { ipFamilies = [] } = spec;
  const known = ipFamilies.filter((family) => family === 'IPv4' || family === 'IPv6');
  return known.length > 0 ? known : ['IPv4'];
}

function requestedAddress({ spec }: ReadService, family: IpFamily): string | undefined {
  const address = parseIp(spec.loadBalancerIP ?? '');
  return address?.family === family ? formatIp(address) : undefined;
}

const familyOf = (address: string): IpFamily => (address.includes(':') ? 'IPv6' : 'IPv4');

function canonical(text: string): string | undefined {
  const address = parseIp(text);
  return address === undefined ? undefined : formatIp(address);
}
