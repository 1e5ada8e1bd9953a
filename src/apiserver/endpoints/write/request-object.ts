// The object of a request, and what it may say about itself: the name and the namespace are those of
// the path.

import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { ApiRequest } from '../../request.ts';
import { namespaceOf, type Scope } from '../scope.ts';

/** Throws BadRequest if the object's name is not that of the path. */
export function checkName(request: ApiRequest, object: KubeObject): KubeObject {
  const { name } = request.info;
  const ownName = object.metadata.name ?? '';
  if (ownName === '') {
    throw apierrors.badRequest(
      `the name of the object (${name} based on URL) was undeterminable: name must be provided`,
    );
  }
  if (ownName !== name) {
    throw apierrors.badRequest(
      `the name of the object (${ownName}) does not match the name on the URL (${name})`,
    );
  }
  return object;
}

/**
 * Sets the object's namespace before admission. Throws BadRequest if it differs from that of the
 * path.
 */
export function withNamespace(scope: Scope, request: ApiRequest, object: KubeObject): KubeObject {
  const namespace = namespaceOf(scope, request);
  const ownNamespace = object.metadata.namespace ?? '';
  if (namespace === ownNamespace) return object;
  if (namespace === '') {
    const { namespace: _given, ...metadata } = object.metadata;
    return { ...object, metadata };
  }
  if (ownNamespace !== '') {
    throw apierrors.badRequest(
      'the namespace of the provided object does not match the namespace sent on the request',
    );
  }
  (object.metadata as { namespace?: string }).namespace = namespace;
  return object;
}

/** Returns a new object without deletion fields, which clients cannot set. */
export function withoutDeletion(object: KubeObject): KubeObject {
  if (
    object.metadata.deletionTimestamp === undefined &&
    object.metadata.deletionGracePeriodSeconds === undefined
  )
    return object;
  const {
    deletionTimestamp: _timestamp,
    deletionGracePeriodSeconds: _seconds,
    ...metadata
  } = object.metadata;
  return { ...object, metadata };
}
