// Sets of CPUs or NUMA nodes, in the kernel's list format: '0-3,8'.

export type CpuSet = ReadonlySet<number>;

/** A larger number is a mistake, and would make a range endless. */
const MAX_ID = 65_535;

/** The text is no list of numbers and ranges. */
export class CpuSetError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'CpuSetError';
  }
}

export const NO_CPUS: CpuSet = new Set();

/** Parses a list. '' is the empty set. Throws a CpuSetError. */
export function parseCpuSet(text: string): CpuSet {
  const ids = new Set<number>();
  if (text === '') return ids;
  for (const part of text.split(',')) {
    const match = /^(\d+)(?:-(\d+))?$/.exec(part);
    const first = Number(match?.[1]);
    const last = Number(match?.[2] ?? match?.[1]);
    if (match === null || last > MAX_ID)
      throw new CpuSetError(`invalid CPU list ${JSON.stringify(text)}`);
    if (first > last) {
      throw new CpuSetError(
        `invalid CPU list ${JSON.stringify(text)}: range ${part} ends before it begins`,
      );
    }
    for (let id = first; id <= last; id++) ids.add(id);
  }
  return ids;
}

/** Returns the list, with ranges. */
export function formatCpuSet(ids: CpuSet): string {
  const parts: string[] = [];
  const list = sorted(ids);
  for (let i = 0; i < list.length; i++) {
    const first = list[i]!;
    let last = first;
    while (list[i + 1] === last + 1) {
      last++;
      i++;
    }
    parts.push(first === last ? String(first) : `${first}-${last}`);
  }
  return parts.join(',');
}

export function sorted(ids: Iterable<number>): readonly number[] {
  return [...ids].toSorted((a, b) => a - b);
}

export function union(...sets: readonly CpuSet[]): CpuSet {
  return new Set(sets.flatMap((set) => [...set]));
}

export function difference(set: CpuSet, other: CpuSet): CpuSet {
  return new Set([...set].filter((id) => !other.has(id)));
}

export function intersection(set: CpuSet, other: CpuSet): CpuSet {
  return new Set([...set].filter((id) => other.has(id)));
}

export function isSameSet(set: CpuSet, other: CpuSet): boolean {
  return set.size === other.size && [...set].every((id) => other.has(id));
}
