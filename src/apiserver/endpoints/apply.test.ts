// Server-side apply and managed fields, through the whole chain. The engine has its own tests
// (src/api/machinery/managed-fields); these test the endpoints.

import { describe, expect, test } from 'vitest';

import { SeededRandom } from '#machinery/random.ts';
import { type Answer, type RawResponse, send } from '../testing/requests.ts';
import { serverPerTest } from '../testing/server-per-test.ts';

const MAPS = '/api/v1/namespaces/default/configmaps';
const SETS = '/apis/apps/v1/namespaces/default/replicasets';
const APPLY = 'application/apply-patch+yaml';
const MERGE = 'application/merge-patch+json';

const t = serverPerTest();

const patch = (
  path: string,
  contentType: string,
  body: string | object,
  userAgent = 'me/1.0 (test)',
): Promise<RawResponse> =>
  send(t.server, {
    method: 'PATCH',
    path,
    headers: { 'content-type': contentType, 'user-agent': userAgent },
    body,
  });
const applyTo = (
  path: string,
  body: string | object,
  query = 'fieldManager=me',
): Promise<RawResponse> => patch(`${path}?${query}`, APPLY, body);
const map = (data: object, metadata: object = {}): object => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'a', ...metadata },
  data,
});
const replicaSet = (spec: object): object => ({
  apiVersion: 'apps/v1',
  kind: 'ReplicaSet',
  metadata: { name: 'a' },
  spec: {
    selector: { matchLabels: { app: 'a' } },
    template: {
      metadata: { labels: { app: 'a' } },
      spec: { containers: [{ name: 'c', image: 'i' }] },
    },
    ...spec,
  },
});
const owners = (object: Answer): string[] =>
  (object.metadata.managedFields ?? []).map(({ manager, operation, subresource }) =>
    [manager, operation, subresource].filter((part) => part !== undefined).join(' '),
  );
const get = async (path: string): Promise<Answer> => (await send(t.server, { path })).json;

describe('apply', () => {
  test('creates a missing object: 201, then 200', async () => {
    const created = await applyTo(
      `${MAPS}/a`,
      'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {k: v}\n',
    );
    expect(created.code).toBe(201);
    expect(created.json.metadata).toMatchObject({
      name: 'a',
      namespace: 'default',
      uid: expect.any(String),
    });
    expect(created.json.metadata.managedFields).toEqual([
      {
        manager: 'me',
        operation: 'Apply',
        apiVersion: 'v1',
        time: '2026-01-01T00:00:00Z',
        fieldsType: 'FieldsV1',
        fieldsV1: { 'f:data': { 'f:k': {} } },
      },
    ]);
    const again = await applyTo(`${MAPS}/a`, map({ k: 'v' }));
    expect(again.code).toBe(200);
    expect(again.json).toEqual(created.json);
  });

  test('applies defaults as for any other object', async () => {
    const { json } = await applyTo(`${SETS}/a`, replicaSet({}));
    expect(json.spec).toMatchObject({
      replicas: 1,
      template: { spec: { restartPolicy: 'Always' } },
    });
    // The field has no owner, so the next manager may set it.
    const other = await applyTo(`${SETS}/a`, replicaSet({ replicas: 2 }), 'fieldManager=other');
    expect([other.code, owners(other.json)]).toEqual([200, ['me Apply', 'other Apply']]);
  });

  test('lists the first 1000 conflicts and counts all', async () => {
    const data = (value: string): object =>
      Object.fromEntries(
        Array.from({ length: 1500 }, (_, i) => [`k${String(i).padStart(4, '0')}`, value]),
      );
    await applyTo(`${MAPS}/a`, map(data('x')), 'fieldManager=other');
    const { code, json } = await applyTo(`${MAPS}/a`, map(data('y')));
    expect(code).toBe(409);
    const lines = (json.message ?? '').split('\n');
    expect(lines[0]).toBe('Apply failed with 1500 conflicts: conflicts with "other":');
    expect(lines[1]).toBe('- .data.k0000');
    expect(lines.at(-1)).toBe('- .data.k0999');
    expect(json.details?.causes).toHaveLength(1000);
    expect((await applyTo(`${MAPS}/a`, map(data('y')), 'fieldManager=me&force=true')).code).toBe(
      200,
    );
  });

  test('conflicts are reported field by field; force takes the fields over', async () => {
    await send(t.server, {
      method: 'POST',
      path: MAPS,
      body: map({ k: 'v' }),
      headers: { 'user-agent': 'kubectl/v1.33' },
    });
    const refused = await applyTo(`${MAPS}/a`, map({ k: 'w' }));
    expect(refused.code).toBe(409);
    expect(refused.json).toMatchObject({
      reason: 'Conflict',
      message: 'Apply failed with 1 conflict: conflict with "kubectl" using v1: .data.k',
      details: {
        causes: [
          {
            reason: 'FieldManagerConflict',
            message: 'conflict with "kubectl" using v1',
            field: '.data.k',
          },
        ],
      },
    });
    const forced = await applyTo(`${MAPS}/a`, map({ k: 'w' }), 'fieldManager=me&force=true');
    expect([forced.code, forced.json.data]).toEqual([200, { k: 'w' }]);
  });

  test('a dry run writes nothing', async () => {
    const dry = await applyTo(`${MAPS}/a`, map({ k: 'v' }), 'fieldManager=me&dryRun=All');
    expect([dry.code, dry.json.data]).toEqual([201, { k: 'v' }]);
    expect((await send(t.server, { path: `${MAPS}/a` })).code).toBe(404);
  });

  test('a status has owners of its own', async () => {
    await applyTo(`${SETS}/a`, replicaSet({}));
    const status = {
      apiVersion: 'apps/v1',
      kind: 'ReplicaSet',
      metadata: { name: 'a' },
      status: { replicas: 3 },
    };
    const applied = await applyTo(`${SETS}/a/status`, status);
    expect(applied.code).toBe(200);
    expect(owners(applied.json)).toEqual(['me Apply', 'me Apply status']);
    // Through the resource a status is neither written nor owned.
    const main = await applyTo(
      `${SETS}/a`,
      { ...replicaSet({}), status: { replicas: 7 } },
      'fieldManager=other',
    );
    expect([main.code, main.json.status]).toEqual([200, expect.objectContaining({ replicas: 3 })]);
    const otherEntry = main.json.metadata.managedFields?.find(({ manager }) => manager === 'other');
    expect(Object.keys(otherEntry?.fieldsV1 as object)).toEqual(['f:spec']);
    expect(
      (await applyTo(`${SETS}/none/status`, { ...status, metadata: { name: 'none' } })).code,
    ).toBe(404);
  });

  test('concurrent applies: the fields of each one survive', async () => {
    const all = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        applyTo(`${MAPS}/a`, map({ [`k${i}`]: 'v' }), `fieldManager=m${i}`),
      ),
    );
    expect(all.filter(({ code }) => code !== 200 && code !== 201)).toEqual([]);
    const object = await get(`${MAPS}/a`);
    expect(Object.keys(object.data ?? {})).toHaveLength(20);
    expect(owners(object)).toHaveLength(20);
  });

  test.each<[string, string | object, string, number, string]>([
    [
      'no manager',
      map({}),
      '',
      422,
      'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch',
    ],
    [
      'another name',
      map({}, { name: 'b' }),
      'fieldManager=me',
      400,
      'the name of the object (b) does not match the name on the URL (a)',
    ],
    [
      'another namespace',
      map({}, { namespace: 'kube-system' }),
      'fieldManager=me',
      400,
      'the namespace of the provided object does not match the namespace sent on the request',
    ],
    [
      'another kind',
      { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'a' } },
      'fieldManager=me',
      400,
      'invalid object type: /v1, Kind=Secret',
    ],
    ['nothing', '', 'fieldManager=me', 400, 'invalid object type: /, Kind='],
    [
      'managed fields',
      map({}, { managedFields: [] }),
      'fieldManager=me',
      400,
      'metadata.managedFields must be nil',
    ],
    [
      'an unknown field',
      { ...map({}), dato: 1 },
      'fieldManager=me',
      400,
      'failed to create typed patch object (/a; /v1, Kind=ConfigMap): .dato: field not declared in schema',
    ],
    [
      'a list',
      '[]',
      'fieldManager=me',
      400,
      'error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot ' +
        'unmarshal array into Go value of type map[string]interface {}',
    ],
    [
      'a uid of something that is gone',
      map({}, { uid: 'x' }),
      'fieldManager=me',
      409,
      'Operation cannot be fulfilled on configmaps "a": uid mismatch: the provided object ' +
        'specified uid x, and no existing object was found',
    ],
  ])('rejects %s', async (_, body, query, code, message) => {
    const refused = await applyTo(`${MAPS}/a`, body, query);
    expect([refused.code, refused.json.message]).toEqual([code, message]);
  });

  test('a duplicate key is rejected, reported or ignored', async () => {
    const body =
      'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  k: v\n  k: w\n  k: x\n';
    const strict = await applyTo(`${MAPS}/a`, body, 'fieldManager=me&fieldValidation=Strict');
    expect([strict.code, strict.json.message]).toEqual([
      400,
      'error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:\n' +
        '  line 6: key "k" already set in map\n  line 7: key "k" already set in map',
    ]);
    const warned = await applyTo(`${MAPS}/a`, body);
    const lines = [6, 7].map((line) => `line ${line}: key "k" already set in map`);
    expect([warned.code, warned.warnings]).toEqual([201, lines]);
    expect(
      (await applyTo(`${MAPS}/a`, body, 'fieldManager=me&fieldValidation=Ignore')).warnings,
    ).toEqual([]);
  });

  test('force is allowed for apply only', async () => {
    await applyTo(`${MAPS}/a`, map({}));
    const refused = await patch(`${MAPS}/a?force=true`, MERGE, {});
    expect([refused.code, refused.json.message]).toEqual([
      422,
      'PatchOptions.meta.k8s.io "" is invalid: force: Forbidden: may not be specified for non-apply patch',
    ]);
  });
});

describe('managed fields of other writes', () => {
  test('the manager is the named one, or the client program', async () => {
    const body = map({ k: 'v' });
    const post = (query: string, userAgent?: string): Promise<RawResponse> =>
      send(t.server, {
        method: 'POST',
        path: `${MAPS}${query}`,
        body: { ...body, metadata: { generateName: 'a' } },
        ...(userAgent !== undefined && { headers: { 'user-agent': userAgent } }),
      });
    expect(owners((await post('?fieldManager=named', 'x/1')).json)).toEqual(['named Update']);
    expect(owners((await post('', 'kube-controller-manager/v1.36 (linux/amd64)')).json)).toEqual([
      'kube-controller-manager Update',
    ]);
    expect(owners((await post('', 'a\u0007b é/1')).json)).toEqual(['ab é Update']);
    expect(owners((await post('', 'x'.repeat(200))).json)).toEqual([`${'x'.repeat(128)} Update`]);
    expect(owners((await post('')).json)).toEqual(['unknown Update']);
  });

  test('updates and patches own the fields that they change', async () => {
    await applyTo(`${MAPS}/a`, map({ k: 'v', l: 'v' }));
    const patched = await patch(`${MAPS}/a`, MERGE, { data: { k: 'w' } }, 'patcher/1');
    expect(owners(patched.json)).toEqual(['me Apply', 'patcher Update']);
    const put = await send(t.server, {
      method: 'PUT',
      path: `${MAPS}/a?fieldManager=putter`,
      body: map({ k: 'x', l: 'x' }),
    });
    expect(owners(put.json)).toEqual(['putter Update']);
  });

  test('an unchanged write stores nothing, for any manager', async () => {
    const { json } = await applyTo(`${MAPS}/a`, map({ k: 'v' }));
    await t.clock.advance(60_000);
    const same = await patch(`${MAPS}/a`, MERGE, { data: { k: 'v' } }, 'other/1');
    expect(same.json).toEqual(json);
  });

  test('an apply that changes nothing stores nothing, also with nulls and empty maps', async () => {
    const same = map({ k: 'v' }, { creationTimestamp: null, resourceVersion: null });
    const { json } = await applyTo(`${MAPS}/a`, same);
    const labels = { app: 'a' };
    const containers = [{ name: 'c', image: 'i' }];
    const spec = { template: { metadata: { labels, annotations: {} }, spec: { containers } } };
    const set = await applyTo(`${SETS}/a`, replicaSet(spec));
    await t.clock.advance(60_000);
    expect((await applyTo(`${MAPS}/a`, same)).json).toEqual(json);
    expect((await applyTo(`${SETS}/a`, replicaSet(spec))).json).toEqual(set.json);
  });

  test('an owner that a patch adds again is dropped', async () => {
    const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'o', uid: 'u' };
    await applyTo(`${MAPS}/a`, map({}, { ownerReferences: [owner] }));
    const again = [{ op: 'add', path: '/metadata/ownerReferences/-', value: owner }];
    const patched = await patch(`${MAPS}/a`, 'application/json-patch+json', again);
    expect(patched.json.metadata.ownerReferences).toEqual([owner]);
    expect(patched.warnings.join()).toContain('duplicate UID(s) observed: u');
  });

  test('the version /v1 is in the core group', async () => {
    const { code, json } = await send(t.server, {
      method: 'POST',
      path: MAPS,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ...map({}), apiVersion: '/v1' }),
    });
    expect([code, json['apiVersion']]).toEqual([201, 'v1']);
  });

  test('a scale is owned as a scale', async () => {
    await send(t.server, {
      method: 'POST',
      path: `${SETS}?fieldManager=creator`,
      body: replicaSet({ replicas: 1 }),
    });
    const scaled = await patch(`${SETS}/a/scale?fieldManager=scaler`, MERGE, {
      spec: { replicas: 4 },
    });
    expect([scaled.code, scaled.json.metadata.managedFields]).toEqual([200, undefined]);
    const object = await get(`${SETS}/a`);
    expect(object.metadata.managedFields).toMatchObject([
      {
        manager: 'scaler',
        operation: 'Update',
        apiVersion: 'apps/v1',
        subresource: 'scale',
        fieldsV1: { 'f:spec': { 'f:replicas': {} } },
      },
      { manager: 'creator', operation: 'Update' },
    ]);
    const conflict = await applyTo(`${SETS}/a`, replicaSet({ replicas: 5 }));
    expect(conflict.json.message).toBe(
      'Apply failed with 1 conflict: conflict with "scaler" with subresource "scale" using apps/v1: .spec.replicas',
    );
    // Scaling again changes no other owner.
    await patch(`${SETS}/a/scale?fieldManager=scaler`, MERGE, { spec: { replicas: 6 } });
    expect(owners(await get(`${SETS}/a`))).toEqual(['scaler Update scale', 'creator Update']);
  });

  test.each(['[]', '[{}]'])('managedFields %s forgets the owners', async (managedFields) => {
    await applyTo(`${MAPS}/a`, map({ k: 'v' }));
    const viaPatch = await patch(
      `${MAPS}/a`,
      MERGE,
      `{"metadata":{"managedFields":${managedFields}}}`,
    );
    expect([viaPatch.code, owners(viaPatch.json)]).toEqual([200, []]);
    await applyTo(`${MAPS}/a`, map({ k: 'v' }));
    const body = JSON.stringify(map({ k: 'v' }, { managedFields: '?' })).replace(
      '"?"',
      managedFields,
    );
    const viaPut = await send(t.server, { method: 'PUT', path: `${MAPS}/a`, body });
    expect([viaPut.code, owners(viaPut.json)]).toEqual([200, []]);
  });

  test('a JSON patch of the managed fields themselves is accepted', async () => {
    const { json } = await applyTo(`${MAPS}/a`, map({ k: 'v' }));
    const [entry] = json.metadata.managedFields ?? [];
    const operations = [
      { op: 'replace', path: '/metadata/managedFields', value: [{ ...entry, manager: 'renamed' }] },
    ];
    const patched = await patch(
      `${MAPS}/a`,
      'application/json-patch+json',
      JSON.stringify(operations),
    );
    expect(owners(patched.json)).toEqual(['renamed Apply']);
  });
});

describe('mutated configurations', () => {
  const original = replicaSet({
    replicas: 1,
    template: {
      metadata: { labels: { app: 'a' }, annotations: { x: 'y' } },
      spec: {
        volumes: [{ name: 'v', emptyDir: { sizeLimit: '1Gi' } }],
        containers: [
          {
            name: 'c',
            image: 'i',
            ports: [{ containerPort: 80 }],
            env: [{ name: 'A', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }],
            resources: { requests: { cpu: '100m' } },
            volumeMounts: [{ name: 'v', mountPath: '/v' }],
          },
        ],
      },
    },
  });
  const values: readonly unknown[] = [
    null,
    0,
    -1,
    1.5,
    true,
    '',
    'x',
    [],
    {},
    [null],
    [[]],
    [{}],
    { name: 'c' },
    ['a', 'a'],
    { __proto__x: 1 },
  ];

  /** Returns the value with one part replaced, removed, duplicated or added. */
  function mutated(value: unknown, random: SeededRandom): unknown {
    if (typeof value !== 'object' || value === null || random.int(6) === 0)
      return values[random.int(values.length)];
    if (Array.isArray(value)) {
      if (value.length === 0 || random.int(4) === 0) return [...value, ...value];
      const at = random.int(value.length);
      return value.map((item, index) => (index === at ? mutated(item, random) : item) as unknown);
    }
    const names = Object.keys(value);
    if (names.length === 0 || random.int(8) === 0)
      return { ...value, [['extra', '__proto__', 'name'][random.int(3)]!]: 1 };
    const name = names[random.int(names.length)]!;
    return { ...value, [name]: mutated((value as Record<string, unknown>)[name], random) };
  }

  test('get a response, never an error 500', async () => {
    const random = new SeededRandom(11);
    const codes = new Map<number, number>();
    for (let i = 0; i < 600; i++) {
      let body = original;
      for (let times = 0; times <= random.int(3); times++) body = mutated(body, random) as object;
      const text = JSON.stringify(body);
      const cut = random.int(10) === 0 ? text.slice(0, random.int(text.length)) : text;
      const answer = await applyTo(`${SETS}/a`, cut, 'fieldManager=me&force=true');
      codes.set(answer.code, (codes.get(answer.code) ?? 0) + 1);
      if (answer.code >= 500) expect([cut, answer.json.message]).toEqual('an answer below 500');
    }
    expect([...codes.keys()].sort()).toEqual(
      [200, 201, 400, 409, 422].filter((code) => codes.has(code)),
    );
    expect(codes.get(400)).toBeGreaterThan(100);
    expect(({} as Record<string, unknown>)['extra']).toBeUndefined();
  });
});
