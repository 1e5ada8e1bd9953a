// Requests about objects of a kind, each slightly wrong or unusual.

import type { SeededRandom } from '#machinery/random.ts';
import { messageOf } from '#api/testing/message-of.ts';
import type { KindManifest } from '../e2e/kinds.ts';
import type { Kind } from '#apiserver/catalog/kind.ts';
import { Mutator } from './mutations.ts';

export interface Shot {
  readonly method: string;
  readonly path: string;
  readonly type: string;
  readonly body: string;
  /** Default: application/json. */
  readonly accept?: string;
  /** The descriptions of the changes. */
  readonly changes: readonly string[];
}

export interface Target {
  readonly collection: string;
  readonly name: string;
  readonly kind: string;
  readonly manifest: Readonly<Record<string, unknown>>;
  readonly mayUpdate: boolean;
}

export function targetOf({ type, rest }: Kind, { kind, manifest }: KindManifest): Target {
  const { group, version, namespaced, resource } = type;
  const root = group === '' ? '/api' : `/apis/${group}`;
  return {
    kind,
    manifest,
    name: (manifest['metadata'] as { name: string }).name,
    collection: `${root}/${version}${namespaced ? '/namespaces/default' : ''}/${resource}`,
    mayUpdate: rest.update !== undefined,
  };
}

export const creation = ({ collection, manifest }: Target): Shot => ({
  method: 'POST',
  path: collection,
  type: 'application/json',
  body: JSON.stringify(manifest),
  changes: [],
});

/** Returns the kind of the sample. Undefined: it is not served. */
export function servedKind(
  kinds: readonly Kind[],
  { kind, manifest }: KindManifest,
): Kind | undefined {
  return kinds.find(
    ({ type }) =>
      type.kind === kind &&
      (manifest['apiVersion'] as string) ===
        (type.group === '' ? type.version : `${type.group}/${type.version}`),
  );
}

/**
 * Returns requests that remove the object. No controllers run beside the server, so no controller
 * works off the finalizers.
 */
export function removal({ collection, name, kind }: Target): readonly Shot[] {
  const path = `${collection}/${name}`;
  const emptied = { apiVersion: 'v1', kind, metadata: { name }, spec: { finalizers: [] } };
  return [
    {
      method: 'DELETE',
      path: `${path}?gracePeriodSeconds=0&propagationPolicy=Background`,
      type: '',
      body: '',
      changes: [],
    },
    {
      method: 'PATCH',
      path,
      type: 'application/merge-patch+json',
      body: '{"metadata":{"finalizers":null}}',
      changes: [],
    },
    ...(kind === 'Namespace'
      ? [
          {
            method: 'PUT',
            path: `${path}/finalize`,
            type: 'application/json',
            body: JSON.stringify(emptied),
            changes: [],
          },
        ]
      : []),
  ];
}

/**
 * Yields requests. `live`: the stored object of each server differs from the manifest only in its
 * identity, so the manifest stands for it.
 */
export function* shots(target: Target, count: number, random: SeededRandom): Generator<Shot> {
  const { manifest, collection, name } = target;
  const message = messageOf(String(manifest['apiVersion']), target.kind);
  if (message === undefined) throw new Error(`no schema for ${target.kind}`);
  const mutator = new Mutator(random);
  for (let index = 0; index < count; index++) {
    const { object, changes } = mutator.mutated(message, manifest);
    const body = JSON.stringify(object);
    const choice = random.int(10);
    if (choice < 6 || !target.mayUpdate) {
      // The object gets another name, since the one of the manifest is taken.
      const metadata = object['metadata'] as { name?: string } | undefined;
      const fresh =
        metadata?.name === name && !/[:.]/.test(name)
          ? { ...object, metadata: { ...metadata, name: 'fresh' } }
          : object;
      yield {
        method: 'POST',
        path: `${collection}?dryRun=All&fieldValidation=Strict`,
        type: 'application/json',
        body: JSON.stringify(fresh),
        changes,
      };
    } else if (choice < 9) {
      yield {
        method: 'PUT',
        path: `${collection}/${name}?dryRun=All`,
        type: 'application/json',
        body,
        changes,
      };
    } else {
      const path = `${collection}/${name}?dryRun=All&fieldManager=differential&force=true`;
      yield { method: 'PATCH', path, type: 'application/apply-patch+yaml', body, changes };
    }
  }
}
