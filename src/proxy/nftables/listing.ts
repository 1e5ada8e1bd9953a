// Parses the output of `nft -j list table`: what an earlier process has left in our table, and what
// other programs have added.

import type { IpFamily } from '#machinery/net/ip.ts';
import { elementId } from './objects.ts';
import { BASE_CHAINS, type Container, containersOf } from './table.ts';

export interface Listing {
  /** Elements of the table's maps and sets: elementId → value. */
  readonly elements: Map<string, string>;
  readonly chains: Set<string>;
  /** Sets of clients with session affinity. */
  readonly affinitySets: Set<string>;
  /** Maps and sets of other programs → 'map' or 'set'. */
  readonly foreign: Map<string, 'map' | 'set'>;
}

/**
 * The table is incompatible with this version: its maps have other keys, or its base chains other
 * hooks.
 */
export class UnusableTableError extends Error {
  override readonly name = 'UnusableTableError';
}

const HOOKS: ReadonlyMap<string, string> = new Map(
  BASE_CHAINS.map(([name, type, hook, priority]) => [name, `${type} ${hook} ${priority}`]),
);
const PROTOCOLS: Readonly<Record<string, string>> = { '6': 'tcp', '17': 'udp', '132': 'sctp' };

/**
 * Parses a listing. Throws UnusableTableError for a table that must be replaced, and for text that
 * is not a listing.
 */
export function parseListing(text: string, family: IpFamily): Listing {
  const listing: Listing = {
    elements: new Map(),
    chains: new Set(),
    affinitySets: new Set(),
    foreign: new Map(),
  };
  const containers = containersOf(family);
  for (const entry of itemsOf(text)) {
    const [kind = '', value] = Object.entries(asRecord(entry))[0] ?? [];
    const object = asRecord(value);
    const name = String(object['name'] ?? '');
    if (kind === 'chain') {
      const { type, hook, prio } = object;
      const actual =
        hook === undefined ? undefined : `${String(type)} ${String(hook)} ${String(prio)}`;
      if (actual !== HOOKS.get(name))
        throw new UnusableTableError(`the chain ${JSON.stringify(name)} is not at its hook`);
      listing.chains.add(name);
    } else if (kind === 'map' || kind === 'set') {
      const container = containers.get(name as Container);
      if (container !== undefined) {
        if (kind !== container.kind) throw new UnusableTableError(`${name} is a ${kind}`);
        addElements(listing, name as Container, kind, object, container.listed);
      } else if (kind === 'set' && name.startsWith('clients-')) listing.affinitySets.add(name);
      else listing.foreign.set(name, kind);
    } else if (kind !== 'rule' && kind !== 'metainfo' && kind !== 'table') {
      throw new UnusableTableError(`an object of another kind (${kind}) is in the table`);
    }
  }
  return listing;
}

function addElements(
  { elements }: Listing,
  name: Container,
  kind: 'map' | 'set',
  object: Readonly<Record<string, unknown>>,
  listed: string,
): void {
  const types = [object['type']].flat().join(' . ');
  const signature = `${types} : ${String(object['map'] ?? '')}`;
  if (signature !== listed) throw new UnusableTableError(`the ${kind} ${name} has other types`);
  if (object['flags'] !== undefined) throw new UnusableTableError(`the ${kind} ${name} has flags`);
  for (const element of asArray(object['elem'] ?? [])) {
    const [key, value] = kind === 'map' ? asArray(element) : [element, ''];
    elements.set(elementId(name, textOf(key, name)), kind === 'map' ? textOf(value) : '');
  }
}

/** Formats a key or value as it is written in commands. */
function textOf(value: unknown, name?: Container): string {
  if (typeof value === 'string' || typeof value === 'number') return String(value);
  const record = asRecord(value);
  const parts = record['concat'];
  if (parts !== undefined) {
    return asArray(parts)
      .map((part, index, all) => {
        const text = textOf(part);
        // On machines without protocol names the protocol is a number. It stands right before the
        // port.
        const isProtocol =
          index === all.length - 2 && name !== undefined && !name.includes('endpoints-');
        return isProtocol ? (PROTOCOLS[text] ?? text) : text;
      })
      .join(' . ');
  }
  if ('drop' in record) return 'drop';
  const target = asRecord(record['goto'])['target'];
  // Any other value is not ours, and differs from all of ours.
  return typeof target === 'string' ? `goto ${target}` : JSON.stringify(value);
}

function itemsOf(text: string): readonly unknown[] {
  try {
    return asArray(asRecord(JSON.parse(text))['nftables']);
  } catch (error) {
    if (error instanceof UnusableTableError) throw error;
    throw new UnusableTableError('the listing of the table cannot be read', { cause: error });
  }
}

function asRecord(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
    ? (value as Readonly<Record<string, unknown>>)
    : {};
}

function asArray(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value as unknown[];
  throw new UnusableTableError('the listing of the table has another form');
}
