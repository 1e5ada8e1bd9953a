// Strategic merge patch: a merge patch that uses the type's schema, so that lists can be merged by
// a key. kubectl apply, edit and patch send it for built-in kinds.
//
// Directives: `$patch: replace|delete|merge` in objects and list items; `$retainKeys: [k]` (the
// object keeps only those keys); `$deleteFromPrimitiveList/f: [v]` (values to remove from list f);
// `$setElementOrder/f: […]` (the order of list f).

import { getOwn, isPlainObject, setOwn } from '../deep.ts';
import { formatValue, quote } from '../text/go-format.ts';

/**
 * The schema of a type, as far as patches need it: an object's fields by name. A field that is a
 * list has the schema of its items.
 */
export interface PatchSchema {
  /** The type's short name, for messages: 'PodSpec'. */
  readonly name: string;
  /** Returns undefined if the type has no such field. */
  field(name: string): PatchField | undefined;
}

export interface PatchField {
  /** 'merge', 'replace', 'retainKeys'. Without a strategy objects are merged and lists replaced. */
  readonly patchStrategy?: readonly string[];
  /** The field that identifies the items of a merged list of objects. */
  readonly patchMergeKey?: string;
  /**
   * The schema of the object, of the list's items, or of the map (see mapSchema). Absent for values
   * without described fields.
   */
  readonly schema?: PatchSchema;
}

/** Returns the schema of a map: all keys have values of the same type. */
export function mapSchema(values: PatchSchema | undefined): PatchSchema {
  return { name: 'map', field: () => ({ schema: values }) };
}

/**
 * 'malformed': no strategic merge patch (400). 'failed': it cannot be applied (422). 'other':
 * upstream responds with 500.
 */
export type StrategicMergePatchErrorKind = 'malformed' | 'failed' | 'other';

export class StrategicMergePatchError extends Error {
  readonly kind: StrategicMergePatchErrorKind;

  constructor(kind: StrategicMergePatchErrorKind, message: string) {
    super(message);
    this.name = 'StrategicMergePatchError';
    this.kind = kind;
  }
}

const DIRECTIVE = '$patch';
const RETAIN_KEYS = '$retainKeys';
const DELETE_FROM_PRIMITIVE_LIST = '$deleteFromPrimitiveList';
const SET_ELEMENT_ORDER = '$setElementOrder';

type JsonMap = Readonly<Record<string, unknown>>;
type List = readonly unknown[];

/**
 * Returns `original` with the patch applied. Neither is modified; the result shares unchanged parts
 * with `original`. Throws StrategicMergePatchError.
 */
export function applyStrategicMergePatch(
  original: JsonMap,
  patch: unknown,
  schema: PatchSchema | undefined,
): JsonMap {
  if (!isPlainObject(patch))
    throw new StrategicMergePatchError('malformed', 'invalid JSON document');
  return mergeObject(original, patch, schema);
}

function mergeObject(original: JsonMap, patch: JsonMap, schema: PatchSchema | undefined): JsonMap {
  const directive = getOwn(patch, DIRECTIVE);
  if (directive !== undefined) return replaceOrEmpty(directive, patch);
  const result = retainKeys(original, patch);
  // Lists with a given order are merged and ordered in one step. The loop below skips their
  // changes.
  const done = new Set<string>([RETAIN_KEYS]);
  for (const [key, order] of Object.entries(patch)) {
    if (!key.startsWith(SET_ELEMENT_ORDER)) continue;
    if (!Array.isArray(order)) throw badArgument('[]interface {}', order);
    done.add(key);
    const name = fieldOf(key, SET_ELEMENT_ORDER);
    done.add(name);
    mergeOrdered(result, patch, name, order, schema);
  }
  for (const [key, change] of Object.entries(patch)) {
    if (done.has(key)) continue;
    if (key.startsWith(DELETE_FROM_PRIMITIVE_LIST))
      deleteFromList(result, fieldOf(key, DELETE_FROM_PRIMITIVE_LIST), change);
  }
  for (const [key, change] of Object.entries(patch)) {
    if (done.has(key) || key.startsWith(DELETE_FROM_PRIMITIVE_LIST)) continue;
    if (change === null) delete result[key];
    else mergeField(result, key, change, schema);
  }
  return result;
}

function replaceOrEmpty(directive: unknown, patch: JsonMap): JsonMap {
  switch (directive) {
    case 'replace': {
      const { [DIRECTIVE]: _, ...rest } = patch;
      return rest;
    }
    case 'delete':
      return {};
    default:
      throw badPatchType(directive, patch);
  }
}

function mergeField(
  result: Record<string, unknown>,
  key: string,
  change: unknown,
  schema: PatchSchema | undefined,
): void {
  const before = getOwn(result, key);
  if (isPlainObject(change) && isPlainObject(before)) {
    const field = lookup(schema, key);
    setOwn(
      result,
      key,
      strategyOf(field) === 'replace' ? change : mergeObject(before, change, field?.schema),
    );
  } else if (Array.isArray(change) && Array.isArray(before)) {
    setOwn(result, key, mergeList(before, change, lookup(schema, key)));
  } else {
    const added = withoutDirectives(change);
    if (added === undefined) delete result[key];
    else setOwn(result, key, added);
  }
}

function lookup(schema: PatchSchema | undefined, key: string): PatchField | undefined {
  if (schema === undefined) return undefined;
  const field = schema.field(key);
  if (field === undefined) {
    throw new StrategicMergePatchError(
      'other',
      `unable to find api field in struct ${schema.name} for the json field ${quote(key)}`,
    );
  }
  return field;
}

/** Returns the strategy without retainKeys, which does not concern merging. */
function strategyOf(field: PatchField | undefined): string | undefined {
  return field?.patchStrategy?.find((strategy) => strategy !== 'retainKeys');
}

/** Returns a shallow copy of the original, without the keys that `$retainKeys` does not list. */
function retainKeys(original: JsonMap, patch: JsonMap): Record<string, unknown> {
  const listed = getOwn(patch, RETAIN_KEYS);
  if (listed === undefined) return { ...original };
  const malformed = (): Error =>
    new StrategicMergePatchError('malformed', 'invalid patch format of retainKeys');
  if (!Array.isArray(listed)) throw malformed();
  const retained = new Set<unknown>(listed);
  for (const [key, change] of Object.entries(patch)) {
    if (change === null || key === RETAIN_KEYS) continue;
    if (key.startsWith(DELETE_FROM_PRIMITIVE_LIST) || key.startsWith(SET_ELEMENT_ORDER)) continue;
    if (!retained.has(key)) throw malformed();
  }
  const kept: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(original))
    if (retained.has(key)) setOwn(kept, key, value);
  return kept;
}

/** Returns the field of '$directive/field'. */
function fieldOf(key: string, prefix: string): string {
  if (key.length > prefix.length && key[prefix.length] === '/') return key.slice(prefix.length + 1);
  const what = prefix === SET_ELEMENT_ORDER ? 'setElementOrder list' : 'primitive list';
  throw new StrategicMergePatchError('malformed', `invalid patch format of ${what}`);
}

function deleteFromList(result: Record<string, unknown>, name: string, change: unknown): void {
  const before = getOwn(result, name);
  if (!Array.isArray(before)) return;
  if (!Array.isArray(change))
    throw new StrategicMergePatchError('malformed', 'invalid patch format of primitive list');
  const gone = new Set<unknown>(change);
  setOwn(
    result,
    name,
    before.filter((item) => !gone.has(item)),
  );
}

function mergeOrdered(
  result: Record<string, unknown>,
  patch: JsonMap,
  name: string,
  order: List,
  schema: PatchSchema | undefined,
): void {
  const before = getOwn(result, name);
  const change = getOwn(patch, name);
  if (change === null) {
    delete result[name];
    return;
  }
  if (before !== undefined && !Array.isArray(before)) throw badArgument('[]interface {}', before);
  if (change !== undefined && !Array.isArray(change)) throw badArgument('[]interface {}', change);
  const deleted = getOwn(patch, `${DELETE_FROM_PRIMITIVE_LIST}/${name}`);
  const field = lookup(schema, name);
  if (before === undefined && change === undefined) return;
  const mergeKey = field?.patchMergeKey;
  checkOrder(change ?? [], order, mergeKey);
  const gone = new Set<unknown>(Array.isArray(deleted) ? deleted : []);
  const live: List = (before ?? []).filter((item) => !gone.has(item));
  const merged = mergeOrAdd(before === undefined ? undefined : live, change, field);
  const elements = elementKind(before ?? [], change ?? []);
  if (elements === undefined)
    throw new StrategicMergePatchError('other', 'no elements in any of the given slices');
  setOwn(result, name, arrange(merged, order, live, identity(elements, mergeKey, field?.schema)));
}

function mergeOrAdd(
  before: List | undefined,
  change: List | undefined,
  field: PatchField | undefined,
): List {
  if (change === undefined) return before ?? [];
  if (before === undefined) return (withoutDirectives(change) as List | undefined) ?? [];
  return mergeList(before, change, field);
}

function mergeList(before: List, change: List, field: PatchField | undefined): List {
  if (strategyOf(field) !== 'merge') return change;
  const elements = elementKind(before, change);
  if (elements === undefined) return before;
  const mergeKey = field?.patchMergeKey;
  const identify = identity(elements, mergeKey, field?.schema);
  if (elements === 'scalar')
    return arrange([...new Set([...before, ...change])], change, before, identify);
  const key = mergeKey!;
  const { live, plain, replace } = specialElements(
    before as readonly JsonMap[],
    change as readonly JsonMap[],
    key,
  );
  if (replace) {
    for (const item of plain) identify(item);
    return plain;
  }
  const merged = mergeItems(live, plain, key, field?.schema);
  return arrange(merged, plain, live, identify);
}

/**
 * Removes the items that `$patch: delete` names from the live list, and separates the ordinary
 * items of the patch from those with directives.
 */
function specialElements(
  before: readonly JsonMap[],
  change: readonly JsonMap[],
  mergeKey: string,
): { live: readonly JsonMap[]; plain: readonly JsonMap[]; replace: boolean } {
  const plain: JsonMap[] = [];
  const deleted = new Set<unknown>();
  let replace = false;
  for (const item of change) {
    const directive = getOwn(item, DIRECTIVE);
    switch (directive) {
      case undefined:
        plain.push(item);
        break;
      case 'delete':
        deleted.add(mergeValueOf(item, mergeKey));
        break;
      case 'replace':
        replace = true;
        break;
      case 'merge':
        throw new StrategicMergePatchError(
          'other',
          'merging lists cannot yet be specified in the patch',
        );
      default:
        throw badPatchType(directive, item);
    }
  }
  const live =
    deleted.size === 0 ? before : before.filter((item) => !deleted.has(getOwn(item, mergeKey)));
  return { live, plain, replace };
}

/**
 * Merges the patch's items into the live ones with the same key, and appends the others as they
 * are. A key that is null is one, too, which no live item has.
 */
function mergeItems(
  live: readonly JsonMap[],
  change: readonly JsonMap[],
  mergeKey: string,
  schema: PatchSchema | undefined,
): readonly JsonMap[] {
  const merged = [...live];
  const positions = new Map<unknown, number>();
  merged.forEach((item, index) => {
    const value = getOwn(item, mergeKey);
    // The first of several items with the same key is patched.
    if (value !== undefined && !positions.has(value)) positions.set(value, index);
  });
  for (const item of change) {
    const value = mergeValueOf(item, mergeKey);
    const position = positions.get(value);
    if (position === undefined) {
      positions.set(value, merged.length);
      merged.push(item);
    } else merged[position] = mergeObject(merged[position]!, item, schema);
  }
  return merged;
}

/**
 * Returns the identity of an item in a list: the item itself, or the value of its merge key. Throws
 * if an item has no merge key.
 */
type Identity = (item: unknown) => unknown;

function identity(
  elements: 'map' | 'scalar',
  mergeKey: string | undefined,
  schema: PatchSchema | undefined,
): Identity {
  if (elements === 'scalar') return (item) => item;
  if (mergeKey === undefined || mergeKey === '') {
    throw new StrategicMergePatchError(
      'other',
      `cannot merge lists without merge key for ${schema?.name ?? 'untyped values'}`,
    );
  }
  return (item) => {
    if (!isPlainObject(item)) throw badArgument('map[string]interface {}', item);
    return mergeValueOf(item, mergeKey);
  };
}

/**
 * Orders a merged list. Items that `order` names come in its order. The others, which only the
 * server has, keep their relative order: each comes before the first named item that it preceded.
 */
function arrange(merged: List, order: List, live: List, identify: Identity): List {
  const places = new Map<unknown, number>();
  order.forEach((item, index) => {
    if (!places.has(identify(item))) places.set(identify(item), index);
  });
  const livePlaces = new Map<unknown, number>();
  live.forEach((item, index) => {
    if (!livePlaces.has(identify(item))) livePlaces.set(identify(item), index);
  });
  const placeIn = (from: ReadonlyMap<unknown, number>, item: unknown): number =>
    from.get(identify(item)) ?? -1;
  const named = merged.filter((item) => places.has(identify(item)));
  const serverOnly = merged.filter((item) => !places.has(identify(item)));
  named.sort((a, b) => placeIn(places, a) - placeIn(places, b));
  serverOnly.sort((a, b) => placeIn(livePlaces, a) - placeIn(livePlaces, b));
  const arranged: unknown[] = [];
  let next = 0;
  for (const item of named) {
    const place = placeIn(livePlaces, item);
    // An item that is new to the server (-1) has no predecessor.
    for (; next < serverOnly.length; next++) {
      const candidate = placeIn(livePlaces, serverOnly[next]);
      if (candidate < 0 || candidate >= place) break;
      arranged.push(serverOnly[next]);
    }
    arranged.push(item);
  }
  return [...arranged, ...serverOnly.slice(next)];
}

const directiveOf = (item: unknown): unknown =>
  isPlainObject(item) ? getOwn(item, DIRECTIVE) : undefined;

/**
 * Throws unless the items that the patch adds or changes are in the given order, and in the same
 * sequence.
 */
function checkOrder(change: List, order: List, mergeKey: string | undefined): void {
  const hasKeys = mergeKey !== undefined && mergeKey !== '';
  const kept = hasKeys ? change.filter((item) => directiveOf(item) !== 'delete') : change;
  if (kept.length === 0 || order.length === 0) return;
  const identify = identity(hasKeys ? 'map' : 'scalar', mergeKey, undefined);
  let next = 0;
  let place = 0;
  // Another directive after the last item of the order is out of order, as upstream.
  while (next < kept.length && place < order.length) {
    if (directiveOf(kept[next]) !== undefined) next++;
    else if (identify(kept[next]) === identify(order[place++])) next++;
  }
  if (next === kept.length || place < order.length) return;
  const message =
    `The order in patch list:\n${formatValue(change)}\n doesn't match ${SET_ELEMENT_ORDER} ` +
    `list:\n${formatValue(order)}\n`;
  throw new StrategicMergePatchError('other', message);
}

/**
 * Returns the kind of the elements; undefined if there are none. Throws for lists of lists and for
 * mixed lists, which cannot be merged.
 */
function elementKind(...lists: readonly List[]): 'map' | 'scalar' | undefined {
  let kind: string | undefined;
  for (const item of lists.flat()) {
    const own = item === null ? 'null' : Array.isArray(item) ? 'list' : typeof item;
    if (own === 'list' && kind === undefined)
      throw new StrategicMergePatchError('failed', 'lists of lists are not supported');
    if (kind !== undefined && own !== kind) {
      throw new StrategicMergePatchError(
        'other',
        `list element types are not identical: ${formatValue(lists)}`,
      );
    }
    kind = own;
  }
  return kind === undefined ? undefined : kind === 'object' ? 'map' : 'scalar';
}

/**
 * Returns a value that is new in the document without nulls and directives, which have nothing to
 * act on. Undefined: the value itself is left out.
 */
function withoutDirectives(value: unknown): unknown {
  if (Array.isArray(value)) {
    // An item with a directive refers to other items, which do not exist.
    const items = value.filter(
      (item: unknown) => !(isPlainObject(item) && Object.hasOwn(item, DIRECTIVE)),
    );
    return items.map((item: unknown) => withoutDirectives(item));
  }
  if (!isPlainObject(value)) return value;
  // A value with `replace` is added; one with another directive is left out.
  const directive = getOwn(value, DIRECTIVE);
  if (directive !== undefined && directive !== 'replace') return undefined;
  const copy: Record<string, unknown> = {};
  for (const [key, item] of Object.entries(value)) {
    if (item === null || key === DIRECTIVE || key === RETAIN_KEYS) continue;
    if (key.startsWith(`${SET_ELEMENT_ORDER}/`) || key.startsWith(`${DELETE_FROM_PRIMITIVE_LIST}/`))
      continue;
    const kept = withoutDirectives(item);
    if (kept !== undefined) setOwn(copy, key, kept);
  }
  return copy;
}

function mergeValueOf(item: JsonMap, mergeKey: string): unknown {
  const value = getOwn(item, mergeKey);
  if (value === undefined) {
    throw new StrategicMergePatchError(
      'other',
      `map: ${formatValue(item)} does not contain declared merge key: ${mergeKey}`,
    );
  }
  return value;
}

function badPatchType(directive: unknown, patch: JsonMap): Error {
  return new StrategicMergePatchError(
    'other',
    `unknown patch type: ${formatText(directive)} in map: ${formatValue(patch)}`,
  );
}

/** Returns a value as `%s` formats it: one that is no text has its type beside it. */
function formatText(value: unknown): string {
  return typeof value === 'number' || typeof value === 'boolean'
    ? `%!s(${goType(value)}=${value})`
    : formatValue(value);
}

function badArgument(expected: string, actual: unknown): Error {
  const message = `expected a ${expected}, but received a ${goType(actual)}`;
  return new StrategicMergePatchError('other', message);
}

/** Returns the type that a JSON value has in Go. */
function goType(value: unknown): string {
  if (value === null || value === undefined) return '<nil>';
  if (Array.isArray(value)) return '[]interface {}';
  switch (typeof value) {
    case 'object':
      return 'map[string]interface {}';
    case 'boolean':
      return 'bool';
    case 'number':
      return Number.isInteger(value) ? 'int64' : 'float64';
    default:
      return typeof value;
  }
}
