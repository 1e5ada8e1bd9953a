// Reads the text of manifests as pods of this node.

import { createHash } from 'node:crypto';
import { decodeObject } from '#api/machinery/codec/index.ts';
import { setPodDefaults } from '#api/groups/core/v1/defaults.ts';
import type * as v1 from '#api/groups/core/v1/index.ts';
import { allSchemas } from '#api/all-schemas.ts';
import { formatTime } from '#machinery/text/time.ts';
import type { Pod } from '../types.ts';
import { apiReferenceOf } from './api-references.ts';

export const SOURCE_ANNOTATION = 'kubernetes.io/config.source';
const HASH_ANNOTATION = 'kubernetes.io/config.hash';
const SEEN_ANNOTATION = 'kubernetes.io/config.seen';

/** Upstream's limit for a manifest. */
export const MAX_MANIFEST_BYTES = 10 * 1024 * 1024;

export interface ManifestContext {
  readonly nodeName: string;
  /** The annotation's value: 'file' or 'http'. */
  readonly source: 'file' | 'http';
  /** Distinguishes equal manifests of several sources: a part of the hash that is the UID. */
  readonly origin: string;
  /** In wall-clock milliseconds. */
  readonly now: number;
}

/**
 * Parses YAML or JSON: documents that are Pods, or PodLists. Rejects if one of them is invalid, or
 * refers to objects of the API.
 */
export async function parseManifests(
  text: string,
  context: ManifestContext,
): Promise<readonly Pod[]> {
  // Loaded on demand: few nodes have static pods, and the parser is large.
  const { parseYamlDocuments } = await import('#api/machinery/codec/yaml.ts');
  return parseYamlDocuments(text)
    .filter((document) => document !== null && document !== undefined)
    .flatMap((document) => podDocuments(document))
    .map((document) => makePod(document, context));
}

/** Returns the documents of a list's pods, or the document itself. */
function podDocuments(document: unknown): readonly unknown[] {
  const { apiVersion, kind, items } = (document ?? {}) as Readonly<Record<string, unknown>>;
  if (apiVersion !== 'v1' || kind !== 'PodList' || !Array.isArray(items)) return [document];
  // Items of a list need not repeat what they are.
  return items.map((item: unknown) => ({ apiVersion: 'v1', kind: 'Pod', ...(item as object) }));
}

function makePod(document: unknown, { nodeName, source, origin, now }: ManifestContext): Pod {
  const { object, unknownFields } = decodeObject<v1.Pod>(
    allSchemas.message('core/v1.Pod'),
    document,
  );
  if (object.apiVersion !== 'v1' || object.kind !== 'Pod')
    throw new Error(`not a Pod: ${object.apiVersion ?? ''} ${object.kind ?? ''}`);
  if (unknownFields.length > 0) throw new Error(`unknown fields: ${unknownFields.join(', ')}`);
  if ((object.metadata.name ?? '') === '')
    throw new Error('invalid pod: name is needed for the pod');
  if (object.spec.containers.length === 0) throw new Error('the pod has no containers');
  setPodDefaults(object);
  const reference = apiReferenceOf(object);
  if (reference !== undefined) throw new Error(`static pods may not reference ${reference}`);
  const hash = createHash('sha256')
    .update(origin)
    .update(JSON.stringify(document))
    .digest('hex')
    .slice(0, 32);
  const { tolerations = [] } = object.spec;
  return {
    ...object,
    metadata: {
      ...object.metadata,
      name: `${object.metadata.name}-${nodeName.toLowerCase()}`,
      namespace: object.metadata.namespace ?? 'default',
      uid: object.metadata.uid || hash,
      annotations: {
        ...object.metadata.annotations,
        [HASH_ANNOTATION]: object.metadata.uid || hash,
        [SEEN_ANNOTATION]: formatTime(now),
        [SOURCE_ANNOTATION]: source,
      },
    },
    spec: {
      ...object.spec,
      nodeName,
      // Pods of files are not evicted when the node has problems.
      tolerations:
        source === 'file'
          ? [...tolerations, { operator: 'Exists', effect: 'NoExecute' }]
          : tolerations,
    },
    status: { phase: 'Pending' },
  };
}
