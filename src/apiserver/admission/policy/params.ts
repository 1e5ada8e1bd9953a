// Finds the parameters of a binding: the objects that its policy's expressions see as `params`, one
// after the other.

import type * as admission from '#api/groups/admissionregistration/v1/index.ts';
import type { GroupVersionKind } from '#api/machinery/descriptor.ts';
import type { Immutable, KubeObject } from '#api/machinery/meta/v1/index.ts';
import { apiVersionOf } from '#api/machinery/scheme.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { labelSelectorAsSelector } from '#machinery/selectors/labels.ts';
import { findEvery, internalContext } from '#apiserver/catalog/internal-client.ts';
import type { Kind } from '#apiserver/catalog/kind.ts';
import type { CatalogSnapshot } from '#apiserver/catalog/snapshot.ts';

type ParamKind = Immutable<admission.ParamKind>;
type ParamRef = Immutable<admission.ParamRef>;

/**
 * Returns the kind of the parameters. Throws an Error if it does not exist, or its objects cannot
 * be read.
 */
export function paramResource(
  { apiVersion = '', kind = '' }: ParamKind,
  snapshot: CatalogSnapshot,
): Kind {
  const { group, version } = groupVersionOf(apiVersion);
  const paramKind = snapshot.getKind({ group, version, kind });
  if (paramKind?.rest.get === undefined || paramKind.rest.list === undefined) {
    throw new Error(
      `failed to find resource referenced by paramKind: '${group}/${version}, Kind=${kind}'`,
    );
  }
  return paramKind;
}

function groupVersionOf(apiVersion: string): Pick<GroupVersionKind, 'group' | 'version'> {
  const slash = apiVersion.indexOf('/');
  return {
    group: slash < 0 ? '' : apiVersion.slice(0, slash),
    version: apiVersion.slice(slash + 1),
  };
}

/**
 * Returns the parameters. Null stands for a binding without parameters. An empty list: the binding
 * does not apply. `namespace`: the request's namespace, which is searched if the binding names
 * none. Throws an Error if the binding is invalid, or requires parameters that do not exist.
 */
export async function collectParams(
  resource: Kind | undefined,
  ref: ParamRef | undefined,
  namespace: string,
): Promise<readonly (KubeObject | null)[]> {
  if (resource === undefined || ref === undefined) return [null];
  const { name = '', selector, parameterNotFoundAction } = ref;
  const within = paramNamespace(resource, ref, namespace);
  let params: readonly KubeObject[];
  if (name !== '') {
    if (selector !== undefined)
      throw new Error('paramRef.name and paramRef.selector are mutually exclusive');
    params = await getParam(resource, within, name);
  } else if (selector === undefined) {
    throw new Error('one of name or selector must be provided');
  } else {
    const wanted = labelSelectorAsSelector(selector);
    params = (await findEvery(resource.rest, within, '0')).filter(({ metadata }) =>
      wanted.matches(metadata.labels),
    );
  }
  if (params.length === 0 && parameterNotFoundAction === 'Deny') {
    throw new Error('no params found for policy binding with `Deny` parameterNotFoundAction');
  }
  return params.map((param) => identified(resource, param));
}

function paramNamespace({ type }: Kind, ref: ParamRef, namespace: string): string {
  const refNamespace = ref.namespace ?? '';
  if (!type.namespaced) {
    if (refNamespace !== '')
      throw new Error('paramRef.namespace must not be provided for a cluster-scoped `paramKind`');
    return '';
  }
  if (refNamespace === '' && namespace === '') {
    throw new Error(
      'cannot use namespaced paramRef in policy binding that matches cluster-scoped resources',
    );
  }
  return refNamespace === '' ? namespace : refNamespace;
}

async function getParam(
  { rest }: Kind,
  namespace: string,
  name: string,
): Promise<readonly KubeObject[]> {
  const get = rest.get!;
  try {
    // Reads the parameter from the server's cache if there is one.
    const object = await get.call(rest, internalContext(namespace), name, { resourceVersion: '0' });
    return [object.object() as KubeObject];
  } catch (error) {
    if (apierrors.isNotFound(error)) return [];
    throw error;
  }
}

/** Returns the parameter with its kind and apiVersion, which expressions may use. */
function identified({ type }: Kind, param: KubeObject): KubeObject {
  const apiVersion = apiVersionOf(type);
  if (param.apiVersion === apiVersion && param.kind === type.kind) return param;
  return { ...param, apiVersion, kind: type.kind };
}
