// Amounts of resources as numbers, so that filters compare numbers and never parse quantities.

import { parseQuantity } from '#machinery/text/quantity.ts';

/** A ResourceList of the API: canonical quantities by resource name. */
export type ResourceList = Readonly<Record<string, string>>;

/** Amounts of resources. Values beyond 2^53 (9 PB of memory) are rounded. */
export class Resource {
  /** Thousandths of a core. */
  milliCpu = 0;
  /** Bytes. */
  memory = 0;
  /** Bytes. */
  ephemeralStorage = 0;
  /** The maximum number of pods on a node. Not used for pods. */
  pods = 0;
  /**
   * Other resources that are counted: huge pages (bytes), extended resources. Undefined while there
   * are none.
   */
  scalars: Map<string, number> | undefined = undefined;

  /** Adds the amounts. Sums of zero stay in `scalars`, which is harmless. */
  add(other: Resource): void {
    this.milliCpu += other.milliCpu;
    this.memory += other.memory;
    this.ephemeralStorage += other.ephemeralStorage;
    if (other.scalars !== undefined)
      for (const [name, amount] of other.scalars) this.setScalar(name, this.scalar(name) + amount);
  }

  subtract(other: Resource): void {
    this.milliCpu -= other.milliCpu;
    this.memory -= other.memory;
    this.ephemeralStorage -= other.ephemeralStorage;
    if (other.scalars !== undefined)
      for (const [name, amount] of other.scalars) this.setScalar(name, this.scalar(name) - amount);
  }

  clone(): Resource {
    const copy = new Resource();
    copy.milliCpu = this.milliCpu;
    copy.memory = this.memory;
    copy.ephemeralStorage = this.ephemeralStorage;
    copy.pods = this.pods;
    copy.scalars = this.scalars === undefined ? undefined : new Map(this.scalars);
    return copy;
  }

  scalar(name: string): number {
    return this.scalars?.get(name) ?? 0;
  }

  setScalar(name: string, amount: number): void {
    this.scalars ??= new Map();
    this.scalars.set(name, amount);
  }

  /** Returns the amount by the resource's API name; 0 for a resource that is not counted. */
  get(name: string): number {
    switch (name) {
      case 'cpu':
        return this.milliCpu;
      case 'memory':
        return this.memory;
      case 'ephemeral-storage':
        return this.ephemeralStorage;
      case 'pods':
        return this.pods;
      default:
        return this.scalar(name);
    }
  }

  /** Returns an equal text for equal amounts (except `pods`). */
  text(): string {
    const { milliCpu, memory, ephemeralStorage, scalars } = this;
    const more = scalars === undefined ? '' : JSON.stringify([...scalars]);
    return `${milliCpu} ${memory} ${ephemeralStorage} ${more}`;
  }

  static of(list: ResourceList | undefined): Resource {
    const resource = new Resource();
    if (list === undefined) return resource;
    for (const [name, quantity] of Object.entries(list)) {
      switch (name) {
        case 'cpu':
          resource.milliCpu = milliValueOf(quantity);
          break;
        case 'memory':
          resource.memory = valueOf(quantity);
          break;
        case 'ephemeral-storage':
          resource.ephemeralStorage = valueOf(quantity);
          break;
        case 'pods':
          resource.pods = valueOf(quantity);
          break;
        default:
          if (isScalarResourceName(name)) resource.setScalar(name, valueOf(quantity));
      }
    }
    return resource;
  }
}

/**
 * Reports whether the resource is counted by name: extended resources, huge pages, attachable
 * volumes.
 */
export function isScalarResourceName(name: string): boolean {
  return (
    name.includes('/') || name.startsWith('hugepages-') || name.startsWith('attachable-volumes-')
  );
}

/**
 * Clusters use few different quantities: each text is parsed once. Bounded, since users choose the
 * texts.
 */
const MAX_REMEMBERED = 10_000;
const milliValues = new Map<string, number>();
const values = new Map<string, number>();

/** Returns thousandths, rounded up. */
export function milliValueOf(quantity: string): number {
  return remembered(milliValues, quantity, (text) => parseQuantity(text).milliValue());
}

/** Returns whole units, rounded up. */
export function valueOf(quantity: string): number {
  return remembered(values, quantity, (text) => parseQuantity(text).value());
}

function remembered(
  memory: Map<string, number>,
  text: string,
  read: (text: string) => number,
): number {
  const known = memory.get(text);
  if (known !== undefined) return known;
  const amount = read(text);
  if (memory.size >= MAX_REMEMBERED) memory.clear();
  memory.set(text, amount);
  return amount;
}
