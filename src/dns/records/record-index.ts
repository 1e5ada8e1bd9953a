// An index of the objects behind the records, by name and by address. The cost of a change is
// proportional to the size of the changed object.

import { objectKey } from '#client/informers/index.ts';
import { addressKey, type AddressKey } from './addresses.ts';
import type { PackedService, PackedSlice } from './packed.ts';

/** An endpoint: a slice and its position in it. */
export interface EndpointRef {
  readonly slice: PackedSlice;
  readonly position: number;
}

export class RecordIndex {
  readonly #namespaces = new Set<string>();
  readonly #services = new Map<string, PackedService>();
  readonly #serviceAt = new Map<AddressKey, PackedService>();
  /** By 'namespace/name' of the slice. */
  readonly #slices = new Map<string, PackedSlice>();
  /** By 'namespace/name' of the service. */
  readonly #slicesOf = new Map<string, Set<PackedSlice>>();
  /**
   * The slices with an endpoint at the address. A single slice is not wrapped in a list: most
   * addresses have one.
   */
  readonly #slicesAt = new Map<AddressKey, PackedSlice | readonly PackedSlice[]>();
  readonly #onChange: () => void;

  /** Creates an empty index. `onChange`: called after each change. */
  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  addNamespace(name: string): void {
    this.#namespaces.add(name);
    this.#onChange();
  }

  removeNamespace(name: string): void {
    this.#namespaces.delete(name);
    this.#onChange();
  }

  hasNamespace(name: string): boolean {
    return this.#namespaces.has(name);
  }

  /** Adds a service, or replaces the service with its name. */
  putService(service: PackedService): void {
    this.#dropService(service.key);
    this.#services.set(service.key, service);
    for (const address of service.addresses) this.#serviceAt.set(addressKey(address), service);
    this.#onChange();
  }

  removeService(key: string): void {
    this.#dropService(key);
    this.#onChange();
  }

  #dropService(key: string): void {
    const service = this.#services.get(key);
    if (service === undefined) return;
    this.#services.delete(key);
    for (const address of service.addresses) {
      const at = addressKey(address);
      // Another service may have the address by now.
      if (this.#serviceAt.get(at) === service) this.#serviceAt.delete(at);
    }
  }

  /** Returns a service. `key`: 'namespace/name'. */
  service(key: string): PackedService | undefined {
    return this.#services.get(key);
  }

  serviceAt(address: Uint8Array): PackedService | undefined {
    return this.#serviceAt.get(addressKey(address));
  }

  /** Adds a slice, or replaces the slice with its name. */
  putSlice(slice: PackedSlice): void {
    const key = objectKey(slice);
    this.#dropSlice(key);
    this.#slices.set(key, slice);
    const ofService = this.#slicesOf.get(slice.service);
    if (ofService === undefined) this.#slicesOf.set(slice.service, new Set([slice]));
    else ofService.add(slice);
    for (const at of keysOf(slice)) {
      const present = this.#slicesAt.get(at);
      if (present === undefined) this.#slicesAt.set(at, slice);
      else if (!isList(present)) {
        if (present !== slice) this.#slicesAt.set(at, [present, slice]);
      } else if (!present.includes(slice)) this.#slicesAt.set(at, [...present, slice]);
    }
    this.#onChange();
  }

  /** Removes a slice. `key`: its 'namespace/name'. */
  removeSlice(key: string): void {
    this.#dropSlice(key);
    this.#onChange();
  }

  #dropSlice(key: string): void {
    const slice = this.#slices.get(key);
    if (slice === undefined) return;
    this.#slices.delete(key);
    const ofService = this.#slicesOf.get(slice.service);
    ofService?.delete(slice);
    if (ofService?.size === 0) this.#slicesOf.delete(slice.service);
    for (const at of keysOf(slice)) {
      const present = this.#slicesAt.get(at);
      if (present === slice) this.#slicesAt.delete(at);
      else if (present !== undefined && isList(present)) {
        const others = present.filter((other) => other !== slice);
        this.#slicesAt.set(at, others.length === 1 ? others[0]! : others);
      }
    }
  }

  slicesOf(service: string): Iterable<PackedSlice> {
    return this.#slicesOf.get(service) ?? [];
  }

  /** Returns the endpoints at an address, of all services. */
  endpointsAt(address: Uint8Array): readonly EndpointRef[] {
    const present = this.#slicesAt.get(addressKey(address));
    if (present === undefined) return [];
    return (isList(present) ? present : [present]).flatMap((slice) => positionsAt(slice, address));
  }
}

const isList = (value: PackedSlice | readonly PackedSlice[]): value is readonly PackedSlice[] =>
  Array.isArray(value);

function* keysOf({ addresses, size }: PackedSlice): Generator<AddressKey> {
  for (let offset = 0; offset < addresses.length; offset += size)
    yield addressKey(addresses, offset, size);
}

function positionsAt(slice: PackedSlice, address: Uint8Array): EndpointRef[] {
  const { addresses, size } = slice;
  if (address.length !== size) return [];
  const found: EndpointRef[] = [];
  for (let position = 0; position * size < addresses.length; position++) {
    let i = 0;
    while (i < size && addresses[position * size + i] === address[i]) i++;
    if (i === size) found.push({ slice, position });
  }
  return found;
}

/** Returns the address of an endpoint. */
export function addressOf({ slice, position }: EndpointRef): Uint8Array {
  return slice.addresses.subarray(position * slice.size, (position + 1) * slice.size);
}
