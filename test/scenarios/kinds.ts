// Resolves the resource names of transcripts: 'rs', 'replicasets' and 'ReplicaSet' are one.

import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import type { ResourceType } from '#api/machinery/descriptor.ts';
import { allSchemas } from '#api/all-schemas.ts';

export type AnyResource = ResourceType<KubeObject>;

/** The first resource wins: `events` are those of the core group, as with kubectl. */
const byWord = new Map<string, AnyResource>();
for (const type of allSchemas.resources() as AnyResource[]) {
  for (const word of [type.resource, type.singular, ...type.shortNames])
    if (!byWord.has(word)) byWord.set(word, type);
}

export function resourceNamed(word: string): AnyResource {
  const type = byWord.get(word.toLowerCase());
  if (type === undefined) throw new Error(`the server doesn't have a resource type "${word}"`);
  return type;
}

/** Parses 'rs/web' into the resource and the name. */
export function objectNamed(word: string): { readonly type: AnyResource; readonly name: string } {
  const slash = word.indexOf('/');
  if (slash < 0) throw new Error(`${word}: KIND/NAME is needed`);
  return { type: resourceNamed(word.slice(0, slash)), name: word.slice(slash + 1) };
}

/** Returns 'replicaset.apps/web', as kubectl prints changed objects. */
export function displayName(type: AnyResource, name: string): string {
  return `${type.singular}${type.group === '' ? '' : `.${type.group}`}/${name}`;
}
