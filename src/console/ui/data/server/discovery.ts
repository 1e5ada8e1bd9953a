// The kinds that the server serves, from aggregated discovery: two requests, however many groups.

import type { Api } from './api.ts';
import { type ResourceType, typeId } from './resource-type.ts';

const ACCEPT =
  'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList, application/json';

interface DiscoveryResource {
  readonly resource: string;
  readonly responseKind?: { readonly kind?: string };
  readonly scope: 'Namespaced' | 'Cluster';
  readonly singularResource?: string;
  readonly verbs?: readonly string[];
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  readonly subresources?: readonly { readonly subresource: string }[];
}

export interface DiscoveryList {
  readonly items?: readonly {
    readonly metadata?: { readonly name?: string };
    readonly versions?: readonly {
      readonly version: string;
      readonly freshness?: string;
      readonly resources?: readonly DiscoveryResource[];
    }[];
  }[];
}

/** Returns the types of a discovery document. Of several versions, the first one (preferred) counts. */
export function typesOf(list: DiscoveryList): ResourceType[] {
  const types = new Map<string, ResourceType>();
  for (const { metadata, versions = [] } of list.items ?? []) {
    const group = metadata?.name ?? '';
    for (const { version, resources = [] } of versions) {
      for (const each of resources) {
        const type: ResourceType = {
          group,
          version,
          resource: each.resource,
          kind: each.responseKind?.kind ?? each.resource,
          namespaced: each.scope === 'Namespaced',
          verbs: each.verbs ?? [],
          shortNames: each.shortNames ?? [],
          categories: each.categories ?? [],
          subresources: (each.subresources ?? []).map(({ subresource }) => subresource),
        };
        if (!types.has(typeId(type))) types.set(typeId(type), type);
      }
    }
  }
  return [...types.values()];
}

export class Types {
  readonly all: readonly ResourceType[];
  readonly #byId: ReadonlyMap<string, ResourceType>;
  readonly #byKind: ReadonlyMap<string, ResourceType>;

  constructor(all: readonly ResourceType[]) {
    this.all = all;
    this.#byId = new Map(all.map((type) => [typeId(type), type]));
    this.#byKind = new Map(all.map((type) => [`${type.group}/${type.kind}`, type]));
  }

  byId(id: string): ResourceType | undefined {
    return this.#byId.get(id);
  }

  /** Returns the type of a reference with an apiVersion, whichever version it names. */
  byReference(apiVersion: string, kind: string): ResourceType | undefined {
    const slash = apiVersion.indexOf('/');
    return this.#byKind.get(`${slash === -1 ? '' : apiVersion.slice(0, slash)}/${kind}`);
  }

  byKind(group: string, kind: string): ResourceType | undefined {
    return this.#byKind.get(`${group}/${kind}`);
  }
}

/** Reads the kinds that the server serves now. */
export async function discover(api: Api, signal?: AbortSignal): Promise<Types> {
  const lists = await Promise.all(
    ['/api', '/apis'].map((path) => api.json<DiscoveryList>(path, { accept: ACCEPT, signal })),
  );
  return new Types(lists.flatMap(typesOf));
}
