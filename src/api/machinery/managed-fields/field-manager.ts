// Maintains metadata.managedFields in every write of one endpoint, and applies configurations.
// Endpoints call it. Its parts:
//   updater.ts      the owners of fields after a write
//   managers.ts     entries and their JSON
//   last-applied.ts the upgrade from client-side apply
//   cap.ts          the limit of updaters

import * as apierrors from '#machinery/apierrors.ts';
import { deepEqual, isPlainObject } from '#machinery/deep.ts';
import { formatTime } from '#machinery/text/time.ts';
import { LruCache } from '#machinery/collections/lru.ts';
import type { Awaitable } from '#machinery/awaitable.ts';
import { runWaitingSteps, type WaitingSteps } from '#machinery/turn.ts';
import type { GroupVersionKind } from '../descriptor.ts';
import { capUpdaters } from './cap.ts';
import { ConflictsError } from './conflicts.ts';
import { entriesOf, type ManagedObject, unmanaged, withEntries } from './entries.ts';
import { FieldSet } from './field-set.ts';
import { fieldsLastApplied, UPGRADING_MANAGER, withLastApplied } from './last-applied.ts';
import { groupLargeLists } from './list-items.ts';
import {
  decodeManagers,
  encodeManagers,
  isReset,
  ManagedFieldsError,
  managerId,
  noManagers,
  type ManagedFieldsEntry,
  type Manager,
  type Managers,
  type Operation,
} from './managers.ts';
import type { MergeType } from './merge-type.ts';
import { MAX_SHAPE, sameShape, shapeText } from './shape.ts';
import {
  applyManagers,
  updateManagers,
  type Applied,
  type Merging,
  type Versions,
} from './updater.ts';
import { TypedValueError, validateTyped } from './validate.ts';

/** The part of a kind that field management uses. Its codec implements it. */
export interface ManagedKind {
  readonly kind: GroupVersionKind;
  readonly mergeType: MergeType;
  /** See ObjectCodec. */
  readonly isUntyped?: boolean;
  /** Returns the state before the first field is applied. */
  emptyObject(): object;
  wireForm<T extends object>(object: T): T;
}

export interface FieldManagerConfig {
  /** The kind of the objects that the endpoint accepts. */
  readonly codec: ManagedKind;
  /** '' for the resource itself. */
  readonly subresource: string;
  /** Fields that the endpoint does not write. Default: none. */
  readonly reset?: FieldSet;
  /** Returns wall-clock time in milliseconds. */
  now(): number;
  /**
   * Other versions in which objects may have been written. Default: only the endpoint's version.
   */
  readonly versions?: Versions;
}

type Json = Readonly<Record<string, unknown>>;

/** Fields without an owner: they are in the path, or only the server writes them. */
const NEVER_OWNED = FieldSet.of(
  ['f:apiVersion'],
  ['f:kind'],
  ['f:metadata'],
  ...[
    'name',
    'namespace',
    'creationTimestamp',
    'selfLink',
    'uid',
    'clusterName',
    'generation',
    'managedFields',
    'resourceVersion',
  ].map((name) => ['f:metadata', `f:${name}`]),
);

const MANAGED_FIELDS = FieldSet.of(['f:metadata', 'f:managedFields']);

/** The fields that the creator of an object of a shape owns, and the last written entries. */
interface Creation {
  readonly fields: FieldSet;
  readonly time: string;
  readonly entries: readonly ManagedFieldsEntry[] | undefined;
}

const MADE_SHAPES = 64;

const UNNAMED_MANAGER = 'unknown';
/** The owner of fields from before the first apply, if their writer is unknown. */
const BEFORE_FIRST_APPLY = 'before-first-apply';

export class FieldManager {
  readonly #config: FieldManagerConfig;
  readonly #apiVersion: string;
  readonly #type: MergeType;
  readonly #merging: Merging;
  /** Settings for updates, in which a change of ownership alone is not a change of the object. */
  readonly #updating: Merging;
  #empty: ManagedObject | undefined;
  /** The fields of recent creators, by manager and shape. */
  readonly #creations = new LruCache<string, Creation>({ capacity: MADE_SHAPES });
  /** The last created object and its creator: the next one often has the same template. */
  #lastCreation:
    | { readonly name: string; readonly object: ManagedObject; readonly creation: Creation }
    | undefined;

  constructor(config: FieldManagerConfig) {
    const { kind, mergeType: type } = config.codec;
    this.#config = config;
    this.#apiVersion = kind.group === '' ? kind.version : `${kind.group}/${kind.version}`;
    this.#type = type;
    this.#merging = {
      apiVersion: this.#apiVersion,
      versions: config.versions ?? {
        typeOf: (apiVersion) => (apiVersion === this.#apiVersion ? type : undefined),
        convert: (values) => values,
      },
      reset: config.reset ?? FieldSet.empty,
    };
    this.#updating = { ...this.#merging, reset: this.#merging.reset.union(MANAGED_FIELDS) };
  }

  /**
   * Returns the object with its managedFields after an update by `manager`. `live`: the stored
   * object; undefined for a create. `reset`: the client has sent an empty list. Owners of an object
   * without managedFields are not tracked until the first apply. Asynchronous only if owners use a
   * version with an asynchronous conversion.
   */
  update<T extends ManagedObject>(
    live: T | undefined,
    object: T,
    manager: string,
    options?: { readonly reset?: boolean },
  ): Awaitable<T> {
    // The most frequent create: nothing is compared.
    if (live === undefined && entriesOf(object) === undefined) {
      const creation = this.#cachedCreation(object, manager, this.#time());
      if (creation !== undefined) return withEntries(object, creation.entries);
    }
    return runWaitingSteps(this.#update(live, object, manager, options));
  }

  /** Does the same as `update`, in steps: for large objects. */
  *updateInSteps<T extends ManagedObject>(
    live: T | undefined,
    object: T,
    manager: string,
    options?: { readonly reset?: boolean },
  ): WaitingSteps<T> {
    yield* groupLargeLists(this.#type, object);
    return yield* this.#update(live, object, manager, options);
  }

  *#update<T extends ManagedObject>(
    live: T | undefined,
    object: T,
    manager: string,
    { reset = false }: { readonly reset?: boolean } = {},
  ): WaitingSteps<T> {
    const liveEntries = entriesOf(live);
    const entries = entriesOf(object);
    // New objects rarely have entries; without them, the rest is skipped.
    if (live === undefined && entries === undefined)
      return withEntries(object, yield* this.#entriesOfNew(object, manager));
    const before = this.#managersBefore(liveEntries, entries, reset);
    if (live !== undefined && before.managers.size === 0) return withEntries(object, undefined);
    if (live === object) return object;
    if (live === undefined && before.managers.size === 0) {
      return withEntries(object, yield* this.#entriesOfNew(object, manager));
    }
    yield;
    let managers: Managers;
    try {
      ({ managers } = yield* this.#updated(live, object, before.managers, manager));
    } catch (error) {
      // As in upstream, an object that cannot be converted loses its owners but is written.
      if (this.#config.codec.isUntyped === true && isUnconvertible(error))
        return withEntries(object, undefined);
      throw error;
    }
    if (before.isLive && managers === before.managers) return withEntries(object, liveEntries);
    yield;
    return withEntries(object, yield* encodeManagers(capUpdaters(managers)));
  }

  /**
   * Returns the result of applying a configuration to `live` (undefined: no object yet), not
   * decoded and without new defaults; `live` itself if nothing changes. Throws StatusError:
   * Conflict (409) if other managers own the fields to change, BadRequest (400) if the
   * configuration is invalid. Asynchronous in the same cases as `update`.
   */
  apply(
    live: ManagedObject | undefined,
    config: unknown,
    manager: string,
    force: boolean,
  ): Awaitable<Json> {
    return runWaitingSteps(this.applyInSteps(live, config, manager, force));
  }

  /** Does the same as `apply`, in steps: for large objects. */
  *applyInSteps(
    live: ManagedObject | undefined,
    config: unknown,
    manager: string,
    force: boolean,
  ): WaitingSteps<Json> {
    const applied = this.#checkedConfig(config);
    yield;
    let managers: Managers;
    try {
      managers = decodeManagers(entriesOf(live), true);
    } catch (error) {
      if (!(error instanceof ManagedFieldsError)) throw error;
      throw apierrors.internalError(`failed to decode managed fields: ${error.message}`);
    }
    yield;
    if (live !== undefined && managers.size === 0) {
      managers = capUpdaters(
        (yield* this.#updated(undefined, live, noManagers, BEFORE_FIRST_APPLY)).managers,
      );
    }
    const base = unmanaged(live ?? this.#emptyObject());
    let result: Applied;
    try {
      result = yield* this.#applied(base, applied, managers, manager, force);
    } catch (error) {
      throw error instanceof TypedValueError ? apierrors.badRequest(error.message) : error;
    }
    yield;
    const owners = this.#settled(
      managers,
      result,
      this.#manager(manager, 'Apply'),
      deepEqual(base, result.object),
    );
    yield;
    let object = result.object as Json;
    if (manager === UPGRADING_MANAGER) object = withLastApplied(object, applied);
    return withEntries(
      object as unknown as ManagedObject,
      yield* encodeManagers(owners),
    ) as unknown as Json;
  }

  /**
   * Returns the entries to use: the client's entries if it has changed them, otherwise the stored
   * ones.
   */
  #managersBefore(
    liveEntries: readonly ManagedFieldsEntry[] | undefined,
    entries: readonly ManagedFieldsEntry[] | undefined,
    reset: boolean,
  ): { managers: Managers; isLive: boolean } {
    const ofLive = (): { managers: Managers; isLive: boolean } => {
      try {
        return { managers: decodeManagers(liveEntries, true), isLive: true };
      } catch (error) {
        if (!(error instanceof ManagedFieldsError)) throw error;
        return { managers: noManagers, isLive: false };
      }
    };
    if (this.#config.subresource !== '') return ofLive();
    if (reset || isReset(entries)) return { managers: noManagers, isLive: false };
    if (entries === undefined || entries === liveEntries || deepEqual(entries, liveEntries))
      return ofLive();
    try {
      return { managers: decodeManagers(entries), isLive: false };
    } catch (error) {
      // Clients that do not support managedFields must not be able to destroy them.
      if (!(error instanceof ManagedFieldsError)) throw error;
      return ofLive();
    }
  }

  *#updated(
    live: ManagedObject | undefined,
    object: ManagedObject,
    before: Managers,
    name: string,
  ): WaitingSteps<{ readonly managers: Managers }> {
    const manager = this.#manager(name, 'Update');
    const id = managerId(manager);
    // An explicit empty list or map has no owner, unless it is applied.
    const written = this.#config.codec.wireForm(object);
    yield;
    const { managers, changed } = yield* updateManagers(
      this.#updating,
      live ?? this.#emptyObject(),
      written,
      before,
      id,
    );
    yield;
    const owned = changed.difference(NEVER_OWNED);
    if (owned.isEmpty) return { managers };
    const previous = managers.get(id);
    const fields =
      previous === undefined ? owned : previous.fields.union(owned).difference(NEVER_OWNED);
    return { managers: new Map(managers).set(id, { ...manager, fields, time: this.#time() }) };
  }

  /**
   * Returns the entries of an object that `name` has just created. Objects of one shape share them
   * for a second.
   */
  *#entriesOfNew(
    object: ManagedObject,
    name: string,
  ): WaitingSteps<readonly ManagedFieldsEntry[] | undefined> {
    const time = this.#time();
    const last = this.#cachedCreation(object, name, time);
    if (last !== undefined) return last.entries;
    const creation = yield* this.#creationOf(object, name, time);
    this.#lastCreation = { name, object: unmanaged(object), creation };
    return creation.entries;
  }

  /**
   * Returns the cached creation if the object has its shape, and the same manager has created it in
   * the same second.
   */
  #cachedCreation(object: ManagedObject, name: string, time: string): Creation | undefined {
    const last = this.#lastCreation;
    const isLike =
      last?.creation.time === time &&
      last.name === name &&
      sameShape(this.#type, last.object, unmanaged(object));
    return isLike ? last.creation : undefined;
  }

  *#creationOf(object: ManagedObject, name: string, time: string): WaitingSteps<Creation> {
    const shape = `${name} ${shapeText(this.#type, unmanaged(object))}`;
    const isCached = shape.length <= MAX_SHAPE;
    // `peek` suffices: each entry is set again once a second, which counts as use.
    const cached = isCached ? this.#creations.peek(shape) : undefined;
    if (cached?.time === time) return cached;
    let fields = cached?.fields;
    if (fields === undefined) {
      const [owner] = (yield* this.#updated(undefined, object, noManagers, name)).managers.values();
      fields = owner?.fields ?? FieldSet.empty;
      yield;
    }
    const manager = { ...this.#manager(name, 'Update'), fields, time };
    const entries = fields.isEmpty
      ? undefined
      : yield* encodeManagers(new Map([[managerId(manager), manager]]));
    const creation = { fields, time, entries };
    if (isCached) this.#creations.set(shape, creation);
    return creation;
  }

  *#applied(
    live: object,
    config: Json,
    managers: Managers,
    name: string,
    force: boolean,
  ): WaitingSteps<Applied> {
    const manager = this.#manager(name, 'Apply');
    const applier = { id: managerId(manager), manager };
    try {
      return yield* applyManagers(this.#merging, live, config, managers, { ...applier, force });
    } catch (error) {
      if (!(error instanceof ConflictsError)) throw error;
      yield;
      const conflicts = name === UPGRADING_MANAGER ? this.#withoutUpgrade(error, live) : error;
      if (conflicts !== undefined) throw conflicts.toStatus();
      return yield* applyManagers(this.#merging, live, config, managers, {
        ...applier,
        force: true,
      });
    }
  }

  /**
   * Returns the conflicts that remain after the upgrade from client-side apply; undefined if there
   * are none.
   */
  #withoutUpgrade(error: ConflictsError, live: object): ConflictsError | undefined {
    const allowed = fieldsLastApplied(this.#type, this.#apiVersion, live);
    const owned = error.owned
      .map(({ manager, fields }) => ({ manager, fields: fields.difference(allowed) }))
      .filter(({ fields }) => !fields.isEmpty);
    return owned.length === 0 ? undefined : new ConflictsError(owned);
  }

  /**
   * Returns the final entry of the applier. Its time is that of the object's last change; undefined
   * if the apply only took ownership of existing values.
   */
  #settled(
    before: Managers,
    applied: Applied,
    applier: Manager,
    objectUnchanged: boolean,
  ): Managers {
    const id = managerId(applier);
    const managers = new Map(applied.managers);
    const entry = managers.get(id);
    if (entry === undefined) return managers;
    const fields = entry.fields.difference(NEVER_OWNED);
    if (fields.isEmpty) {
      managers.delete(id);
      return managers;
    }
    managers.set(id, {
      ...entry,
      fields,
      time: objectUnchanged ? before.get(id)?.time : this.#time(),
    });
    return managers;
  }

  #checkedConfig(config: unknown): Json {
    if (!isPlainObject(config))
      throw apierrors.badRequest('error decoding YAML: expected an object');
    const { kind } = this.#config.codec;
    if (config['apiVersion'] !== this.#apiVersion || config['kind'] !== kind.kind) {
      throw apierrors.badRequest(
        `invalid object type: ${describeKind(config['apiVersion'], config['kind'])}`,
      );
    }
    const metadata = isPlainObject(config['metadata']) ? config['metadata'] : {};
    if (Array.isArray(metadata['managedFields']))
      throw apierrors.badRequest('metadata.managedFields must be nil');
    try {
      validateTyped(this.#type, config);
    } catch (error) {
      if (!(error instanceof TypedValueError)) throw error;
      const which =
        `${stringOr(metadata['namespace'])}/${stringOr(metadata['name'])}; ` +
        describeKind(this.#apiVersion, kind.kind);
      throw apierrors.badRequest(
        `failed to create typed patch object (${which}): ${error.message}`,
      );
    }
    return config;
  }

  #manager(name: string, operation: Operation): Manager {
    return {
      manager: name === '' ? UNNAMED_MANAGER : name,
      operation,
      apiVersion: this.#apiVersion,
      subresource: this.#config.subresource,
      time: undefined,
      fields: FieldSet.empty,
    };
  }

  #time(): string {
    return formatTime(this.#config.now());
  }

  #emptyObject(): ManagedObject {
    this.#empty ??= this.#config.codec.emptyObject() as ManagedObject;
    return this.#empty;
  }
}

/**
 * Returns `object` with the times of `live`'s entries, if nothing else would change: a write of
 * existing values is not a write. `equal`: compares objects without managed fields. `kept`: the
 * object with the fields that no write changes, which it may lack.
 */
export function withoutNewTimes<T extends ManagedObject>(
  object: T,
  live: T,
  equal: (a: unknown, b: unknown) => boolean = deepEqual,
  kept: (object: T, live: T) => T = (same) => same,
): T {
  const entries = entriesOf(object);
  const liveEntries = entriesOf(live);
  if (entries === undefined || liveEntries === undefined || entries.length !== liveEntries.length)
    return object;
  if (
    entries === liveEntries ||
    entries.every(({ time }, index) => time === liveEntries[index]?.time)
  )
    return object;
  const sameButTimes = entries.every((entry, index) =>
    deepEqual({ ...entry, time: '' }, { ...liveEntries[index], time: '' }),
  );
  if (!sameButTimes || !equal(unmanaged(kept(object, live)), unmanaged(live))) return object;
  return withEntries(object, liveEntries);
}

/** Reports whether an object could not be converted to the version of an owner. */
function isUnconvertible(error: unknown): boolean {
  return error instanceof TypedValueError || error instanceof apierrors.StatusError;
}

/**
 * Returns a group, version and kind as Go prints it: 'apps/v1, Kind=Deployment', '/v1, Kind=Pod'.
 */
function describeKind(apiVersion: unknown, kind: unknown): string {
  const version = stringOr(apiVersion);
  return `${version.includes('/') ? version : `/${version}`}, Kind=${stringOr(kind)}`;
}

function stringOr(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
