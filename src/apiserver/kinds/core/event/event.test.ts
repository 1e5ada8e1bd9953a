// Events through the API.

import { expect, test } from 'vitest';

import { Api, outcome } from '#apiserver/testing/api.ts';
import { serverPerTest } from '#apiserver/testing/server-per-test.ts';

const PATH = '/api/v1/namespaces/default/events';

const t = serverPerTest();
const api = new Api(t);

const manifest = (name: string, more = ''): string =>
  `apiVersion: v1\nkind: Event\nmetadata: {name: ${name}}\ninvolvedObject: {kind: Pod, name: ` +
  `p, namespace: default}\n${more}`;

test('may have any name that a path allows', async () => {
  expect((await api.post(PATH, manifest('A_b.17C~'))).code).toBe(201);
  expect(outcome(await api.post(PATH, manifest("'a%b'")))).toContain(
    `metadata.name: Invalid value: "a%b": may not contain '%'`,
  );
});

test('expire an hour after the last change', async () => {
  await api.post(PATH, manifest('a'));
  await t.clock.advance(59 * 60_000);
  expect((await api.patch(`${PATH}/a`, { count: 2 })).code).toBe(200);
  await t.clock.advance(59 * 60_000);
  expect((await api.get(`${PATH}/a`)).json).toMatchObject({ count: 2 });
  await t.clock.advance(2 * 60_000);
  expect((await api.get(`${PATH}/a`)).code).toBe(404);
});

test('are in the namespace of their object', async () => {
  const foreign = manifest('a').replace('namespace: default', 'namespace: other');
  expect(outcome(await api.post(PATH, foreign))).toBe(
    '422 Invalid: Event "a" is invalid: involvedObject.namespace: Invalid value: "other": does ' +
      'not match event.namespace',
  );
});

test('PUT creates a missing one', async () => {
  expect((await api.put(`${PATH}/a`, manifest('a'))).code).toBe(201);
});

test('a deletion returns a Status, and has no dependents', async () => {
  await api.post(PATH, manifest('a'));
  const answer = await api.delete(`${PATH}/a?propagationPolicy=Foreground`);
  expect(answer.json).toMatchObject({
    kind: 'Status',
    status: 'Success',
    details: { name: 'a', kind: 'events' },
  });
  expect((await api.get(`${PATH}/a`)).code).toBe(404);
});

test.each<[selector: string, names: string[]]>([
  ['involvedObject.kind=Pod', ['a']],
  ['involvedObject.name=p,type=Warning', ['a']],
  ['involvedObject.namespace=default', ['a', 'b']],
  ['involvedObject.uid=u', ['b']],
  ['involvedObject.apiVersion=v1', ['b']],
  ['involvedObject.resourceVersion=7', ['b']],
  ['involvedObject.fieldPath=spec', ['b']],
  ['reason=Killing', ['a']],
  ['reportingComponent=mine', ['b']],
  ['source=kubelet', ['a']],
  // For clients that use only the older field.
  ['source=mine', ['b']],
  ['type!=Warning', ['b']],
])('events are selected by %s', async (selector, names) => {
  await api.post(
    PATH,
    manifest('a', 'type: Warning\nreason: Killing\nsource: {component: kubelet, host: n1}'),
  );
  await api.post(
    PATH,
    manifest('b', 'type: Normal\nreportingComponent: mine').replace(
      /involvedObject: .*/,
      'involvedObject: {kind: X, name: x, namespace: default, uid: u, apiVersion: v1, ' +
        'resourceVersion: "7", fieldPath: spec}',
    ),
  );
  const { json } = await api.get(`${PATH}?fieldSelector=${encodeURIComponent(selector)}`);
  expect(json.items.map(({ metadata }) => metadata.name)).toEqual(names);
});
