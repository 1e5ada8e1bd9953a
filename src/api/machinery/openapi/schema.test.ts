import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { allSchemas } from '#api/all-schemas.ts';
import { OpenApiDefinitions, type OpenApiOptions, type OpenApiSchema } from './schema.ts';
import type { MessageDescriptor } from '../descriptor.ts';

const replicaSet = allSchemas.message('apps/v1.ReplicaSet');

function definitionsOf(
  version: 2 | 3,
  messages: readonly MessageDescriptor[],
  options?: OpenApiOptions,
): Record<string, OpenApiSchema> {
  const definitions = new OpenApiDefinitions(version, options);
  for (const message of messages) definitions.addMessage(message);
  return definitions.schemas();
}

function properties(
  schemas: Record<string, OpenApiSchema>,
  name: string,
): Record<string, OpenApiSchema> {
  return schemas[name]?.['properties'] as Record<string, OpenApiSchema>;
}

describe('OpenAPI v2', () => {
  const definitions = definitionsOf(2, [replicaSet]);

  test('contains a kind and its references, and nothing else', () => {
    expect(definitions['io.k8s.api.apps.v1.ReplicaSet']).toMatchObject({
      type: 'object',
      'x-kubernetes-group-version-kind': [{ group: 'apps', kind: 'ReplicaSet', version: 'v1' }],
    });
    expect(definitions['io.k8s.api.core.v1.Probe']).toBeDefined();
    expect(definitions['io.k8s.apimachinery.pkg.api.resource.Quantity']).toMatchObject({
      type: 'string',
    });
    expect(definitions['io.k8s.api.core.v1.Secret']).toBeUndefined();
    expect(Object.keys(definitions)).toEqual(Object.keys(definitions).sort());
  });

  test('contains all of its references', () => {
    for (const [, name] of JSON.stringify(definitions).matchAll(/"#\/definitions\/([^"]+)"/g))
      expect(definitions).toHaveProperty([name!]);
  });

  test('contains the merge rules of lists', () => {
    expect(properties(definitions, 'io.k8s.api.core.v1.Container')['ports']).toMatchObject({
      type: 'array',
      items: { $ref: '#/definitions/io.k8s.api.core.v1.ContainerPort' },
      'x-kubernetes-list-map-keys': ['containerPort', 'protocol'],
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-patch-merge-key': 'containerPort',
      'x-kubernetes-patch-strategy': 'merge',
    });
  });

  test('lists the group versions of kinds that belong to all', () => {
    const withGroups = definitionsOf(2, [allSchemas.message('meta/v1.DeleteOptions')], {
      groupVersions: [{ group: 'apps', version: 'v1' }],
    });
    expect(withGroups['io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions']).toMatchObject({
      'x-kubernetes-group-version-kind': [{ group: 'apps', kind: 'DeleteOptions', version: 'v1' }],
    });
  });
});

describe('OpenAPI v3', () => {
  const components = definitionsOf(3, [replicaSet]);

  test('has enums in version 2, too', () => {
    const spec = properties(definitionsOf(2, [replicaSet]), 'io.k8s.api.core.v1.PodSpec');
    expect(spec['restartPolicy']).toMatchObject({ enum: ['Always', 'Never', 'OnFailure'] });
  });

  test('has defaults and enums, and wraps references with siblings', () => {
    const spec = properties(components, 'io.k8s.api.core.v1.PodSpec');
    expect(spec['restartPolicy']).toMatchObject({
      type: 'string',
      enum: ['Always', 'Never', 'OnFailure'],
    });
    expect(properties(components, 'io.k8s.api.core.v1.ContainerPort')).toMatchObject({
      containerPort: { default: 0, type: 'integer', format: 'int32' },
      protocol: { default: 'TCP' },
    });
    expect(spec['containers']).toMatchObject({
      items: {
        allOf: [{ $ref: '#/components/schemas/io.k8s.api.core.v1.Container' }],
        default: {},
      },
    });
    expect(properties(components, 'io.k8s.api.apps.v1.ReplicaSet')['spec']).toMatchObject({
      allOf: [{ $ref: '#/components/schemas/io.k8s.api.apps.v1.ReplicaSetSpec' }],
      default: {},
    });
    expect(components['io.k8s.apimachinery.pkg.util.intstr.IntOrString']).toMatchObject({
      oneOf: [{ type: 'integer' }, { type: 'string' }],
      format: 'int-or-string',
    });
  });
});

const reference = fileURLToPath(
  new URL('../../../../../shared/reference/openapi-v2.json', import.meta.url),
);

/**
 * Removes differences that are intended: descriptions are our own, unions have no readers,
 * DeleteOptions and WatchEvent list groups that are not served, and the published document has no
 * enums, which the documents of servers have.
 */
function comparable(schema: OpenApiSchema): unknown {
  return JSON.parse(
    JSON.stringify(schema, (key, value: unknown) =>
      ['description', 'enum', 'x-kubernetes-unions'].includes(key) ? undefined : value,
    ),
  );
}

describe.skipIf(!existsSync(reference))(
  'the published document (skipped where ../shared/reference is not at hand)',
  () => {
    test('is equal for every built-in type', () => {
      const { definitions: published } = JSON.parse(readFileSync(reference, 'utf8')) as {
        definitions: Record<string, OpenApiSchema>;
      };
      const ours = definitionsOf(
        2,
        allSchemas.schemas.flatMap((schema) => allSchemas.messagesOf(schema)),
      );
      let compared = 0;
      for (const [name, schema] of Object.entries(published)) {
        if (ours[name] === undefined || /\.(DeleteOptions|WatchEvent)$/.test(name)) continue;
        // A field named description is a field.
        const { properties: expected, ...rest } = schema as {
          properties?: Record<string, OpenApiSchema>;
        };
        const { properties: actual, ...ourRest } = ours[name] as {
          properties?: Record<string, OpenApiSchema>;
        };
        expect({ name, ...(comparable(ourRest) as object) }).toEqual({
          name,
          ...(comparable(rest) as object),
        });
        expect(Object.keys(actual ?? {}).sort()).toEqual(Object.keys(expected ?? {}).sort());
        for (const field of Object.keys(expected ?? {})) {
          expect({ name, field, schema: comparable(actual?.[field] ?? {}) }).toEqual({
            name,
            field,
            schema: comparable(expected?.[field] ?? {}),
          });
        }
        compared++;
      }
      expect(compared).toBeGreaterThan(550);
    });
  },
);
