// The field manager of real kinds, over several writes.

import { describe, expect, test } from 'vitest';
import { parseYaml } from '../codec/yaml.ts';
import { decodeObject } from '../codec/decode.ts';
import { DescriptorCodec } from '../codec/descriptor-codec.ts';
import { allSchemas } from '#api/all-schemas.ts';
import type { ManagedObject } from './entries.ts';
import { FieldManager, withoutNewTimes } from './field-manager.ts';
import { FieldSet } from './field-set.ts';
import type { ManagedFieldsEntry } from './managers.ts';

interface TestObject extends ManagedObject {
  readonly metadata: {
    readonly uid?: string;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly managedFields?: readonly ManagedFieldsEntry[];
  };
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly data?: Readonly<Record<string, string>>;
}

/** One object and the manager of its endpoint. Written objects are decoded, as in the endpoints. */
class Endpoint {
  readonly manager: FieldManager;
  readonly #message;
  live: TestObject | undefined;
  seconds = 0;

  constructor(key: string, options: { subresource?: string; reset?: FieldSet } = {}) {
    this.#message = allSchemas.message(key);
    this.manager = new FieldManager({
      codec: new DescriptorCodec({
        kind: this.#message.gvk!,
        message: this.#message,
      }),
      subresource: options.subresource ?? '',
      ...(options.reset !== undefined && { reset: options.reset }),
      now: () => Date.UTC(2026, 0, 1) + this.seconds * 1000,
    });
  }

  decode(value: unknown): TestObject {
    const object = decodeObject<TestObject>(this.#message, value).object;
    return { ...object, metadata: { uid: 'u', ...object.metadata } };
  }

  update(manager: string, yaml: string): this {
    const object = this.decode(parseYaml(yaml));
    this.live = this.manager.update(this.live, object, manager) as TestObject;
    return this;
  }

  apply(manager: string, yaml: string, force = false): this {
    this.live = this.decode(this.manager.apply(this.live, parseYaml(yaml), manager, force));
    return this;
  }

  get entries(): readonly ManagedFieldsEntry[] {
    return this.live?.metadata.managedFields ?? [];
  }

  fieldsOf(manager: string): unknown {
    return this.entries.find((entry) => entry.manager === manager)?.fieldsV1;
  }
}

const configMap = (data: string, metadata = ''): string =>
  `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default${metadata}}, data: ${data}}`;

const deployment = (image: string, replicas = ''): string => `
apiVersion: apps/v1
kind: Deployment
metadata: {name: d, namespace: default, labels: {app: d}}
spec:
  ${replicas}
  selector: {matchLabels: {app: d}}
  template:
    metadata: {labels: {app: d}}
    spec:
      containers:
        - name: c
          image: ${image}
          ports: [{containerPort: 80}]
`;

describe('update', () => {
  test('the creator owns a new object', () => {
    const endpoint = new Endpoint('apps/v1.Deployment').update(
      'kubectl-create',
      deployment('a:1', 'replicas: 3'),
    );
    expect(endpoint.entries).toEqual([
      {
        manager: 'kubectl-create',
        operation: 'Update',
        apiVersion: 'apps/v1',
        time: '2026-01-01T00:00:00Z',
        fieldsType: 'FieldsV1',
        fieldsV1: {
          'f:metadata': { 'f:labels': { '.': {}, 'f:app': {} } },
          'f:spec': {
            'f:replicas': {},
            'f:selector': {},
            'f:template': {
              'f:metadata': { 'f:labels': { '.': {}, 'f:app': {} } },
              'f:spec': {
                'f:containers': {
                  'k:{"name":"c"}': {
                    '.': {},
                    'f:image': {},
                    'f:name': {},
                    'f:ports': {
                      '.': {},
                      'k:{"containerPort":80,"protocol":"TCP"}': { '.': {}, 'f:containerPort': {} },
                    },
                    'f:resources': {},
                  },
                },
              },
            },
          },
        },
      },
    ]);
  });

  test('an updater owns the fields that it changes; managers without fields are removed', () => {
    const endpoint = new Endpoint('core/v1.ConfigMap').update('a', configMap('{x: "1", w: "1"}'));
    endpoint.seconds = 60;
    endpoint.update('b', configMap('{x: "2", w: "1", z: "1"}'));
    expect(endpoint.fieldsOf('a')).toEqual({ 'f:data': { '.': {}, 'f:w': {} } });
    expect(endpoint.fieldsOf('b')).toEqual({ 'f:data': { 'f:x': {}, 'f:z': {} } });
    expect(endpoint.entries.map(({ time }) => time)).toEqual([
      '2026-01-01T00:00:00Z',
      '2026-01-01T00:01:00Z',
    ]);
    endpoint.update('c', configMap('{x: "3", w: "1"}'));
    expect(endpoint.fieldsOf('b')).toBeUndefined();
  });

  test('an update without changes keeps the entries', () => {
    const endpoint = new Endpoint('core/v1.ConfigMap').update('a', configMap('{x: "1"}'));
    const before = endpoint.entries;
    endpoint.seconds = 60;
    endpoint.update('b', configMap('{x: "1"}'));
    expect(endpoint.entries).toBe(before);
  });

  test('a removal alone assigns no owner and changes no time', () => {
    const endpoint = new Endpoint('core/v1.ConfigMap').update('a', configMap('{x: "1", w: "1"}'));
    endpoint.seconds = 60;
    endpoint.update('b', configMap('{x: "1"}'));
    expect(endpoint.entries).toHaveLength(1);
    expect(endpoint.entries[0]).toMatchObject({
      time: '2026-01-01T00:00:00Z',
      fieldsV1: { 'f:data': { '.': {}, 'f:x': {} } },
    });
  });

  test('fields that the endpoint does not write have no owner', () => {
    const endpoint = new Endpoint('core/v1.Pod', { reset: FieldSet.of(['f:status']) });
    endpoint.update(
      'a',
      '{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {nodeName: node}, status: {phase: Running}}',
    );
    expect(endpoint.fieldsOf('a')).toEqual({ 'f:spec': { 'f:nodeName': {} } });
  });

  test('subresources have separate entries, and ignore entries from the client', () => {
    const main = new Endpoint('core/v1.Node', { reset: FieldSet.of(['f:status']) });
    main.update('kubelet', '{apiVersion: v1, kind: Node, metadata: {name: node, labels: {a: b}}}');
    const status = new Endpoint('core/v1.Node', {
      subresource: 'status',
      reset: FieldSet.of(['f:spec']),
    });
    status.live = main.live;
    status.update(
      'kubelet',
      '{apiVersion: v1, kind: Node, metadata: {name: node, labels: {a: b}, managedFields: [{}]}, status: {phase: X}}',
    );
    expect(
      status.entries.map(({ manager, subresource, fieldsV1 }) => [manager, subresource, fieldsV1]),
    ).toEqual([
      ['kubelet', undefined, { 'f:metadata': { 'f:labels': { '.': {}, 'f:a': {} } } }],
      ['kubelet', 'status', { 'f:status': { 'f:phase': {} } }],
    ]);
  });

  test.each(['[{}]'])('%s resets all owners', (managedFields) => {
    const endpoint = new Endpoint('core/v1.ConfigMap').update('a', configMap('{x: "1"}'));
    endpoint.update('b', configMap('{x: "2"}', `, managedFields: ${managedFields}`));
    expect(endpoint.entries).toEqual([]);
    // From then on owners are not tracked until the first apply.
    endpoint.update('c', configMap('{x: "3"}'));
    expect(endpoint.entries).toEqual([]);
    endpoint.apply('d', configMap('{w: "1"}'));
    expect(endpoint.entries.map(({ manager }) => manager)).toEqual(['d', 'before-first-apply']);
    expect(endpoint.fieldsOf('before-first-apply')).toEqual({ 'f:data': { '.': {}, 'f:x': {} } });
  });

  test('an empty list that the decoder dropped resets them, too', () => {
    const endpoint = new Endpoint('core/v1.ConfigMap').update('a', configMap('{x: "1"}'));
    const object = endpoint.decode(parseYaml(configMap('{x: "2"}')));
    const updated = endpoint.manager.update(endpoint.live, object, 'b', {
      reset: true,
    }) as TestObject;
    expect(updated.metadata.managedFields).toBeUndefined();
  });

  test.each([
    ['no operation', '{manager: x, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {}}'],
    ['no version', '{manager: x, operation: Update, fieldsType: FieldsV1, fieldsV1: {}}'],
    ['no type', '{manager: x, operation: Update, apiVersion: v1, fieldsV1: {}}'],
    [
      'an unknown type',
      '{manager: x, operation: Update, apiVersion: v1, fieldsType: FieldsV2, fieldsV1: {}}',
    ],
    [
      'no fields',
      '{manager: x, operation: Update, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {"f": {}}}',
    ],
  ])('entries with %s are not taken from the client', (_, entry) => {
    const endpoint = new Endpoint('core/v1.ConfigMap').update('a', configMap('{x: "1"}'));
    const before = endpoint.entries;
    endpoint.update('b', configMap('{x: "1"}', `, managedFields: [${entry}]`));
    expect(endpoint.entries).toBe(before);
  });

  test('valid entries from the client are accepted', () => {
    const endpoint = new Endpoint('core/v1.ConfigMap').update('a', configMap('{x: "1"}'));
    const entry =
      '{manager: z, operation: Apply, apiVersion: v1, time: "2020-01-01T00:00:00Z", ' +
      'fieldsType: FieldsV1, fieldsV1: {"f:data": {"f:x": {}}}}';
    endpoint.update('b', configMap('{x: "1", w: "1"}', `, managedFields: [${entry}]`));
    expect(
      endpoint.entries.map(({ manager, operation, time }) => [manager, operation, time]),
    ).toEqual([
      ['z', 'Apply', '2020-01-01T00:00:00Z'],
      ['b', 'Update', '2026-01-01T00:00:00Z'],
    ]);
  });

  test('owners in a version that does not exist own nothing', () => {
    const endpoint = new Endpoint('core/v1.ConfigMap').update('a', configMap('{x: "1"}'));
    const entry =
      '{manager: z, operation: Apply, apiVersion: v0, fieldsType: FieldsV1, fieldsV1: {"f:data": {"f:x": {}}}}';
    endpoint.update('b', configMap('{x: "1"}', `, managedFields: [${entry}]`));
    expect(endpoint.entries).toEqual([]);
  });

  test('a manager without a name', () => {
    expect(
      new Endpoint('core/v1.ConfigMap').update('', configMap('{x: "1"}')).entries[0]?.manager,
    ).toBe('unknown');
  });

  test('there are at most ten updaters; the oldest become one', () => {
    const endpoint = new Endpoint('core/v1.ConfigMap').update('m0', configMap('{k0: "1"}'));
    for (let i = 1; i < 14; i++) {
      endpoint.seconds = i;
      const data = Array.from({ length: i + 1 }, (_, key) => `k${key}: "1"`).join(', ');
      endpoint.update(`m${i}`, configMap(`{${data}}`));
    }
    expect(endpoint.entries.map(({ manager }) => manager)).toEqual([
      'ancient-changes',
      'm5',
      'm6',
      'm7',
      'm8',
      'm9',
      'm10',
      'm11',
      'm12',
      'm13',
    ]);
    expect(endpoint.entries[0]).toMatchObject({
      time: '2026-01-01T00:00:04Z',
      fieldsV1: {
        'f:data': { '.': {}, 'f:k0': {}, 'f:k1': {}, 'f:k2': {}, 'f:k3': {}, 'f:k4': {} },
      },
    });
  });
});

describe('apply', () => {
  test('the applier owns exactly the applied fields', () => {
    const endpoint = new Endpoint('apps/v1.Deployment').apply('me', deployment('a:1'));
    expect(endpoint.entries).toMatchObject([
      { manager: 'me', operation: 'Apply', apiVersion: 'apps/v1' },
    ]);
    expect(endpoint.fieldsOf('me')).toEqual({
      'f:metadata': { 'f:labels': { 'f:app': {} } },
      'f:spec': {
        'f:selector': {},
        'f:template': {
          'f:metadata': { 'f:labels': { 'f:app': {} } },
          'f:spec': {
            'f:containers': {
              'k:{"name":"c"}': {
                '.': {},
                'f:image': {},
                'f:name': {},
                'f:ports': {
                  'k:{"containerPort":80,"protocol":"TCP"}': { '.': {}, 'f:containerPort': {} },
                },
              },
            },
          },
        },
      },
    });
  });

  test('fields that are no longer applied are removed, unless they have another owner', () => {
    const endpoint = new Endpoint('core/v1.ConfigMap').apply(
      'a',
      configMap('{x: "1", w: "1", z: "1"}'),
    );
    endpoint.apply('b', configMap('{w: "1"}'));
    endpoint.apply('a', configMap('{x: "1"}'));
    expect(endpoint.live?.data).toEqual({ x: '1', w: '1' });
    expect(endpoint.fieldsOf('b')).toEqual({ 'f:data': { 'f:w': {} } });
    endpoint.apply('b', configMap('{}'));
    expect(endpoint.live?.data).toEqual({ x: '1' });
  });

  test('conflicts: the message and the causes', () => {
    const endpoint = new Endpoint('apps/v1.Deployment').update(
      'kubectl-client-side-apply',
      deployment('a:1', 'replicas: 3'),
    );
    expect(() => endpoint.apply('me', deployment('a:1', 'replicas: 4'))).toThrow(
      expect.objectContaining({
        status: expect.objectContaining({
          code: 409,
          reason: 'Conflict',
          message:
            'Apply failed with 1 conflict: conflict with "kubectl-client-side-apply" using apps/v1: .spec.replicas',
          details: {
            causes: [
              {
                reason: 'FieldManagerConflict',
                message: 'conflict with "kubectl-client-side-apply" using apps/v1',
                field: '.spec.replicas',
              },
            ],
          },
        }),
      }),
    );
    endpoint.apply('other', deployment('a:1'));
    expect(() => endpoint.apply('me', deployment('b:2', 'replicas: 4'))).toThrow(
      [
        'Apply failed with 3 conflicts: conflicts with "kubectl-client-side-apply" using apps/v1:',
        '- .spec.replicas',
        '- .spec.template.spec.containers[name="c"].image',
        'conflicts with "other":',
        '- .spec.template.spec.containers[name="c"].image',
      ].join('\n'),
    );
  });

  test('force takes fields of other managers', () => {
    const endpoint = new Endpoint('core/v1.ConfigMap').update('a', configMap('{x: "1", w: "1"}'));
    endpoint.apply('b', configMap('{x: "2"}'), true);
    expect(endpoint.live?.data).toEqual({ x: '2', w: '1' });
    expect(endpoint.fieldsOf('a')).toEqual({ 'f:data': { '.': {}, 'f:w': {} } });
    expect(endpoint.fieldsOf('b')).toEqual({ 'f:data': { 'f:x': {} } });
  });

  test('applying the same again changes nothing, not even the time', () => {
    const endpoint = new Endpoint('core/v1.ConfigMap').apply('a', configMap('{x: "1"}'));
    const before = endpoint.live;
    endpoint.seconds = 60;
    endpoint.apply('a', configMap('{x: "1"}'));
    expect(endpoint.live).toEqual(before);
  });

  test('kubectl takes over fields of its client-side apply without a conflict, and updates the annotation', () => {
    const lastApplied =
      '{"apiVersion":"v1","data":{"x":"1","w":"1"},"kind":"ConfigMap","metadata":' +
      '{"annotations":{},"name":"a","namespace":"default"}}';
    const annotations = `, annotations: {kubectl.kubernetes.io/last-applied-configuration: '${lastApplied}\n'}`;
    const endpoint = new Endpoint('core/v1.ConfigMap').update(
      'kubectl-client-side-apply',
      configMap('{x: "1", w: "1"}', annotations),
    );
    expect(() => endpoint.apply('other', configMap('{x: "2"}'))).toThrow(
      'Apply failed with 1 conflict',
    );
    endpoint.apply('kubectl', configMap('{x: "2"}'));
    expect(endpoint.live?.data).toEqual({ x: '2', w: '1' });
    expect(endpoint.live?.metadata.annotations).toEqual({
      'kubectl.kubernetes.io/last-applied-configuration':
        '{"apiVersion":"v1","data":{"x":"2"},"kind":"ConfigMap","metadata":{"name":"a","namespace":"default"}}\n',
    });
  });

  test('fields that changed since the client-side apply are still conflicts', () => {
    const lastApplied =
      '{"apiVersion":"v1","data":{"x":"1"},"kind":"ConfigMap","metadata":{"name":"a","namespace":"default"}}';
    const annotations = `, annotations: {kubectl.kubernetes.io/last-applied-configuration: '${lastApplied}'}`;
    const endpoint = new Endpoint('core/v1.ConfigMap').update(
      'kubectl-client-side-apply',
      configMap('{x: "1"}', annotations),
    );
    endpoint.update('editor', configMap('{x: "5"}', annotations));
    expect(() => endpoint.apply('kubectl', configMap('{x: "2"}'))).toThrow(
      'conflict with "editor" using v1: .data.x',
    );
  });

  test.each([
    ['another kind', '{apiVersion: v1, kind: Secret}', 'invalid object type: /v1, Kind=Secret'],
    [
      'another version',
      '{apiVersion: apps/v2, kind: ConfigMap}',
      'invalid object type: apps/v2, Kind=ConfigMap',
    ],
    ['no kind', '{}', 'invalid object type: /, Kind='],
    ['no object', '[]', 'error decoding YAML: expected an object'],
    ['managedFields', configMap('{}', ', managedFields: []'), 'metadata.managedFields must be nil'],
    [
      'an unknown field',
      '{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: x}, datum: {}}',
      'failed to create typed patch object (x/a; /v1, Kind=ConfigMap): .datum: field not declared in schema',
    ],
    [
      'a wrong type',
      configMap('{a: 1}'),
      'failed to create typed patch object (default/a; /v1, ' +
        'Kind=ConfigMap): .data.a: expected string, got &value.valueUnstructured{Value:1}',
    ],
  ])('refuses %s', (_, yaml, message) => {
    expect(() => new Endpoint('core/v1.ConfigMap').apply('me', yaml)).toThrow(
      expect.objectContaining({ status: expect.objectContaining({ code: 400, message }) }),
    );
  });
});

test('new times alone are no change of the object', () => {
  const endpoint = new Endpoint('core/v1.ConfigMap').update('a', configMap('{x: "1"}'));
  const live = endpoint.live!;
  const [entry] = endpoint.entries;
  const later = {
    ...live,
    metadata: { ...live.metadata, managedFields: [{ ...entry, time: '2027-01-01T00:00:00Z' }] },
  };
  expect(withoutNewTimes(later, live)).toEqual(live);
  const changed = { ...later, data: { x: '2' } };
  expect(withoutNewTimes(changed, live)).toBe(changed);
});
