// The past of a cluster as the store still has it: the objects at the oldest revision that can be
// read, and every change since. Each state in between follows from these without a request.

import type { Api } from '../server/api.ts';
import { isExpired } from '../server/api-error.ts';
import type { WatchEvent } from '../lists/list-watch.ts';
import { collectionPath, type ResourceType, typeId } from '../server/resource-type.ts';
import { type Row, RowFactory } from '../lists/row.ts';
import {
  type ObjectMetadata,
  TABLE_ACCEPT,
  type TableColumn,
  type TableDocument,
  type TableRow,
} from '../lists/table.ts';

export interface PastObject {
  readonly typeId: string;
  readonly row: Row;
}

export interface Change {
  readonly revision: number;
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly object: PastObject;
  /** Milliseconds since the epoch, from the times that the object has: good to a second. */
  readonly time: number;
}

/** Older changes become part of the first state. */
const MAX_CHANGES = 20_000;
const MAX_OBJECTS = 5000;
const PAGE = 500;

export class Timeline {
  readonly columns = new Map<string, readonly TableColumn[]>();
  readonly #base = new Map<string, PastObject>();
  #changes: Change[] = [];
  readonly #factory = new RowFactory();

  get changes(): readonly Change[] {
    return this.#changes;
  }

  addBase(id: string, { columnDefinitions, rows }: TableDocument): void {
    if (columnDefinitions != null) this.columns.set(id, columnDefinitions);
    for (const each of rows ?? []) {
      const row = this.#factory.row(each);
      if (row !== undefined && this.#base.size < MAX_OBJECTS)
        this.#base.set(row.uid, { typeId: id, row });
    }
  }

  /** Adds events of one kind; changes of all kinds are in the order of their revisions. */
  addEvents(id: string, events: readonly WatchEvent[]): void {
    const added = events.flatMap(({ type, object }): Change[] => {
      if (type === 'BOOKMARK' || type === 'ERROR') return [];
      return ((object as TableDocument).rows ?? []).flatMap((each) => {
        const row = this.#factory.row(each);
        if (row === undefined) return [];
        const revision = Number(each.object?.metadata?.resourceVersion ?? 0);
        return [{ revision, type, object: { typeId: id, row }, time: timeOf(each) }];
      });
    });
    this.#changes = [...this.#changes, ...added].sort((a, b) => a.revision - b.revision);
    const excess = this.#changes.length - MAX_CHANGES;
    if (excess <= 0) return;
    for (const change of this.#changes.slice(0, excess)) applyChange(this.#base, change);
    this.#changes = this.#changes.slice(excess);
  }

  /** Returns the objects after the first `count` changes. */
  stateAfter(count: number): readonly PastObject[] {
    const state = new Map(this.#base);
    for (const change of this.#changes.slice(0, count)) applyChange(state, change);
    return [...state.values()];
  }
}

function applyChange(state: Map<string, PastObject>, { type, object }: Change): void {
  if (type === 'DELETED') state.delete(object.row.uid);
  else state.set(object.row.uid, object);
}

/** Returns the latest time in the metadata of an object. */
function timeOf({ object }: TableRow): number {
  const {
    creationTimestamp,
    deletionTimestamp,
    managedFields = [],
  }: Partial<ObjectMetadata> = object?.metadata ?? {};
  const times = [creationTimestamp, deletionTimestamp, ...managedFields.map(({ time }) => time)];
  return times.reduce((latest, time) => {
    const ms = time == null ? Number.NaN : Date.parse(time);
    return ms > latest ? ms : latest;
  }, 0);
}

/**
 * Returns the oldest revision at which the collection can still be read. Revisions are numbers in
 * every known store, though the API does not promise it.
 */
export async function oldestRevision(
  api: Api,
  type: ResourceType,
  namespace: string,
  newest: number,
  signal: AbortSignal,
): Promise<number> {
  let low = 1;
  let high = newest;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (await canRead(api, type, namespace, middle, signal)) high = middle;
    else low = middle + 1;
  }
  return low;
}

async function canRead(
  api: Api,
  type: ResourceType,
  namespace: string,
  revision: number,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    await exactPage(api, type, namespace, { revision, limit: 1 }, signal);
    return true;
  } catch (error) {
    if (isExpired(error)) return false;
    throw error;
  }
}

interface ExactPage {
  readonly revision: number;
  readonly limit: number;
  readonly token?: string;
}

function exactPage(
  api: Api,
  type: ResourceType,
  namespace: string,
  { revision, limit, token = '' }: ExactPage,
  signal: AbortSignal,
): Promise<TableDocument> {
  const query = new URLSearchParams({ limit: String(limit) });
  if (token === '') {
    query.set('resourceVersion', String(revision));
    query.set('resourceVersionMatch', 'Exact');
  } else query.set('continue', token);
  const path = `${collectionPath(type, type.namespaced ? namespace : '')}?${query}`;
  return api.json<TableDocument>(path, { accept: TABLE_ACCEPT, signal });
}

/** Reads the objects of a kind at a revision into the timeline. */
export async function readBase(
  api: Api,
  timeline: Timeline,
  type: ResourceType,
  namespace: string,
  revision: number,
  signal: AbortSignal,
): Promise<void> {
  let token = '';
  let count = 0;
  do {
    const page = await exactPage(api, type, namespace, { revision, limit: PAGE, token }, signal);
    timeline.addBase(typeId(type), page);
    count += page.rows?.length ?? 0;
    token = page.metadata?.continue ?? '';
  } while (token !== '' && count < MAX_OBJECTS);
}
