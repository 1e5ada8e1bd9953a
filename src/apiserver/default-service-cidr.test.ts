import { afterEach, beforeEach, expect, test } from 'vitest';
import { serviceCIDRs } from '../api/networking/v1/index.ts';
import { keepDefaultServiceCidr } from './default-service-cidr.ts';
import { startTestServer } from './testing/server.ts';
import type { TestServer } from './testing/server.ts';

let t: TestServer;
beforeEach(async () => {
  t = await startTestServer({ serviceCidr: '10.0.0.0/24' });
});
afterEach(() => t.stop());

const range = () => t.client.resource(serviceCIDRs).get('kubernetes');
const keep = (...cidrs: string[]) => keepDefaultServiceCidr({ client: t.client, clock: t.clock, logger: t.logger, cidrs });

test('every cluster has one, and it is ready', async () => {
  const { spec, status } = await range();
  expect(spec.cidrs).toEqual(['10.0.0.0/24']);
  expect(status.conditions).toMatchObject([
    { type: 'Ready', status: 'True', reason: '', message: 'Kubernetes default Service CIDR is ready' },
  ]);
});

test('the next start writes it only if a family is new', async () => {
  const { resourceVersion } = (await range()).metadata;
  await keep('10.0.0.0/24');
  expect((await range()).metadata.resourceVersion).toBe(resourceVersion);
  await keep('10.0.0.0/24', 'fd00::/112');
  expect((await range()).spec.cidrs).toEqual(['10.0.0.0/24', 'fd00::/112']);
});

test('another range is not written over what services have', async () => {
  await keep('10.9.0.0/24');
  expect((await range()).spec.cidrs).toEqual(['10.0.0.0/24']);
});
