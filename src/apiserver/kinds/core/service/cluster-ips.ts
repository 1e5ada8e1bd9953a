// Cluster IPs. Who has one is an IPAddress object, made before the service that gets it is written: since there is one object of
// a name, no two servers on one store can give out the same address. Which addresses there are is said by the ServiceCIDRs.

import {
  type IPAddress,
  ipAddresses,
  type ParentReference,
  type ServiceCIDR,
} from '#api/groups/networking/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { Client } from '#client/client.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { formatIp, type IpFamily, isHostOf, parseIp } from '#machinery/net/ip.ts';
import type { Logger } from '#machinery/log.ts';
import type { Random } from '#machinery/random.ts';
import { addressRange, type AddressRange } from './address-range.ts';
import { AddressSet } from './address-set.ts';
import { canonicalIP } from './service.ts';

export const FAMILY_LABEL = 'ipaddress.kubernetes.io/ip-family';
export const MANAGED_BY_LABEL = 'ipaddress.kubernetes.io/managed-by';
export const ALLOCATOR = 'ipallocator.k8s.io';

/** The service that an address is for. */
export interface Holder {
  readonly namespace: string;
  readonly name: string;
}

/** The IPAddress object that says who has an address. */
export function ipAddressFor(name: string, { namespace, name: service }: Holder) {
  const family: IpFamily = name.includes(':') ? 'IPv6' : 'IPv4';
  return {
    metadata: { name, labels: { [FAMILY_LABEL]: family, [MANAGED_BY_LABEL]: ALLOCATOR } },
    spec: { parentRef: { resource: 'services', namespace, name: service } },
  };
}

export const isHeldBy = (
  parent: Immutable<ParentReference> | undefined,
  { namespace, name }: Holder,
): boolean =>
  (parent?.group ?? '') === '' &&
  parent?.resource === 'services' &&
  parent.namespace === namespace &&
  parent.name === name;

export interface ClusterIPsConfig {
  /** As the server itself. */
  readonly client: Client;
  readonly random: Random;
  readonly logger: Logger;
  listRanges(): Promise<readonly Immutable<ServiceCIDR>[]>;
  listAddresses(): Promise<readonly Immutable<IPAddress>[]>;
}

/** Why an address cannot be had. */
type Refusal = 'taken' | 'out of range';

export class ClusterIPs {
  readonly #config: ClusterIPsConfig;
  /** By their text: ranges are few, and asked for with each service. */
  readonly #parsed = new Map<string, AddressRange | undefined>();
  /**
   * What is likely taken, so that few of the tries are in vain. Other servers may have taken more, or given some back: an
   * address is had only once its object is made.
   */
  #taken: Readonly<Record<IpFamily, AddressSet>> = {
    IPv4: new AddressSet(),
    IPv6: new AddressSet(),
  };
  /** Objects that are being made. */
  readonly #underWay = new Set<string>();
  #reading: Promise<void> | undefined;
  #known = false;

  constructor(config: ClusterIPsConfig) {
    this.#config = config;
  }

  /** It ends with commit or rollback. */
  begin(holder: Holder, dryRun: boolean): ClusterIPTransaction {
    return new ClusterIPTransaction(this, holder, dryRun);
  }

  /** Gives back what a service has no more. What fails is left to the repair. */
  async release(addresses: readonly string[], holder: Holder): Promise<void> {
    await Promise.all(addresses.map((address) => this.#releaseOne(address, holder)));
  }

  /** A free address, taken for the holder unless that is only tried. */
  async takeAny(family: IpFamily, holder: Holder, dryRun: boolean): Promise<string | undefined> {
    const ranges = await this.#ranges(family);
    if (!this.#known) await this.#read();
    const taken = (await this.#takeFrom(ranges, holder, dryRun)) ?? undefined;
    if (taken !== undefined) return taken;
    // Others may have given some back.
    await this.#read();
    return this.#takeFrom(ranges, holder, dryRun);
  }

  /** `text` in canonical form. */
  async take(text: string, holder: Holder, dryRun: boolean): Promise<Refusal | undefined> {
    const address = parseIp(text);
    if (address === undefined) return 'out of range';
    const ranges = await this.#ranges(address.family);
    if (!ranges.some((range) => isHostOf(range, address))) return 'out of range';
    if (!dryRun)
      return (await this.#make(text, address.value, address.family, holder)) ? undefined : 'taken';
    return (await this.#find(text)) === undefined ? undefined : 'taken';
  }

  /** The range of a family that is asked first; undefined if there is none. */
  async firstRange(family: IpFamily): Promise<AddressRange | undefined> {
    return (await this.#ranges(family))[0];
  }

  async #takeFrom(
    ranges: readonly AddressRange[],
    holder: Holder,
    dryRun: boolean,
  ): Promise<string | undefined> {
    for (const range of ranges) {
      for (;;) {
        const value = this.#freeIn(range);
        if (value === undefined) break;
        const text = formatIp({ family: range.family, value });
        if (dryRun || (await this.#make(text, value, range.family, holder))) return text;
      }
    }
    return undefined;
  }

  /** From its upper part, beginning at a random place, so that an address is not used again right after it was given back. */
  #freeIn({ family, firstUsable, firstDynamic, lastUsable }: AddressRange): bigint | undefined {
    const set = this.#taken[family];
    const search = (first: bigint, last: bigint): bigint | undefined =>
      last < first ? undefined : set.firstFree(first, last, first + this.#below(last - first + 1n));
    return search(firstDynamic, lastUsable) ?? search(firstUsable, firstDynamic - 1n);
  }

  #below(limit: bigint): bigint {
    const { random } = this.#config;
    if (limit <= 2n ** 31n) return BigInt(random.int(Number(limit)));
    const bits = random.bytes(16).reduce((sum, byte) => (sum << 8n) + BigInt(byte), 0n);
    return bits % limit;
  }

  /** False if somebody has it. It is marked before the store is asked, so that this server asks once. */
  async #make(text: string, value: bigint, family: IpFamily, holder: Holder): Promise<boolean> {
    const marked = this.#taken[family].add(value);
    this.#underWay.add(text);
    try {
      await this.#config.client.resource(ipAddresses).create(ipAddressFor(text, holder));
      return true;
    } catch (error) {
      if (apierrors.isAlreadyExists(error)) return false;
      // It may have been made all the same, where the store has not answered: the repair sees to that.
      if (marked && !apierrors.isServerTimeout(error)) this.#taken[family].delete(value);
      throw error;
    } finally {
      this.#underWay.delete(text);
    }
  }

  async #releaseOne(text: string, holder: Holder): Promise<void> {
    try {
      const object = await this.#find(text);
      if (object !== undefined) {
        // Another service's is not ours to give back.
        if (!isHeldBy(object.spec.parentRef, holder)) return;
        const preconditions = { uid: object.metadata.uid };
        await this.#config.client.resource(ipAddresses).delete(text, { preconditions });
      }
    } catch (error) {
      if (!apierrors.isNotFound(error) && !apierrors.isConflict(error)) {
        this.#config.logger.warn('releasing a cluster IP failed', { address: text, err: error });
        return;
      }
    }
    const address = parseIp(text);
    if (address !== undefined && !this.#underWay.has(text))
      this.#taken[address.family].delete(address.value);
  }

  async #find(text: string): Promise<Immutable<IPAddress> | undefined> {
    try {
      return await this.#config.client.resource(ipAddresses).get(text);
    } catch (error) {
      if (apierrors.isNotFound(error)) return undefined;
      throw error;
    }
  }

  /** Once for all who ask while it is under way. */
  #read(): Promise<void> {
    this.#reading ??= this.#config
      .listAddresses()
      .then((objects) => {
        const taken = { IPv4: new AddressSet(), IPv6: new AddressSet() };
        const names = [...objects.map(({ metadata }) => metadata.name), ...this.#underWay];
        for (const name of names) {
          const address = parseIp(name);
          if (address !== undefined) taken[address.family].add(address.value);
        }
        this.#taken = taken;
        this.#known = true;
      })
      .finally(() => (this.#reading = undefined));
    return this.#reading;
  }

  /** The ranges of a family that are given out from: the oldest first, so that what was added later is for when they are full. */
  async #ranges(family: IpFamily): Promise<readonly AddressRange[]> {
    const objects = (await this.#config.listRanges()).filter(isOpen).toSorted(byAge);
    const ranges = objects.flatMap(({ spec: { cidrs } }) =>
      (cidrs ?? []).flatMap((cidr) => this.#parse(cidr) ?? []),
    );
    return ranges.filter((range) => range.family === family);
  }

  #parse(cidr: string): AddressRange | undefined {
    if (!this.#parsed.has(cidr)) this.#parsed.set(cidr, addressRange(cidr));
    return this.#parsed.get(cidr);
  }
}

/** The addresses that are taken for one write of a service. */
export class ClusterIPTransaction {
  readonly #all: ClusterIPs;
  readonly #holder: Holder;
  readonly #dryRun: boolean;
  readonly #own: string[] = [];
  #given: readonly string[] = [];

  constructor(all: ClusterIPs, holder: Holder, dryRun: boolean) {
    this.#all = all;
    this.#holder = holder;
    this.#dryRun = dryRun;
  }

  async takeAny(family: IpFamily): Promise<string | undefined> {
    const address = await this.#all.takeAny(family, this.#holder, this.#dryRun);
    if (address !== undefined) this.#own.push(address);
    return address;
  }

  async take(text: string): Promise<Refusal | undefined> {
    const canonical = canonicalIP(text);
    if (this.#own.includes(canonical)) return 'taken';
    const refusal = await this.#all.take(canonical, this.#holder, this.#dryRun);
    if (refusal === undefined) this.#own.push(canonical);
    return refusal;
  }

  /** With the commit. */
  giveBack(addresses: readonly string[]): void {
    this.#given = [...this.#given, ...addresses.map(canonicalIP)];
  }

  async commit(): Promise<void> {
    if (!this.#dryRun) await this.#all.release(this.#given, this.#holder);
  }

  async rollback(): Promise<void> {
    if (!this.#dryRun) await this.#all.release(this.#own, this.#holder);
  }
}

/** One without a condition counts as ready: nobody may be there to say so. */
function isOpen({ metadata, status }: Immutable<ServiceCIDR>): boolean {
  const ready = status.conditions?.find(({ type }) => type === 'Ready');
  return (
    metadata.deletionTimestamp === undefined && (ready === undefined || ready.status === 'True')
  );
}

function byAge(a: Immutable<ServiceCIDR>, b: Immutable<ServiceCIDR>): number {
  const [first, second] = [a.metadata, b.metadata].map(
    ({ creationTimestamp, name }) => `${creationTimestamp} ${name}`,
  );
  return first! < second! ? -1 : 1;
}
