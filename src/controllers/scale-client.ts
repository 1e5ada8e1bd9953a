// Reads and writes the scale subresource of objects of any kind. Resources are discovered, so
// custom resources can be scaled, too.

import type { Scale as MutableScale } from '#api/groups/autoscaling/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { Client } from '#client/client.ts';
import { groupVersionPath } from '#client/request.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { quote } from '#machinery/text/go-format.ts';

export type Scale = Immutable<MutableScale>;

export interface ScalableKind {
  readonly group: string;
  readonly kind: string;
}

/** A resource whose objects have the kind. */
export interface ScaleResource {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  /** The resource has the subresource scale. */
  readonly scalable: boolean;
}

interface ApiGroup {
  readonly versions: readonly { readonly version: string }[];
}
interface ApiResourceList {
  readonly resources: readonly { readonly name: string; readonly kind: string }[];
}

export class ScaleClient {
  readonly #client: Client;
  /**
   * By group and kind: scalable resources. A resource is discovered again once its path is not
   * found.
   */
  readonly #resources = new Map<string, ScaleResource>();

  constructor(client: Client) {
    this.#client = client;
  }

  /**
   * Returns the resource of a kind. Throws Error if no version of the group has the kind, or
   * discovery fails.
   */
  async resourceOf({ group, kind }: ScalableKind, signal: AbortSignal): Promise<ScaleResource> {
    const key = `${kind}.${group}`;
    const known = this.#resources.get(key);
    if (known !== undefined) return known;
    for (const version of await this.#versionsOf(group, signal)) {
      const path = groupVersionPath(group, version);
      const { resources } = await this.#client.transport.request<ApiResourceList>({
        method: 'GET',
        path,
        signal,
      });
      const found = resources.find((each) => each.kind === kind && !each.name.includes('/'));
      if (found === undefined) continue;
      const scalable = resources.some(({ name }) => name === `${found.name}/scale`);
      const resource = { group, version, resource: found.name, scalable };
      // A definition without the subresource may get it later, so it is not cached.
      if (scalable) this.#resources.set(key, resource);
      return resource;
    }
    throw new Error(`no matches for kind ${quote(kind)} in group ${quote(group)}`);
  }

  async get(
    resource: ScaleResource,
    namespace: string,
    name: string,
    signal: AbortSignal,
  ): Promise<Scale> {
    try {
      return await this.#client.transport.request<Scale>({
        method: 'GET',
        path: pathOf(resource, namespace, name),
        signal,
      });
    } catch (error) {
      if (apierrors.isNotFound(error)) this.#forget(resource);
      throw error;
    }
  }

  update(resource: ScaleResource, scale: Scale, signal: AbortSignal): Promise<Scale> {
    const { name, namespace = '' } = scale.metadata;
    const body = { kind: 'Scale', apiVersion: 'autoscaling/v1', ...scale };
    return this.#client.transport.request<Scale>({
      method: 'PUT',
      path: pathOf(resource, namespace, name),
      body,
      signal,
    });
  }

  #forget(resource: ScaleResource): void {
    for (const [key, known] of this.#resources) if (known === resource) this.#resources.delete(key);
  }

  async #versionsOf(group: string, signal: AbortSignal): Promise<readonly string[]> {
    if (group === '') return ['v1'];
    try {
      const { versions } = await this.#client.transport.request<ApiGroup>({
        method: 'GET',
        path: `/apis/${group}`,
        signal,
      });
      return versions.map(({ version }) => version);
    } catch (error) {
      if (apierrors.isNotFound(error)) return [];
      throw error;
    }
  }
}

function pathOf(
  { group, version, resource }: ScaleResource,
  namespace: string,
  name: string,
): string {
  return (
    groupVersionPath(group, version) +
    `/namespaces/${encodeURIComponent(namespace)}/${resource}/${encodeURIComponent(name)}/scale`
  );
}

/** Returns the group of an apiVersion: 'apps' of 'apps/v1', '' of 'v1'. */
export function groupOf(apiVersion: string): string {
  const slash = apiVersion.indexOf('/');
  return slash < 0 ? '' : apiVersion.slice(0, slash);
}
