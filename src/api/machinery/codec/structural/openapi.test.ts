// Cases that the recorded documents do not contain: see upstream.test.ts.

import { expect, test } from 'vitest';
import { OpenApiDefinitions } from '../../openapi/index.ts';
import { StructuralCodec } from './structural-codec.ts';

const names = {
  group: 'stable.example.com',
  version: 'v1',
  kind: 'Thing',
  listKind: 'ThingList',
  plural: 'things',
};

test('the kind and its list have the selectable fields', () => {
  const codec = new StructuralCodec({
    ...names,
    selectableFields: ['spec.color'],
    schema: { type: 'object' },
  });
  const definitions = new OpenApiDefinitions(3);
  codec.openApiList.define(definitions);
  const schemas = definitions.schemas();
  for (const name of [codec.openApi.name, codec.openApiList.name]) {
    expect(schemas[name]?.['x-kubernetes-selectable-fields']).toEqual([
      { fieldPath: 'spec.color' },
    ]);
  }
  expect(Object.keys(schemas)).toContain('io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta');
  expect(Object.keys(schemas)).toContain('io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta');
});

test('a kind without a schema is any object', () => {
  const codec = new StructuralCodec({ ...names, selectableFields: [] });
  const definitions = new OpenApiDefinitions(2);
  codec.openApi.define(definitions);
  expect(definitions.schemas()['com.example.stable.v1.Thing']).toEqual({
    type: 'object',
    'x-kubernetes-group-version-kind': [
      { group: 'stable.example.com', kind: 'Thing', version: 'v1' },
    ],
  });
});
