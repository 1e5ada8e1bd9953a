// Reserves cluster IPs and node ports before a service is written, and releases them if the write
// fails or the service is deleted.

import * as apierrors from '#machinery/apierrors.ts';
import * as field from '#machinery/validation/field.ts';
import type { FieldPath } from '#machinery/validation/field.ts';
import type { IpFamily } from '#machinery/net/ip.ts';
import type { Random } from '#machinery/random.ts';
import type { Reservation } from '#apiserver/registry/strategy.ts';
import type { ClusterIPs, ClusterIPTransaction } from './cluster-ips.ts';
import { withFamilies } from './families.ts';
import type { NodePorts } from './node-ports.ts';
import { formatPortRange, type PortBits } from './port-bits.ts';
import {
  addressesOf,
  allocatesNodePorts,
  allPortsOf,
  needsHealthCheckPort,
  needsNodePorts,
  nodePortsOf,
  type Service,
} from './service.ts';

const SPEC = field.path('spec');
/** The last port before those that a dry run allocates. */
const BEFORE_DRY_RUN = 32_768;

export interface ServiceReservationsConfig {
  /** The families of the cluster, one or both, with the default first. */
  readonly families: readonly IpFamily[];
  readonly addresses: ClusterIPs;
  readonly ports: NodePorts;
  readonly random: Random;
}

/**
 * The ports that a plan allocates for a service, and those to release once the service is written.
 */
class PortDraft {
  readonly #ports: PortBits;
  readonly #random: Random;
  readonly #dryRun: boolean;
  readonly taken: number[] = [];
  readonly released: number[] = [];

  /** `dryRun`: a port outside of the range can be had, as upstream's dry runs have it. */
  constructor(ports: PortBits, random: Random, dryRun: boolean) {
    this.#ports = ports;
    this.#random = random;
    this.#dryRun = dryRun;
  }

  /**
   * Allocates the port. Returns the reason if that is impossible, undefined if it is allocated now.
   */
  problemWith(port: number): string | undefined {
    if (!this.#dryRun && !this.#ports.inRange(port)) {
      return (
        'provided port is not in the valid range. The range of valid ports is ' +
        formatPortRange(this.#ports.range)
      );
    }
    if (!this.#ports.take(port)) return 'provided port is already allocated';
    this.taken.push(port);
    return undefined;
  }

  /** In a dry run it may be any number: the one after the highest, as upstream, of 32 bits. */
  takeAny(): number | undefined {
    if (this.#dryRun) {
      const next = ((this.taken.length === 0 ? BEFORE_DRY_RUN : Math.max(...this.taken)) + 1) | 0;
      this.taken.push(next);
      return next;
    }
    const port = this.#ports.takeAny(this.#random);
    if (port !== undefined) this.taken.push(port);
    return port;
  }

  giveBack(port: number): void {
    this.released.push(port);
  }
}

export class ServiceReservations {
  readonly #config: ServiceReservationsConfig;

  constructor(config: ServiceReservationsConfig) {
    this.#config = config;
  }

  /**
   * Returns the service with its families, addresses and ports. Throws Invalid for values that
   * cannot be allocated.
   */
  async reserve(
    service: Service,
    old: Service | undefined,
    dryRun: boolean,
  ): Promise<Reservation<Service>> {
    const completed = withFamilies(service, old, this.#config.families);
    const { name, namespace = '' } = service.metadata;
    const addresses = this.#config.addresses.begin({ namespace, name }, dryRun);
    try {
      const withAddress = await this.#reserveAddresses(completed, old, addresses, dryRun);
      const { object, taken, released } = await this.#reservePorts(withAddress, old, dryRun);
      const { ports } = this.#config;
      return {
        object,
        commit: async () => {
          await Promise.all([addresses.commit(), dryRun ? undefined : ports.release(released)]);
        },
        rollback: async () => {
          await Promise.all([addresses.rollback(), dryRun ? undefined : ports.release(taken)]);
        },
      };
    } catch (error) {
      await addresses.rollback();
      throw error;
    }
  }

  /** Releases everything that a deleted service had. */
  async release(service: Service): Promise<void> {
    const { name, namespace = '' } = service.metadata;
    const { addresses, ports } = this.#config;
    await Promise.all([
      addresses.release(addressesOf(service), { namespace, name }),
      ports.release(allPortsOf(service)),
    ]);
  }

  /**
   * Returns the service with its addresses. An address is kept as long as the type and the families
   * of the service need it.
   */
  async #reserveAddresses(
    service: Service,
    old: Service | undefined,
    transaction: ClusterIPTransaction,
    dryRun: boolean,
  ): Promise<Service> {
    const { type, clusterIPs: wanted = [], ipFamilies = [] } = service.spec;
    const before =
      old === undefined || old.spec.type === 'ExternalName' ? [] : (old.spec.clusterIPs ?? []);
    if (type === 'ExternalName') {
      transaction.giveBack(before.filter((address) => address !== 'None'));
      return service;
    }
    if (wanted[0] === 'None' || before[0] === 'None') return service;
    transaction.giveBack(before.slice(ipFamilies.length));
    // Allocated addresses stay. Validation reports attempts to change them.
    const clusterIPs: string[] = [];
    for (const [index, family] of ipFamilies.entries()) {
      const address = wanted[index] ?? '';
      const previous = before[index];
      clusterIPs.push(
        previous === undefined
          ? await this.#takeAddress(service, family as IpFamily, address, transaction, dryRun)
          : address || previous,
      );
    }
    return withClusterIPs(service, clusterIPs);
  }

  async #takeAddress(
    service: Service,
    family: IpFamily,
    wanted: string,
    transaction: ClusterIPTransaction,
    dryRun: boolean,
  ): Promise<string> {
    if (wanted === '') {
      const address = await transaction.takeAny(family);
      if (address === undefined)
        throw apierrors.internalError('failed to allocate a serviceIP: range is full');
      return address;
    }
    const refusal = await transaction.take(wanted);
    if (refusal === undefined) return wanted;
    const why =
      refusal === 'taken'
        ? 'provided IP is already allocated'
        : await this.#outOfRange(wanted, family, dryRun);
    const message = `failed to allocate IP ${wanted}: ${why}`;
    throw refused(service, SPEC.child('clusterIPs'), service.spec.clusterIPs, message);
  }

  /**
   * Returns the message for an address outside of all ranges. There may be several ranges, so only
   * a dry run, which tries one, names it.
   */
  async #outOfRange(address: string, family: IpFamily, dryRun: boolean): Promise<string> {
    const range = dryRun ? await this.#config.addresses.firstRange(family) : undefined;
    if (range === undefined) return 'the provided network does not match the current range';
    return `the provided IP (${address}) is not in the valid range. The range of valid IPs is ${range.cidr}`;
  }

  async #reservePorts(
    service: Service,
    old: Service | undefined,
    dryRun: boolean,
  ): Promise<{
    readonly object: Service;
    readonly taken: readonly number[];
    readonly released: readonly number[];
  }> {
    // Most services have no node ports, so the shared object is not read for them.
    if (!needsNodePorts(service) && (old === undefined || allPortsOf(old).length === 0)) {
      return { object: service, taken: [], released: [] };
    }
    const plan = (ports: PortBits) => {
      const draft = new PortDraft(ports, this.#config.random, dryRun);
      const withPorts =
        old === undefined ? this.#newPorts(service, draft) : this.#updatePorts(service, old, draft);
      const object = this.#reserveHealthCheckPort(withPorts, old, draft);
      return { object, taken: draft.taken, released: draft.released };
    };
    return dryRun ? this.#config.ports.try(plan) : this.#config.ports.change(plan);
  }

  /**
   * Returns a new service with node ports. Ports with the same number (and different protocols)
   * share a node port.
   */
  #newPorts(service: Service, draft: PortDraft): Service {
    const list = service.spec.ports ?? [];
    if (!needsNodePorts(service)) return service;
    const byPort = new Map<number, number>();
    const ports = list.map((port, index) => {
      const { nodePort = 0 } = port;
      if (nodePort === 0 && !allocatesNodePorts(service)) return port;
      const shared = byPort.get(port.port);
      if (shared !== undefined) {
        if (nodePort !== 0 && nodePort !== shared) this.#take(service, index, nodePort, draft);
        return nodePort === 0 ? { ...port, nodePort: shared } : port;
      }
      const requested = list.find(
        (other) => other.port === port.port && (other.nodePort ?? 0) !== 0,
      )?.nodePort;
      if (requested !== undefined) this.#take(service, index, requested, draft);
      const number = requested ?? takeAnyPort(draft);
      byPort.set(port.port, number);
      return { ...port, nodePort: number };
    });
    return { ...service, spec: { ...service.spec, ports } };
  }

  #updatePorts(service: Service, old: Service, draft: PortDraft): Service {
    const before = new Set(nodePortsOf(old));
    if (!needsNodePorts(service)) {
      for (const number of before) draft.giveBack(number);
      return service;
    }
    const seen = new Set<string>();
    const taken = new Set<number>();
    const ports = service.spec.ports?.map((port, index) => {
      let { nodePort = 0 } = port;
      if (nodePort === 0 && !allocatesNodePorts(service)) return port;
      if (nodePort === 0) nodePort = takeAnyPort(draft);
      else if (!before.has(nodePort) && !taken.has(nodePort)) {
        this.#take(service, index, nodePort, draft);
        taken.add(nodePort);
      }
      const key = `{${port.protocol} ${nodePort}}`;
      if (seen.has(key)) throw apierrors.badRequest(`duplicate nodePort: ${key}`);
      seen.add(key);
      return { ...port, nodePort };
    });
    const changed = { ...service, spec: { ...service.spec, ports } };
    const after = new Set(nodePortsOf(changed));
    for (const number of before) if (!after.has(number)) draft.giveBack(number);
    return changed;
  }

  #take(service: Service, index: number, nodePort: number, draft: PortDraft): void {
    const problem = draft.problemWith(nodePort);
    if (problem !== undefined)
      throw refused(service, SPEC.child('ports').index(index).child('nodePort'), nodePort, problem);
  }

  #reserveHealthCheckPort(service: Service, old: Service | undefined, draft: PortDraft): Service {
    const before = old !== undefined && needsHealthCheckPort(old);
    if (!needsHealthCheckPort(service)) {
      if (before && old.spec.healthCheckNodePort !== undefined)
        draft.giveBack(old.spec.healthCheckNodePort);
      return service;
    }
    if (before) return service;
    const { healthCheckNodePort: wanted = 0 } = service.spec;
    if (wanted !== 0) {
      const problem = draft.problemWith(wanted);
      if (problem === undefined) return service;
      throw refused(service, SPEC.child('healthCheckNodePort'), wanted, problem);
    }
    const number = draft.takeAny();
    if (number === undefined)
      throw apierrors.internalError('failed to allocate a HealthCheck NodePort 0: range is full');
    return { ...service, spec: { ...service.spec, healthCheckNodePort: number } };
  }
}

function takeAnyPort(draft: PortDraft): number {
  const number = draft.takeAny();
  if (number === undefined)
    throw apierrors.internalError('failed to allocate a nodePort: range is full');
  return number;
}

function refused(service: Service, at: FieldPath, value: unknown, message: string): Error {
  return apierrors.invalid({ group: '', kind: 'Service' }, service.metadata.name, [
    field.invalid(at, value, message),
  ]);
}

const withClusterIPs = (service: Service, clusterIPs: readonly string[]): Service => ({
  ...service,
  spec: { ...service.spec, clusterIP: clusterIPs[0] ?? '', clusterIPs },
});
