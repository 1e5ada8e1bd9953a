// Requests about objects in which one list, map or object is empty, and the same requests without
// it. Most answers of a server are the same for both; `empties.tsv` lists the places where they
// differ.

import type { FieldDescriptor, MessageDescriptor, TypeRef } from '#api/machinery/descriptor.ts';
import type { Answer } from './compare.ts';
import type { Shot, Target } from './shots.ts';

type JsonObject = Record<string, unknown>;
type Path = readonly (string | number)[];

/** A field of a manifest that may be empty. */
export interface Place {
  readonly path: Path;
  /** [] or {}. */
  readonly empty: unknown;
  /** The empty value is an object, which is a value even without any field. */
  readonly isMessage: boolean;
}

/** The depth limit of places in objects that the manifest does not have. */
const DEEPEST_ADDED = 2;
/** Parts of pods are tried in pods only: other kinds have the same rules for them. */
const POD_SPEC = 'core/v1.PodSpec';
/** Fields that the server writes, or that identify the object. */
const SKIPPED: ReadonlySet<string> = new Set([
  'metadata.managedFields',
  'metadata.ownerReferences',
]);

/** Yields the places of a manifest: every list and map, and every object behind a pointer. */
export function* emptyPlaces(
  message: MessageDescriptor,
  manifest: unknown,
  path: Path = [],
  added = 0,
): Generator<Place> {
  const object = isObject(manifest) ? manifest : {};
  if (message.key === POD_SPEC && path.length > 1) return;
  for (const field of message.fields) {
    const at = [...path, field.name];
    if (SKIPPED.has(at.join('.'))) continue;
    const { type } = field;
    if (type.kind === 'list') yield { path: at, empty: [], isMessage: false };
    if (type.kind === 'map') yield { path: at, empty: {}, isMessage: false };
    if (type.kind === 'message' && field.pointer) yield { path: at, empty: {}, isMessage: true };
    yield* inside(field, type, object[field.name], at, added);
  }
}

function* inside(
  field: FieldDescriptor,
  type: TypeRef,
  value: unknown,
  at: Path,
  added: number,
): Generator<Place> {
  if (type.kind === 'message') {
    if (value !== undefined) yield* emptyPlaces(type.message, value, at, added);
    else if (added < DEEPEST_ADDED) yield* emptyPlaces(type.message, {}, at, added + 1);
  }
  if (
    type.kind === 'list' &&
    type.items.kind === 'message' &&
    Array.isArray(value) &&
    value.length > 0
  ) {
    yield* emptyPlaces(type.items.message, value[0], [...at, 0], added);
  }
}

const placeName = ({ path }: Place): string =>
  path
    .map((step) => (typeof step === 'number' ? `[${step}]` : `.${step}`))
    .join('')
    .slice(1);

export const WAYS = ['create', 'update', 'merge', 'strategic', 'json', 'apply'] as const;
export type Way = (typeof WAYS)[number];

/**
 * Returns whether `empties.tsv` records the place. Messages are left out since no server takes an
 * empty one for a missing one, and patches since they are decoded and checked like updates.
 */
export const isRecorded = ({ isMessage }: Place, way: Way): boolean =>
  !isMessage && (way === 'create' || way === 'update');

/** Returns a line of `empties.tsv`. */
export const recordLine = (
  { kind, name }: Target,
  place: Place,
  way: Way,
  outcome: string,
): string => [kind, name, placeName(place), way, outcome].join('\t');

/** Returns a request that has `value` at the place. `value` undefined: the field is missing. */
export function emptyShot(
  { manifest, collection, name }: Target,
  place: Place,
  way: Way,
  value: unknown,
): Shot {
  const object = withValue(manifest, place.path, value);
  const body = JSON.stringify(object);
  const path = `${collection}/${name}`;
  const changes = [
    `${way}: ${placeName(place)} = ${value === undefined ? 'nothing' : JSON.stringify(value)}`,
  ];
  const patch = (type: string, text: string, query = ''): Shot => ({
    method: 'PATCH',
    path: `${path}?dryRun=All${query}`,
    type,
    body: text,
    changes,
  });
  switch (way) {
    case 'create': {
      const metadata = object['metadata'] as { name?: string };
      const fresh = /[:.]/.test(name)
        ? object
        : { ...object, metadata: { ...metadata, name: 'fresh' } };
      return {
        method: 'POST',
        path: `${collection}?dryRun=All`,
        type: 'application/json',
        body: JSON.stringify(fresh),
        changes,
      };
    }
    case 'update':
      return { method: 'PUT', path: `${path}?dryRun=All`, type: 'application/json', body, changes };
    case 'merge':
      return patch('application/merge-patch+json', body);
    case 'strategic':
      return patch('application/strategic-merge-patch+json', body);
    case 'json': {
      const [first = ''] = place.path;
      const whole = object[first];
      const steps = whole === undefined ? [] : [{ op: 'add', path: `/${first}`, value: whole }];
      return patch('application/json-patch+json', JSON.stringify(steps));
    }
    case 'apply':
      return patch('application/apply-patch+yaml', body, '&fieldManager=empties&force=true');
  }
}

/**
 * Returns the parts of the answer to the empty value that the other answer does not have.
 * Undefined: the answers are the same.
 */
export function difference(without: Answer, withEmpty: Answer): string | undefined {
  const sameCode = without.code === withEmpty.code;
  const [before, after] = [without, withEmpty].map(({ code, body, warnings }) => [
    String(code),
    ...causesOf(body),
    ...(sameCode ? leaves(body, '') : []),
    ...(sameCode ? warnings.map((text) => `warning: ${text}`) : []),
  ]) as [string[], string[]];
  // Each place is listed once: upstream finds some mistakes in two ways.
  const lines = [
    ...after.filter((line) => !before.includes(line)).map((line) => `+${line}`),
    ...before.filter((line) => !after.includes(line)).map((line) => `-${line}`),
  ];
  return lines.length === 0 ? undefined : [...new Set(lines)].join('; ');
}

const UID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;

function causesOf(body: unknown): string[] {
  if (!isObject(body) || body['kind'] !== 'Status') return [];
  const causes = (
    body['details'] as { readonly causes?: readonly Readonly<Record<string, string>>[] } | undefined
  )?.causes;
  // The text of causes, which may repeat values or dump Go's own structures, is not compared.
  if (causes === undefined) return [String(body['message'])];
  return causes.map(({ reason, field }) => `${field}: ${reason}`);
}

/**
 * Keys whose values differ between any two answers, and keys of managed fields, which follow from
 * the fields.
 */
const UNIQUE: ReadonlySet<string> = new Set([
  'manager',
  'operation',
  'fieldsType',
  'uid',
  'resourceVersion',
  'timeAdded',
  'clusterIP',
  'clusterIPs',
  'nodePort',
  'healthCheckNodePort',
]);

/** Two requests may fall into different seconds. */
const TIMES = /^time$|Time(stamp)?$/;

function leaves(value: unknown, path: string): string[] {
  if (isObject(value)) {
    if (path === '' && value['kind'] === 'Status') return [];
    const names = Object.keys(value).filter((name) => !UNIQUE.has(name) && !TIMES.test(name));
    if (names.length > 0)
      return names.flatMap((name) => leaves(value[name], path === '' ? name : `${path}.${name}`));
  }
  if (Array.isArray(value) && value.length > 0)
    return value.flatMap((item, index) => leaves(item, `${path}[${index}]`));
  return [`${path}=${JSON.stringify(value)}`.replaceAll(UID, 'UID')];
}

/** Returns a copy with another value at the path; undefined removes it. */
function withValue(object: Readonly<JsonObject>, path: Path, value: unknown): JsonObject {
  const copy = structuredClone(object) as JsonObject;
  let parent = copy as Record<string | number, unknown>;
  for (const step of path.slice(0, -1)) {
    parent[step] ??= {};
    parent = parent[step] as Record<string | number, unknown>;
  }
  const last = path.at(-1) as string | number;
  if (value === undefined) delete parent[last];
  else parent[last] = value;
  return copy;
}

const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
