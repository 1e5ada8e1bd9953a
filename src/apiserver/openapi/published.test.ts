// Compares the OpenAPI document with the one that Kubernetes publishes. Differences are printed.
// Only those that docs/differences.md lists are allowed: versions that are not served, because they
// are alpha, beta or not implemented.

import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

import { openApiDifference, type OpenApiDocument } from '../testing/openapi-difference.ts';
import { send } from '../testing/requests.ts';
import { startTestServer } from '../testing/server.ts';

const reference = fileURLToPath(
  new URL('../../../../shared/reference/openapi-v2.json', import.meta.url),
);

test.skipIf(!existsSync(reference))(
  'is what Kubernetes publishes (skipped where ../shared/reference is not at hand)',
  async () => {
    const t = await startTestServer();
    try {
      const ours = (await send(t.server, { path: '/openapi/v2' }))
        .json as unknown as OpenApiDocument;
      const published = JSON.parse(readFileSync(reference, 'utf8')) as OpenApiDocument;
      const { lines, missingVersions } = openApiDifference(ours, published);
      expect(lines).toEqual([]);
      const stable = missingVersions.filter((version) => !/(alpha|beta)\d+$/.test(version));
      expect(stable).toEqual([]);
    } finally {
      await t.stop();
    }
  },
);

const operation = {
  operationId: 'x',
  parameters: [],
  responses: { 200: { schema: { $ref: '#/definitions/A' } } },
};
const document = (change: object = {}, definition: object = {}): OpenApiDocument => ({
  paths: { '/apis/g/v1/things': { get: { ...operation, ...change } } },
  definitions: {
    A: {
      type: 'object',
      required: ['a'],
      properties: { a: { type: 'string', format: 'byte' } },
      ...definition,
    },
  },
});

test.each<[what: string, ours: OpenApiDocument, lines: readonly string[]]>([
  ['nothing', document(), []],
  ['a description', document({ description: 'ours' }), []],
  [
    'a key of an operation',
    document({ 'x-kubernetes-action': 'list' }),
    ['g/v1: get /apis/g/v1/things x-kubernetes-action: "list" instead of undefined'],
  ],
  [
    'what is required',
    document({}, { required: [] }),
    ['definitions: A required: [] instead of ["a"]'],
  ],
  [
    'a format',
    document({}, { properties: { a: { type: 'string' } } }),
    ['definitions: A properties a format: undefined instead of "byte"'],
  ],
  [
    'a path',
    { ...document(), paths: { '/apis/g/v1/other': { get: operation } } },
    ['g/v1: more than published: /apis/g/v1/other', 'g/v1: no /apis/g/v1/things'],
  ],
])('a difference is found: %s', (_what, ours, lines) => {
  expect(openApiDifference(ours, document()).lines).toEqual(lines);
});
