// The cluster IPs and node ports of services: reserved before a service is written, given back if the write fails or the
// service goes.

import type * as core from '../../../../api/core/v1/index.ts';
import type { Immutable } from '../../../../api/meta/v1/index.ts';
import * as apierrors from '../../../../machinery/apierrors.ts';
import * as field from '../../../../machinery/field.ts';
import type { Random } from '../../../../machinery/random.ts';
import type { Reservation } from '../../strategy.ts';
import { formatIPv4, parseIPv4, serviceAddressRange } from './address-range.ts';
import { NumberAllocator } from './allocator.ts';

export type Service = Immutable<core.Service>;

const NODE_PORTS = { first: 30_000, last: 32_767, firstDynamic: 30_086 } as const;
const SPEC = field.path('spec');

export interface ServiceReservationsConfig {
  readonly serviceCidr: string;
  readonly random: Random;
  /** Every service there is, for the first use. */
  listServices(): Promise<readonly Service[]>;
}

export const hasClusterIP = (service: Service): boolean =>
  service.spec.type !== 'ExternalName' && service.spec.clusterIP !== 'None';
const hasNodePorts = (service: Service): boolean =>
  service.spec.type === 'NodePort' ||
  (service.spec.type === 'LoadBalancer' && service.spec.allocateLoadBalancerNodePorts !== false);

export class ServiceReservations {
  readonly #cidr: string;
  readonly #list: () => Promise<readonly Service[]>;
  readonly #addresses: NumberAllocator;
  readonly #ports: NumberAllocator;
  #loaded: Promise<void> | undefined;

  constructor(config: ServiceReservationsConfig) {
    this.#cidr = config.serviceCidr;
    this.#list = config.listServices;
    this.#addresses = new NumberAllocator(serviceAddressRange(config.serviceCidr), config.random);
    this.#ports = new NumberAllocator(NODE_PORTS, config.random);
  }

  async reserve(service: Service, old: Service | undefined): Promise<Reservation<Service>> {
    await this.#load();
    const undo: (() => void)[] = [];
    const onCommit: (() => void)[] = [];
    const rollback = (): void => undo.forEach((step) => step());
    try {
      const withAddress = this.#reserveAddress(service, old, undo);
      const withPorts = this.#reserveNodePorts(withAddress, old, undo);
      if (old !== undefined) onCommit.push(() => this.#releaseUnused(old, withPorts));
      return { object: withPorts, commit: () => onCommit.forEach((step) => step()), rollback };
    } catch (error) {
      rollback();
      throw error;
    }
  }

  /** Gives back all that a deleted service had. */
  release(service: Service): void {
    for (const address of addressesOf(service)) this.#addresses.release(address);
    for (const port of nodePortsOf(service)) this.#ports.release(port);
  }

  #load(): Promise<void> {
    this.#loaded ??= this.#list().then(
      (services) => {
        for (const service of services) {
          for (const address of addressesOf(service)) this.#addresses.take(address);
          for (const port of nodePortsOf(service)) this.#ports.take(port);
        }
      },
      (error: unknown) => {
        this.#loaded = undefined;
        throw error;
      },
    );
    return this.#loaded;
  }

  #reserveAddress(service: Service, old: Service | undefined, undo: (() => void)[]): Service {
    const { spec } = service;
    if (spec.type === 'ExternalName') return service;
    if (spec.clusterIP === 'None') return withFamily(service, 'None');
    const wanted = spec.clusterIP ?? '';
    if (wanted !== '' && old !== undefined && old.spec.clusterIP === wanted) return withFamily(service, wanted);
    if (wanted === '') {
      const number = this.#addresses.takeAny();
      if (number === undefined) throw apierrors.internalError(new Error(`failed to allocate a serviceIP: range is full`));
      undo.push(() => this.#addresses.release(number));
      return withFamily(service, formatIPv4(number));
    }
    const number = parseIPv4(wanted);
    const refuse = (message: string) =>
      apierrors.invalid({ group: '', kind: 'Service' }, service.metadata.name, [
        field.invalid(SPEC.child('clusterIPs').index(0), wanted, message),
      ]);
    if (number === undefined || !this.#addresses.inRange(number)) {
      throw refuse(
        `failed to allocate IP ${wanted}: the provided IP (${wanted}) is not in the valid range. The range of valid IPs is ${this.#cidr}`,
      );
    }
    if (!this.#addresses.take(number)) throw refuse(`failed to allocate IP ${wanted}: provided IP is already allocated`);
    undo.push(() => this.#addresses.release(number));
    return withFamily(service, wanted);
  }

  #reserveNodePorts(service: Service, old: Service | undefined, undo: (() => void)[]): Service {
    if (!hasNodePorts(service) || service.spec.ports === undefined) return service;
    const kept = new Set(old === undefined ? [] : nodePortsOf(old));
    // Two ports of one service may share a node port if their protocols differ.
    const own = new Map<number, Set<string>>();
    const ports = service.spec.ports.map((port, index) => {
      const protocol = port.protocol ?? 'TCP';
      let number = port.nodePort ?? 0;
      if (number === 0) {
        const free = this.#ports.takeAny();
        if (free === undefined) throw apierrors.internalError(new Error(`failed to allocate a nodePort: range is full`));
        number = free;
        undo.push(() => this.#ports.release(free));
      } else if (!kept.has(number) && own.get(number)?.has(protocol) !== false) {
        const refuse = (message: string) =>
          apierrors.invalid({ group: '', kind: 'Service' }, service.metadata.name, [
            field.invalid(SPEC.child('ports').index(index).child('nodePort'), number, message),
          ]);
        if (!this.#ports.inRange(number))
          throw refuse(
            `provided port is not in the valid range. The range of valid ports is ${NODE_PORTS.first}-${NODE_PORTS.last}`,
          );
        if (!this.#ports.take(number)) throw refuse('provided port is already allocated');
        const taken = number;
        undo.push(() => this.#ports.release(taken));
      }
      own.set(number, (own.get(number) ?? new Set()).add(protocol));
      return { ...port, nodePort: number };
    });
    return { ...service, spec: { ...service.spec, ports } };
  }

  #releaseUnused(old: Service, now: Service): void {
    const addresses = new Set(addressesOf(now));
    for (const address of addressesOf(old)) if (!addresses.has(address)) this.#addresses.release(address);
    const ports = new Set(nodePortsOf(now));
    for (const port of nodePortsOf(old)) if (!ports.has(port)) this.#ports.release(port);
  }
}

/** The fields that go with a cluster IP. Only IPv4 is served, so there is one address of one family. */
function withFamily(service: Service, clusterIP: string): Service {
  return {
    ...service,
    spec: { ...service.spec, clusterIP, clusterIPs: [clusterIP], ipFamilies: ['IPv4'], ipFamilyPolicy: 'SingleStack' },
  };
}

function addressesOf(service: Service): number[] {
  if (!hasClusterIP(service)) return [];
  return (service.spec.clusterIPs ?? [service.spec.clusterIP ?? '']).flatMap((address) => parseIPv4(address) ?? []);
}

function nodePortsOf(service: Service): number[] {
  return (service.spec.ports ?? []).flatMap((port) =>
    port.nodePort === undefined || port.nodePort === 0 ? [] : [port.nodePort],
  );
}
