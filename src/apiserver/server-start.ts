// The start of a server: creates the objects of a new cluster, follows what authorization and
// custom resources depend on, and runs the background work.

import { sharedByMany } from '#client/abort.ts';
import { formatIp } from '#machinery/net/ip.ts';
import { keepTokenTracking } from './authentication/legacy-token-tracking.ts';
import { keepBootstrapPolicy } from './authorization/policy/reconcile.ts';
import { createBootstrapObjects, keepKubernetesService } from './bootstrap.ts';
import type { ApiServerConfig } from './config.ts';
import { serviceAddressRanges } from './kinds/core/service/address-range.ts';
import { IdentityLease, LeaseCollector } from './identity/index.ts';
import { OwnEndpoints } from './own-endpoints.ts';
import { DEFAULT_PORT, type ServerEntries } from './server-entries.ts';
import { AGGREGATION_HOOKS } from './server-health.ts';
import { DEFAULT_SERVICE_CIDR, type ServerParts } from './server-parts.ts';
import { ServiceRepair } from './service-repair/index.ts';
import { StartWrites } from './start-writes.ts';

const LEAVE_TIMEOUT_MS = 2000;

interface Services {
  readonly entries: ServerEntries;
  /** Aborts when the server stops. */
  readonly signal: AbortSignal;
}

export class ServerStart {
  readonly #config: ApiServerConfig;
  readonly #parts: ServerParts;
  readonly #entries: ServerEntries;
  readonly #signal: AbortSignal;
  #ownEndpoints: OwnEndpoints | undefined;
  #identity: IdentityLease | undefined;
  #leaseCollector: LeaseCollector | undefined;
  #writes: StartWrites | undefined;
  #backgroundWork: Promise<unknown> = Promise.resolve();

  constructor(config: ApiServerConfig, parts: ServerParts, { entries, signal }: Services) {
    this.#config = config;
    this.#parts = parts;
    this.#entries = entries;
    this.#signal = sharedByMany(signal);
  }

  /** See ApiServer.start. */
  async start(): Promise<void> {
    if (this.#config.worker === true) return this.#startAsWorker();
    const { clock, logger } = this.#config;
    const { health, definitions, customResources, conditions } = this.#parts;
    const { externalSigner } = this.#parts.authentication;
    await externalSigner?.start();
    // The storage was opened, and its caches filled, before the server was created.
    health.finish('start-apiserver-admission-initializer', 'storage-readiness');
    // The conditions depend on the installed kinds.
    await definitions.start([customResources, conditions]);
    health.finish(
      'start-apiextensions-informers',
      'start-apiextensions-controllers',
      'crd-informer-synced',
    );
    const writes = new StartWrites({ hasWebhooks: () => this.#hasWebhooks(), clock, logger });
    this.#writes = writes;
    const repair = await this.#createObjects(writes);
    await this.#permitUsers(writes);
    await this.#publish();
    await this.#identify();
    const repairing = repair.run(this.#signal).catch((error: unknown) => {
      logger.error('service repair: failed and stopped', { err: error });
    });
    this.#backgroundWork = Promise.all([
      repairing,
      conditions.run(this.#signal),
      this.#ownEndpoints?.run(this.#signal),
      this.#identity?.run(this.#signal),
      this.#parts.aggregator.run(this.#signal),
      externalSigner?.run(this.#signal),
    ]);
  }

  /** Creates the objects of a new cluster, in the order of upstream's hooks. */
  async #createObjects(writes: StartWrites): Promise<ServiceRepair> {
    const { clock, random, logger, serviceCidr = DEFAULT_SERVICE_CIDR } = this.#config;
    const { catalog, health, objects, loopback: client, aggregator } = this.#parts;
    const serviceIp = firstAddress(serviceCidr);
    const port = this.#port;
    const repair = new ServiceRepair({
      client,
      clock,
      random,
      logger,
      cidrs: serviceCidr.split(','),
      ports: this.#parts.serviceAllocators.ports,
      listServices: () => objects.findAll('', 'services', ''),
      keepKubernetesService: () => keepKubernetesService({ client, serviceIp, port, clock }),
    });
    await writes.attempt('addresses of services', () => repair.begin());
    health.finish(
      'start-service-ip-repair-controllers',
      'start-kubernetes-service-cidr-controller',
    );
    await createBootstrapObjects({ client, catalog, serviceIp, port, clock, logger, writes });
    await aggregator.start();
    await writes.attempt('API services', () => aggregator.registerLocal());
    health.finish(
      'start-system-namespaces-controller',
      'scheduling/bootstrap-system-priority-classes',
    );
    return repair;
  }

  /** From here on other users have the permissions of their roles, and their share of the server. */
  async #permitUsers(writes: StartWrites): Promise<void> {
    const { clock, serviceAccounts } = this.#config;
    const { catalog, health, loopback: client } = this.#parts;
    await this.#startFlowControl();
    health.finish('priority-and-fairness-config-producer', ...AGGREGATION_HOOKS);
    // The roles of every cluster are effective at once.
    await writes.attempt('roles', () => keepBootstrapPolicy(client, catalog.snapshot()));
    health.finish('rbac/bootstrap-roles');
    if (serviceAccounts !== undefined) {
      await writes.attempt('the ConfigMap of token tracking', () =>
        keepTokenTracking(client, clock),
      );
    }
    health.finish('start-legacy-token-tracking-controller');
    await this.#followPermissions();
    health.finish('generic-apiserver-start-informers');
  }

  /** Publishes the server in the endpoints of the Service `kubernetes`. */
  async #publish(): Promise<void> {
    const { storage, clock, logger, sharesStorage: shared = false } = this.#config;
    const { health, loopback: client } = this.#parts;
    const address = this.#entries.advertisedAddress;
    // A server without a port has no endpoints.
    if (this.#entries.port !== undefined && address !== undefined) {
      const port = this.#port;
      const own = new OwnEndpoints({ client, storage, clock, logger, address, port, shared });
      this.#ownEndpoints = own;
      await own.join();
    }
    health.finish('bootstrap-controller');
  }

  /** Begins to keep the Leases of servers. */
  async #identify(): Promise<void> {
    const { hostname, clock, random, logger } = this.#config;
    const { health, catalog, loopback: client } = this.#parts;
    if (hostname !== undefined) {
      const address =
        this.#entries.port === undefined ? undefined : this.#entries.externalAddress();
      this.#identity = new IdentityLease({
        client,
        clock,
        random: random.derive('identity'),
        logger,
        hostname,
        ...(address !== undefined && { address }),
      });
      this.#leaseCollector = new LeaseCollector({ catalog, client, clock, logger });
      await this.#leaseCollector.start();
    }
    health.finish(
      'start-kube-apiserver-identity-lease-controller',
      'start-kube-apiserver-identity-lease-garbage-collector',
    );
  }

  /** Starts to follow what the main server writes. */
  async #startAsWorker(): Promise<void> {
    const { definitions, customResources, aggregator, health } = this.#parts;
    const { externalSigner } = this.#parts.authentication;
    await externalSigner?.start();
    await definitions.start([customResources]);
    await aggregator.start();
    aggregator.expectRegistered();
    await this.#startFlowControl();
    await this.#followPermissions();
    health.finishAll();
    this.#backgroundWork = Promise.all([
      aggregator.runAsWorker(this.#signal),
      externalSigner?.run(this.#signal),
    ]);
  }

  async #startFlowControl(): Promise<void> {
    const { flowControl, flowFollower } = this.#parts;
    if (flowFollower !== undefined) await flowControl?.start(flowFollower);
  }

  /** Another authorizer needs neither roles nor the graph. */
  async #followPermissions(): Promise<void> {
    const { roles, nodeGraph } = this.#parts;
    if (this.#config.authorizer === undefined)
      await Promise.all([roles.start(), nodeGraph.start()]);
  }

  get #port(): number {
    return this.#entries.port ?? this.#config.port ?? DEFAULT_PORT;
  }

  /** Reports whether an admission webhook is configured. */
  async #hasWebhooks(): Promise<boolean> {
    const group = 'admissionregistration.k8s.io';
    const lists = ['mutatingwebhookconfigurations', 'validatingwebhookconfigurations'].map(
      async (resource) => this.#parts.objects.findAll(group, resource, ''),
    );
    return (await Promise.all(lists)).some((list) => list.length > 0);
  }

  /** Reports whether other servers serve the objects of this storage. */
  async hasOtherServers(): Promise<boolean> {
    const { hasWorkers, sharesStorage } = this.#config;
    if (hasWorkers?.() === true) return true;
    // A server without a port cannot tell.
    return sharesStorage === true && ((await this.#ownEndpoints?.hasOthers()) ?? true);
  }

  /**
   * Removes the server from the published endpoints, and its Lease, while it still serves. Waits
   * only a moment for a store that does not respond.
   */
  async leave(): Promise<void> {
    this.#leaseCollector?.stop();
    const leaving = [this.#ownEndpoints?.leave(), this.#identity?.leave()].filter(
      (each) => each !== undefined,
    );
    if (leaving.length === 0) return;
    const { clock } = this.#config;
    const waited = new AbortController();
    const patience = clock.sleep(LEAVE_TIMEOUT_MS, waited.signal).catch(() => undefined);
    await Promise.race([Promise.all(leaving), patience]);
    waited.abort();
  }

  /** After the signal has aborted: resolves when the background work has ended. */
  async stop(): Promise<void> {
    await Promise.all([this.#backgroundWork, this.#writes?.stop()]);
  }
}

/** Returns the first usable address of the first range: '10.96.0.1' for '10.96.0.0/12'. */
function firstAddress(cidrs: string): string {
  const [range] = serviceAddressRanges(cidrs);
  return range === undefined ? '' : formatIp({ family: range.family, value: range.firstUsable });
}
