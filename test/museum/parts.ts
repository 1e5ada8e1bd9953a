// The world of the exhibits. A spec (a ConfigMap) stands for a custom resource; its parts (Secrets with a type) stand
// for what a controller makes for it: members, volumes, certificates.

import { configMaps, secrets, type ConfigMap, type Secret } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { Client } from '#client/client.ts';
import type { ExploreContext } from '#cluster/embedded/explore-context.ts';
import {
  defineController,
  type ControllerDefinition,
  type Request,
} from '#controllers/operator/index.ts';
import type { ReconcileResult } from '#client/workqueue/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { Clock } from '#machinery/clock.ts';

export type Spec = Immutable<ConfigMap>;
export type Part = Immutable<Secret>;

const MERGE = 'application/merge-patch+json';

/** The tools of an exhibit's controller. */
export interface Tools {
  readonly client: Client;
  readonly clock: Clock;
  /** The cached parts of a spec, by name. */
  parts(request: Request, type: string): readonly Part[];
  make(request: Request, type: string, name: string, more?: MorePart): Promise<void>;
  remove(part: Part, options?: { readonly uid?: boolean }): Promise<void>;
  /** Reads the spec from the server. */
  live(request: Request): Promise<Spec | undefined>;
  /** Changes the data of the spec. */
  note(request: Request, data: Readonly<Record<string, string | null>>): Promise<void>;
}

interface MorePart {
  readonly labels?: Readonly<Record<string, string>>;
  /** The name is the beginning of a generated one. */
  readonly generated?: boolean;
}

export type ReconcileSpec = (
  spec: Spec | undefined,
  request: Request,
) => Promise<ReconcileResult | void>;

/** Returns a controller of specs. The name of a part's spec is in its label `of`. */
export function specController(
  name: string,
  setup: (tools: Tools) => ReconcileSpec,
): ControllerDefinition {
  return defineController(name, (context) => {
    const { client, clock } = context;
    const specs = context.for(configMaps);
    const cached = context.watches(
      secrets,
      ({ metadata }) => {
        const of = metadata.labels?.['of'];
        return of === undefined ? undefined : `${metadata.namespace}/${of}`;
      },
      { maps: 'both' },
    );
    const inNamespace = ({ namespace }: Request) =>
      client.resource(configMaps).namespace(namespace);
    const reconcile = setup({
      client,
      clock,
      parts: (request, type) =>
        cached.lister
          .list(request.namespace)
          .filter(
            ({ metadata: { labels } }) =>
              labels?.['of'] === request.name && labels['type'] === type,
          )
          .sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1)),
      async make({ namespace, name: of }, type, partName, { labels, generated = false } = {}) {
        const named = generated ? { generateName: partName } : { name: partName };
        await client.resource(secrets).create({
          metadata: { ...named, namespace, labels: { of, type, ...labels } },
        });
      },
      async remove({ metadata: { namespace = '', name: partName, uid } }, options = {}) {
        await client
          .resource(secrets)
          .namespace(namespace)
          .delete(partName, options.uid === true ? { preconditions: { uid } } : {});
      },
      live: (request) => orUndefined(inNamespace(request).get(request.name)),
      async note(request, data) {
        await inNamespace(request).patch(request.name, MERGE, { data });
      },
    });
    return async (request) => {
      const spec = specs.lister.get(request.namespace, request.name);
      if (spec !== undefined && spec.metadata.labels?.['type'] !== 'spec') return;
      return reconcile(spec, request);
    };
  });
}

/** Resolves with undefined for what does not exist. */
export async function orUndefined<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (apierrors.isNotFound(error)) return undefined;
    throw error;
  }
}

/** Does nothing about an error that says that the work is done already. */
export function ignoring(expected: (error: unknown) => boolean): (error: unknown) => void {
  return (error) => {
    if (!expected(error)) throw error;
  };
}

export const sizeOf = (spec: Spec): number => Number(spec.data?.['size'] ?? 0);

/** The names of the members that a spec asks for. */
export const membersOf = (spec: Spec): readonly string[] =>
  Array.from({ length: sizeOf(spec) }, (_, index) => `${spec.metadata.name}-${index}`);

// The steps of tests.

export async function declare(
  { cluster, namespace }: ExploreContext,
  name: string,
  data: Record<string, string>,
  finalizers: readonly string[] = [],
): Promise<void> {
  await cluster.client.resource(configMaps).create({
    metadata: { name, namespace, labels: { type: 'spec' }, finalizers: [...finalizers] },
    data,
  });
}

export async function change(
  { cluster, namespace }: ExploreContext,
  name: string,
  data: Record<string, string | null>,
): Promise<void> {
  await cluster.client.resource(configMaps).namespace(namespace).patch(name, MERGE, { data });
}

export async function withdraw(
  { cluster, namespace }: ExploreContext,
  name: string,
): Promise<void> {
  await cluster.delete(configMaps, name, { namespace });
}

/** Writes data into a part. If the part is made anew, they are lost. */
export async function fill({ cluster, namespace }: ExploreContext, part: string): Promise<void> {
  await cluster.client
    .resource(secrets)
    .namespace(namespace)
    .patch(part, MERGE, { stringData: { precious: 'yes' } });
}

export async function partsIn(
  { cluster, namespace }: ExploreContext,
  type: string,
): Promise<readonly Part[]> {
  return cluster.list(secrets, { namespace, labelSelector: `type=${type}` });
}
