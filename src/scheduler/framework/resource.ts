// Amounts of resources as plain numbers, so that a filter compares numbers and never reads a
// quantity's text.

import { parseQuantity } from '#machinery/text/quantity.ts';

/** A ResourceList of the API: canonical quantities by resource name. */
export type ResourceList = Readonly<Record<string, string>>;

/** Amounts beyond 2^53 are rounded; that is 9 PB of memory. */
export class Resource {
  /** Thousandths of a core. */
  milliCpu = 0;
  /** Bytes. */
  memory = 0;
  /** Bytes. */
  ephemeralStorage = 0;
  /** How many pods a node takes. Not used for pods. */
  pods = 0;
  /**
   * Everything else that is counted: huge pages (bytes), extended resources. Absent while there is
   * none.
   */
  scalars: Map<string, number> | undefined = undefined;

  /** Sums that came to zero stay in `scalars`, harmlessly. */
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

  /** The amount by the resource's API name; 0 for one that is not counted. */
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

  /** The same text for the same amounts (`pods` apart). */
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

/** Resources that are counted by name: extended ones, huge pages, attachable volumes. */
export function isScalarResourceName(name: string): boolean {
  return (
    name.includes('/') || name.startsWith('hugepages-') || name.startsWith('attachable-volumes-')
  );
}

/** Resources from outside Kubernetes, such as example.com/gpu. */
export function isExtendedResourceName(name: string): boolean {
  const slash = name.indexOf('/');
  if (slash < 0 || name.startsWith('requests.')) return false;
  return !name.slice(0, slash + 1).endsWith('kubernetes.io/');
}

/**
 * Clusters use few different quantities: each text is read once. Bounded, since users choose the
 * texts.
 */
const MAX_REMEMBERED = 10_000;
const milliValues = new Map<string, number>();
const values = new Map<string, number>();

/** Thousandths, rounded up. */
export function milliValueOf(quantity: string): number {
  return remembered(milliValues, quantity, (text) => parseQuantity(text).milliValue());
}

/** Whole units, rounded up. */
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
