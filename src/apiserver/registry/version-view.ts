// One storage served in two versions or groups: a view of a resource's Rest in which every object is converted on its way in and
// out. What is stored, validated and watched is the one form; selectors are answered by it too, so its strategy must know the
// names of fields in every version.

import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import type { GroupVersionKind } from '#api/machinery/descriptor.ts';
import { apiVersionOf } from '#api/machinery/scheme.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { FieldErrorList } from '#machinery/validation/field.ts';
import { mapWatch } from '#machinery/watch.ts';
import type { EncodedObject, EncodedWatchEvent } from '../request.ts';
import { FreshObject, SharedWatchEvent } from './encoded-object.ts';
import type { ListAnswer, ObjectUpdate, Rest, ValidatingAdmission } from './rest.ts';

export interface VersionViewConfig {
  /** Of the view. */
  readonly kind: GroupVersionKind;
  /** Of what is stored. */
  readonly stored: GroupVersionKind;
  /** A stored object in the view's version, kind and apiVersion left out. */
  readonly fromStored: (object: KubeObject) => object;
  readonly toStored: (object: KubeObject) => object;
  /** As the view's version names them. Default: as they are stored. */
  readonly selectableFieldNames?: readonly string[];
  readonly resetFields?: readonly (readonly string[])[];
  /** Problems of a write in this version beyond those of the stored form, in whose terms it is asked. */
  readonly validate?: (object: KubeObject, old: KubeObject | undefined) => FieldErrorList;
}

/** Serves the verbs that `rest` serves. */
export function versionView(rest: Rest, config: VersionViewConfig): Rest {
  const conversion = new Conversion(config);
  const { selectableFieldNames = rest.selectableFieldNames, resetFields = rest.resetFields } = config;
  const answer: { -readonly [Verb in keyof Rest]: Rest[Verb] } = {};
  if (selectableFieldNames !== undefined) answer.selectableFieldNames = selectableFieldNames;
  if (resetFields !== undefined) answer.resetFields = resetFields;
  if (rest.returnsDeletedObject !== undefined) answer.returnsDeletedObject = rest.returnsDeletedObject;
  const { get, list, watch, create, update, delete: remove, deleteCollection } = bound(rest);
  if (get !== undefined) answer.get = async (...call) => conversion.encoded(await get(...call));
  if (list !== undefined) answer.list = async (...call) => conversion.list(await list(...call));
  if (watch !== undefined) {
    answer.watch = async (...call) => mapWatch(await watch(...call), (event) => conversion.event(event));
  }
  if (create !== undefined) {
    answer.create = async (context, parent, object, options) =>
      conversion.encoded(await create(context, parent, conversion.incoming(object, undefined), conversion.admitted(options)));
  }
  if (update !== undefined) {
    answer.update = async (context, name, change, options) => {
      const admitted = {
        ...conversion.admitted(options),
        ...(options.validateCreate !== undefined && { validateCreate: conversion.admission(options.validateCreate) }),
      };
      const result = await update(context, name, conversion.change(change), admitted);
      return { ...result, object: conversion.encoded(result.object) };
    };
  }
  if (remove !== undefined) {
    answer.delete = async (context, name, options) => {
      const result = await remove(context, name, conversion.admitted(options));
      return { ...result, object: conversion.encoded(result.object) };
    };
  }
  if (deleteCollection !== undefined) {
    answer.deleteCollection = async (context, options, which) =>
      conversion.list(await deleteCollection(context, conversion.admitted(options), which));
  }
  return answer;
}

type Verbs = Pick<Rest, 'get' | 'list' | 'watch' | 'create' | 'update' | 'delete' | 'deleteCollection'>;

/** The functions of a Rest, which may be methods of a class. */
function bound(rest: Rest): Verbs {
  return {
    get: rest.get?.bind(rest),
    list: rest.list?.bind(rest),
    watch: rest.watch?.bind(rest),
    create: rest.create?.bind(rest),
    update: rest.update?.bind(rest),
    delete: rest.delete?.bind(rest),
    deleteCollection: rest.deleteCollection?.bind(rest),
  };
}

class Conversion {
  readonly #config: VersionViewConfig;
  readonly #viewed: { readonly kind: string; readonly apiVersion: string };
  readonly #stored: { readonly kind: string; readonly apiVersion: string };
  /** Converted once for all who read or watch it. */
  readonly #seen = new WeakMap<object, EncodedObject>();

  constructor(config: VersionViewConfig) {
    this.#config = config;
    this.#viewed = { kind: config.kind.kind, apiVersion: apiVersionOf(config.kind) };
    this.#stored = { kind: config.stored.kind, apiVersion: apiVersionOf(config.stored) };
  }

  /** What a client sends, as it is to be stored. Throws StatusError. */
  incoming(object: KubeObject, old: KubeObject | undefined): KubeObject {
    const stored = { ...this.#stored, ...(this.#config.toStored(object) as KubeObject) };
    const errors = this.#config.validate?.(stored, old) ?? [];
    if (errors.length === 0) return stored;
    const { name, generateName = '' } = object.metadata;
    throw apierrors.invalid(this.#config.kind, name || generateName, errors);
  }

  encoded(encoded: EncodedObject): EncodedObject {
    const object = encoded.object() as KubeObject;
    // What is no object of the resource (the Status of a deletion) is the same in every version.
    if (object.kind !== this.#stored.kind || object.apiVersion !== this.#stored.apiVersion) return encoded;
    let answer = this.#seen.get(object);
    if (answer === undefined) {
      answer = new FreshObject(this.#view(object));
      this.#seen.set(object, answer);
    }
    return answer;
  }

  list(answer: ListAnswer): ListAnswer {
    return { ...answer, items: answer.items.map((item) => this.encoded(item)) };
  }

  event(event: EncodedWatchEvent): EncodedWatchEvent {
    if (event.type === 'ERROR') return event;
    if (event.type !== 'BOOKMARK') return new SharedWatchEvent(event.type, this.encoded(event.object));
    return new SharedWatchEvent('BOOKMARK', new FreshObject({ ...(event.object.object() as object), ...this.#viewed }));
  }

  change(change: ObjectUpdate): ObjectUpdate {
    return {
      ...change,
      apply: async (current) => {
        const before = current === undefined ? undefined : this.#view(current);
        const after = await change.apply(before);
        // Answering the very object changes nothing, in every version.
        return current !== undefined && after === before ? current : this.incoming(after, current);
      },
    };
  }

  admission(validate: ValidatingAdmission): ValidatingAdmission {
    return (object, old) =>
      validate(this.#view(object as KubeObject), old === undefined ? undefined : this.#view(old as KubeObject));
  }

  admitted<T extends { readonly validate?: ValidatingAdmission }>(options: T): T {
    return options.validate === undefined ? options : { ...options, validate: this.admission(options.validate) };
  }

  #view(object: KubeObject): KubeObject {
    return { ...this.#viewed, ...(this.#config.fromStored(object) as KubeObject) };
  }
}
