// Applies objects as `kubectl apply --server-side` does, one after the other, with or without effect.

import type { Api } from '../server/api.ts';
import { messageOf } from '../server/api-error.ts';
import type { Types } from '../server/discovery.ts';
import type { KubeObject } from '../lists/live-object.ts';
import { objectPath, type ResourceType } from '../server/resource-type.ts';

export interface Applied {
  readonly object: KubeObject;
  readonly type: ResourceType | undefined;
  readonly namespace: string | undefined;
  readonly result: 'created' | 'updated' | { readonly error: string };
}

export interface ApplyOptions {
  readonly api: Api;
  /** Returns the kinds that the server serves. `again`: after a definition was applied. */
  readonly types: (again: boolean) => Promise<Types>;
  /** For objects without a namespace. */
  readonly namespace: string;
  /** The server only checks the objects. */
  readonly dryRun: boolean;
  /** Takes over fields that others manage. */
  readonly force: boolean;
}

const FIELD_MANAGER = 'coxswain-console';

/** Applies the objects in their order. One that fails does not keep the others from being applied. */
export async function applyObjects(
  objects: readonly KubeObject[],
  options: ApplyOptions,
): Promise<readonly Applied[]> {
  const results: Applied[] = [];
  for (const object of objects) results.push(await applyOne(object, options));
  return results;
}

async function applyOne(object: KubeObject, options: ApplyOptions): Promise<Applied> {
  const { api, namespace: own, dryRun, force } = options;
  const { apiVersion = '', kind = '', metadata } = object;
  try {
    const type =
      (await options.types(false)).byReference(apiVersion, kind) ??
      (await options.types(true)).byReference(apiVersion, kind);
    if (type === undefined)
      return {
        object,
        type,
        namespace: undefined,
        result: { error: `the server does not serve ${kind} of ${apiVersion}` },
      };
    const namespace = type.namespaced ? (metadata.namespace ?? own) : undefined;
    // The version of the text, which need not be the preferred one.
    const version = apiVersion.slice(apiVersion.indexOf('/') + 1);
    const query = new URLSearchParams({
      fieldManager: FIELD_MANAGER,
      fieldValidation: 'Strict',
      force: String(force),
      ...(dryRun && { dryRun: 'All' }),
    });
    const path = objectPath({ ...type, version }, namespace, metadata.name);
    try {
      const { status } = await api.request(`${path}?${query}`, {
        method: 'PATCH',
        contentType: 'application/apply-patch+yaml',
        body: object,
      });
      return { object, type, namespace, result: status === 201 ? 'created' : 'updated' };
    } catch (error) {
      return { object, type, namespace, result: { error: messageOf(error) } };
    }
  } catch (error) {
    return { object, type: undefined, namespace: undefined, result: { error: messageOf(error) } };
  }
}
