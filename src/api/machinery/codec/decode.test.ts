import { describe, expect, test } from 'vitest';
import { allSchemas } from '#api/all-schemas.ts';
import { decodeObject, emptyObject } from './decode.ts';
import { goldenObjects } from '#api/testing/golden.ts';

const pod = allSchemas.message('core/v1.Pod');
const replicaSet = allSchemas.message('apps/v1.ReplicaSet');

function errorOf(message: typeof pod, json: unknown): string {
  try {
    decodeObject(message, json);
  } catch (error) {
    return (error as Error).message;
  }
  return 'no error';
}

describe('decodeObject', () => {
  test('writes what is always written, in the order of the schema, drops zero values and keeps empty ones', () => {
    const { object, unknownFields } = decodeObject(replicaSet, {
      spec: { selector: { matchLabels: { b: '2', a: '1' } }, minReadySeconds: 0, replicas: 0 },
      metadata: { labels: {}, name: 'x', finalizers: [], generateName: '' },
      kind: 'ReplicaSet',
      apiVersion: 'apps/v1',
    });
    expect(unknownFields).toEqual([]);
    expect(JSON.stringify(object)).toBe(
      '{"kind":"ReplicaSet","apiVersion":"apps/v1","metadata":{"name":"x","labels":{},' +
        '"finalizers":[]},"spec":{"replicas":0,' +
        '"selector":{"matchLabels":{"a":"1","b":"2"}},"template":{"metadata":{},"spec":' +
        '{"containers":[]}}},"status":{"replicas":0}}',
    );
  });

  test('treats null and undefined as absent', () => {
    const { object } = decodeObject(pod, {
      metadata: null,
      spec: { containers: [null], nodeName: undefined, hostNetwork: null },
    });
    expect(object).toEqual({
      metadata: {},
      spec: { containers: [{ name: '', resources: {} }] },
      status: {},
    });
  });

  test('writes null for lists, times and pointers that are always written and not required', () => {
    expect(emptyObject(allSchemas.message('rbac/v1.Role'))).toEqual({ metadata: {}, rules: null });
    expect(emptyObject(allSchemas.message('core/v1.PodCondition'))).toEqual({
      type: '',
      status: '',
      lastProbeTime: null,
      lastTransitionTime: null,
    });
    expect(emptyObject(allSchemas.message('core/v1.TypedLocalObjectReference'))).toEqual({
      apiGroup: null,
      kind: '',
      name: '',
    });
    expect(emptyObject(allSchemas.message('core/v1.ServicePort'))).toEqual({
      port: 0,
      targetPort: 0,
    });
  });

  test('reports unknown fields by their path, in the order of the input', () => {
    const { object, unknownFields } = decodeObject(pod, {
      foo: 1,
      spec: {
        containers: [
          { name: 'a', foo: 1, Image: 'b' },
          { resources: { limits: { cpu: 1 } }, ports: [{ bar: {} }] },
        ],
        Foo: null,
      },
      metadata: { labels: { anything: 'goes' }, __proto__x: 1 },
    });
    expect(unknownFields).toEqual([
      'foo',
      'spec.containers[0].foo',
      'spec.containers[0].Image',
      'spec.containers[1].ports[0].bar',
      'spec.Foo',
      'metadata.__proto__x',
    ]);
    expect(object['foo']).toBeUndefined();
  });

  test('names the field with a wrong type as upstream does', () => {
    expect(errorOf(replicaSet, { spec: { replicas: '3' } })).toBe(
      'json: cannot unmarshal string into Go struct field ReplicaSetSpec.spec.replicas of type int32',
    );
    expect(errorOf(replicaSet, { spec: { replicas: 1.5 } })).toBe(
      'json: cannot unmarshal number 1.5 into Go struct field ReplicaSetSpec.spec.replicas of type int32',
    );
    expect(errorOf(replicaSet, { spec: { replicas: 3_000_000_000 } })).toBe(
      'json: cannot unmarshal number 3000000000 into Go struct field ReplicaSetSpec.spec.replicas of type int32',
    );
    expect(errorOf(replicaSet, { spec: [] })).toBe(
      'json: cannot unmarshal array into Go struct field ReplicaSet.spec of type v1.ReplicaSetSpec',
    );
    expect(errorOf(replicaSet, [])).toBe(
      'json: cannot unmarshal array into Go value of type v1.ReplicaSet',
    );
    expect(errorOf(pod, { metadata: { labels: { a: 1 } } })).toBe(
      'json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type string',
    );
    expect(errorOf(pod, { metadata: { labels: [] } })).toBe(
      'json: cannot unmarshal array into Go struct field ObjectMeta.metadata.labels of type map[string]string',
    );
    expect(errorOf(pod, { spec: { overhead: 'x' } })).toBe(
      'json: cannot unmarshal string into Go struct field PodSpec.spec.overhead of type v1.ResourceList',
    );
    expect(errorOf(pod, { spec: { containers: {} } })).toBe(
      'json: cannot unmarshal object into Go struct field PodSpec.spec.containers of type []v1.Container',
    );
    expect(errorOf(pod, { spec: { containers: [{ env: [{ value: 1 }] }] } })).toBe(
      'json: cannot unmarshal number into Go struct field EnvVar.spec.containers.env.value of type string',
    );
    expect(errorOf(pod, { spec: { containers: [{}, 'x'] } })).toBe(
      'json: cannot unmarshal string into Go struct field PodSpec.spec.containers of type v1.Container',
    );
    expect(errorOf(pod, { spec: { restartPolicy: 1 } })).toBe(
      'json: cannot unmarshal number into Go struct field PodSpec.spec.restartPolicy of type v1.RestartPolicy',
    );
    expect(errorOf(pod, { metadata: { creationTimestamp: 'yesterday' } })).toBe(
      'parsing time "yesterday" as "2006-01-02T15:04:05Z07:00": cannot parse "yesterday" as "2006"',
    );
    expect(errorOf(pod, { metadata: { creationTimestamp: 1 } })).toBe(
      'json: cannot unmarshal number into Go value of type string',
    );
    expect(
      errorOf(allSchemas.message('core/v1.Service'), { spec: { ports: [{ targetPort: true }] } }),
    ).toBe('json: cannot unmarshal bool into Go value of type int32');
    expect(errorOf(allSchemas.message('core/v1.Secret'), { data: { a: 'x' } })).toBe(
      'illegal base64 data at input byte 0',
    );
    expect(errorOf(pod, { spec: { overhead: { cpu: 'lots' } } })).toContain(
      'quantities must match the regular expression',
    );
  });

  test('rejects integers that a number cannot hold', () => {
    expect(errorOf(pod, { metadata: { generation: 2 ** 53 } })).toContain('of type int64');
    expect(
      decodeObject<{ metadata: object }>(pod, { metadata: { generation: 2 ** 53 - 1 } }).object
        .metadata,
    ).toEqual({
      generation: 2 ** 53 - 1,
    });
  });

  test('accepts at most 10,000 quantities', () => {
    const hard = (count: number): object =>
      Object.fromEntries(Array.from({ length: count }, (_, i) => [`r${i}`, '1']));
    expect(
      errorOf(allSchemas.message('core/v1.ResourceQuota'), { spec: { hard: hard(10_000) } }),
    ).toBe('no error');
    expect(
      errorOf(allSchemas.message('core/v1.ResourceQuota'), { spec: { hard: hard(10_001) } }),
    ).toBe('limit is 10000 quantities');
  });

  test('makes quantities, times and bytes canonical', () => {
    const { object } = decodeObject<{ spec: { overhead: object }; metadata: object }>(pod, {
      metadata: {
        creationTimestamp: '2026-01-02T03:04:05.678+02:00',
        deletionTimestamp: '0001-01-01T00:00:00Z',
      },
      spec: { overhead: { memory: '1024Ki', cpu: 0.5, storage: null } },
    });
    expect(object.spec.overhead).toEqual({ cpu: '500m', memory: '1Mi', storage: '0' });
    expect(object.metadata).toEqual({ creationTimestamp: '2026-01-02T01:04:05Z' });
    const secret = decodeObject(allSchemas.message('core/v1.Secret'), {
      data: { a: 'QUJD\nRA==', b: [65, 66], c: '', d: null },
    });
    expect(secret.object['data']).toEqual({ a: 'QUJDRA==', b: 'QUI=', c: '', d: '' });
    const lease = decodeObject(allSchemas.message('coordination/v1.Lease'), {
      spec: { renewTime: '2026-01-02T03:04:05.123456Z' },
    });
    expect(lease.object['spec']).toEqual({ renewTime: '2026-01-02T03:04:05.123456Z' });
    expect(
      errorOf(allSchemas.message('coordination/v1.Lease'), {
        spec: { renewTime: '2026-01-02T03:04:05Z' },
      }),
    ).toContain('cannot parse "Z" as ".000000"');
    expect(errorOf(pod, { metadata: { creationTimestamp: '2025-02-29T00:00:00Z' } })).toBe(
      'parsing time "2025-02-29T00:00:00Z": day out of range',
    );
  });

  test('treats __proto__ as an ordinary key', () => {
    const { object } = decodeObject<{ metadata: { labels: object } }>(
      pod,
      JSON.parse('{"metadata":{"labels":{"__proto__":"x"}}}'),
    );
    expect(JSON.stringify(object.metadata.labels)).toBe('{"__proto__":"x"}');
    expect(Object.getPrototypeOf(object.metadata.labels)).toBe(Object.prototype);
    expect(decodeObject(pod, JSON.parse('{"__proto__":{"a":1}}')).unknownFields).toEqual([
      '__proto__',
    ]);
  });

  test('decodes a value of several types by its JSON', () => {
    const props = allSchemas.message('apiextensions/v1.JSONSchemaProps');
    const schema = {
      items: [{ type: 'string' }],
      additionalProperties: false,
      dependencies: { a: ['b'], c: { minimum: 1 } },
      properties: { x: { items: { type: 'object', additionalItems: { type: 'string' } } } },
    };
    expect(decodeObject(props, schema)).toEqual({ object: schema, unknownFields: [] });
    expect(decodeObject(props, { items: { foo: 1, type: 'a' } })).toEqual({
      object: { items: { type: 'a' } },
      unknownFields: [],
    });
  });

  test('does not modify its input, nor share anything with it', () => {
    const input = { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'x' }] } };
    const copy = structuredClone(input);
    const { object } = decodeObject<typeof input>(pod, input);
    expect(input).toEqual(copy);
    expect(object.metadata.labels).not.toBe(input.metadata.labels);
  });
});

// The after_roundtrip files are objects after a release that did not have every field.
const golden = goldenObjects().filter(({ name }) => !name.endsWith('.after_roundtrip'));
describe.skipIf(golden.length === 0)(
  'golden objects (skipped where ../shared/golden is not at hand)',
  () => {
    test.each(golden)('$name is written byte for byte', ({ message, json }) => {
      const { object, unknownFields } = decodeObject(message, JSON.parse(json));
      expect(unknownFields).toEqual([]);
      expect(JSON.stringify(object, null, 2)).toBe(json);
    });
  },
);
