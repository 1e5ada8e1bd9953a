// The owners of fields after a write. The rules of structured merge, for one object and a set of
// managers, without times and names:
//
//   update   The manager that changes a field becomes its only owner. Removed fields have no owner.
//   apply    The applied configuration is merged in, and the applier owns exactly the fields in it.
//            Fields of its last configuration that are missing now are removed, unless another
//            manager owns them. Changing fields of other owners is a conflict; with force, the
//            applier takes them. Applying the same value shares the field.

import type { Awaitable } from '#machinery/awaitable.ts';
import { waitFor, type Steps, type WaitingSteps } from '#machinery/turn.ts';
import { compare, type Comparison } from './compare.ts';
import { ConflictsError } from './conflicts.ts';
import { FieldSet } from './field-set.ts';
import type { Manager, Managers } from './managers.ts';
import { merge } from './merge.ts';
import type { MergeType } from './merge-type.ts';
import { removeItems, withNamedFields } from './remove.ts';
import { toFieldSet } from './to-field-set.ts';

/** The versions in which owners may have written their fields. */
export interface Versions {
  /**
   * Returns the type of a version; undefined if it does not exist (any more). Owners in it own
   * nothing.
   */
  typeOf(apiVersion: string): MergeType | undefined;
  /**
   * Converts the values to another version. Both versions exist. Throws or rejects if a value
   * cannot be converted.
   */
  convert(values: readonly unknown[], from: string, to: string): Awaitable<readonly unknown[]>;
}

export interface Merging {
  /** The API version of the objects. */
  readonly apiVersion: string;
  readonly versions: Versions;
  /** Fields that this endpoint never writes: it assigns no owner to them. */
  readonly reset: FieldSet;
}

/**
 * The managers after an update. `changed`: the fields that the updater, which is not yet among the
 * managers, owns now.
 */
export interface Updated {
  readonly managers: Managers;
  readonly changed: FieldSet;
}

/**
 * Returns the managers after an update. `updater`: the ID of the updater, if it is one of the
 * managers. The updater keeps its previous fields that are in `changed`.
 */
export function* updateManagers(
  merging: Merging,
  live: unknown,
  updated: unknown,
  managers: Managers,
  updater?: string,
): WaitingSteps<Updated> {
  const { apiVersion, versions, reset } = merging;
  const comparison = compare(typeIn(merging, apiVersion), live, updated, reset);
  yield;
  const changed = comparison.modified.union(comparison.added);
  if (
    changed.isEmpty &&
    comparison.removed.isEmpty &&
    [...managers.values()].every((owner) => owner.apiVersion === apiVersion)
  ) {
    return { managers, changed };
  }
  const comparisons = new Map([[apiVersion, comparison]]);
  const remaining = new Map<string, Manager>();
  for (const [id, owner] of managers) {
    const seen = yield* comparisonIn(owner.apiVersion, comparisons, merging, live, updated);
    if (seen === undefined || versions.typeOf(owner.apiVersion) === undefined) continue;
    const kept =
      id === updater ? owner.fields : owner.fields.difference(seen.modified).difference(seen.added);
    const fields = kept.difference(seen.removed);
    if (!fields.isEmpty) remaining.set(id, fields === owner.fields ? owner : { ...owner, fields });
    yield;
  }
  return { managers: remaining, changed };
}

export interface Applied {
  readonly object: unknown;
  readonly managers: Managers;
}

/**
 * Returns the result of an apply. `applier`: without the time and fields of this apply. Throws
 * ConflictsError.
 */
export function* applyManagers(
  merging: Merging,
  live: unknown,
  config: unknown,
  managers: Managers,
  applier: { readonly id: string; readonly manager: Manager; readonly force: boolean },
): WaitingSteps<Applied> {
  const { apiVersion, reset } = merging;
  const type = typeIn(merging, apiVersion);
  const fields = toFieldSet(type, config).recursiveDifference(reset);
  yield;
  const last = managers.get(applier.id);
  const owners = new Map(managers).set(applier.id, { ...applier.manager, apiVersion, fields });
  const merged = merge(type, live, config);
  yield;
  const object = yield* prune(merging, merged, owners, last, fields);
  yield;

  const comparisons = new Map([[apiVersion, compare(type, live, object, reset)]]);
  const conflicts: { manager: Manager; fields: FieldSet }[] = [];
  const remaining = new Map<string, Manager>();
  for (const [id, owner] of owners) {
    if (id === applier.id) {
      remaining.set(id, owner);
      continue;
    }
    yield;
    const seen = yield* comparisonIn(owner.apiVersion, comparisons, merging, live, object);
    if (seen === undefined) continue;
    const contested = owner.fields.intersection(seen.modified.union(seen.added));
    if (!contested.isEmpty) conflicts.push({ manager: owner, fields: contested });
    yield;
    const left = owner.fields.difference(contested).difference(seen.removed);
    if (!left.isEmpty)
      remaining.set(id, left === owner.fields ? owner : { ...owner, fields: left });
  }
  yield;
  if (conflicts.length > 0 && !applier.force) throw new ConflictsError(conflicts);
  return { object, managers: remaining };
}

function typeIn({ versions }: Merging, apiVersion: string): MergeType {
  const type = versions.typeOf(apiVersion);
  if (type === undefined) throw new Error(`no type of objects in ${apiVersion}`);
  return type;
}

/** Returns the comparison in another version; undefined if there is no such version. */
function* comparisonIn(
  apiVersion: string,
  known: Map<string, Comparison>,
  { apiVersion: own, versions, reset }: Merging,
  live: unknown,
  updated: unknown,
): WaitingSteps<Comparison | undefined> {
  const cached = known.get(apiVersion);
  if (cached !== undefined) return cached;
  const type = versions.typeOf(apiVersion);
  if (type === undefined) return undefined;
  const [liveThere, updatedThere] = yield* waitFor(
    versions.convert([live, updated], own, apiVersion),
  );
  const comparison = compare(type, liveThere, updatedThere, reset);
  known.set(apiVersion, comparison);
  return comparison;
}

/**
 * Removes fields of the applier's last configuration that are missing in the new one, if they have
 * no other owner. Fields that never had an owner (such as defaults) are removed only with their
 * item.
 */
function* prune(
  merging: Merging,
  merged: unknown,
  owners: Managers,
  last: Manager | undefined,
  applied: FieldSet,
): WaitingSteps<unknown> {
  if (last === undefined || last.fields.isEmpty) return merged;
  const { apiVersion: own, versions } = merging;
  const type = versions.typeOf(last.apiVersion);
  if (type === undefined) return merged;
  // The new configuration contains all of these fields.
  if (last.apiVersion === own && last.fields.difference(applied).isEmpty) return merged;
  function* inVersion(
    values: readonly unknown[],
    from: string,
    to: string,
  ): WaitingSteps<readonly unknown[]> {
    return from === to ? values : yield* waitFor(versions.convert(values, from, to));
  }
  function* namedFieldsOf(versionType: MergeType, value: unknown): Steps<FieldSet> {
    const set = toFieldSet(versionType, value);
    yield;
    const named = withNamedFields(versionType, set);
    yield;
    return named;
  }

  yield;
  const [mergedThen] = yield* inVersion([merged], own, last.apiVersion);
  const lastFields = withNamedFields(type, last.fields);
  yield;
  let pruned = removeItems(type, mergedThen, lastFields);
  yield;
  for (const [version, owned] of fieldsByVersion(owners, last.apiVersion)) {
    const versionType = versions.typeOf(version);
    if (versionType === undefined) continue;
    const [full, kept] = yield* inVersion([mergedThen, pruned], last.apiVersion, version);
    const there = yield* namedFieldsOf(versionType, full);
    const left = yield* namedFieldsOf(versionType, kept);
    const ownedNamed = withNamedFields(versionType, owned);
    yield;
    const gone = there.difference(left).difference(ownedNamed);
    yield;
    [pruned] = yield* inVersion([removeItems(versionType, full, gone)], version, last.apiVersion);
    yield;
  }
  const there = yield* namedFieldsOf(type, mergedThen);
  const left = yield* namedFieldsOf(type, pruned);
  const gone = there.difference(left).intersection(lastFields);
  yield;
  const [result] = yield* inVersion([removeItems(type, mergedThen, gone)], last.apiVersion, own);
  return result;
}

/**
 * Returns the fields of all owners by version, `first` first: fields that a conversion needs are
 * restored before it.
 */
function fieldsByVersion(owners: Managers, first: string): Map<string, FieldSet> {
  const fields = new Map<string, FieldSet>([[first, FieldSet.empty]]);
  for (const owner of owners.values()) {
    fields.set(
      owner.apiVersion,
      (fields.get(owner.apiVersion) ?? FieldSet.empty).union(owner.fields),
    );
  }
  if (fields.get(first)?.isEmpty === true) fields.delete(first);
  return fields;
}
