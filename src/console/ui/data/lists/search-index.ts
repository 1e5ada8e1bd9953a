// The names of objects for the search: the first objects of each kind, read once when the search
// opens. An exact name is looked up at the server as well, so that large clusters are covered.

import type { Api } from '../server/api.ts';
import { isAbort } from '../server/api-error.ts';
import { collectionPath, type ResourceType, typeId } from '../server/resource-type.ts';
import { Store } from '../server/store.ts';
import type { ObjectMetadata } from './table.ts';

export interface Hit {
  readonly type: ResourceType;
  readonly namespace: string | undefined;
  readonly name: string;
}

const ACCEPT = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io';
const LIMIT = 500;
const PARALLEL = 4;
/** Kinds with many objects that no user looks for. */
const LEFT_OUT: ReadonlySet<string> = new Set([
  'events',
  'events.events.k8s.io',
  'leases.coordination.k8s.io',
  'endpoints',
  'endpointslices.discovery.k8s.io',
  'controllerrevisions.apps',
  'componentstatuses',
  'pods.metrics.k8s.io',
  'nodes.metrics.k8s.io',
  'ipaddresses.networking.k8s.io',
  'csistoragecapacities.storage.k8s.io',
]);
const FIRST = ['pods', 'deployments.apps', 'services', 'nodes', 'namespaces', 'statefulsets.apps'];

export class SearchIndex {
  readonly hits = new Store<readonly Hit[]>([]);
  /** Kinds of which not all objects are in the index. */
  readonly partial = new Set<string>();
  readonly #api: Api;
  readonly #types: readonly ResourceType[];

  constructor(api: Api, types: readonly ResourceType[]) {
    this.#api = api;
    this.#types = types
      .filter((type) => type.verbs.includes('list') && !LEFT_OUT.has(typeId(type)))
      .toSorted((a, b) => rank(a) - rank(b));
  }

  /** Reads the names of all kinds. A kind that may not be read is left out. */
  async load(signal: AbortSignal): Promise<void> {
    const queue = [...this.#types];
    const work = async (): Promise<void> => {
      for (let type = queue.shift(); type !== undefined; type = queue.shift()) {
        const found = await this.#list(type, '', signal);
        if (signal.aborted) return;
        if (found.length > 0) this.hits.set([...this.hits.get(), ...found]);
      }
    };
    await Promise.all(Array.from({ length: PARALLEL }, work));
  }

  /** Returns the objects with exactly this name, of kinds that the index has only in part. */
  async exact(name: string, signal: AbortSignal): Promise<readonly Hit[]> {
    const types = this.#types.filter((type) => this.partial.has(typeId(type)));
    const found = await Promise.all(
      types.map((type) => this.#list(type, `metadata.name=${name}`, signal)),
    );
    return found.flat();
  }

  async #list(type: ResourceType, fieldSelector: string, signal: AbortSignal): Promise<Hit[]> {
    const query = new URLSearchParams({ limit: String(LIMIT) });
    if (fieldSelector !== '') query.set('fieldSelector', fieldSelector);
    try {
      const { items, metadata } = await this.#api.json<{
        items?: readonly { metadata: ObjectMetadata }[];
        metadata?: { continue?: string };
      }>(`${collectionPath(type, '')}?${query}`, { accept: ACCEPT, signal });
      if ((metadata?.continue ?? '') !== '') this.partial.add(typeId(type));
      return (items ?? []).map((item) => ({
        type,
        namespace: item.metadata.namespace,
        name: item.metadata.name,
      }));
    } catch (error) {
      if (!isAbort(error) && !signal.aborted) console.warn(`search: ${typeId(type)}`, error);
      return [];
    }
  }
}

const rank = (type: ResourceType): number => {
  const index = FIRST.indexOf(typeId(type));
  return index === -1 ? FIRST.length : index;
};

/** Returns the score of a text for a search: higher is better, 0 is no match. */
export function matchScore(text: string, wanted: string): number {
  const lower = text.toLowerCase();
  if (lower === wanted) return 100;
  if (lower.startsWith(wanted)) return 80 - Math.min(20, lower.length - wanted.length);
  const index = lower.indexOf(wanted);
  if (index !== -1) return /[^a-z0-9]/.test(lower[index - 1] ?? '') ? 50 : 40;
  // Every word occurs.
  const words = wanted.split(/[\s/]+/).filter((word) => word !== '');
  return words.length > 1 && words.every((word) => lower.includes(word)) ? 30 : 0;
}
