// Lists: the revision to read at, pages, and selectors.

import * as apierrors from '#machinery/apierrors.ts';
import type { GroupResource } from '#machinery/apierrors.ts';
import {
  type KeyValue,
  type ListOptions as StorageListOptions,
  type Storage,
  StorageError,
} from '#storage/interface.ts';
import {
  type ContinueToken,
  decodeContinue,
  encodeContinue,
  expiredContinue,
} from './continue-token.ts';
import { nextTurn } from '#machinery/turn.ts';
import type { ServedObject } from './encoded-object.ts';
import type { ObjectCache } from './object-cache.ts';
import type { FieldIndexes } from './field-indexes.ts';
import type { ListAnswer, ListOptions } from './rest.ts';
import { parseResourceVersion } from './resource-version.ts';
import type { SelectableFields } from './selectable-fields.ts';
import type { Selection } from './selection.ts';
import { storageToStatus } from './storage-errors.ts';

export interface Listed {
  readonly storage: Storage;
  readonly cache: ObjectCache;
  readonly resource: GroupResource;
  readonly prefix: string;
  readonly namespaced: boolean;
  readonly selectableFields: SelectableFields;
  readonly indexes: FieldIndexes;
  /** See StoreServices.listsKeepLimit. */
  readonly keepsLimit: boolean;
}

/** The place of the objects that a selection may match. No other keys are read. */
interface Scope {
  /** The namespace; '' for all. */
  readonly namespace: string;
  readonly selection: Selection;
}

/**
 * The maximum size of a page of the storage. With selectors few keys may match, so pages grow up to
 * this.
 */
const MAX_STORAGE_PAGE = 10_000;
/** The number of objects that are matched in one turn of the event loop. */
const MATCHED_PER_TURN = 1000;
/** The number of objects that are read, but not decoded, in one turn. */
const READ_PER_TURN = 20_000;

export async function listObjects(
  listed: Listed,
  namespace: string,
  options: ListOptions,
): Promise<ListAnswer> {
  const { resource } = listed;
  const { selection } = options;
  const token = options.continue === '' ? undefined : decodeContinue(options.continue);
  if (token !== undefined && options.resourceVersion !== '' && options.resourceVersion !== '0') {
    throw apierrors.badRequest('specifying resource version is not allowed when using continue');
  }
  const requested = parseResourceVersion(options.resourceVersion);
  const exact = requested > 0 && isExact(options);
  const revision = token === undefined ? (exact ? requested : 0) : Math.max(token.revision, 0);
  try {
    const scope = scopeOf(listed, namespace, selection);
    const limit = isWhole(listed, options) ? 0 : options.limit;
    const newestList = await listScope(listed, scope, { ...options, limit }, token, revision);
    // For 'not older than' the newest state is read, and must be new enough.
    if (requested > Number(newestList.resourceVersion)) {
      throw apierrors.tooLargeResourceVersion(requested, newestList.resourceVersion, 1);
    }
    return newestList;
  } catch (error) {
    if (token !== undefined && error instanceof StorageError && error.reason === 'Expired')
      throw expiredContinue(token);
    throw storageToStatus(error, { resource, requestedRevision: requested });
  }
}

/**
 * Reports whether a page is read at exactly its resourceVersion. For compatibility this is also the
 * case without a resourceVersionMatch.
 */
function isExact(options: ListOptions): boolean {
  return (
    options.resourceVersionMatch === 'Exact' ||
    (options.resourceVersionMatch === '' && options.limit > 0)
  );
}

/** Reports whether the list has everything, although it may have a limit. */
function isWhole({ keepsLimit }: Listed, options: ListOptions): boolean {
  return !keepsLimit && options.resourceVersion === '0' && options.continue === '';
}

/**
 * Returns the scope. Undefined: the selection contradicts the namespace, so that no object matches.
 */
function scopeOf(
  { namespaced }: Listed,
  namespace: string,
  selection: Selection,
): Scope | undefined {
  const selected = namespaced ? selection.exact('metadata.namespace') : undefined;
  if (selected === undefined || selected === '' || selected === namespace)
    return { namespace, selection };
  return namespace === '' && !selected.includes('/')
    ? { namespace: selected, selection }
    : undefined;
}

async function listScope(
  listed: Listed,
  scope: Scope | undefined,
  options: ListOptions,
  token: ContinueToken | undefined,
  revision: number,
): Promise<ListAnswer> {
  if (scope === undefined) {
    return {
      items: [],
      resourceVersion: String(revision > 0 ? revision : await listed.storage.currentRevision()),
    };
  }
  const single = token === undefined ? keyOfSingle(listed, scope) : undefined;
  return single === undefined
    ? await listPage(listed, scope, options, token, revision)
    : await listSingle(listed, single, scope.selection, revision);
}

/** Returns the key of the object that the field selector names; undefined if it names none. */
function keyOfSingle(listed: Listed, { namespace, selection }: Scope): string | undefined {
  const name = selection.exact('metadata.name');
  if (name === undefined || name === '' || name.includes('/')) return undefined;
  if (!listed.namespaced) return listed.prefix + name;
  return namespace === '' ? undefined : `${listed.prefix}${namespace}/${name}`;
}

async function listSingle(
  listed: Listed,
  key: string,
  selection: Selection,
  revision: number,
): Promise<ListAnswer> {
  const { storage, cache, selectableFields } = listed;
  // The revision is read first, so that the get returns a state at least that new.
  const at = revision > 0 ? revision : await storage.currentRevision();
  const kv = await storage.get(key, { revision });
  const object = kv === undefined ? undefined : await cache.read(kv);
  const items = object !== undefined && selection.matches(object, selectableFields) ? [object] : [];
  return { items, resourceVersion: String(Math.max(at, kv?.modRevision ?? 0)) };
}

interface StoragePage {
  readonly items: readonly KeyValue[];
  readonly revision: number;
  /** The number of keys after the last item. With an index, 1 stands for any number. */
  readonly remaining: number;
  /** True: every item is selected, so that none has to be decoded to find out. */
  readonly isSelected?: true;
}

/**
 * Reads a page of keys that may match: all in the namespace, or those that an index has for the
 * selected value.
 */
async function readPage(
  listed: Listed,
  scope: Scope,
  options: StorageListOptions,
): Promise<StoragePage> {
  const { storage, prefix, namespaced, indexes } = listed;
  const within = namespaced && scope.namespace !== '' ? `${prefix}${scope.namespace}/` : prefix;
  const name = namespaced && within === prefix ? scope.selection.exact('metadata.name') : undefined;
  if (name !== undefined && name !== '' && !name.includes('/'))
    return await readNamed(listed, name, options);
  const indexed = indexes.listing(scope.selection);
  if (indexed === undefined) return await storage.list(within, options);
  const { items, revision, more, isCertain } = await indexed.index.list(indexed.value, {
    ...options,
    within,
  });
  const isSelected = isCertain === true && indexed.isWhole;
  return { items, revision, remaining: more ? 1 : 0, ...(isSelected && { isSelected }) };
}

/**
 * Reads the keys of one name in all namespaces. It reads one key of each namespace and skips the
 * others, so the cost grows with the number of namespaces that have objects of the resource, not
 * with the number of objects.
 */
async function readNamed(
  { storage, prefix }: Listed,
  name: string,
  { limit = 0, startAfter, revision = 0 }: StorageListOptions,
): Promise<StoragePage> {
  const items: KeyValue[] = [];
  let at = revision;
  let from = startAfter;
  for (;;) {
    const next = await storage.list(prefix, { revision: at, startAfter: from, limit: 1 });
    at = next.revision;
    const first = next.items[0];
    if (first === undefined) return { items, revision: at, remaining: 0 };
    const namespace = first.key.slice(prefix.length, first.key.indexOf('/', prefix.length));
    const key = `${prefix}${namespace}/${name}`;
    const isPast = startAfter !== undefined && key <= startAfter;
    const item = isPast
      ? undefined
      : first.key === key
        ? first
        : await storage.get(key, { revision: at });
    if (item !== undefined) {
      if (limit > 0 && items.length === limit) return { items, revision: at, remaining: 1 };
      items.push(item);
    }
    // '0' follows '/', so this is after every key of the namespace.
    from = `${prefix}${namespace}0`;
  }
}

async function listPage(
  listed: Listed,
  scope: Scope,
  options: ListOptions,
  token: ContinueToken | undefined,
  revision: number,
): Promise<ListAnswer> {
  const { cache, prefix, selectableFields } = listed;
  const { limit, selection } = options;
  const items: ServedObject[] = [];
  let startAfter = token === undefined ? undefined : prefix + token.lastKey;
  let at = revision;
  let storagePage = limit;
  for (;;) {
    const page = await readPage(listed, scope, { revision: at, limit: storagePage, startAfter });
    at = page.revision;
    const all = await readInTurns(cache, page.items);
    if (selection.everything && items.length === 0) {
      const lastKey =
        page.remaining === 0 ? undefined : page.items.at(-1)?.key.slice(prefix.length);
      return partOf(all, at, page.remaining, lastKey, selection);
    }
    for (const [index, object] of all.entries()) {
      if (index > 0 && index % MATCHED_PER_TURN === 0) await nextTurn();
      if (page.isSelected !== true && !selection.matches(object, selectableFields)) continue;
      items.push(object);
      if (limit > 0 && items.length === limit) {
        const remaining = page.remaining + all.length - index - 1;
        return partOf(
          items,
          at,
          remaining,
          remaining === 0 ? undefined : object.kv.key.slice(prefix.length),
          selection,
        );
      }
    }
    if (page.remaining === 0) return { items, resourceVersion: String(at) };
    startAfter = page.items.at(-1)?.key;
    storagePage = Math.min(storagePage * 2, MAX_STORAGE_PAGE);
  }
}

/** Reads the objects of a page, of which a large one takes several turns of the event loop. */
async function readInTurns(
  cache: ObjectCache,
  items: readonly KeyValue[],
): Promise<readonly ServedObject[]> {
  if (items.length <= READ_PER_TURN) return await cache.readAll(items);
  const objects: ServedObject[] = [];
  for (const [index, kv] of items.entries()) {
    if (index % READ_PER_TURN === READ_PER_TURN - 1) await nextTurn();
    const object = cache.readNow(kv);
    // All that have to be converted are converted in one call.
    if (object === undefined) return await cache.readAll(items);
    objects.push(object);
  }
  return objects;
}

function partOf(
  items: readonly ServedObject[],
  revision: number,
  remaining: number,
  lastKey: string | undefined,
  selection: Selection,
): ListAnswer {
  return {
    items,
    resourceVersion: String(revision),
    ...(lastKey !== undefined && {
      continue: encodeContinue({ revision, lastKey }),
      // With selectors the number of further matches is unknown.
      ...(selection.everything && { remainingItemCount: remaining }),
    }),
  };
}
