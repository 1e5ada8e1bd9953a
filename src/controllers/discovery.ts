// Discovers the resources of the API server, for controllers that work on all of them.

import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import type { ResourceType } from '#api/machinery/descriptor.ts';
import type { Client } from '#client/client.ts';
import { groupVersionPath } from '#client/request.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { errorMessage } from '#machinery/error-message.ts';

/** A resource in one version. */
export interface DiscoveredResource extends ResourceType<KubeObject> {
  readonly verbs: readonly string[];
  /** The server prefers this version of the resource. */
  readonly preferred: boolean;
}

export interface Discovered {
  readonly resources: readonly DiscoveredResource[];
  /**
   * Group versions whose discovery failed, so that their resources are missing. Error messages by
   * 'group/version'.
   */
  readonly failures: ReadonlyMap<string, string>;
}

/** The message of a 503 response without a Status. */
const UNAVAILABLE = 'the server is currently unable to handle the request';

interface ApiGroupList {
  readonly groups: readonly {
    readonly name: string;
    readonly versions: readonly { readonly version: string }[];
    readonly preferredVersion?: { readonly version: string };
  }[];
}

interface ApiResourceList {
  readonly resources: readonly {
    readonly name: string;
    readonly singularName?: string;
    readonly namespaced: boolean;
    readonly kind: string;
    readonly group?: string;
    readonly version?: string;
    readonly verbs: readonly string[];
  }[];
}

/**
 * Discovers all resources, without subresources. Throws only if the list of groups cannot be read.
 */
export async function discoverResources(client: Client, signal: AbortSignal): Promise<Discovered> {
  const { groups } = await client.transport.request<ApiGroupList>({
    method: 'GET',
    path: '/apis',
    signal,
  });
  const versions = [{ group: '', version: 'v1' }];
  for (const { name, versions: served, preferredVersion } of groups) {
    // The preferred version comes first: its resources count as preferred.
    const ordered = served
      .map(({ version }) => version)
      .sort((a, b) => rank(a, preferredVersion) - rank(b, preferredVersion));
    for (const version of ordered) versions.push({ group: name, version });
  }
  const failures = new Map<string, string>();
  const lists = await Promise.all(
    versions.map(async ({ group, version }) => {
      try {
        return await resourcesIn(client, group, version, signal);
      } catch (error) {
        if (signal.aborted) throw error;
        const groupVersion = group === '' ? version : `${group}/${version}`;
        failures.set(groupVersion, failureMessage(groupVersion, error));
        return [];
      }
    }),
  );
  const seen = new Set<string>();
  const resources: DiscoveredResource[] = [];
  versions.forEach(({ group }, index) => {
    for (const resource of lists[index] ?? []) {
      const id = `${resource.resource}.${group}`;
      resources.push({ ...resource, preferred: !seen.has(id) });
      seen.add(id);
    }
  });
  return { resources, failures };
}

/**
 * Returns the error message of a group version. For an aggregated API server that does not respond
 * it is the message that upstream's clients read from aggregated discovery.
 */
function failureMessage(groupVersion: string, err: unknown): string {
  const unavailable = apierrors.isServiceUnavailable(err) && errorMessage(err) === UNAVAILABLE;
  return unavailable ? `stale GroupVersion discovery: ${groupVersion}` : errorMessage(err);
}

/**
 * Returns the resources of one group version, subresources left out. Throws StatusError: NotFound
 * if there is no such group version.
 */
export async function resourcesIn(
  client: Client,
  group: string,
  version: string,
  signal?: AbortSignal,
): Promise<readonly Omit<DiscoveredResource, 'preferred'>[]> {
  const path = groupVersionPath(group, version);
  const { resources } = await client.transport.request<ApiResourceList>({
    method: 'GET',
    path,
    ...(signal && { signal }),
  });
  return resources
    .filter(({ name }) => !name.includes('/'))
    .map(({ name, singularName = '', kind, namespaced, verbs }) => ({
      group,
      version,
      resource: name,
      singular: singularName,
      kind,
      namespaced,
      shortNames: [],
      categories: [],
      verbs,
    }));
}

function rank(version: string, preferred: { readonly version: string } | undefined): number {
  return version === preferred?.version ? 0 : 1;
}

export function hasVerbs(resource: DiscoveredResource, ...verbs: readonly string[]): boolean {
  return verbs.every((verb) => resource.verbs.includes(verb));
}

export function apiVersionOf({ group, version }: Pick<ResourceType, 'group' | 'version'>): string {
  return group === '' ? version : `${group}/${version}`;
}
