// Repairs cluster IPs: each cluster IP must have an IPAddress that refers to its service, and each
// IPAddress of the allocator must be a cluster IP of its service. They differ when a server ends
// between the two writes, when a user changes an IPAddress, and in a store from before there were
// IPAddresses.
//
// A difference in the informers' caches is checked again in the store before it is reported or
// repaired.

import { services } from '#api/groups/core/v1/index.ts';
import type * as core from '#api/groups/core/v1/index.ts';
import { ipAddresses, serviceCIDRs } from '#api/groups/networking/v1/index.ts';
import type * as networking from '#api/groups/networking/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { Client } from '#client/client.ts';
import type { Recorder } from '#client/events/index.ts';
import {
  objectKey,
  type SharedInformer,
  type SharedInformerFactory,
  splitKey,
} from '#client/informers/index.ts';
import { parseTime } from '#machinery/text/time.ts';
import {
  RateLimitingQueue,
  reconciled,
  type ReconcileResult,
  requeueAfter,
  runWorkers,
} from '#client/workqueue/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { Clock } from '#machinery/clock.ts';
import { isHostOf, parseCidr, parseIp } from '#machinery/net/ip.ts';
import type { Logger } from '#machinery/log.ts';
import {
  ALLOCATOR,
  FAMILY_LABEL,
  type Holder,
  ipAddressFor,
  isHeldBy,
  MANAGED_BY_LABEL,
} from '../kinds/core/service/cluster-ips.ts';
import { addressesOf } from '../kinds/core/service/service.ts';

type Service = Immutable<core.Service>;
type IPAddress = Immutable<networking.IPAddress>;
type ServiceCIDR = Immutable<networking.ServiceCIDR>;

export interface ClusterIpRepairConfig {
  /** The server's own client. */
  readonly client: Client;
  readonly informers: SharedInformerFactory;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly recorder: Recorder;
}

const WORKERS = 5;
const MAX_RETRIES = 15;
/** How long an address may have no service, in ms, since it is created before its service. */
const GRACE_MS = 60_000;
const BY_ADDRESS = 'clusterIP';

export class ClusterIpRepair {
  readonly #config: ClusterIpRepairConfig;
  readonly #services: SharedInformer<Service>;
  readonly #addresses: SharedInformer<IPAddress>;
  readonly #ranges: SharedInformer<ServiceCIDR>;
  /** Keys of services. */
  readonly #serviceQueue: RateLimitingQueue;
  /** Names of IPAddresses. */
  readonly #addressQueue: RateLimitingQueue;

  constructor(config: ClusterIpRepairConfig) {
    this.#config = config;
    const { informers, clock } = config;
    this.#serviceQueue = new RateLimitingQueue({ clock });
    this.#addressQueue = new RateLimitingQueue({ clock });
    this.#services = informers.informerFor(services);
    this.#addresses = informers.informerFor(ipAddresses);
    this.#ranges = informers.informerFor(serviceCIDRs);
    this.#services.addIndexers({ [BY_ADDRESS]: (service) => [...addressesOf(service)] });
    this.#services.addEventHandler({
      onAdd: (service) => this.#serviceQueue.add(objectKey(service)),
      onUpdate: (previous, service) => {
        this.#serviceQueue.add(objectKey(service));
        const current = addressesOf(service);
        this.#lookLater(addressesOf(previous).filter((address) => !current.includes(address)));
      },
      onDelete: (service) => this.#lookLater(addressesOf(service)),
    });
    this.#addresses.addEventHandler({
      onAdd: ({ metadata }) => this.#consider(metadata.name),
      onUpdate: (_, { metadata }) => this.#consider(metadata.name),
      onDelete: ({ metadata }) => this.#considerServicesWith(metadata.name),
    });
    this.#ranges.addEventHandler({
      onAdd: () => this.#considerAll(),
      onUpdate: (previous, range) => {
        if (previous.spec.cidrs?.length !== range.spec.cidrs?.length) this.#considerAll();
      },
      onDelete: () => this.#considerAll(),
    });
  }

  /** Checks everything once, in the store itself. Must be awaited before services get addresses. */
  async checkAll(): Promise<void> {
    const { client } = this.#config;
    const [allServices, allAddresses, allRanges] = await Promise.all([
      client.resource(services).list(),
      client.resource(ipAddresses).list(),
      client.resource(serviceCIDRs).list(),
    ]);
    const addresses = new Map(
      allAddresses.items.map((address) => [address.metadata.name, address]),
    );
    const byKey = new Map(allServices.items.map((service) => [objectKey(service), service]));
    for (const service of allServices.items) {
      if (!looksRight(service, (name) => addresses.get(name)))
        await this.#mendService(service, allRanges.items);
    }
    for (const address of allAddresses.items) {
      if (!looksNeeded(address, (key) => byKey.get(key)))
        await this.#mendAddress(address.metadata.name);
    }
  }

  /** Runs until the signal aborts. The caller starts the informers. */
  async run(signal: AbortSignal): Promise<void> {
    const { logger } = this.#config;
    await Promise.all(
      [this.#services, this.#addresses, this.#ranges].map((informer) =>
        informer.waitForSync(signal),
      ),
    );
    const options = { logger, maxRetries: MAX_RETRIES };
    await Promise.all([
      runWorkers(
        this.#serviceQueue,
        WORKERS,
        (key) => this.#reconcileService(key),
        signal,
        options,
      ),
      runWorkers(
        this.#addressQueue,
        WORKERS,
        (name) => this.#reconcileAddress(name),
        signal,
        options,
      ),
    ]);
  }

  #consider(name: string): void {
    this.#addressQueue.add(name);
    this.#considerServicesWith(name);
  }

  #considerServicesWith(address: string): void {
    for (const service of this.#services.lister.byIndex(BY_ADDRESS, address))
      this.#serviceQueue.add(objectKey(service));
  }

  #considerAll(): void {
    for (const key of this.#services.lister.keys()) this.#serviceQueue.add(key);
  }

  /**
   * Queues addresses that a service no longer has. If they are not released by then, they have
   * leaked.
   */
  #lookLater(addresses: readonly string[]): void {
    for (const address of addresses) this.#addressQueue.addAfter(address, GRACE_MS);
  }

  async #reconcileService(key: string): Promise<ReconcileResult> {
    const cachedService = this.#services.lister.getByKey(key);
    if (
      cachedService === undefined ||
      looksRight(cachedService, (name) => this.#addresses.lister.getByKey(name))
    )
      return reconciled;
    const { namespace, name } = splitKey(key);
    const service = await apierrors.unlessMissing(
      this.#config.client.resource(services).namespace(namespace).get(name),
    );
    if (service !== undefined) await this.#mendService(service, this.#ranges.lister.list());
    return reconciled;
  }

  async #reconcileAddress(name: string): Promise<ReconcileResult> {
    const cachedAddress = this.#addresses.lister.getByKey(name);
    if (
      cachedAddress === undefined ||
      looksNeeded(cachedAddress, (key) => this.#services.lister.getByKey(key))
    )
      return reconciled;
    return this.#mendAddress(name);
  }

  async #mendService(service: Service, ranges: readonly ServiceCIDR[]): Promise<void> {
    for (const text of addressesOf(service)) {
      const address = parseIp(text);
      if (address === undefined) {
        this.#warnOfService(
          service,
          'ClusterIPNotValid',
          'ClusterIPValidation',
          `Cluster IP ${text} is not a valid IP; please recreate Service`,
        );
      } else if (!ranges.some(({ spec }) => spec.cidrs?.some((cidr) => isIn(cidr, text)))) {
        const message =
          `Cluster IP [${address.family}]: ${text} is not within any configured ` +
          'Service CIDR; please recreate service';
        this.#warnOfService(service, 'ClusterIPOutOfRange', 'ClusterIPAllocation', message);
      } else await this.#mendClusterIP(service, text, address.family);
    }
  }

  async #mendClusterIP(service: Service, text: string, family: string): Promise<void> {
    const { client } = this.#config;
    const holder = holderOf(service);
    const warn = (reason: string, message: string): void =>
      this.#warnOfService(service, reason, 'ClusterIPAllocation', message);
    const wrongReference =
      `the ClusterIP [${family}]: ${text} for Service ` +
      `${holder.namespace}/${holder.name} has a wrong reference; repairing`;
    const object = await apierrors.unlessMissing(client.resource(ipAddresses).get(text));
    if (object === undefined) {
      warn('ClusterIPNotAllocated', `Cluster IP [${family}]: ${text} is not allocated; repairing`);
      await client.resource(ipAddresses).create(ipAddressFor(text, holder));
      return;
    }
    const { parentRef } = object.spec;
    if ((parentRef?.group ?? '') !== '' || parentRef?.resource !== 'services') {
      warn('ClusterIPNotAllocated', wrongReference);
      return this.#remake(object, holder);
    }
    if (!isHeldBy(parentRef, holder)) {
      const inNamespace = client.resource(services).namespace(parentRef.namespace ?? '');
      const other = await apierrors.unlessMissing(inNamespace.get(parentRef.name ?? ''));
      if (other === undefined) {
        warn('ClusterIPNotAllocated', wrongReference);
        return this.#remake(object, holder);
      }
      if (addressesOf(other).includes(text)) {
        // One of the two services has to be changed, and only their owners can decide which one.
        warn(
          'ClusterIPAlreadyAllocated',
          `Cluster IP [${family}]:${text} was assigned to multiple services; please recreate service`,
        );
      }
      // If the other service does not have the address, it is released as a leaked one, and then
      // allocated to this service.
      return;
    }
    if (!hasLabels(object)) await this.#remake(object, holder);
  }

  /** Checks an address of the allocator. Other IPAddresses may have other uses. */
  async #mendAddress(name: string): Promise<ReconcileResult> {
    const { client, clock, logger } = this.#config;
    const object = await apierrors.unlessMissing(client.resource(ipAddresses).get(name));
    if (object === undefined || object.metadata.labels?.[MANAGED_BY_LABEL] !== ALLOCATOR)
      return reconciled;
    const {
      group = '',
      resource = '',
      namespace = '',
      name: parent = '',
    } = object.spec.parentRef ?? {};
    const remove = async (reason: string, message: string): Promise<ReconcileResult> => {
      logger.warn('service repair: releasing an address without a service', {
        address: name,
        message,
      });
      const subject = {
        apiVersion: 'networking.k8s.io/v1',
        kind: 'IPAddress',
        metadata: object.metadata,
      };
      this.#config.recorder.event(subject, 'Warning', reason, message, {
        action: 'IPAddressAllocation',
      });
      await this.#remove(object);
      return reconciled;
    };
    if (group !== '' || resource !== 'services') {
      const reference = `&ParentReference{Group:${group},Resource:${resource},Namespace:${namespace},Name:${parent},}`;
      return remove(
        'IPAddressNotAllocated',
        `IPAddress ${name} appears to have been modified, not referencing a Service ${reference}: cleaning up`,
      );
    }
    const service = await apierrors.unlessMissing(
      client.resource(services).namespace(namespace).get(parent),
    );
    if (service === undefined) {
      const ageMs = clock.now() - (parseTime(object.metadata.creationTimestamp) ?? 0);
      if (ageMs <= GRACE_MS) return requeueAfter(GRACE_MS - ageMs + 1000);
      return remove(
        'IPAddressNotAllocated',
        `IPAddress: ${name} for Service ${namespace}/${parent} appears to have leaked: cleaning up`,
      );
    }
    if (addressesOf(service).includes(name)) return reconciled;
    // A service that is getting this address has it only after its write.
    const ageMs = clock.now() - (parseTime(object.metadata.creationTimestamp) ?? 0);
    if (ageMs <= GRACE_MS) return requeueAfter(GRACE_MS - ageMs + 1000);
    return remove(
      'IPAddressWrongReference',
      `IPAddress: ${name} for Service ${namespace}/${parent} has a wrong reference; cleaning up`,
    );
  }

  async #remake(object: IPAddress, holder: Holder): Promise<void> {
    await this.#remove(object);
    await this.#config.client
      .resource(ipAddresses)
      .create(ipAddressFor(object.metadata.name, holder));
  }

  async #remove({ metadata: { name, uid } }: IPAddress): Promise<void> {
    await apierrors.unlessMissing(
      this.#config.client.resource(ipAddresses).delete(name, { preconditions: { uid } }),
    );
  }

  #warnOfService(service: Service, reason: string, action: string, message: string): void {
    const { namespace, name } = service.metadata;
    this.#config.logger.warn('service repair: cluster IP does not match its allocation', {
      service: `${namespace}/${name}`,
      message,
    });
    const subject = { apiVersion: 'v1', kind: 'Service', metadata: service.metadata };
    this.#config.recorder.event(subject, 'Warning', reason, message, { action });
  }
}

const holderOf = ({ metadata: { namespace = '', name } }: Service): Holder => ({ namespace, name });

function isIn(cidr: string, text: string): boolean {
  const [range, address] = [parseCidr(cidr), parseIp(text)];
  return range !== undefined && address !== undefined && isHostOf(range, address);
}

function hasLabels({ metadata: { name, labels = {} } }: IPAddress): boolean {
  return (
    labels[FAMILY_LABEL] === (name.includes(':') ? 'IPv6' : 'IPv4') &&
    labels[MANAGED_BY_LABEL] === ALLOCATOR
  );
}

function looksRight(
  service: Service,
  addressNamed: (name: string) => IPAddress | undefined,
): boolean {
  return addressesOf(service).every((text) => {
    const object = addressNamed(text);
    return (
      object !== undefined &&
      isHeldBy(object.spec.parentRef, holderOf(service)) &&
      hasLabels(object)
    );
  });
}

function looksNeeded(
  { metadata, spec }: IPAddress,
  serviceOf: (key: string) => Service | undefined,
): boolean {
  if (metadata.labels?.[MANAGED_BY_LABEL] !== ALLOCATOR) return true;
  const service = serviceOf(`${spec.parentRef?.namespace}/${spec.parentRef?.name}`);
  return (
    service !== undefined &&
    isHeldBy(spec.parentRef, holderOf(service)) &&
    addressesOf(service).includes(metadata.name)
  );
}
