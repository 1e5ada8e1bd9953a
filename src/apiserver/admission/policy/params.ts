// The parameters of a binding: the objects that its policy's expressions see as `params`, one after the other.

import type * as admission from '#api/groups/admissionregistration/v1/index.ts';
import type { GroupVersionKind } from '#api/machinery/descriptor.ts';
import type { Immutable, KubeObject } from '#api/machinery/meta/v1/index.ts';
import { apiVersionOf } from '#api/machinery/scheme.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { labelSelectorAsSelector } from '#machinery/selectors/labels.ts';
import type { Kind } from '#apiserver/catalog/kind.ts';
import { everything } from '#apiserver/registry/selection.ts';

type ParamKind = Immutable<admission.ParamKind>;
type ParamRef = Immutable<admission.ParamRef>;

const SERVER = { name: 'system:apiserver', groups: ['system:masters'] } as const;
const NEVER = new AbortController().signal;

/** Throws an Error if nobody serves objects of that kind. */
export function paramResource(kind: ParamKind, served: readonly Kind[]): Kind {
  const { group, version } = groupVersionOf(kind.apiVersion ?? '');
  const found = served.find(({ type }) => type.group === group && type.version === version && type.kind === kind.kind);
  if (found?.rest.get === undefined || found.rest.list === undefined) {
    throw new Error(`failed to find resource referenced by paramKind: '${group}/${version}, Kind=${kind.kind ?? ''}'`);
  }
  return found;
}

function groupVersionOf(apiVersion: string): Pick<GroupVersionKind, 'group' | 'version'> {
  const slash = apiVersion.indexOf('/');
  return { group: slash < 0 ? '' : apiVersion.slice(0, slash), version: apiVersion.slice(slash + 1) };
}

/**
 * What to go through the policy with: null stands for a binding without parameters. None at all: the binding does not apply.
 * `namespace`: of the request, whose own parameters are meant where the binding names no namespace. Throws an Error if the binding
 * makes no sense, or insists on parameters that are not there.
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
    if (selector !== undefined) throw new Error('paramRef.name and paramRef.selector are mutually exclusive');
    params = await getParam(resource, within, name);
  } else if (selector === undefined) {
    throw new Error('one of name or selector must be provided');
  } else {
    const wanted = labelSelectorAsSelector(selector);
    params = (await listParams(resource, within)).filter(({ metadata }) => wanted.matches(metadata.labels));
  }
  if (params.length === 0 && parameterNotFoundAction === 'Deny') {
    throw new Error('no params found for policy binding with `Deny` parameterNotFoundAction');
  }
  return params.map((param) => identified(resource, param));
}

function paramNamespace({ type }: Kind, ref: ParamRef, namespace: string): string {
  const given = ref.namespace ?? '';
  if (!type.namespaced) {
    if (given !== '') throw new Error('paramRef.namespace must not be provided for a cluster-scoped `paramKind`');
    return '';
  }
  if (given === '' && namespace === '') {
    throw new Error('cannot use namespaced paramRef in policy binding that matches cluster-scoped resources');
  }
  return given === '' ? namespace : given;
}

async function getParam({ rest }: Kind, namespace: string, name: string): Promise<readonly KubeObject[]> {
  const get = rest.get as NonNullable<typeof rest.get>;
  try {
    // As the server has it in memory, if it has.
    const found = await get.call(rest, contextIn(namespace), name, { resourceVersion: '0' });
    return [found.object() as KubeObject];
  } catch (error) {
    if (apierrors.isNotFound(error)) return [];
    throw error;
  }
}

async function listParams({ rest }: Kind, namespace: string): Promise<readonly KubeObject[]> {
  if (rest.findAll !== undefined) return rest.findAll(namespace);
  const list = rest.list as NonNullable<typeof rest.list>;
  const options = { selection: everything, limit: 0, continue: '', resourceVersion: '0', resourceVersionMatch: '' } as const;
  const { items } = await list.call(rest, contextIn(namespace), options);
  return items.map((item) => item.object() as KubeObject);
}

const contextIn = (namespace: string) => ({ user: SERVER, namespace, signal: NEVER, warnings: [] });

/** Expressions may ask what kind it is. */
function identified({ type }: Kind, param: KubeObject): KubeObject {
  const apiVersion = apiVersionOf(type);
  if (param.apiVersion === apiVersion && param.kind === type.kind) return param;
  return { ...param, apiVersion, kind: type.kind };
}
