import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { send } from '#apiserver/testing/requests.ts';
import {
  type Answered,
  type ResourceRequests,
  startWorkloadServer,
  type WorkloadServer,
} from '#apiserver/testing/workloads.ts';

let t: WorkloadServer;
let daemonSets: ResourceRequests;
beforeEach(async () => {
  t = await startWorkloadServer();
  daemonSets = t.resource('/apis/apps/v1/namespaces/default/daemonsets');
});
afterEach(async () => {
  await t.stop();
  expect(t.logger.errors).toEqual([]);
});

const TEMPLATE_GENERATION = 'deprecated.daemonset.template.generation';
const daemonSet = (annotations: object = {}) => ({
  metadata: { name: 'agent', annotations },
  spec: {
    selector: { matchLabels: { app: 'agent' } },
    template: {
      metadata: { labels: { app: 'agent' } },
      spec: { containers: [{ name: 'c', image: 'i' }] },
    },
  },
});
const generations = ({ object: { metadata } }: Answered) => [
  metadata.generation,
  metadata.annotations?.[TEMPLATE_GENERATION],
];

describe('daemon sets', () => {
  test('have their template generation only as a whole, as upstream', async () => {
    await daemonSets.create(daemonSet({ a: 'b' }));
    const metadataAs = async (form: string): Promise<object> => {
      const accept = `application/json;as=${form};g=meta.k8s.io;v=v1`;
      const path = '/apis/apps/v1/namespaces/default/daemonsets/agent';
      const { json } = await send(t.server, { path, headers: { accept } });
      return form === 'Table' ? (json.rows[0]?.object as object) : json;
    };
    for (const form of ['Table', 'PartialObjectMetadata'])
      expect(await metadataAs(form)).toMatchObject({ metadata: { annotations: { a: 'b' } } });
    for (const form of ['Table', 'PartialObjectMetadata'])
      expect(JSON.stringify(await metadataAs(form))).not.toContain(`"${TEMPLATE_GENERATION}"`);
  });

  test('are created with defaults and without a status', async () => {
    const { code, object } = await daemonSets.create({
      ...daemonSet(),
      status: { numberReady: 3 },
    });
    expect(code).toBe(201);
    expect(object.status).toEqual({
      currentNumberScheduled: 0,
      numberMisscheduled: 0,
      desiredNumberScheduled: 0,
      numberReady: 0,
    });
    expect(object.spec).toMatchObject({
      updateStrategy: { type: 'RollingUpdate' },
      revisionHistoryLimit: 10,
    });
  });

  test('count changes, and separately those of the template', async () => {
    expect(generations(await daemonSets.create(daemonSet()))).toEqual([1, '1']);
    expect(generations(await daemonSets.patch('agent', { spec: { minReadySeconds: 1 } }))).toEqual([
      2,
      '1',
    ]);
    const template = { spec: { hostNetwork: true } };
    expect(generations(await daemonSets.patch('agent', { spec: { template } }))).toEqual([3, '2']);
    expect(
      generations(await daemonSets.patch('agent', { metadata: { labels: { a: 'b' } } })),
    ).toEqual([3, '2']);
  });

  test.each([
    [{ [TEMPLATE_GENERATION]: '7' }, '7'],
    [{ [TEMPLATE_GENERATION]: '-7' }, '1'],
    [{ other: 'x' }, '1'],
  ])('begin with the count of templates %j at %s', async (annotations, count) => {
    const { object } = await daemonSets.create(daemonSet(annotations));
    expect(object.metadata.annotations).toEqual({ ...annotations, [TEMPLATE_GENERATION]: count });
  });

  test('clients cannot set the template generation', async () => {
    await daemonSets.create(daemonSet());
    const set = { metadata: { annotations: { [TEMPLATE_GENERATION]: '9' } } };
    expect(generations(await daemonSets.patch('agent', set))).toEqual([1, '1']);
    expect(generations(await daemonSets.patch('agent/status', set))).toEqual([1, '1']);
    expect(
      generations(await daemonSets.patch('agent', { metadata: { annotations: null } })),
    ).toEqual([1, '1']);
  });

  test('an invalid template generation is rejected', async () => {
    const refused = await daemonSets.create(daemonSet({ [TEMPLATE_GENERATION]: 'many' }));
    expect([refused.code, refused.message]).toEqual([
      400,
      'strconv.ParseInt: parsing "many": invalid syntax',
    ]);
  });

  test('keep their selector', async () => {
    await daemonSets.create(daemonSet());
    const labels = { more: 'labels' };
    const { code, causes } = await daemonSets.patch('agent', {
      spec: { selector: { matchLabels: labels }, template: { metadata: { labels } } },
    });
    expect([code, causes]).toEqual([422, ['spec.selector']]);
  });

  test('warn when the template changes', async () => {
    const warning =
      'spec.template.spec.terminationGracePeriodSeconds: must be >= 0; negative values are ' +
      'invalid and will be treated as 1';
    await daemonSets.create(daemonSet());
    const template = { spec: { terminationGracePeriodSeconds: -1 } };
    expect((await daemonSets.patch('agent', { spec: { template } })).warnings).toEqual([warning]);
    expect((await daemonSets.patch('agent', { spec: { minReadySeconds: 3 } })).warnings).toEqual(
      [],
    );
  });

  test('have a separate status, and no scale', async () => {
    await daemonSets.create(daemonSet());
    const changed = await daemonSets.patch('agent/status', {
      spec: { minReadySeconds: 5 },
      status: { numberReady: 2 },
    });
    expect(changed.object.status).toMatchObject({ numberReady: 2 });
    expect(changed.object.spec).not.toHaveProperty('minReadySeconds');
    const refused = await daemonSets.patch('agent/status', { status: { numberAvailable: -1 } });
    expect([refused.code, refused.causes]).toEqual([422, ['status.numberAvailable']]);
    const served = t.server.catalog.snapshot().get('apps', 'v1', 'daemonsets');
    expect(served?.subresources?.map(({ name }) => name)).toEqual(['status']);
  });

  test('have a table', async () => {
    await daemonSets.create(daemonSet());
    expect((await daemonSets.table()).rows).toEqual([
      ['agent', 0, 0, 0, 0, 0, '<none>', '0s', 'c', 'i', 'app=agent'],
    ]);
  });
});
