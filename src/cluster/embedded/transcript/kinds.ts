// The resource that a word of a transcript names: 'rs', 'replicasets' and 'ReplicaSet' are the
// same. Custom resources are found by the definitions that the cluster has.

import { allSchemas } from '#api/all-schemas.ts';
import { customResourceDefinitions } from '#api/groups/apiextensions/v1/index.ts';
import type { ResourceType } from '#api/machinery/descriptor.ts';
import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import type { Client } from '#client/client.ts';

export type AnyResource = ResourceType<KubeObject>;

/** The first resource wins: of two groups' events those of the core are meant, as with kubectl. */
const builtIn = new Map<string, AnyResource>();
for (const type of allSchemas.resources() as AnyResource[]) addWords(builtIn, type);

export class Kinds {
  readonly #custom = new Map<string, AnyResource>();

  /** Reads the definitions of custom resources. */
  async load(client: Client): Promise<void> {
    const { items } = await client.resource(customResourceDefinitions).list();
    this.#custom.clear();
    for (const { spec } of items) {
      const {
        plural: resource,
        singular = '',
        kind,
        shortNames = [],
        categories = [],
      } = spec.names;
      const version =
        (spec.versions.find(({ storage }) => storage) ?? spec.versions[0])?.name ?? '';
      const namespaced = spec.scope === 'Namespaced';
      const names = { resource, singular, kind, shortNames, categories };
      addWords(this.#custom, { group: spec.group, version, namespaced, ...names });
    }
  }

  /** Throws Error for a word that names no resource. */
  resourceNamed(word: string): AnyResource {
    const key = word.toLowerCase();
    const type = builtIn.get(key) ?? this.#custom.get(key);
    if (type === undefined) throw new Error(`the server doesn't have a resource type "${word}"`);
    return type;
  }

  /** Returns the resource and the name of 'rs/web'. */
  objectNamed(word: string): { readonly type: AnyResource; readonly name: string } {
    const slash = word.indexOf('/');
    if (slash < 0) throw new Error(`${word}: KIND/NAME is needed`);
    return { type: this.resourceNamed(word.slice(0, slash)), name: word.slice(slash + 1) };
  }
}

function addWords(words: Map<string, AnyResource>, type: AnyResource): void {
  const { resource, singular, kind, shortNames } = type;
  for (const word of [resource, singular, kind.toLowerCase(), ...shortNames])
    if (word !== '' && !words.has(word)) words.set(word, type);
}

/** Returns 'replicaset.apps/web', as kubectl names what it has changed. */
export function displayName(type: AnyResource, name: string): string {
  return `${type.singular}${type.group === '' ? '' : `.${type.group}`}/${name}`;
}
