// Builders of the requests of definitions.ts and custom-objects.ts.

import type { Request, Settle } from './steps.ts';

export const GROUP = 'differential.example.com';
export const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
export const MERGE = 'application/merge-patch+json';
export const STRATEGIC = 'application/strategic-merge-patch+json';
export const JSON_PATCH = 'application/json-patch+json';
export const APPLY = 'application/apply-patch+yaml';
export const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io';
export const PARTIAL = 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io';
export const PARTIAL_LIST = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io';

export type Json = Readonly<Record<string, unknown>>;

export const get = (path: string, accept?: string, part?: Request['part']): Request => ({
  method: 'GET',
  path,
  type: '',
  body: '',
  changes: accept === undefined ? [] : [accept],
  ...(accept !== undefined && { accept }),
  ...(part !== undefined && { part }),
});

export const send = (
  method: string,
  path: string,
  body: unknown,
  type = 'application/json',
): Request => ({
  method,
  path,
  type,
  body: typeof body === 'string' ? body : JSON.stringify(body),
  changes: [type, typeof body === 'string' ? body : JSON.stringify(body)],
});

export const remove = (path: string): Request => send('DELETE', path, {});

/** Waits until the definition has the condition with this status. */
export const condition = (name: string, type: string, status: string, reason?: string): Settle => ({
  settle: `${name} is ${type}=${status}`,
  path: `${DEFINITIONS}/${name}`,
  until: ({ body }) => {
    const found = (body as { status?: { conditions?: readonly Json[] } }).status?.conditions ?? [];
    return found.some(
      (one) =>
        one['type'] === type &&
        one['status'] === status &&
        (reason ?? one['reason']) === one['reason'],
    );
  },
});

/** Waits until the answer to a GET of the path has the code. */
export const answersWith = (path: string, code: number): Settle => ({
  settle: `answers with ${code}`,
  path,
  until: (answer) => answer.code === code,
});

/**
 * Waits until the document of a group version, or the one of all groups, mentions the text or no
 * longer does.
 */
export const mentions = (path: string, text: string, expected = true, accept?: string): Settle => ({
  settle: `${expected ? 'mentions' : 'no longer mentions'} ${text}`,
  path,
  ...(accept !== undefined && { accept }),
  until: ({ body }) => JSON.stringify(body).includes(text) === expected,
});

export interface DefinitionOptions {
  readonly names?: Json;
  readonly spec?: Json;
  readonly versions?: readonly Json[];
  readonly metadata?: Json;
}

/** Returns a definition of a namespaced kind with any content, changed by the options. */
export function definition(plural: string, kind: string, options: DefinitionOptions = {}): Json {
  const { names = {}, spec = {}, metadata = {}, versions = [version('v1')] } = options;
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${GROUP}`, ...metadata },
    spec: {
      group: GROUP,
      scope: 'Namespaced',
      names: { plural, kind, ...names },
      versions,
      ...spec,
    },
  };
}

export const ANYTHING: Json = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };

export function version(name: string, more: Json = {}, openAPIV3Schema: Json = ANYTHING): Json {
  return { name, served: true, storage: true, schema: { openAPIV3Schema }, ...more };
}
