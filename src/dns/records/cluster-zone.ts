// The records of the cluster: a pure function of the index, by the Kubernetes DNS specification
// 1.1. Where the specification leaves a choice, answers are those of CoreDNS.

import { isBelow, type Labels } from '../wire/names.ts';
import { addressRecord, nameRecord, soaRecord, type ResourceRecord } from '../wire/records.ts';
import { RCODE, TYPE } from '../wire/types.ts';
import { addressKey, addressLabel, parseAddressLabel, type AddressKey } from './addresses.ts';
import type { PackedPort, PackedService, PackedSlice } from './packed.ts';
import { addressOf, type EndpointRef, type RecordIndex } from './record-index.ts';

export interface ZoneAnswer {
  readonly rcode: number;
  readonly answers: readonly ResourceRecord[];
  readonly authorities: readonly ResourceRecord[];
  readonly additionals: readonly ResourceRecord[];
  /** The target outside of the cluster of the last CNAME: its records belong to the answer. */
  readonly outside?: Labels;
  /** There are more records than a message can hold. */
  readonly truncated: boolean;
}

export interface ClusterZoneConfig {
  readonly index: RecordIndex;
  /** The cluster domain, such as 'cluster.local', as labels. */
  readonly domain: Labels;
  /** The TTL of records, in seconds. Default: 5. */
  readonly ttl?: number;
  /** Whether names with the address of a pod exist, as with `pods insecure`. Default: true. */
  readonly pods?: boolean;
  /** Returns the time of the last change, in seconds since the epoch, for SOA records. */
  readonly serial: () => number;
  /** The service of this DNS, 'namespace/name', for NS records. */
  readonly ownService: string;
}

const DEFAULT_TTL = 5;
/** The TTL of the version record, in seconds, as in CoreDNS. */
const VERSION_TTL = 28_800;
const VERSION = '1.1.0';
/** The maximum number of CNAMEs that are followed inside the cluster, as in CoreDNS. */
const MAX_CHAIN = 8;
/**
 * The maximum number of endpoints and ports in one answer. No message has room for more address
 * records.
 */
const MAX_TARGETS = 4096;

/** An address with its own name. */
interface Target {
  /** Returns the name. Called for SRV records only: most questions are about addresses. */
  readonly name: () => Labels;
  readonly address: Uint8Array;
  readonly port: number;
}

/** undefined: the name does not exist. Empty: it exists without records. */
type Lookup =
  | { readonly targets: readonly Target[]; readonly truncated: boolean }
  | { readonly alias: Labels }
  | undefined;

const EMPTY: Lookup = { targets: [], truncated: false };

export class ClusterZone {
  readonly #config: ClusterZoneConfig;
  readonly #ttl: number;

  constructor(config: ClusterZoneConfig) {
    this.#config = config;
    this.#ttl = config.ttl ?? DEFAULT_TTL;
  }

  /**
   * Returns the answer. `name`: the domain or a name below it. `most`: the number of records that
   * the answer has room for; further records are truncated.
   */
  answer(name: Labels, type: number, most = MAX_TARGETS): ZoneAnswer {
    const { domain } = this.#config;
    const base = name.slice(0, name.length - domain.length);
    if (type === TYPE.AXFR || type === TYPE.IXFR) return refused;
    if (type === TYPE.SOA && base.length === 0) return this.#found([this.#soa(domain)]);
    if (type === TYPE.NS && base.length === 0) return this.#nameServers();
    if (type === TYPE.TXT && base.length === 1 && base[0] === 'dns-version') {
      return this.#found([
        { owner: undefined, type: TYPE.TXT, ttl: VERSION_TTL, data: { texts: [VERSION] } },
      ]);
    }
    const lookup = this.#lookup(base, most);
    if (lookup === undefined) return this.#negative(domain, RCODE.NXDOMAIN);
    if ('alias' in lookup) return this.#alias(lookup.alias, type, most);
    switch (type) {
      case TYPE.A:
      case TYPE.AAAA:
        return this.#found(this.#addresses(undefined, lookup.targets, type), [], lookup.truncated);
      case TYPE.SRV:
        return this.#services(lookup.targets, lookup.truncated);
      default:
        return this.#negative(domain, RCODE.NOERROR);
    }
  }

  /**
   * Returns the answer for an address; undefined if the cluster has nothing at the address, so that
   * an upstream server may have its name.
   */
  reverse(address: Uint8Array, zone: Labels, type: number): ZoneAnswer | undefined {
    const { index, domain } = this.#config;
    const service = index.serviceAt(address);
    const names =
      service === undefined
        ? index
            .endpointsAt(address)
            .slice(0, MAX_TARGETS)
            .map((endpoint) => this.#endpointName(endpoint))
        : [this.#serviceName(service.key)];
    if (names.length === 0) return undefined;
    // Only PTR records exist here.
    if (type !== TYPE.PTR) return undefined;
    const unique = new Map(names.map((target) => [target.join('.'), target]));
    if (domain.length === 0) return this.#negative(zone, RCODE.NXDOMAIN);
    return this.#found(
      [...unique.values()].map((target) => nameRecord(TYPE.PTR, undefined, target, this.#ttl)),
    );
  }

  /** Returns an answer without records, with the SOA record of its zone. */
  #negative(zone: Labels, rcode: number): ZoneAnswer {
    return {
      rcode,
      answers: [],
      authorities: [this.#soa(zone)],
      additionals: [],
      truncated: false,
    };
  }

  /** Returns the answer for a name of a reverse zone that nothing has. */
  denied(zone: Labels): ZoneAnswer {
    return this.#negative(zone, RCODE.NXDOMAIN);
  }

  /** Returns the answer for the name of a reverse zone itself. */
  reverseApex(zone: Labels, type: number): ZoneAnswer {
    if (type === TYPE.AXFR || type === TYPE.IXFR) return refused;
    return type === TYPE.SOA ? this.#found([this.#soa(zone)]) : this.#negative(zone, RCODE.NOERROR);
  }

  #soa(zone: Labels): ResourceRecord {
    return soaRecord(zone, this.#config.serial(), this.#ttl);
  }

  #found(
    answers: readonly ResourceRecord[],
    additionals: readonly ResourceRecord[] = [],
    truncated = false,
  ): ZoneAnswer {
    if (answers.length === 0) return this.#negative(this.#config.domain, RCODE.NOERROR);
    return { rcode: RCODE.NOERROR, answers, authorities: [], additionals, truncated };
  }

  #addresses(
    owner: Labels | undefined,
    targets: readonly Target[],
    type: number,
  ): ResourceRecord[] {
    const length = type === TYPE.A ? 4 : 16;
    const records = new Map<AddressKey, ResourceRecord>();
    for (const { address } of targets) {
      if (address.length === length)
        records.set(addressKey(address), addressRecord(owner, address, this.#ttl));
    }
    return [...records.values()];
  }

  #services(targets: readonly Target[], truncated: boolean): ZoneAnswer {
    // All records have one priority; their weights add up to about 100, as in CoreDNS.
    const weight = Math.max(1, Math.floor(100 / Math.max(1, targets.length)));
    const answers = new Map<string, ResourceRecord>();
    const additionals = new Map<string, ResourceRecord>();
    for (const { name: nameOf, address, port } of targets) {
      if (port < 0) continue;
      const name = nameOf();
      const id = name.join('.');
      answers.set(`${id} ${port}`, {
        owner: undefined,
        type: TYPE.SRV,
        ttl: this.#ttl,
        data: { port, weight, priority: 0, target: name },
      });
      additionals.set(`${id} ${address.join('.')}`, addressRecord(name, address, this.#ttl));
    }
    return this.#found([...answers.values()], [...additionals.values()], truncated);
  }

  #nameServers(): ZoneAnswer {
    const { index, ownService, domain } = this.#config;
    const service = index.service(ownService);
    if (service === undefined) return this.#negative(domain, RCODE.NOERROR);
    const name = this.#serviceName(service.key);
    const additionals = service.addresses.map((address) => addressRecord(name, address, this.#ttl));
    return this.#found([nameRecord(TYPE.NS, undefined, name, this.#ttl)], additionals);
  }

  /** Follows an alias inside the cluster. Loops, and names that do not exist, add no records. */
  #alias(first: Labels, type: number, most: number): ZoneAnswer {
    const { domain } = this.#config;
    if (type === TYPE.CNAME)
      return this.#found([nameRecord(TYPE.CNAME, undefined, first, this.#ttl)]);
    if (type !== TYPE.A && type !== TYPE.AAAA && type !== TYPE.TXT)
      return this.#negative(domain, RCODE.NOERROR);
    const chain: ResourceRecord[] = [nameRecord(TYPE.CNAME, undefined, first, this.#ttl)];
    let target = first;
    while (chain.length <= MAX_CHAIN) {
      if (!isBelow(target, domain)) {
        return { ...this.#found(chain), outside: target };
      }
      const lookup = this.#lookup(target.slice(0, target.length - domain.length), most);
      if (lookup === undefined) break;
      if (!('alias' in lookup)) {
        const records = type === TYPE.TXT ? [] : this.#addresses(target, lookup.targets, type);
        return this.#found(
          records.length === 0 ? [] : [...chain, ...records],
          [],
          lookup.truncated,
        );
      }
      chain.push(nameRecord(TYPE.CNAME, target, lookup.alias, this.#ttl));
      target = lookup.alias;
    }
    return this.#negative(domain, RCODE.NOERROR);
  }

  /** Looks a name up. `base`: the labels before the domain. */
  #lookup(base: Labels, most: number): Lookup {
    const { index, ownService } = this.#config;
    const depth = base.length;
    const kind = base[depth - 1];
    if (depth === 0) return EMPTY;
    if (depth === 2 && base[0] === 'ns' && base[1] === 'dns') {
      const own = index.service(ownService);
      return own === undefined
        ? undefined
        : targetsOf(own.addresses, this.#serviceName(own.key), [
            { name: '', protocol: '', port: -1 },
          ]);
    }
    if (kind !== 'svc' && kind !== 'pod') return undefined;
    if (depth === 1) return EMPTY;
    if (kind === 'pod' && this.#config.pods === false) return undefined;
    if (depth > 5) return undefined;
    const namespace = base[depth - 2]!;
    if (!index.hasNamespace(namespace)) return undefined;
    const name = base[depth - 3];
    if (name === undefined) return EMPTY;
    if (kind === 'pod') return this.#pod(name, namespace);
    const service = index.service(`${namespace}/${name}`);
    if (service === undefined) return undefined;
    return this.#ofService(service, base.slice(0, depth - 3), most);
  }

  /**
   * Returns the address in a pod name, in any namespace, as with CoreDNS' `pods insecure`. Labels
   * before it are ignored, as there.
   */
  #pod(label: string, namespace: string): Lookup {
    const address = parseAddressLabel(label);
    if (address === undefined) return undefined;
    const name = [label, namespace, 'pod', ...this.#config.domain];
    return { targets: [{ name: () => name, address, port: 0 }], truncated: false };
  }

  /** Looks a service up. `rest`: an endpoint, or a port and a protocol, or nothing. */
  #ofService(service: PackedService, rest: Labels, most: number): Lookup {
    if (service.isExternal) {
      return rest.length > 0 || service.externalName === undefined
        ? undefined
        : { alias: service.externalName };
    }
    const endpoint = rest.length === 1 ? rest[0] : undefined;
    const [port, protocol] = rest.length === 2 ? rest.map((label) => label.replace(/^_/, '')) : [];
    const matches = (candidate: PackedPort): boolean =>
      (port === undefined || port === '' || candidate.name === port) &&
      (protocol === undefined || protocol === '' || candidate.protocol === protocol);
    if (endpoint !== undefined)
      return this.#targets(this.#named(service.key, endpoint), matches, most);
    if (service.headless) return this.#targets(this.#all(service.key), matches, most);
    const ports = service.ports.filter(matches);
    return ports.length === 0
      ? undefined
      : targetsOf(service.addresses, this.#serviceName(service.key), ports);
  }

  *#all(service: string): Generator<EndpointRef> {
    for (const slice of this.#config.index.slicesOf(service)) {
      for (let position = 0; position * slice.size < slice.addresses.length; position++)
        yield { slice, position };
    }
  }

  /**
   * The endpoints of a service with this hostname, or without a hostname at the address in the
   * label.
   */
  *#named(service: string, label: string): Generator<EndpointRef> {
    const { index } = this.#config;
    for (const slice of index.slicesOf(service)) {
      const positions = slice.byHostname?.get(label);
      if (typeof positions === 'number') yield { slice, position: positions };
      else for (const position of positions ?? []) yield { slice, position };
    }
    const address = parseAddressLabel(label);
    if (address === undefined || addressLabel(address) !== label) return;
    for (const endpoint of index.endpointsAt(address)) {
      if (endpoint.slice.service === service && hostnameOf(endpoint) === undefined) yield endpoint;
    }
  }

  #targets(
    endpoints: Iterable<EndpointRef>,
    matches: (port: PackedPort) => boolean,
    most: number,
  ): Lookup {
    const targets: Target[] = [];
    const ports = new Map<PackedSlice, readonly PackedPort[]>();
    for (const endpoint of endpoints) {
      let matching = ports.get(endpoint.slice);
      if (matching === undefined)
        ports.set(endpoint.slice, (matching = endpoint.slice.ports.filter(matches)));
      if (matching.length === 0) continue;
      const address = addressOf(endpoint);
      const name = (): Labels => this.#endpointName(endpoint);
      for (const { port } of matching) {
        if (targets.length >= most) return { targets, truncated: true };
        targets.push({ name, address, port });
      }
    }
    return targets.length === 0 ? undefined : { targets, truncated: false };
  }

  #serviceName(key: string): Labels {
    const slash = key.indexOf('/');
    return [key.slice(slash + 1), key.slice(0, slash), 'svc', ...this.#config.domain];
  }

  #endpointName(endpoint: EndpointRef): Labels {
    const label = hostnameOf(endpoint) ?? addressLabel(addressOf(endpoint));
    return [label, ...this.#serviceName(endpoint.slice.service)];
  }
}

const refused: ZoneAnswer = {
  rcode: RCODE.REFUSED,
  answers: [],
  authorities: [],
  additionals: [],
  truncated: false,
};

function hostnameOf({ slice, position }: EndpointRef): string | undefined {
  return slice.hostnames?.[position];
}

function targetsOf(
  addresses: readonly Uint8Array[],
  name: Labels,
  ports: readonly PackedPort[],
): Lookup {
  // A service has at most two addresses.
  const some = ports.slice(0, MAX_TARGETS / 2);
  const targets = some.flatMap(({ port }) =>
    addresses.map((address) => ({ name: () => name, address, port })),
  );
  return { targets, truncated: some.length < ports.length };
}
