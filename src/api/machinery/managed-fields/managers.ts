// metadata.managedFields: the owners of fields. An entry in memory has a set of fields; as JSON it
// has FieldsV1.

import { quote } from '#machinery/text/go-format.ts';
import type { Steps } from '#machinery/turn.ts';
import type { FieldSet } from './field-set.ts';
import { fieldsInSteps, setOfFields } from './fields-v1.ts';
import { compareText, PathElementError } from './path-element.ts';

/**
 * Apply: the manager owns the fields of its last configuration. Update: it owns the fields that it
 * changed.
 */
export type Operation = 'Apply' | 'Update';

export interface Manager {
  readonly manager: string;
  readonly operation: Operation;
  /** The API version of the fields. */
  readonly apiVersion: string;
  /** '' for the resource itself. */
  readonly subresource: string;
  /** The time at which its fields grew, or were applied. */
  readonly time: string | undefined;
  readonly fields: FieldSet;
}

/** Managers by managerId. */
export type Managers = ReadonlyMap<string, Manager>;

/** An entry as in metadata.managedFields. */
export interface ManagedFieldsEntry {
  readonly manager?: string;
  readonly operation?: string;
  readonly apiVersion?: string;
  readonly time?: string | null;
  readonly fieldsType?: string;
  readonly fieldsV1?: unknown;
  readonly subresource?: string;
}

/** The entries are invalid. */
export class ManagedFieldsError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'ManagedFieldsError';
  }
}

export const noManagers: Managers = new Map();

/** Returns the identity of an entry's manager. An applier is the same in every version. */
export function managerId({
  manager,
  operation,
  apiVersion,
  subresource,
}: Omit<Manager, 'fields' | 'time'>): string {
  return JSON.stringify([manager, operation, operation === 'Apply' ? '' : apiVersion, subresource]);
}

/** Caches in both directions: the JSON of unchanged managers, and the managers of such JSON. */
const encoded = new WeakMap<Manager, ManagedFieldsEntry>();
const decoded = new WeakMap<
  ManagedFieldsEntry,
  { readonly id: string; readonly manager: Manager }
>();

/**
 * Decodes entries. `canonical`: they were written by `encodeManagers`. Throws ManagedFieldsError.
 */
export function decodeManagers(
  entries: readonly ManagedFieldsEntry[] | undefined,
  canonical = false,
): Managers {
  if (entries === undefined || entries.length === 0) return noManagers;
  const managers = new Map<string, Manager>();
  for (const [index, entry] of entries.entries()) {
    const cached = canonical ? decoded.get(entry) : undefined;
    if (cached !== undefined) {
      managers.set(cached.id, cached.manager);
      continue;
    }
    const manager = decodeEntry(entry, index, canonical);
    const id = managerId(manager);
    managers.set(id, manager);
    if (canonical) remember(entry, id, manager);
  }
  return managers;
}

/** Throws ManagedFieldsError if the entries are invalid. */
export function validateManagedFields(entries: readonly ManagedFieldsEntry[]): void {
  decodeManagers(entries);
}

function decodeEntry(entry: ManagedFieldsEntry, index: number, canonical: boolean): Manager {
  const {
    manager = '',
    operation,
    apiVersion = '',
    time,
    fieldsType = '',
    fieldsV1,
    subresource = '',
  } = entry;
  if (operation !== 'Apply' && operation !== 'Update')
    throw new ManagedFieldsError('operation must be `Apply` or `Update`');
  if (apiVersion === '') throw new ManagedFieldsError('apiVersion must not be empty');
  if (fieldsType === '')
    throw new ManagedFieldsError(`missing fieldsType in managed fields entry ${index}`);
  if (fieldsType !== 'FieldsV1') {
    throw new ManagedFieldsError(
      `invalid fieldsType ${quote(fieldsType)} in managed fields entry ${index}`,
    );
  }
  try {
    const fields = setOfFields(fieldsV1, canonical);
    return { manager, operation, apiVersion, subresource, time: time ?? undefined, fields };
  } catch (error) {
    if (!(error instanceof PathElementError)) throw error;
    throw new ManagedFieldsError(`error decoding set: ${error.message}`);
  }
}

/**
 * Returns the entries; undefined if there are none. Sorted: appliers first, each by time, then by
 * name.
 */
export function* encodeManagers(
  managers: Managers,
): Steps<readonly ManagedFieldsEntry[] | undefined> {
  if (managers.size === 0) return undefined;
  const entries: ManagedFieldsEntry[] = [];
  for (const [id, manager] of [...managers].sort(([, a], [, b]) => compareManagers(a, b))) {
    if (entries.length > 0) yield;
    entries.push(yield* encodeEntry(id, manager));
  }
  return entries;
}

function remember(entry: ManagedFieldsEntry, id: string, manager: Manager): void {
  encoded.set(manager, entry);
  decoded.set(entry, { id, manager });
}

/** Returns the entry with its fields in the order of the schema. */
function* encodeEntry(id: string, owner: Manager): Steps<ManagedFieldsEntry> {
  const cached = encoded.get(owner);
  if (cached !== undefined) return cached;
  const { manager, operation, apiVersion, subresource, time, fields } = owner;
  const entry: Record<string, unknown> = {};
  if (manager !== '') entry['manager'] = manager;
  entry['operation'] = operation;
  entry['apiVersion'] = apiVersion;
  if (time !== undefined) entry['time'] = time;
  entry['fieldsType'] = 'FieldsV1';
  const fieldsV1 = yield* fieldsInSteps(fields);
  entry['fieldsV1'] = fieldsV1;
  if (subresource !== '') entry['subresource'] = subresource;
  encoded.set(owner, entry);
  // The next write starts with the set that equal entries share.
  remember(entry, id, { ...owner, fields: setOfFields(fieldsV1, true) });
  return entry;
}

function compareManagers(a: Manager, b: Manager): number {
  return (
    compareText(a.operation, b.operation) ||
    seconds(a) - seconds(b) ||
    compareText(a.manager, b.manager) ||
    compareText(a.apiVersion, b.apiVersion) ||
    compareText(a.subresource, b.subresource)
  );
}

/** Returns the seconds of an entry's time. Entries without a time are the oldest. */
export function seconds({ time }: Manager): number {
  return time === undefined ? 0 : Math.floor(Date.parse(time) / 1000);
}

/** Reports whether the list is empty, or has one empty entry: the client resets ownership. */
export function isReset(entries: readonly ManagedFieldsEntry[] | undefined): boolean {
  if (entries === undefined || entries === null) return false;
  if (entries.length === 0) return true;
  return entries.length === 1 && Object.values(entries[0]!).every((value) => value === undefined);
}
