// Pods through the API: defaults of new pods, status updates, bindings, deletion and eviction.

import { describe, expect, test } from 'vitest';

import { indent } from '#api/testing/manifest.ts';
import { Api, outcome } from '#apiserver/testing/api.ts';
import type { RawResponse } from '#apiserver/testing/requests.ts';
import { serverPerTest } from '#apiserver/testing/server-per-test.ts';

const PATH = '/api/v1/namespaces/default/pods';

const t = serverPerTest();
const api = new Api(t);

const manifest = (name: string, spec = '', metadata = ''): string =>
  `apiVersion: v1\nkind: Pod\nmetadata: {name: ${name}${metadata}}\nspec:\n  containers: ` +
  `[{name: c, image: x}]\n${indent(spec)}`;
const create = (name: string, spec?: string, metadata?: string): Promise<RawResponse> =>
  api.post(PATH, manifest(name, spec, metadata));
const pod = async (name: string) => (await api.get(`${PATH}/${name}`)).json;
const statusOf = async (name: string) => (await pod(name)).status as Record<string, unknown>;
const later = (): Promise<void> => t.clock.advance(60_000);

describe('a new pod', () => {
  test('is pending, whatever status the client sends', async () => {
    const { json } = await api.post(
      PATH,
      `${manifest('a', '', ', generation: 7')}\nstatus: {phase: Running, podIP: 1.2.3.4}`,
    );
    expect(json.status).toEqual({ phase: 'Pending', qosClass: 'BestEffort' });
    expect(json.metadata.generation).toBe(1);
  });

  test('with a negative grace period gets one second', async () => {
    const { json } = await create('a', 'terminationGracePeriodSeconds: -1');
    expect(json.spec).toMatchObject({ terminationGracePeriodSeconds: 1 });
    const again = await api.put(`${PATH}/a`, manifest('a', 'terminationGracePeriodSeconds: -5'));
    expect([again.code, again.json.spec]).toMatchObject([
      200,
      { terminationGracePeriodSeconds: 1 },
    ]);
  });

  test('with a scheduling gate gets the condition SchedulingGated', async () => {
    await create('a', 'schedulingGates: [{name: example.com/wait}]');
    expect((await statusOf('a'))['conditions']).toEqual([
      {
        type: 'PodScheduled',
        status: 'False',
        lastProbeTime: null,
        lastTransitionTime: '2026-01-01T00:00:00Z',
        reason: 'SchedulingGated',
        message: 'Scheduling is blocked due to non-empty scheduling gates',
      },
    ]);
  });

  test('has its own labels in its selectors', async () => {
    const term = (more: string) =>
      `{topologyKey: zone, matchLabelKeys: [app, none], mismatchLabelKeys: [tenant]${more}}`;
    const spec = [
      'affinity:',
      '  podAffinity:',
      '    requiredDuringSchedulingIgnoredDuringExecution: ' +
        `[${term(', labelSelector: {matchLabels: {x: z}}')}, {topologyKey: zone}]`,
      '  podAntiAffinity:',
      '    preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, podAffinityTerm: ' +
        `${term(', labelSelector: {}')}}]`,
      'topologySpreadConstraints:',
      '- {maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, matchLabelKeys: [app], labelSelector: {}}',
    ];
    const created = await create('a', spec.join('\n'), ', labels: {app: web, tenant: me}');
    expect(outcome(created)).toBe('201');
    const own = [
      { key: 'app', operator: 'In', values: ['web'] },
      { key: 'tenant', operator: 'NotIn', values: ['me'] },
    ];
    expect(created.json.spec).toMatchObject({
      affinity: {
        podAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: [
            {
              labelSelector: { matchLabels: { x: 'z' }, matchExpressions: own },
              matchLabelKeys: ['app', 'none'],
            },
            { topologyKey: 'zone' },
          ],
        },
        podAntiAffinity: {
          preferredDuringSchedulingIgnoredDuringExecution: [
            { podAffinityTerm: { labelSelector: { matchExpressions: own } } },
          ],
        },
      },
      topologySpreadConstraints: [{ labelSelector: { matchExpressions: [own[0]] } }],
    });
  });

  test('causes a warning about a name that is not a host name', async () => {
    const { warnings } = await create('a.b', 'nodeSelector: {beta.kubernetes.io/os: linux}');
    expect(warnings).toEqual([
      "metadata.name: this is used in the Pod's hostname, which can result in surprising " +
        'behavior; a DNS label is recommended: [must not contain dots]',
      'spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead',
    ]);
  });
});

describe('the spec', () => {
  test('changes the generation, unlike metadata and status', async () => {
    await create('a');
    await api.patch(`${PATH}/a`, { metadata: { labels: { x: 'y' } } });
    await api.patch(`${PATH}/a/status`, { status: { phase: 'Running' } });
    expect((await pod('a')).metadata.generation).toBe(1);
    await api.patch(`${PATH}/a`, { spec: { containers: [{ name: 'c', image: 'other' }] } });
    expect((await pod('a')).metadata.generation).toBe(2);
  });

  test('updates do not change the status', async () => {
    await create('a');
    const { json } = await api.get(`${PATH}/a`);
    const answer = await api.put(`${PATH}/a`, { ...json, status: { phase: 'Running' } });
    expect(answer.json.status).toEqual(json.status);
    expect(answer.json.metadata.resourceVersion).toBe(json.metadata.resourceVersion);
  });
});

describe('the status', () => {
  test('updates change neither spec nor owners nor deletion', async () => {
    const owner = '{apiVersion: v1, kind: X, name: x, uid: u}';
    await create('a', '', `, ownerReferences: [${owner}]`);
    const { json } = await api.get(`${PATH}/a`);
    const answer = await api.put(`${PATH}/a/status`, {
      ...json,
      metadata: {
        ...json.metadata,
        ownerReferences: [],
        deletionTimestamp: '2026-01-01T00:00:00Z',
        labels: { x: 'y' },
      },
      spec: { containers: [{ name: 'other', image: 'other' }] },
      status: { phase: 'Running' },
    });
    expect(answer.code).toBe(200);
    expect(answer.json.spec).toEqual(json.spec);
    expect(answer.json.status).toEqual({ phase: 'Running', qosClass: 'BestEffort' });
    expect(answer.json.metadata).toMatchObject({
      ownerReferences: [{ kind: 'X' }],
      labels: { x: 'y' },
    });
    expect(answer.json.metadata.deletionTimestamp).toBeUndefined();
  });

  test('keeps observed generations that a client omits', async () => {
    await create('a');
    const condition = (type: string, observedGeneration?: number) => ({
      type,
      status: 'True',
      ...(observedGeneration !== undefined && { observedGeneration }),
    });
    const write = (observedGeneration: number | undefined, conditions: object[]) =>
      api.patch(`${PATH}/a/status`, { status: { observedGeneration, conditions } });
    await write(3, [condition('A', 2), condition('A', 4), condition('B')]);
    await write(0, [condition('B'), condition('A'), condition('A', 5), condition('A')]);
    const { observedGeneration, conditions } = (await statusOf('a')) as {
      observedGeneration: number;
      conditions: object[];
    };
    expect(observedGeneration).toBe(3);
    expect(conditions).toMatchObject([
      condition('B'),
      condition('A', 2),
      condition('A', 5),
      condition('A'),
    ]);
    expect(conditions[0]).not.toHaveProperty('observedGeneration');
  });

  test('has an immutable quality of service class', async () => {
    await create('a');
    expect(
      outcome(await api.patch(`${PATH}/a/status`, { status: { qosClass: 'Guaranteed' } })),
    ).toBe(
      '422 Invalid: Pod "a" is invalid: status.qosClass: Invalid value: "Guaranteed": field is immutable',
    );
  });
});

const binding = (name: string, more: object = {}, metadata: object = {}): object => ({
  apiVersion: 'v1',
  kind: 'Binding',
  metadata: { name, ...metadata },
  target: { kind: 'Node', name: 'n1' },
  ...more,
});

describe('bindings', () => {
  test.each<[what: string, path: string]>([
    ['of the pod', `${PATH}/a/binding`],
    ['by themselves', '/api/v1/namespaces/default/bindings'],
  ])('%s bring it to its node', async (_, path) => {
    await create('a');
    await api.patch(`${PATH}/a/status`, {
      status: {
        nominatedNodeName: 'n2',
        conditions: [
          { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: 'no room' },
          { type: 'Other', status: 'True' },
        ],
      },
    });
    await later();
    const { code, json } = await api.post(
      path,
      binding('a', {}, { annotations: { x: 'y' }, labels: { zone: 'z' } }),
    );
    expect(code).toBe(201);
    expect(json).toEqual({
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Success',
      code: 201,
    });
    const bound = await pod('a');
    expect(bound).toMatchObject({
      metadata: { annotations: { x: 'y' }, labels: { zone: 'z' }, generation: 1 },
      spec: { nodeName: 'n1' },
    });
    expect(bound.status).toEqual({
      phase: 'Pending',
      qosClass: 'BestEffort',
      conditions: [
        {
          type: 'PodScheduled',
          status: 'True',
          lastProbeTime: null,
          lastTransitionTime: '2026-01-01T00:01:00Z',
        },
        { type: 'Other', status: 'True', lastProbeTime: null, lastTransitionTime: null },
      ],
    });
  });

  test.each<[what: string, prepare: () => Promise<unknown>, body: object, expected: string]>([
    ['no pod', () => Promise.resolve(), binding('a'), '404 NotFound: pods "a" not found'],
    [
      'another pod',
      () => create('a'),
      binding('b'),
      '400 BadRequest: name in URL does not match name in Binding object',
    ],
    [
      'a pod without a name',
      () => create('a'),
      binding(''),
      '400 BadRequest: name in URL does not match name in Binding object',
    ],
    [
      'a target that is no node',
      () => create('a'),
      binding('a', { target: { kind: 'Pod', name: 'n' } }),
      '400 BadRequest: target.kind: Unsupported value: "Pod": supported values: "Node", "<empty>"',
    ],
    [
      'no target',
      () => create('a'),
      binding('a', { target: { kind: 'Node' } }),
      '400 BadRequest: target.name: Required value',
    ],
    [
      'another UID',
      () => create('a'),
      binding('a', {}, { uid: 'u' }),
      expect.stringMatching(
        new RegExp(
          '^409 Conflict: Operation cannot be fulfilled on pods "a": Precondition failed: ' +
            'UID in precondition: u, UID in object meta: [-0-9a-f]{36}$',
        ),
      ) as string,
    ],
    [
      'a pod with a node',
      () => create('a', 'nodeName: n2'),
      binding('a'),
      '409 Conflict: Operation cannot be fulfilled on pods/binding "a": pod a is already assigned to node "n2"',
    ],
    [
      'a pod that waits',
      () => create('a', 'schedulingGates: [{name: example.com/wait}]'),
      binding('a'),
      '409 Conflict: Operation cannot be fulfilled on pods/binding "a": pod a has non-empty .spec.schedulingGates',
    ],
    [
      'a pod that goes',
      async () => {
        await create('a', '', ', finalizers: [example.com/hold]');
        await api.delete(`${PATH}/a`);
      },
      binding('a'),
      '409 Conflict: Operation cannot be fulfilled on pods/binding "a": pod a is being ' +
        'deleted, cannot be assigned to a host',
    ],
  ])('%s', async (_, prepare, body, expected) => {
    await prepare();
    expect(outcome(await api.post(`${PATH}/a/binding`, body))).toEqual(expected);
  });

  test('of a dry run change nothing', async () => {
    await create('a');
    expect((await api.post(`${PATH}/a/binding?dryRun=All`, binding('a'))).code).toBe(201);
    expect((await pod('a')).spec).not.toHaveProperty('nodeName');
  });
});

describe('deletion', () => {
  test.each<[what: string, spec: string, query: string, graceSeconds: number]>([
    ['the default', '', '', 30],
    ['its own time', 'terminationGracePeriodSeconds: 5', '', 5],
    ['the time of the request', '', '?gracePeriodSeconds=7', 7],
  ])('leaves a pod on a node %s', async (_, spec, query, graceSeconds) => {
    await create('a', `nodeName: n1\n${spec}`);
    const { json } = await api.delete(`${PATH}/a${query}`);
    expect(json).toMatchObject({
      kind: 'Pod',
      metadata: { deletionGracePeriodSeconds: graceSeconds, generation: 2 },
    });
  });

  test.each<[what: string, prepare: () => Promise<unknown>]>([
    ['without a node', () => create('a')],
    [
      'that has ended',
      async () => {
        await create('a', 'nodeName: n1');
        await api.patch(`${PATH}/a/status`, { status: { phase: 'Succeeded' } });
      },
    ],
    ['that must go now', async () => create('a', 'nodeName: n1\nterminationGracePeriodSeconds: 0')],
  ])('takes a pod %s at once', async (_, prepare) => {
    await prepare();
    expect((await api.delete(`${PATH}/a`)).json).toMatchObject({
      kind: 'Pod',
      metadata: { name: 'a' },
    });
    expect((await api.get(`${PATH}/a`)).code).toBe(404);
  });
});

const eviction = (name: string, deleteOptions?: object): object => ({
  apiVersion: 'policy/v1',
  kind: 'Eviction',
  metadata: { name },
  ...(deleteOptions !== undefined && { deleteOptions }),
});

describe('evictions', () => {
  test('record the reason in a condition of the pod', async () => {
    await create('a', 'nodeName: n1');
    await later();
    const { code, json } = await api.post(
      `${PATH}/a/eviction`,
      eviction('a', { gracePeriodSeconds: 3 }),
    );
    expect(code).toBe(201);
    expect(json).toEqual({
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Success',
      code: 201,
    });
    expect(await pod('a')).toMatchObject({
      metadata: { deletionGracePeriodSeconds: 3 },
      status: {
        conditions: [
          {
            type: 'DisruptionTarget',
            status: 'True',
            observedGeneration: 1,
            reason: 'EvictionByEvictionAPI',
            message: 'Eviction API: evicting',
            lastTransitionTime: '2026-01-01T00:01:00Z',
          },
        ],
      },
    });
  });

  test('delete a pod without a node at once', async () => {
    const { json } = await create('a');
    const { uid, resourceVersion } = json.metadata;
    expect(
      (
        await api.post(
          `${PATH}/a/eviction`,
          eviction('a', { preconditions: { uid, resourceVersion } }),
        )
      ).code,
    ).toBe(201);
    expect((await api.get(`${PATH}/a`)).code).toBe(404);
  });

  test.each<[what: string, name: string, options: object | undefined, expected: string]>([
    [
      'of another pod',
      'b',
      undefined,
      '400 BadRequest: name in URL does not match name in Eviction object',
    ],
    [
      'without a name',
      '',
      undefined,
      '400 BadRequest: name in URL does not match name in Eviction object',
    ],
    [
      'of one that was',
      'a',
      { preconditions: { uid: 'u' } },
      expect.stringMatching(
        /^409 Conflict: Operation cannot be fulfilled on Pod "a": the UID in the precondition \(u\) does not match/,
      ) as string,
    ],
    [
      'of one as it was',
      'a',
      { preconditions: { resourceVersion: '1' } },
      expect.stringMatching(
        /^409 Conflict: .* the ResourceVersion in the precondition \(1\) does not match .* might have been modified$/,
      ) as string,
    ],
  ])('%s are rejected', async (_, name, options, expected) => {
    await create('a');
    expect(outcome(await api.post(`${PATH}/a/eviction`, eviction(name, options)))).toEqual(
      expected,
    );
    expect((await statusOf('a'))['conditions']).toBeUndefined();
  });

  test('of a dry run change nothing', async () => {
    const { json } = await create('a');
    expect((await api.post(`${PATH}/a/eviction`, eviction('a', { dryRun: ['All'] }))).code).toBe(
      201,
    );
    expect((await api.post(`${PATH}/a/eviction?dryRun=All`, eviction('a'))).code).toBe(201);
    expect((await pod('a')).metadata.resourceVersion).toBe(json.metadata.resourceVersion);
  });

  test('of a missing pod', async () => {
    expect(outcome(await api.post(`${PATH}/a/eviction`, eviction('a')))).toBe(
      '404 NotFound: pods "a" not found',
    );
  });
});

test.each<[selector: string, names: string[]]>([
  ['spec.nodeName=n1', ['a']],
  ['spec.nodeName=', ['b']],
  ['spec.nodeName!=n1', ['b']],
  ['spec.restartPolicy=Never', ['b']],
  ['spec.schedulerName=mine', ['b']],
  ['spec.serviceAccountName=sa', ['a']],
  ['spec.hostNetwork=true', ['a']],
  ['status.phase=Running', ['a']],
  ['status.podIP=10.0.0.1', ['a']],
  ['status.nominatedNodeName=n2', ['b']],
  ['metadata.name=a,status.phase=Pending', []],
])('pods are selected by %s', async (selector, names) => {
  await create('a', 'nodeName: n1\nserviceAccountName: sa\nhostNetwork: true');
  await create('b', 'restartPolicy: Never\nschedulerName: mine');
  await api.patch(`${PATH}/a/status`, {
    status: { phase: 'Running', podIPs: [{ ip: '10.0.0.1' }] },
  });
  await api.patch(`${PATH}/b/status`, { status: { nominatedNodeName: 'n2' } });
  const { json } = await api.get(`${PATH}?fieldSelector=${encodeURIComponent(selector)}`);
  expect(json.items.map(({ metadata }) => metadata.name)).toEqual(names);
});

test('unsupported field selectors are rejected', async () => {
  expect(outcome(await api.get(`${PATH}?fieldSelector=spec.hostname=x`))).toBe(
    '400 BadRequest: field label not supported: spec.hostname',
  );
});
