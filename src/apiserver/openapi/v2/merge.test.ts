// Merging OpenAPI v2 documents with paths, definitions and parameters of the same name.

import { expect, test } from 'vitest';

import { runSteps } from '#machinery/turn.ts';
import type { SwaggerPart } from '../remote-documents.ts';
import { mergeParts, partOf as partOfInSteps } from './merge.ts';

type Values = Readonly<Record<string, unknown>>;

const partOf = (document: unknown, prefix: string): SwaggerPart =>
  runSteps(partOfInSteps(document, prefix));

/** Merges the parts into a document. */
function mergeV2(
  { paths, definitions }: { readonly paths: Values; readonly definitions: Values },
  parts: readonly SwaggerPart[],
) {
  const own = {
    hasPath: (path: string) => Object.hasOwn(paths, path),
    definition: (name: string) => definitions[name],
  };
  const added = runSteps(mergeParts(own, parts));
  return {
    paths: { ...paths, ...Object.fromEntries(added.paths) },
    definitions: { ...definitions, ...Object.fromEntries(added.definitions) },
    ...(added.parameters.size > 0 && { parameters: Object.fromEntries(added.parameters) }),
  };
}

const ref = (name: string): object => ({ get: { schema: { $ref: `#/definitions/${name}` } } });
const KINDS = 'x-kubernetes-group-version-kind';

test('a part has the paths below a prefix, and the definitions that they use', () => {
  const document = {
    paths: { '/apis/g/v1/a': ref('A'), '/apis/h/v1/b': ref('B') },
    definitions: {
      A: { properties: { c: { $ref: '#/definitions/C' } } },
      B: {},
      C: {},
      Unused: {},
    },
  };
  expect(partOf(document, '/apis/g/v1/')).toEqual({
    paths: { '/apis/g/v1/a': ref('A') },
    // Definitions that no path used before are kept, as upstream.
    definitions: { A: document.definitions.A, C: {}, Unused: {} },
    parameters: {},
  });
});

test.each([
  [null],
  [7],
  ['text'],
  [{ paths: 7, definitions: [] }],
  [{ paths: { '/apis/g/v1/a': null } }],
])('a document that is none harms nothing: %j', (document) => {
  const part = partOf(document, '/apis/g/v1/');
  expect(mergeV2({ paths: { '/x': {} }, definitions: { X: {} } }, [part])).toMatchObject({
    paths: { '/x': {} },
    definitions: { X: {} },
  });
});

test('an existing path stays', () => {
  const merged = mergeV2({ paths: { '/a': ref('A') }, definitions: { A: { type: 'object' } } }, [
    {
      paths: { '/a': ref('B'), '/b': ref('A') },
      definitions: { A: { type: 'string' }, B: {} },
      parameters: {},
    },
  ]);
  expect(merged).toEqual({
    paths: { '/a': ref('A'), '/b': ref('A_v2') },
    definitions: { A: { type: 'object' }, A_v2: { type: 'string' } },
  });
});

test('an equal definition is shared, with the kinds of both', () => {
  const kind = (group: string): object => ({ group, version: 'v1', kind: 'K' });
  const merged = mergeV2(
    { paths: {}, definitions: { A: { description: 'ours', [KINDS]: [kind('b')] } } },
    [
      {
        paths: { '/a': ref('A') },
        definitions: { A: { description: 'theirs', [KINDS]: [kind('a'), kind('b')] } },
        parameters: {},
      },
    ],
  );
  expect(merged['definitions']).toEqual({
    A: { description: 'ours', [KINDS]: [kind('a'), kind('b')] },
  });
  expect(merged['paths']).toEqual({ '/a': ref('A') });
});

test('a renamed definition is used again', () => {
  const part = (path: string): SwaggerPart => ({
    paths: { [path]: ref('A') },
    definitions: { A: { type: 'string' } },
    parameters: {},
  });
  const merged = mergeV2({ paths: {}, definitions: { A: { type: 'object' } } }, [
    part('/b'),
    part('/c'),
  ]);
  expect(Object.keys(merged['definitions'] as object)).toEqual(['A', 'A_v2']);
  expect(merged['paths']).toEqual({ '/b': ref('A_v2'), '/c': ref('A_v2') });
});

test('parameters are renamed, too', () => {
  const use = (name: string): object => ({ parameters: [{ $ref: `#/parameters/${name}` }] });
  const merged = mergeV2({ paths: {}, definitions: {} }, [
    { paths: { '/a': use('p') }, definitions: {}, parameters: { p: { in: 'query' } } },
    { paths: { '/b': use('p') }, definitions: {}, parameters: { p: { in: 'header' } } },
  ]);
  expect(merged).toMatchObject({
    paths: { '/a': use('p'), '/b': use('p_v2') },
    parameters: { p: { in: 'query' }, p_v2: { in: 'header' } },
  });
});
