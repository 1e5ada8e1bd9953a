import { afterEach, beforeEach, expect, test } from 'vitest';

import {
  type ResourceRequests,
  startWorkloadServer,
  type WorkloadServer,
} from '#apiserver/testing/workloads.ts';

let t: WorkloadServer;
let revisions: ResourceRequests;
beforeEach(async () => {
  t = await startWorkloadServer();
  revisions = t.resource('/apis/apps/v1/namespaces/default/controllerrevisions');
});
afterEach(async () => {
  await t.stop();
  expect(t.logger.errors).toEqual([]);
});

const revision = (more: object = {}) => ({
  metadata: { name: 'r' },
  revision: 1,
  data: { spec: { any: ['thing'] } },
  ...more,
});

test('the data of revisions is immutable; their number can change', async () => {
  const { code, object } = await revisions.create(revision());
  expect(code).toBe(201);
  expect(object).toMatchObject({ data: { spec: { any: ['thing'] } }, revision: 1 });
  expect(object.metadata).not.toHaveProperty('generation');
  expect((await revisions.patch('r', { revision: 2 })).object).toMatchObject({ revision: 2 });
  const refused = await revisions.patch('r', { data: { spec: { any: ['other'] } } });
  expect([refused.code, refused.causes]).toEqual([422, ['data']]);
});

test.each([
  [{ data: undefined }, ['data']],
  [{ revision: -1 }, ['revision']],
])('%j is rejected', async (more, fields) => {
  const { code, causes } = await revisions.create(revision(more));
  expect([code, causes]).toEqual([422, fields]);
});

test('revisions have a table', async () => {
  await revisions.create(revision());
  expect(await revisions.table()).toEqual({
    columns: ['Name', 'Controller', 'Revision', 'Age'],
    rows: [['r', '<none>', 1, '0s']],
  });
});
