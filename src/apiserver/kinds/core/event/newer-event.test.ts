// The same events in two groups.

import { expect, test } from 'vitest';

import type { WatchEvent } from '#client/transport.ts';
import { events as newerEvents } from '#api/groups/events/v1/index.ts';
import { Api, outcome } from '#apiserver/testing/api.ts';
import { serverPerTest } from '#apiserver/testing/server-per-test.ts';

const CORE = '/api/v1/namespaces/default/events';
const NEWER = '/apis/events.k8s.io/v1/namespaces/default/events';

const t = serverPerTest();
const api = new Api(t);

const newer = (more: object = {}) => ({
  metadata: { name: 'a' },
  eventTime: '2026-01-01T00:00:00.000000Z',
  reportingController: 'example.com/c',
  reportingInstance: 'c-1',
  action: 'Do',
  reason: 'Because',
  type: 'Normal',
  note: 'hello',
  regarding: { kind: 'Pod', name: 'p', namespace: 'default' },
  ...more,
});

test('an event that is created in one group is served in both', async () => {
  expect((await api.post(NEWER, newer())).code).toBe(201);
  const { json } = await api.get(`${CORE}/a`);
  expect(json).toMatchObject({
    apiVersion: 'v1',
    kind: 'Event',
    message: 'hello',
    involvedObject: { kind: 'Pod', name: 'p' },
    reportingComponent: 'example.com/c',
    metadata: { managedFields: [{ apiVersion: 'events.k8s.io/v1' }] },
  });
  await api.post(CORE, {
    metadata: { name: 'b' },
    involvedObject: { kind: 'Node', namespace: 'default' },
    message: 'old',
    count: 3,
  });
  const list = await api.get(NEWER);
  expect(list.json).toMatchObject({ kind: 'EventList', apiVersion: 'events.k8s.io/v1' });
  expect(list.json.items).toMatchObject([
    { metadata: { name: 'a' }, note: 'hello' },
    { metadata: { name: 'b' }, note: 'old', deprecatedCount: 3, regarding: { kind: 'Node' } },
  ]);
  expect((await api.get('/apis/events.k8s.io/v1/events')).json.items).toHaveLength(2);
});

test('both are watched, in the form of the watcher’s group', async () => {
  const stream = await t.client
    .resource(newerEvents)
    .namespace('default')
    .watch({ resourceVersion: '0' });
  await api.post(CORE, {
    metadata: { name: 'b' },
    involvedObject: { namespace: 'default' },
    message: 'old',
  });
  for await (const event of stream) {
    expect(event satisfies WatchEvent<unknown>).toMatchObject({
      type: 'ADDED',
      object: { apiVersion: 'events.k8s.io/v1', note: 'old' },
    });
    break;
  }
});

test('fields are selected by their newer names', async () => {
  await api.post(NEWER, newer());
  const names = async (path: string, selector: string) =>
    (await api.get(`${path}?fieldSelector=${encodeURIComponent(selector)}`)).json.items?.map(
      ({ metadata }) => metadata.name,
    );
  expect(await names(NEWER, 'regarding.kind=Pod,reportingController=example.com/c')).toEqual(['a']);
  expect(await names(NEWER, 'regarding.kind=Node')).toEqual([]);
  expect(await names(CORE, 'involvedObject.kind=Pod')).toEqual(['a']);
  expect((await api.get(`${CORE}?fieldSelector=regarding.kind%3DPod`)).code).toBe(400);
});

test('an update in one form keeps the other’s fields; only the series changes', async () => {
  await api.post(NEWER, newer());
  const series = { count: 2, lastObservedTime: '2026-01-01T00:00:01.000000Z' };
  expect((await api.patch(`${NEWER}/a`, { series })).json).toMatchObject({ series });
  expect((await api.get(`${CORE}/a`)).json).toMatchObject({ series, message: 'hello' });
  expect(outcome(await api.patch(`${NEWER}/a`, { note: 'other' }))).toBe(
    '422 Invalid: Event "a" is invalid: message: Invalid value: "other": field is immutable',
  );
  expect((await api.patch(`${CORE}/a`, { message: 'other' })).code).toBe(200);
  expect((await api.delete(`${NEWER}/a`)).json).toMatchObject({
    kind: 'Status',
    status: 'Success',
  });
  expect((await api.get(`${CORE}/a`)).code).toBe(404);
});

test('a write through one group ends the ownership of fields of the other one', async () => {
  await api.post(NEWER, newer());
  const { json } = await api.patch(`${CORE}/a`, { count: 3 });
  expect(json.metadata.managedFields).toMatchObject([
    { apiVersion: 'v1', fieldsV1: { 'f:count': {} } },
  ]);
});

test('all mistakes of an event are reported', async () => {
  const wrong = newer({ eventTime: null, regarding: { namespace: 'other' } });
  const text = outcome(await api.post(NEWER, wrong));
  expect(text).toContain('involvedObject.namespace: Invalid value: "other"');
  expect(text).toContain('eventTime: Required value');
});

test('the message names the field of the form that the client has sent', async () => {
  const event = { ...newer(), reportingController: '' };
  expect(outcome(await api.post(NEWER, event))).toContain('reportingController: Required value');
  const older = {
    metadata: { name: 'a' },
    eventTime: '2026-01-01T00:00:00.000000Z',
    involvedObject: { namespace: 'default' },
  };
  expect(outcome(await api.post(CORE, older))).toContain('reportingComponent: Required value');
});

test.each<[object, string]>([
  [{ eventTime: null }, 'eventTime: Required value'],
  [{ type: 'Odd' }, 'type: Invalid value: "": has invalid value: Odd'],
  [{ deprecatedCount: 2 }, 'count: Invalid value: "": needs to be unset'],
  [{ deprecatedSource: { component: 'c' } }, 'source: Invalid value: "": needs to be unset'],
  [
    { deprecatedFirstTimestamp: '2026-01-01T00:00:00Z' },
    'firstTimestamp: Invalid value: "": needs to be unset',
  ],
  [
    { series: { count: 1, lastObservedTime: '2026-01-01T00:00:01.000000Z' } },
    'series.count: Invalid value: "": should be at least 2',
  ],
  [{ reportingController: '' }, 'reportingController: Required value'],
  [{ action: '' }, 'action: Required value'],
])('%j is rejected', async (change, why) => {
  const text = outcome(await api.post(NEWER, newer(change)));
  expect(text).toContain('422 Invalid');
  expect(text).toContain(why);
});

test('errors have the group of the request, but validation errors have the stored kind', async () => {
  await api.post(NEWER, newer());
  expect(outcome(await api.get(`${NEWER}/b`))).toBe(
    '404 NotFound: events.events.k8s.io "b" not found',
  );
  expect(outcome(await api.get(`${CORE}/b`))).toBe('404 NotFound: events "b" not found');
  expect(outcome(await api.post(NEWER, newer()))).toBe(
    '409 AlreadyExists: events.events.k8s.io "a" already exists',
  );
  expect(outcome(await api.patch(`${NEWER}/a`, { metadata: { resourceVersion: '1' } }))).toContain(
    '409 Conflict: Operation cannot be fulfilled on events.events.k8s.io "a": ',
  );
  expect(outcome(await api.post(NEWER, newer({ action: '' })))).toBe(
    '422 Invalid: Event "a" is invalid: action: Required value',
  );
  expect((await api.delete(`${NEWER}/a`)).json).toMatchObject({
    details: { name: 'a', group: 'events.k8s.io', kind: 'events' },
  });
});

test('deletecollection and tables', async () => {
  await api.post(NEWER, newer());
  expect((await api.delete(NEWER)).json).toMatchObject({
    kind: 'EventList',
    items: [{ metadata: { name: 'a' } }],
  });
  expect((await api.get(CORE)).json.items).toEqual([]);
});
