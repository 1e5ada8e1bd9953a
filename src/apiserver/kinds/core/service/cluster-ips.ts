// Allocates cluster IPs. An allocation is an IPAddress object, which is created before its service
// is written. Its name is the address, so two servers on one store cannot allocate the same
// address. The ServiceCIDR objects define the available addresses.

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

/** The service of an address. */
export interface Holder {
  readonly namespace: string;
  readonly name: string;
}

/** Returns the IPAddress object that allocates an address to a service. */
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
  /** The server's own client. */
  readonly client: Client;
  readonly random: Random;
  readonly logger: Logger;
  listRanges(): Promise<readonly Immutable<ServiceCIDR>[]>;
  listAddresses(): Promise<readonly Immutable<IPAddress>[]>;
}

/** Why an address cannot be allocated. */
type Refusal = 'taken' | 'out of range';

export class ClusterIPs {
  readonly #config: ClusterIPsConfig;
  /** Parsed ranges by text. There are few ranges, and each service needs them. */
  readonly #parsed = new Map<string, AddressRange | undefined>();
  /**
   * Addresses that are probably allocated, so that few attempts fail. Other servers may have
   * allocated or released some. Only the IPAddress object makes an allocation valid.
   */
  #taken: Readonly<Record<IpFamily, AddressSet>> = {
    IPv4: new AddressSet(),
    IPv6: new AddressSet(),
  };
  /** Addresses whose objects are being created. */
  readonly #creating = new Set<string>();
  #reading: Promise<void> | undefined;
  #isLoaded = false;

  constructor(config: ClusterIPsConfig) {
    this.#config = config;
  }

  /** Begins a transaction. The caller must end it with commit or rollback. */
  begin(holder: Holder, dryRun: boolean): ClusterIPTransaction {
    return new ClusterIPTransaction(this, holder, dryRun);
  }

  /** Releases addresses of a service. Failures are left to the repair loop. */
  async release(addresses: readonly string[], holder: Holder): Promise<void> {
    await Promise.all(addresses.map((address) => this.#releaseOne(address, holder)));
  }

  /**
   * Returns a free address, allocated to the holder unless it is a dry run; undefined if there is
   * none.
   */
  async takeAny(family: IpFamily, holder: Holder, dryRun: boolean): Promise<string | undefined> {
    const ranges = await this.#ranges(family);
    if (!this.#isLoaded) await this.#read();
    const takenAddress = (await this.#takeFrom(ranges, holder, dryRun)) ?? undefined;
    if (takenAddress !== undefined) return takenAddress;
    // Other servers may have released some.
    await this.#read();
    return this.#takeFrom(ranges, holder, dryRun);
  }

  /**
   * Allocates an address; returns the reason if that is impossible. `text` must be in canonical
   * form.
   */
  async take(text: string, holder: Holder, dryRun: boolean): Promise<Refusal | undefined> {
    const address = parseIp(text);
    if (address === undefined) return 'out of range';
    const ranges = await this.#ranges(address.family);
    if (!ranges.some((range) => isHostOf(range, address))) return 'out of range';
    if (!dryRun)
      return (await this.#make(text, address.value, address.family, holder)) ? undefined : 'taken';
    return (await this.#find(text)) === undefined ? undefined : 'taken';
  }

  /** Returns the range of a family that is used first; undefined if there is none. */
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

  /**
   * Returns a free address, first from the upper part of the range. The search starts at a random
   * place, so that a released address is not used again soon.
   */
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

  /**
   * Creates the object. Returns false if the address is allocated already. It is marked before the
   * request, so that this server does not try it concurrently.
   */
  async #make(text: string, value: bigint, family: IpFamily, holder: Holder): Promise<boolean> {
    const marked = this.#taken[family].add(value);
    this.#creating.add(text);
    try {
      await this.#config.client.resource(ipAddresses).create(ipAddressFor(text, holder));
      return true;
    } catch (error) {
      if (apierrors.isAlreadyExists(error)) return false;
      // After a timeout the object may exist. The repair loop deletes it.
      if (marked && !apierrors.isServerTimeout(error)) this.#taken[family].delete(value);
      throw error;
    } finally {
      this.#creating.delete(text);
    }
  }

  async #releaseOne(text: string, holder: Holder): Promise<void> {
    try {
      const object = await this.#find(text);
      if (object !== undefined) {
        // An address of another service must not be released.
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
    if (address !== undefined && !this.#creating.has(text))
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

  /** Reads all addresses. Concurrent callers share the request. */
  #read(): Promise<void> {
    this.#reading ??= this.#config
      .listAddresses()
      .then((objects) => {
        const taken = { IPv4: new AddressSet(), IPv6: new AddressSet() };
        const names = [...objects.map(({ metadata }) => metadata.name), ...this.#creating];
        for (const name of names) {
          const address = parseIp(name);
          if (address !== undefined) taken[address.family].add(address.value);
        }
        this.#taken = taken;
        this.#isLoaded = true;
      })
      .finally(() => (this.#reading = undefined));
    return this.#reading;
  }

  /**
   * Returns the usable ranges of a family, the oldest first, so that later ones are used when it is
   * full.
   */
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

/** The addresses that are allocated for one write of a service. */
export class ClusterIPTransaction {
  readonly #all: ClusterIPs;
  readonly #holder: Holder;
  readonly #dryRun: boolean;
  readonly #own: string[] = [];
  #toRelease: readonly string[] = [];

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

  /** Releases the addresses at commit. */
  giveBack(addresses: readonly string[]): void {
    this.#toRelease = [...this.#toRelease, ...addresses.map(canonicalIP)];
  }

  async commit(): Promise<void> {
    if (!this.#dryRun) await this.#all.release(this.#toRelease, this.#holder);
  }

  async rollback(): Promise<void> {
    if (!this.#dryRun) await this.#all.release(this.#own, this.#holder);
  }
}

/**
 * Reports whether the range may be used. A range without the condition Ready counts as ready, since
 * its controller may not be running.
 */
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
