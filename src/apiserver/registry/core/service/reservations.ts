// The cluster IPs and node ports of services: reserved before a service is written, given back if the write fails or the
// service goes.

import * as apierrors from '../../../../machinery/apierrors.ts';
import * as field from '../../../../machinery/field.ts';
import type { FieldPath } from '../../../../machinery/field.ts';
import type { Random } from '../../../../machinery/random.ts';
import type { Reservation } from '../../strategy.ts';
import { serviceAddressRanges } from './address-range.ts';
import type { AddressRange, Family } from './address-range.ts';
import { NumberAllocator } from './allocator.ts';
import type { NumberTransaction } from './allocator.ts';
import { withFamilies } from './families.ts';
import { needsHealthCheckPort, needsNodePorts, nodePortsOf } from './service.ts';
import type { Service, ServiceSpec } from './service.ts';

const NODE_PORTS = { first: 30_000, last: 32_767, firstDynamic: 30_086 } as const;
const SPEC = field.path('spec');

export interface ServiceReservationsConfig {
  /** One range, or one of each family with a comma between them. */
  readonly serviceCidr: string;
  readonly random: Random;
  /** Every service there is, for the first use. */
  listServices(): Promise<readonly Service[]>;
}

/** The addresses of one family. */
interface Pool {
  readonly range: AddressRange;
  readonly numbers: NumberAllocator;
}

export class ServiceReservations {
  readonly #list: () => Promise<readonly Service[]>;
  /** The family of services that do not say first. */
  readonly #pools: ReadonlyMap<Family, Pool>;
  readonly #ports: NumberAllocator;
  #loaded: Promise<void> | undefined;
  /** Deleted while the services are being read: the list may still have them. */
  #deleted: Service[] | undefined;

  constructor(config: ServiceReservationsConfig) {
    this.#list = config.listServices;
    this.#pools = new Map(
      serviceAddressRanges(config.serviceCidr).map((range) => [
        range.family,
        { range, numbers: new NumberAllocator(range, config.random) },
      ]),
    );
    this.#ports = new NumberAllocator(NODE_PORTS, config.random);
  }

  /** The service with its families, addresses and ports. Throws Invalid for values that cannot be had. */
  async reserve(service: Service, old: Service | undefined, dryRun: boolean): Promise<Reservation<Service>> {
    await this.#load();
    const completed = withFamilies(service, old, [...this.#pools.keys()]);
    const addresses = new Map([...this.#pools].map(([family, { numbers }]) => [family, numbers.begin(dryRun)]));
    const ports = this.#ports.begin(dryRun);
    const all = [...addresses.values(), ports];
    try {
      const withAddress = this.#reserveAddresses(completed, old, addresses, dryRun);
      const withPorts = old === undefined ? this.#reservePorts(withAddress, ports) : this.#updatePorts(withAddress, old, ports);
      const object = this.#reserveHealthCheckPort(withPorts, old, ports);
      return {
        object,
        commit: () => all.forEach((transaction) => transaction.commit()),
        rollback: () => all.forEach((transaction) => transaction.rollback()),
      };
    } catch (error) {
      all.forEach((transaction) => transaction.rollback());
      throw error;
    }
  }

  /** Gives back all that a deleted service had. */
  release(service: Service): void {
    this.#deleted?.push(service);
    for (const address of addressesOf(service)) this.#pools.get(familyOf(address))?.numbers.release(this.#numberOf(address));
    for (const port of allPortsOf(service)) this.#ports.release(port);
  }

  #load(): Promise<void> {
    this.#loaded ??= this.#read().catch((error: unknown) => {
      this.#loaded = undefined;
      throw error;
    });
    return this.#loaded;
  }

  async #read(): Promise<void> {
    this.#deleted = [];
    const services = await this.#list();
    const deleted = this.#deleted;
    this.#deleted = undefined;
    for (const service of services) {
      for (const address of addressesOf(service)) this.#pools.get(familyOf(address))?.numbers.markTaken(this.#numberOf(address));
      for (const port of allPortsOf(service)) this.#ports.markTaken(port);
    }
    deleted.forEach((service) => this.release(service));
  }

  /** An address is for as long as the service has a type, and families, that need one. */
  #reserveAddresses(
    service: Service,
    old: Service | undefined,
    transactions: ReadonlyMap<Family, NumberTransaction>,
    dryRun: boolean,
  ): Service {
    const { type, clusterIPs: wanted = [], ipFamilies = [] } = service.spec;
    const before = old === undefined || old.spec.type === 'ExternalName' ? [] : (old.spec.clusterIPs ?? []);
    const giveBack = (addresses: readonly string[]): void => {
      for (const address of addresses) transactions.get(familyOf(address))?.giveBack(this.#numberOf(address));
    };
    if (type === 'ExternalName') {
      giveBack(before);
      return service;
    }
    if (wanted[0] === 'None' || before[0] === 'None') return service;
    giveBack(before.slice(ipFamilies.length));
    // What a service has stays; that it cannot be changed is said elsewhere.
    const clusterIPs = ipFamilies.map((family, index) => {
      const address = wanted[index] ?? '';
      const held = before[index];
      return held === undefined ? this.#takeAddress(service, family, address, transactions, dryRun) : address || held;
    });
    return withClusterIPs(service, clusterIPs);
  }

  #takeAddress(
    service: Service,
    family: Family | '',
    wanted: string,
    transactions: ReadonlyMap<Family, NumberTransaction>,
    dryRun: boolean,
  ): string {
    const pool = family === '' ? undefined : this.#pools.get(family);
    const transaction = family === '' ? undefined : transactions.get(family);
    const refuse = (why: string): Error =>
      refused(service, SPEC.child('clusterIPs'), service.spec.clusterIPs, `failed to allocate IP ${wanted}: ${why}`);
    if (pool === undefined || transaction === undefined) throw refuse(`no range of ${family || 'this family'} is configured`);
    const { range, numbers } = pool;
    if (wanted === '') {
      const number = transaction.takeAny();
      if (number === undefined) throw apierrors.internalError('failed to allocate a serviceIP: range is full');
      return range.addressOf(number);
    }
    const number = range.numberOf(wanted);
    if (number === undefined || !numbers.inRange(number)) throw refuse(outOfRange(wanted, range, dryRun));
    if (!transaction.take(number)) throw refuse('provided IP is already allocated');
    return wanted;
  }

  /** Of an address that is known to be of its family; one from outside of the range is nobody else's either. */
  #numberOf(address: string): number {
    return this.#pools.get(familyOf(address))?.range.numberOf(address) ?? -1;
  }

  /** Ports of a new service with one number (of several protocols) share a node port. */
  #reservePorts(service: Service, transaction: NumberTransaction): Service {
    const list = service.spec.ports ?? [];
    if (!needsNodePorts(service)) return service;
    const byPort = new Map<number, number>();
    const ports = list.map((port, index) => {
      const { nodePort = 0 } = port;
      if (nodePort === 0 && !givesNodePorts(service.spec)) return port;
      const shared = byPort.get(port.port);
      if (shared !== undefined) {
        if (nodePort !== 0 && nodePort !== shared) this.#take(service, index, nodePort, transaction);
        return nodePort === 0 ? { ...port, nodePort: shared } : port;
      }
      const requested = list.find((other) => other.port === port.port && (other.nodePort ?? 0) !== 0)?.nodePort;
      if (requested !== undefined) this.#take(service, index, requested, transaction);
      const number = requested ?? takeAnyPort(transaction);
      byPort.set(port.port, number);
      return { ...port, nodePort: number };
    });
    return { ...service, spec: { ...service.spec, ports } };
  }

  #updatePorts(service: Service, old: Service, transaction: NumberTransaction): Service {
    const before = new Set(nodePortsOf(old));
    if (!needsNodePorts(service)) {
      for (const number of before) transaction.giveBack(number);
      return service;
    }
    const seen = new Set<string>();
    const taken = new Set<number>();
    const ports = service.spec.ports?.map((port, index) => {
      let { nodePort = 0 } = port;
      if (nodePort === 0 && !givesNodePorts(service.spec)) return port;
      if (nodePort === 0) nodePort = takeAnyPort(transaction);
      else if (!before.has(nodePort) && !taken.has(nodePort)) {
        this.#take(service, index, nodePort, transaction);
        taken.add(nodePort);
      }
      const key = `{${port.protocol} ${nodePort}}`;
      if (seen.has(key)) throw apierrors.badRequest(`duplicate nodePort: ${key}`);
      seen.add(key);
      return { ...port, nodePort };
    });
    const changed = { ...service, spec: { ...service.spec, ports } };
    const after = new Set(nodePortsOf(changed));
    for (const number of before) if (!after.has(number)) transaction.giveBack(number);
    return changed;
  }

  #take(service: Service, index: number, nodePort: number, transaction: NumberTransaction): void {
    const problem = this.#portProblem(nodePort, transaction);
    if (problem !== undefined) throw refused(service, SPEC.child('ports').index(index).child('nodePort'), nodePort, problem);
  }

  /** Takes the port, or says why it cannot be had. */
  #portProblem(nodePort: number, transaction: NumberTransaction): string | undefined {
    const { first, last } = NODE_PORTS;
    if (!this.#ports.inRange(nodePort)) {
      return `provided port is not in the valid range. The range of valid ports is ${first}-${last}`;
    }
    return transaction.take(nodePort) ? undefined : 'provided port is already allocated';
  }

  #reserveHealthCheckPort(service: Service, old: Service | undefined, transaction: NumberTransaction): Service {
    const before = old !== undefined && needsHealthCheckPort(old);
    if (!needsHealthCheckPort(service)) {
      if (before && old.spec.healthCheckNodePort !== undefined) transaction.giveBack(old.spec.healthCheckNodePort);
      return service;
    }
    if (before) return service;
    const { healthCheckNodePort: wanted = 0 } = service.spec;
    if (wanted !== 0) {
      const problem = this.#portProblem(wanted, transaction);
      if (problem === undefined) return service;
      throw apierrors.internalError(`failed to allocate requested HealthCheck NodePort ${wanted}: ${problem}`);
    }
    const number = transaction.takeAny();
    if (number === undefined) throw apierrors.internalError('failed to allocate a HealthCheck NodePort 0: range is full');
    return { ...service, spec: { ...service.spec, healthCheckNodePort: number } };
  }
}

const givesNodePorts = (spec: ServiceSpec): boolean =>
  spec.type === 'NodePort' || (spec.type === 'LoadBalancer' && spec.allocateLoadBalancerNodePorts !== false);

function takeAnyPort(transaction: NumberTransaction): number {
  const number = transaction.takeAny();
  if (number === undefined) throw apierrors.internalError('failed to allocate a nodePort: range is full');
  return number;
}

function refused(service: Service, at: FieldPath, value: unknown, message: string): Error {
  return apierrors.invalid({ group: '', kind: 'Service' }, service.metadata.name, [field.invalid(at, value, message)]);
}

/** There may be several ranges, in Kubernetes: only a dry run, which tries one of them, names it. */
function outOfRange(address: string, { cidr }: AddressRange, dryRun: boolean): string {
  if (!dryRun) return 'the provided network does not match the current range';
  return `the provided IP (${address}) is not in the valid range. The range of valid IPs is ${cidr}`;
}

const withClusterIPs = (service: Service, clusterIPs: readonly string[]): Service => ({
  ...service,
  spec: { ...service.spec, clusterIP: clusterIPs[0] ?? '', clusterIPs },
});

const familyOf = (address: string): Family => (address.includes(':') ? 'IPv6' : 'IPv4');

function addressesOf({ spec }: Service): readonly string[] {
  if (spec.type === 'ExternalName') return [];
  return (spec.clusterIPs ?? [spec.clusterIP ?? '']).filter((address) => address !== '' && address !== 'None');
}

function allPortsOf(service: Service): number[] {
  const { healthCheckNodePort = 0 } = service.spec;
  const needed = needsHealthCheckPort(service) && healthCheckNodePort !== 0;
  return needed ? [...nodePortsOf(service), healthCheckNodePort] : nodePortsOf(service);
}
