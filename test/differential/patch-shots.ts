// Patches of objects of a kind: parts of changed objects, as strategic merge patches with
// directives, as merge patches, and applied by a manager that does not own the fields.

import type { FieldDescriptor, MessageDescriptor, TypeRef } from '#api/machinery/descriptor.ts';
import { messageOf } from '#api/testing/message-of.ts';
import type { SeededRandom } from '#machinery/random.ts';
import { Mutator } from './mutations.ts';
import type { Shot, Target } from './shots.ts';

type Json = unknown;
type JsonObject = Record<string, Json>;

const STRATEGIC = 'application/strategic-merge-patch+json';
const MERGE = 'application/merge-patch+json';
const APPLY = 'application/apply-patch+yaml';

/** Yields patches of the stored object, which change nothing. */
export function* patchShots(target: Target, count: number, random: SeededRandom): Generator<Shot> {
  const { manifest, collection, name } = target;
  if (!target.mayUpdate) return;
  const message = messageOf(String(manifest['apiVersion']), target.kind);
  if (message === undefined) throw new Error(`no schema for ${target.kind}`);
  const mutator = new Mutator(random);
  for (let index = 0; index < count; index++) {
    const { object, changes } = mutator.mutated(message, manifest);
    const type = [STRATEGIC, STRATEGIC, MERGE, APPLY, APPLY][random.int(5)]!;
    const part = new Parts(random, type === STRATEGIC).ofObject(message, object);
    const { apiVersion, kind } = manifest;
    const metadata = { ...(part['metadata'] as object | null | undefined), name };
    // Upstream reads a result without them as if it were Go's own form of the object.
    const body = {
      ...part,
      apiVersion,
      kind,
      ...((type === APPLY || part['metadata'] !== null) && { metadata }),
    };
    const query =
      type === APPLY ? 'dryRun=All&fieldManager=other' : 'dryRun=All&fieldValidation=Strict';
    const text = JSON.stringify(body);
    yield {
      method: 'PATCH',
      path: `${collection}/${name}?${query}`,
      type,
      body: text,
      changes: [type, ...changes, text],
    };
  }
}

/** Takes parts of objects, by chance. */
class Parts {
  readonly #random: SeededRandom;
  readonly #hasDirectives: boolean;

  constructor(random: SeededRandom, hasDirectives: boolean) {
    this.#random = random;
    this.#hasDirectives = hasDirectives;
  }

  /** `keys`: fields that are nearly always kept, since they name the item of a list. */
  ofObject(
    { byName }: MessageDescriptor,
    object: JsonObject,
    keys: readonly string[] = [],
  ): JsonObject {
    const part: JsonObject = {};
    for (const [name, value] of Object.entries(object)) {
      const field = byName.get(name);
      const isKept = keys.includes(name) ? !this.#oneOf(30) : !this.#oneOf(3);
      if (field === undefined || !isKept) continue;
      part[name] = this.#oneOf(25) ? null : this.#ofValue(field.type, value, keysOf(field));
      if (this.#hasDirectives) this.#direct(part, field);
    }
    if (this.#hasDirectives && this.#oneOf(40))
      part['$patch'] = ['delete', 'replace', 'merge'][this.#random.int(3)];
    return part;
  }

  #ofValue(type: TypeRef, value: Json, keys: readonly string[]): Json {
    if (typeof value !== 'object' || value === null) return value;
    if (type.kind === 'list' && Array.isArray(value))
      return (value as Json[])
        .filter(() => !this.#oneOf(4))
        .map((item) => this.#ofValue(type.items, item, keys));
    if (Array.isArray(value) || (type.kind !== 'message' && type.kind !== 'either')) return value;
    return this.ofObject(type.message, value as JsonObject, keys);
  }

  /** Adds directives about a list. */
  #direct(part: JsonObject, { name, patchMergeKey, patchStrategy = [] }: FieldDescriptor): void {
    const items = part[name];
    if (!Array.isArray(items) || !patchStrategy.includes('merge')) return;
    const order = (items as Json[]).map((item) =>
      patchMergeKey === undefined ? item : keyOnly(item, patchMergeKey),
    );
    if (this.#oneOf(4)) part[`$setElementOrder/${name}`] = order.toReversed();
    if (patchMergeKey === undefined && this.#oneOf(4)) {
      // An item that is deleted and added comes or goes by chance.
      part[`$deleteFromPrimitiveList/${name}`] = order;
      delete part[name];
    }
    if (patchMergeKey !== undefined && order.length > 0 && this.#oneOf(4))
      (items as Json[])[0] = { ...(order[0] as object), $patch: 'delete' };
    if (patchMergeKey !== undefined && this.#oneOf(12))
      (items as Json[]).push({ $patch: 'replace' });
  }

  #oneOf(count: number): boolean {
    return this.#random.int(count) === 0;
  }
}

const keysOf = ({ patchMergeKey, listMapKeys = [] }: FieldDescriptor): readonly string[] =>
  patchMergeKey === undefined ? listMapKeys : [patchMergeKey, ...listMapKeys];

const keyOnly = (item: Json, key: string): JsonObject => ({
  [key]: (item as JsonObject | null)?.[key],
});
