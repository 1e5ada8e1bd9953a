import { afterEach, beforeEach, expect, test } from 'vitest';
import { ingressClasses, ingresses } from '#api/groups/networking/v1/index.ts';
import { VirtualClock } from '#machinery/clock.ts';
import { startTestServer, type TestServer } from '../testing/server.ts';

let t: TestServer;
const clock = new VirtualClock();
beforeEach(async () => {
  t = await startTestServer({ clock });
});
afterEach(() => t.stop());

const makeClass = (name: string, isDefault: boolean) =>
  t.client.resource(ingressClasses).create({
    metadata: {
      name,
      annotations: { 'ingressclass.kubernetes.io/is-default-class': String(isDefault) },
    },
    spec: { controller: 'example.com/it' },
  });
async function classOf(
  spec: object = {},
  annotations: Record<string, string> = {},
): Promise<string | undefined> {
  const backend = { service: { name: 'web', port: { number: 80 } } };
  const created = await t.client.resource(ingresses).create({
    metadata: { generateName: 'it-', namespace: 'default', annotations },
    spec: { defaultBackend: backend, ...spec },
  });
  return created.spec.ingressClassName;
}

test('an ingress without a class gets the newest default class', async () => {
  expect(await classOf()).toBeUndefined();
  await makeClass('no', false);
  expect(await classOf()).toBeUndefined();
  await makeClass('b', true);
  await makeClass('a', true);
  expect(await classOf()).toBe('a');
  await clock.advance('2s');
  await makeClass('z', true);
  expect(await classOf()).toBe('z');
});

test('an ingress with a class keeps it, even if the class is in the annotation', async () => {
  await makeClass('a', true);
  expect(await classOf({ ingressClassName: 'mine' })).toBe('mine');
  expect(await classOf({}, { 'kubernetes.io/ingress.class': 'mine' })).toBeUndefined();
});
