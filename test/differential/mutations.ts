// Changes to valid objects. Each results in an object that a server may reject, default, or accept,
// and shows whether two servers have the same rules.

import type { FieldDescriptor, MessageDescriptor, TypeRef } from '#api/machinery/descriptor.ts';
import type { SeededRandom } from '#machinery/random.ts';

type Json = unknown;
type JsonObject = Record<string, Json>;

const TEXTS = [
  '',
  'a',
  'it',
  'A_b',
  'a.b',
  '-a',
  'a-',
  'a b',
  'x'.repeat(63),
  'x'.repeat(64),
  'x'.repeat(254),
  'example.com/foo',
  'example.com/Foo_1',
  'kubernetes.io/foo',
  'other.example.com',
  '10.0.0.1',
  '010.0.0.1',
  '::1',
  '2001:db8::1',
  '10.0.0.0/8',
  '10.0.0.1/8',
  '/abs/path',
  '../up',
  'a/../b',
  '/a:b',
  'metadata.name',
  "metadata.labels['a']",
  'status.podIP',
  'http',
  '80',
  'None',
  'Never',
  'Always',
  'In',
  'Exists',
  'kubernetes.io/hostname',
  'é',
] as const;
const INTEGERS = [
  -1, 0, 1, 2, 3, 10, 80, 100, 101, 600, 1024, 30_000, 65_535, 65_536, 100_000, 2_147_483_647,
] as const;
const QUANTITIES = [
  '0',
  '-1',
  '1',
  '1.5',
  '1m',
  '0.1m',
  '100m',
  '1Gi',
  '128Mi',
  '5E',
  '1e3',
  '0.5Ki',
] as const;
const INT_OR_STRINGS = [
  -1,
  0,
  1,
  80,
  65_536,
  '0',
  '0%',
  '25%',
  '100%',
  '101%',
  '-1%',
  'a',
  'http',
  'A_b',
  '',
] as const;
const TIMES = [
  '2026-01-02T03:04:05Z',
  '1970-01-01T00:00:00Z',
  '2026-01-02T03:04:05+02:00',
] as const;
const KEYS = [
  'a',
  'app',
  'example.com/a',
  'A/B/C',
  '-',
  'x'.repeat(64),
  'cpu',
  'memory',
  'storage',
  'example.com/gpu',
  '',
] as const;
const DEEPEST = 5;

export class Mutator {
  readonly #random: SeededRandom;

  constructor(random: SeededRandom) {
    this.#random = random;
  }

  /** Returns the object with one to three changes, and their descriptions. */
  mutated(
    message: MessageDescriptor,
    object: JsonObject,
  ): { readonly object: JsonObject; readonly changes: readonly string[] } {
    // The copy goes through JSON, so that a value that two places of the sample share becomes two
    // values.
    const result = JSON.parse(JSON.stringify(object)) as JsonObject;
    const changes: string[] = [];
    for (let left = this.#pick([1, 1, 1, 2, 2, 3]); left > 0; left--)
      changes.push(this.#change(message, result));
    return { object: result, changes };
  }

  #change(message: MessageDescriptor, object: JsonObject): string {
    const places = [...placesIn(message, object, '')];
    // Most rules are about the spec; the metadata of all kinds is much the same.
    const inner = places.filter(({ path }) => !/^\.(metadata|apiVersion|kind|status)/.test(path));
    const { path, holder, key, field, type } = this.#pick(
      inner.length > 0 && this.#random.int(8) > 0 ? inner : places,
    );
    const current = (holder as Record<string | number, Json>)[key];
    const set = (value: Json): void =>
      void ((holder as Record<string | number, Json>)[key] = value);
    if (current === undefined) {
      set(this.#value(type, path, 0));
      return `add ${path}`;
    }
    const choice = this.#random.int(10);
    if (Array.isArray(current) && choice < 6) {
      if (current.length > 0 && choice < 2) current.push(structuredClone(this.#pick(current)));
      else if (choice < 3) current.length = 0;
      else if (type.kind === 'list') current.push(this.#value(type.items, path, 0));
      return `items of ${path}`;
    }
    if (choice < 2 && field !== undefined) {
      if (Array.isArray(holder)) holder.splice(key as number, 1);
      else delete holder[key];
      return `remove ${path}`;
    }
    if (type.kind === 'map' && choice < 8 && typeof current === 'object' && current !== null) {
      const map = current as JsonObject;
      const name = this.#pick(KEYS);
      map[name] = this.#value(type.values, path, 0);
      return `key ${name} of ${path}`;
    }
    set(this.#value(type, path, 0));
    return `set ${path}`;
  }

  #value(type: TypeRef, path: string, depth: number): Json {
    switch (type.kind) {
      case 'scalar':
        return this.#scalar(type, path);
      case 'message':
        return this.#message(type.message, depth);
      case 'either':
        return this.#random.int(2) === 0
          ? this.#message(type.message, depth)
          : this.#value(type.or, path, depth);
      case 'list':
        return Array.from({ length: this.#random.int(3) }, () =>
          this.#value(type.items, path, depth + 1),
        );
      case 'map': {
        const map: JsonObject = {};
        for (let left = this.#random.int(3); left > 0; left--)
          map[this.#pick(KEYS)] = this.#value(type.values, path, depth + 1);
        return map;
      }
    }
  }

  #message(message: MessageDescriptor, depth: number): JsonObject {
    const object: JsonObject = {};
    const { fields } = message;
    // One member of a union is valid, two are not.
    const chosen =
      message.union !== undefined || fields.length > 20
        ? Array.from({ length: 1 + (this.#random.int(4) === 0 ? 1 : 0) }, () => this.#pick(fields))
        : fields.filter(({ required }) =>
            required ? this.#random.int(10) > 0 : this.#random.int(3) === 0,
          );
    for (const { name, type } of chosen)
      if (depth < DEEPEST) object[name] = this.#value(type, `.${name}`, depth + 1);
    return object;
  }

  #scalar(type: Extract<TypeRef, { kind: 'scalar' }>, path: string): Json {
    if (type.values !== undefined && type.values.length > 0 && this.#random.int(5) > 0)
      return this.#pick(type.values);
    switch (type.scalar) {
      case 'string':
        return /name$/i.test(path) && this.#random.int(2) === 0 ? 'it' : this.#pick(TEXTS);
      case 'bool':
        return this.#random.int(2) === 0;
      case 'int32':
      case 'int64':
      case 'uint32':
      case 'uint64':
        return this.#pick(INTEGERS);
      case 'uint8':
        return this.#random.int(256);
      case 'double':
        return this.#pick([0, 0.5, -1, 100]);
      case 'bytes':
        return this.#pick(['', 'YQ==', 'eHh4']);
      case 'quantity':
        return this.#pick(QUANTITIES);
      case 'time':
        return this.#pick(TIMES);
      case 'microTime':
        return '2026-01-02T03:04:05.000006Z';
      case 'duration':
        return this.#pick(['0s', '1m0s', '-1s']);
      case 'intOrString':
        return this.#pick(INT_OR_STRINGS);
      case 'rawExtension':
        return { apiVersion: 'example.com/v1', kind: 'Thing', a: 1 };
      case 'json':
        return this.#pick([null, 1, 'a', { a: 1 }, [1]]);
      case 'fieldsV1':
        return { 'f:spec': {} };
    }
  }

  #pick<T>(values: readonly T[]): T {
    return values[this.#random.int(values.length)]!;
  }
}

interface Place {
  readonly path: string;
  readonly holder: JsonObject | Json[];
  readonly key: string | number;
  /** Absent: an item of a list or a value of a map. */
  readonly field?: FieldDescriptor;
  readonly type: TypeRef;
}

/**
 * Yields every place that has or could have a value, without managed fields and fields that the
 * server sets.
 */
function* placesIn(message: MessageDescriptor, object: JsonObject, path: string): Generator<Place> {
  for (const field of message.fields) {
    const at = `${path}.${field.name}`;
    if (SERVERS.has(at) || (path === '' && (field.name === 'kind' || field.name === 'apiVersion')))
      continue;
    yield { path: at, holder: object, key: field.name, field, type: field.type };
    yield* placesWithin(field.type, object[field.name], at);
  }
}

function* placesWithin(type: TypeRef, value: Json, path: string): Generator<Place> {
  if (typeof value !== 'object' || value === null) return;
  if (type.kind === 'message' || type.kind === 'either') {
    if (!Array.isArray(value)) yield* placesIn(type.message, value as JsonObject, path);
  } else if (type.kind === 'list' && Array.isArray(value)) {
    for (const [index, item] of (value as Json[]).entries()) {
      yield { path: `${path}[${index}]`, holder: value as Json[], key: index, type: type.items };
      yield* placesWithin(type.items, item, `${path}[${index}]`);
    }
  } else if (type.kind === 'map') {
    for (const [name, item] of Object.entries(value)) {
      yield { path: `${path}.${name}`, holder: value as JsonObject, key: name, type: type.values };
      yield* placesWithin(type.values, item as Json, `${path}.${name}`);
    }
  }
}

const SERVERS: ReadonlySet<string> = new Set(
  ['managedFields', 'uid', 'creationTimestamp', 'resourceVersion', 'generation', 'selfLink'].map(
    (name) => `.metadata.${name}`,
  ),
);
