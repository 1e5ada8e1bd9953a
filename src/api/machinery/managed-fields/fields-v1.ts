// FieldsV1: a set of fields as JSON. A member without members below it is `{}`; one with members
// below contains '.':
//   {"f:metadata":{"f:labels":{".":{},"f:app":{}}}}
//
// Objects are immutable and are converted repeatedly, so results are cached as long as the JSON
// value lives.

import { isPlainObject } from '#machinery/deep.ts';
import { runSteps, type Steps } from '#machinery/turn.ts';
import { FieldSet } from './field-set.ts';
import { parsePathElement, PathElementError } from './path-element.ts';

export type FieldsV1 = Readonly<Record<string, unknown>>;

const SELF = '.';
const EMPTY: FieldsV1 = Object.freeze({});

const setsByJson = new WeakMap<object, FieldSet>();
const jsonBySet = new WeakMap<FieldSet, FieldsV1>();

/**
 * Recent sets by their size. Most objects are created by the thousand from one template, and
 * written by the same few programs: they have the same sets, and share their JSON.
 */
const recent = new Map<number, FieldSet[]>();
const RECENT_PER_SIZE = 4;
const MAX_RECENT_SIZE = 1024;

/**
 * Returns the set of a JSON value; an absent value is the empty set. `canonical`: the JSON was
 * written by `fieldsOfSet` and may be reused. Throws PathElementError if the JSON is not a set.
 */
export function setOfFields(fields: unknown, canonical = false): FieldSet {
  if (fields === undefined || fields === null) return FieldSet.empty;
  if (!isPlainObject(fields)) throw new PathElementError('expected an object');
  const cached = setsByJson.get(fields);
  if (cached !== undefined) return cached;
  const read = readNode(fields).children ?? FieldSet.empty;
  // Equal sets of thousands of objects are kept once.
  const remember = canonical && !read.isEmpty;
  const set = remember ? rememberedTwin(read) : read;
  if (remember && set === read) jsonBySet.set(set, fields);
  setsByJson.set(fields, set);
  return set;
}

function readNode(fields: Readonly<Record<string, unknown>>): {
  member: boolean;
  children: FieldSet | undefined;
} {
  let member = false;
  let children: FieldSet | undefined;
  for (const key in fields) {
    if (key === SELF) {
      member = true;
      continue;
    }
    const element = parsePathElement(key);
    if (element === undefined) continue;
    const below = fields[key];
    if (below !== null && !isPlainObject(below))
      throw new PathElementError(`expected an object at ${key}`);
    const node = readNode(below ?? {});
    children ??= FieldSet.building();
    const twin = children.node(element);
    if (twin === undefined) children.put(element, node.member, node.children);
    else children.put(element, twin.member || node.member, node.children ?? twin.children);
  }
  return { member: member || children === undefined, children };
}

/** Returns the JSON of a set. */
export function fieldsOfSet(set: FieldSet): FieldsV1 {
  return runSteps(fieldsInSteps(set));
}

/** Does the same as `fieldsOfSet`, in steps: for large sets. */
export function* fieldsInSteps(set: FieldSet): Steps<FieldsV1> {
  const cached = jsonBySet.get(set);
  if (cached !== undefined) return cached;
  const twin = rememberedTwin(set);
  const fields = twin === set ? yield* write(set, false, { fields: 0 }) : jsonBySet.get(twin)!;
  jsonBySet.set(set, fields);
  if (twin === set) setsByJson.set(fields, set);
  return fields;
}

/**
 * Returns an equal set that was cached before, with its JSON; if there is none, caches the set
 * itself.
 */
function rememberedTwin(set: FieldSet): FieldSet {
  const { size } = set;
  if (size > MAX_RECENT_SIZE) return set;
  const sets = recent.get(size);
  if (sets === undefined) {
    recent.set(size, [set]);
    return set;
  }
  const index = sets.findIndex((other) => other.equals(set));
  const twin = index < 0 ? set : sets[index]!;
  if (index === 0) return twin;
  // The latest comes first; the oldest is removed.
  if (index > 0) sets.splice(index, 1);
  sets.unshift(twin);
  sets.length = Math.min(sets.length, RECENT_PER_SIZE);
  return twin;
}

/** The JSON of subsets by set: a set shares most of its subsets with its operands. */
const written = {
  member: new WeakMap<FieldSet, FieldsV1>(),
  parent: new WeakMap<FieldSet, FieldsV1>(),
};

/** The number of fields that are sorted or written in one step. */
const FIELDS_PER_STEP = 4096;

/** `step`: the number of fields of the current step. */
function* write(set: FieldSet, member: boolean, step: { fields: number }): Steps<FieldsV1> {
  const cache = written[member ? 'member' : 'parent'];
  const before = cache.get(set);
  if (before !== undefined) return before;
  const fields: Record<string, unknown> = {};
  if (member) fields[SELF] = EMPTY;
  const elements = set.elements();
  step.fields += elements.length;
  // Every key has a prefix (f:, k: …), so names such as __proto__ are harmless.
  for (const element of elements) {
    if (step.fields >= FIELDS_PER_STEP) {
      step.fields = 0;
      yield;
    }
    step.fields++;
    const node = set.node(element)!;
    fields[element] =
      node.children === undefined ? EMPTY : yield* write(node.children, node.member, step);
  }
  cache.set(set, fields);
  return fields;
}
