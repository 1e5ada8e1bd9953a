// The controller of an object: the one owner reference with `controller: true`.

import type {
  Immutable,
  KubeObject,
  ObjectMeta,
  OwnerReference,
} from '#api/machinery/meta/v1/index.ts';

/** A kind in the form of an owner reference: { apiVersion: 'apps/v1', kind: 'ReplicaSet' }. */
export interface TypeName {
  readonly apiVersion: string;
  readonly kind: string;
}

export function controllerOf(object: KubeObject): Immutable<OwnerReference> | undefined {
  return object.metadata.ownerReferences?.find((reference) => reference.controller === true);
}

export function isControlledBy(object: KubeObject, owner: KubeObject): boolean {
  return controllerOf(object)?.uid === owner.metadata.uid;
}

export function newControllerRef(owner: Immutable<ObjectMeta>, type: TypeName): OwnerReference {
  return {
    apiVersion: type.apiVersion,
    kind: type.kind,
    name: owner.name,
    uid: owner.uid,
    controller: true,
    blockOwnerDeletion: true,
  };
}

/** The index by which an owner finds its dependents and the orphans that it may adopt. */
export const BY_CONTROLLER = 'controller';

/**
 * Values of BY_CONTROLLER: the controller's UID, or `orphansOf(namespace)` for objects without one.
 */
export function byController(object: KubeObject): readonly string[] {
  return [controllerOf(object)?.uid ?? orphansOf(object.metadata.namespace ?? '')];
}

export function orphansOf(namespace: string): string {
  return `orphans/${namespace}`;
}
